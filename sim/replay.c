/* The loop: event -> policy -> plan -> backend -> completions -> account (see replay.h). */
#include "sim/replay.h"
#include "sim/account.h"
#include "sim/plan.h"

enum { CHUNK_OPS = 512, WINDOW_CHUNKS = 8 };

typedef struct flight { /* a chunk, and what it must not start before */
    sw_chunk chunk;
    sw_path_rec floor;
    bool submitted;
} flight;

typedef struct loop {
    const sw_replay *r;
    const sw_topology *topo;
    void *source, *backend;
    sw_plan *plan;
    sw_scan *scan;
    sw_bounder *bounder;
    sw_account account;
    flight *ring; /* window + 1 chunks */
    uint32_t n_ring, head, n_flight, chunk_ops;
    sw_done *done;
    uint32_t cap_done;
    sw_result *out;
} loop;

/* Waits for the oldest chunk and accounts for it. */
static sw_status retire(loop *l, sw_error *err) {
    flight *f = &l->ring[(l->head + l->n_ring - l->n_flight) % l->n_ring];
    sw_chunk *c = &f->chunk;
    if (c->n > l->cap_done) {
        sw_done *d = realloc(l->done, c->n * sizeof *d);
        if (!d) return sw_fail(err, SW_MEMORY, "out of memory");
        l->done = d;
        l->cap_done = c->n;
    }
    uint32_t n = 0;
    SW_TRY(l->r->backend->wait(l->backend, c->last_id, l->done, l->cap_done, &n, err));
    if (n != c->n) return sw_fail(err, SW_RUN, "the backend lost ops: %u of %u came back", n, c->n);
    for (uint32_t i = 0; i < n; i++) {
        const sw_op *op = &c->ops[i];
        if (l->done[i].id != op->id)
            return sw_fail(err, SW_RUN, "the backend mixed up op %llu", (unsigned long long)op->id);
        SW_TRY(sw_account_op(&l->account, op, &l->done[i], &f->floor, err));
        for (uint32_t o = 0; o < l->r->n_observers; o++)
            if (l->r->observers[o].op)
                SW_TRY(l->r->observers[o].op(l->r->observers[o].arg, op, &l->done[i], err));
        if (l->r->policy->on_done && (l->r->policy->plugin.flags & SW_POLICY_REACTIVE))
            l->r->policy->on_done(l->plan->policy_ctx, l->plan, &l->done[i]);
    }
    sw_account_settle(&l->account);
    l->plan->ledger.floor = c->last_id;
    sw_chunk_reset(c);
    l->n_flight--;
    return SW_OK;
}

/* Hands the chunk at hand to the backend; at most window - 1 others stay in flight. */
static sw_status submit(loop *l, sw_error *err) {
    flight *f = &l->ring[l->head];
    if (!f->chunk.n) return SW_OK;
    f->floor = l->account.best;
    SW_TRY(sw_account_reserve(&l->account, f->chunk.last_id - l->plan->ledger.floor + 1, err));
    SW_TRY(l->r->backend->submit(l->backend, f->chunk.ops, f->chunk.n, err));
    l->head = (l->head + 1) % l->n_ring;
    l->n_flight++;
    while (l->n_flight >= l->n_ring - 1) SW_TRY(retire(l, err));
    l->plan->chunk = &l->ring[l->head].chunk;
    return SW_OK;
}

static sw_status events(loop *l, sw_error *err) {
    const sw_replay *r = l->r;
    bool closed = r->source->plugin.flags & SW_SOURCE_CLOSED_LOOP;
    bool reactive = closed || (r->policy->plugin.flags & SW_POLICY_REACTIVE);
    for (uint64_t seq = 1;; seq++) {
        sw_event ev = {0};
        sw_feedback fb = {0};
        if (closed) {
            fb.now_s = r->backend->now_s(l->backend);
            for (int t = 0; t < l->topo->n_tiers; t++)
                fb.free_bytes[t] = sw_ledger_room(&l->plan->ledger, t);
        }
        sw_status st = r->source->next(l->source, closed ? &fb : NULL, &ev, err);
        if (st == SW_END) break;
        SW_TRY(st);
        SW_TRY(sw_bounder_event(l->bounder, &ev, err));
        if (ev.kind == SW_EV_STEP) SW_TRY(sw_account_step(&l->account, &ev, err));
        SW_TRY(sw_plan_event(l->plan, seq, &ev, err));
        l->out->n_events = seq;
        if (l->plan->chunk->n >= l->chunk_ops || (reactive && l->plan->chunk->n))
            SW_TRY(submit(l, err));
        if (reactive)
            while (l->n_flight) SW_TRY(retire(l, err));
        if (r->progress && (seq & 4095) == 0) r->progress(r->progress_arg, seq, l->scan->n_events);
    }
    SW_TRY(submit(l, err));
    while (l->n_flight) SW_TRY(retire(l, err));
    sw_plan_end(l->plan);
    return SW_OK;
}

static sw_status body(void *arg, sw_error *err) {
    loop *l = arg;
    for (uint32_t o = 0; o < l->r->n_observers; o++)
        if (l->r->observers[o].begin)
            SW_TRY(l->r->observers[o].begin(l->r->observers[o].arg, l->topo, err));
    SW_TRY(sw_plan_begin(l->plan, err));
    if (l->plan->paging.ops && l->r->backend->page)
        SW_TRY(l->r->backend->page(l->backend, &l->plan->paging, err));
    const sw_observer backend = {.arg = l->backend, .placed = l->r->backend->place};
    SW_TRY(sw_plan_tell(l->plan, &backend, err));
    for (uint32_t o = 0; o < l->r->n_observers; o++)
        SW_TRY(sw_plan_tell(l->plan, &l->r->observers[o], err));
    return events(l, err);
}

static void count(sw_result *o, const char *name, double value) {
    if (o->n_counters == SW_COUNTERS_MAX) return;
    snprintf(o->counters[o->n_counters].name, sizeof o->counters[0].name, "%s", name);
    o->counters[o->n_counters++].value = value;
}

/* What a pager moved was on nobody's op: it joins the links' figures here. */
static void collect_pager(loop *l) {
    const sw_paging *g = &l->plan->paging;
    sw_result *o = l->out;
    if (!g->ops) return;
    sw_pager_stats s;
    g->ops->stats(g->ctx, &s);
    const sw_path *in = &l->topo->paths[g->in->path], *out = &l->topo->paths[g->out->path];
    for (int i = 0; i < in->n; i++) o->res[in->res[i]].amount += (double)s.in_bytes;
    for (int i = 0; i < out->n; i++) o->res[out->res[i]].amount += (double)s.out_bytes;
    o->paged_bytes = (double)(s.in_bytes + s.out_bytes);
    count(o, "page_faults", (double)s.faults);
    count(o, "page_evictions", (double)s.evictions);
    count(o, "paged_in_bytes", (double)s.in_bytes);
    count(o, "paged_out_bytes", (double)s.out_bytes);
    count(o, "paged_resident_bytes", (double)s.resident_bytes);
}

static sw_status collect(loop *l, sw_error *err) {
    sw_result *o = l->out;
    const sw_plan *p = l->plan;
    collect_pager(l);
    sw_account_finish(&l->account);
    for (int t = 0; t < l->topo->n_tiers; t++) {
        const sw_tier_ledger *tl = &p->ledger.tier[t];
        o->tier[t] = (sw_tier_result){.capacity_bytes = l->topo->tiers[t].capacity_bytes,
                                      .peak_bytes = tl->peak_bytes,
                                      .static_bytes = tl->static_bytes,
                                      .largest_hole_at_peak_bytes = tl->hole_at_peak,
                                      .fragmentation = tl->fragmentation,
                                      .n_failed = tl->n_failed};
    }
    o->n_fetches = p->n_fetches;
    o->n_evictions = p->n_evictions;
    o->n_writebacks = p->n_writebacks;
    o->n_fetches_decode = p->n_fetches_decode;
    o->fetched_bytes = p->fetched_bytes;
    o->written_back_bytes = p->written_back_bytes;
    o->least_h2d_bytes = p->least_bytes;
    for (size_t i = 0; i < p->counters.n; i++)
        count(o, p->counters.v[i].name, p->counters.v[i].value);
    o->log_hash = p->log_hash;
    return sw_bounder_finish(l->bounder, &o->bound, err);
}

static sw_status prepare(loop *l, sw_error *err) {
    const sw_replay *r = l->r;
    bool offline = r->policy->plugin.flags & SW_POLICY_OFFLINE;
    if (offline && (r->source->plugin.flags & SW_SOURCE_CLOSED_LOOP))
        return sw_fail(err, SW_INPUT, "policy %s needs the future, and %s makes it up as it goes",
                       r->policy->plugin.name, r->source->plugin.name);
    SW_TRY(sw_topology_check(l->topo, err));
    SW_TRY(sw_scan_run(r->source, r->source_map, &r->source_env, offline, &l->scan, err));
    SW_TRY(sw_plan_open(l->topo, r->runtime, l->scan, r->policy, r->policy_map, r->alloc,
                        r->alloc_map, &l->plan, err));
    l->plan->decisions = r->decisions;
    l->plan->pager_map = r->pager_map;
    const sw_plugin *pager = r->pager ? &r->pager->plugin : NULL;
    if (!pager)
        SW_TRY(sw_plugin_find(sw_pager_table, sw_pager_table_n, "pager", "uvm", (sw_mark){0},
                              &pager, err));
    l->plan->pager = (const sw_pager_ops *)pager;
    SW_TRY(sw_bounder_new(l->topo, &l->bounder, err));
    SW_TRY(sw_plugin_new(&r->source->plugin, "source", r->source_map, &l->source, err));
    SW_TRY(r->source->open(l->source, &r->source_env, err));
    l->chunk_ops = r->chunk_ops ? r->chunk_ops : CHUNK_OPS;
    l->n_ring = (r->window_chunks ? r->window_chunks : WINDOW_CHUNKS) + 1;
    l->ring = sw_zalloc(l->n_ring, sizeof *l->ring);
    if (!l->ring) return sw_fail(err, SW_MEMORY, "out of memory");
    l->plan->chunk = &l->ring[0].chunk;
    return sw_account_open(&l->account, l->topo, l->out, err);
}

static sw_status run_backend(loop *l, sw_error *err) {
    const sw_backend_ops *b = l->r->backend;
    SW_TRY(sw_plugin_new(&b->plugin, "backend", l->r->backend_map, &l->backend, err));
    sw_status st = b->open(l->backend, l->topo, err);
    if (st == SW_OK) st = b->run(l->backend, body, l, err);
    if (st == SW_OK) st = collect(l, err);
    b->close(l->backend);
    free(l->backend);
    return st;
}

sw_status sw_replay_run(const sw_replay *r, sw_result *out, sw_error *err) {
    sw_result *result = sw_zalloc(1, sizeof *result); /* large: off the stack */
    if (!result) return sw_fail(err, SW_MEMORY, "out of memory");
    loop l = {.r = r, .topo = r->topo, .out = result};
    sw_status st = prepare(&l, err);
    if (st == SW_OK) st = run_backend(&l, err);
    if (st == SW_OK) *out = *result;
    if (l.source) r->source->close(l.source);
    free(l.source);
    sw_plan_close(l.plan);
    sw_bounder_free(l.bounder);
    sw_scan_free(l.scan);
    sw_account_close(&l.account);
    for (uint32_t i = 0; i < l.n_ring && l.ring; i++) sw_chunk_free(&l.ring[i].chunk);
    free(l.ring);
    free(l.done);
    free(result);
    return st;
}
