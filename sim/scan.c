/* One look over a trace (see scan.h). Two streaming passes when next uses are asked for: the first
 * counts each block's accesses, the second files them, so that nothing grows while it reads. */
#include "sim/scan.h"
#include "sim/base/vec.h"

/* Ids are dense: one that is far beyond twice as many as have come so far is a mistake, and would
 * cost memory. */
enum { MAX_BLOCKS = 16 << 20, MAX_LAYERS = 1 << 20, SPARSE = 1 << 16, LAUNCHES_MAX = 1 << 24 };
static const uint64_t BYTES_MAX = UINT64_C(1) << 60;
static const double FLOPS_MAX = 1e24, HOST_S_MAX = 1e9;

typedef struct live {
    bool alive, seen;
    uint64_t bytes; /* of the living block */
    uint64_t last;  /* the event that used it last */
} live;

typedef struct scanner {
    sw_scan *s;
    SW_VEC(live) live;
    SW_VEC(sw_block) blocks;
    SW_VEC(bool) is_static;
    SW_VEC(uint64_t) uses; /* accesses by block */
    SW_VEC(uint64_t) layer_static, layer_dynamic, layer_now;
    uint64_t dynamic, act, seq;
    uint64_t n_seen; /* different ids */
    bool begun;      /* an event other than BLOCK has come */
    sw_error *err;
} scanner;

static sw_status bad(scanner *c, const char *what, uint32_t id) {
    return sw_fail(c->err, SW_INPUT, "event %llu: block %u %s", (unsigned long long)c->seq, id,
                   what);
}

static sw_status no_memory(scanner *c) {
    return sw_fail(c->err, SW_MEMORY, "out of memory");
}

static bool reserve_layer(scanner *c, size_t n) {
    while (c->layer_static.n < n)
        if (!sw_vec_push(&c->layer_static, 0) || !sw_vec_push(&c->layer_dynamic, 0) ||
            !sw_vec_push(&c->layer_now, 0))
            return false;
    return true;
}

static sw_status new_block(scanner *c, const sw_event *ev) {
    const sw_block *b = &ev->block;
    bool is_static = ev->kind == SW_EV_BLOCK;
    if (is_static && c->begun) return bad(c, "is declared after the run has begun", b->id);
    if (b->id >= MAX_BLOCKS) return bad(c, "has an id over 16 M", b->id);
    if (b->id > 2 * c->n_seen + SPARSE)
        return bad(c, "has an id far beyond the number of blocks so far: ids are dense from 0",
                   b->id);
    if ((unsigned)b->kind > SW_BLOCK_EMBED) return bad(c, "is of no known kind", b->id);
    if (b->bytes == 0) return bad(c, "has no bytes", b->id);
    if (b->bytes > BYTES_MAX || b->bytes > BYTES_MAX - c->s->static_bytes - c->dynamic)
        return bad(c, "is too large: all together exceed 2^60 bytes", b->id);
    if (b->layer < -1 || b->layer >= MAX_LAYERS) return bad(c, "has a layer out of range", b->id);
    while (c->live.n <= b->id)
        if (!sw_vec_push(&c->live, (live){0}) || !sw_vec_push(&c->blocks, (sw_block){0}) ||
            !sw_vec_push(&c->is_static, false) || !sw_vec_push(&c->uses, 0))
            return no_memory(c);
    live *l = &c->live.v[b->id];
    if (l->alive) return bad(c, "is allocated while it lives", b->id);
    if (l->seen && c->is_static.v[b->id])
        return bad(c, "was declared from the start and is allocated anew", b->id);
    if (!l->seen)
        c->blocks.v[b->id] = *b;
    else if (b->bytes > c->blocks.v[b->id].bytes)
        c->blocks.v[b->id].bytes = b->bytes;
    c->n_seen += !l->seen;
    l->alive = l->seen = true;
    l->bytes = b->bytes;
    c->is_static.v[b->id] = is_static;
    sw_scan *s = c->s;
    if (b->bytes > s->largest_block_bytes) s->largest_block_bytes = b->bytes;
    if (b->layer >= 0 && !reserve_layer(c, (size_t)b->layer + 1)) return no_memory(c);
    if (is_static) {
        s->static_bytes += b->bytes;
        if (b->layer >= 0) c->layer_static.v[b->layer] += b->bytes;
        return SW_OK;
    }
    bool act = b->kind == SW_BLOCK_ACT || b->kind == SW_BLOCK_OTHER;
    c->dynamic += b->bytes;
    if (act) c->act += b->bytes;
    if (c->dynamic > s->peak_dynamic_bytes) s->peak_dynamic_bytes = c->dynamic;
    if (c->act > s->peak_act_bytes) s->peak_act_bytes = c->act;
    if (!act && b->layer >= 0) {
        uint64_t now = c->layer_now.v[b->layer] += b->bytes;
        if (now > c->layer_dynamic.v[b->layer]) c->layer_dynamic.v[b->layer] = now;
    }
    return SW_OK;
}

static sw_status end_block(scanner *c, const sw_event *ev) {
    uint32_t id = ev->block.id;
    if (id >= c->live.n || !c->live.v[id].alive) return bad(c, "is freed but does not live", id);
    live *l = &c->live.v[id];
    const sw_block *b = &c->blocks.v[id];
    l->alive = false;
    if (c->is_static.v[id]) return SW_OK;
    bool act = b->kind == SW_BLOCK_ACT || b->kind == SW_BLOCK_OTHER;
    c->dynamic -= l->bytes;
    if (act)
        c->act -= l->bytes;
    else if (b->layer >= 0)
        c->layer_now.v[b->layer] -= l->bytes;
    return SW_OK;
}

static sw_status bad_event(scanner *c, const char *what) {
    return sw_fail(c->err, SW_INPUT, "event %llu %s", (unsigned long long)c->seq, what);
}

/* The uses of an ACCESS; a PREDICT may name blocks that are not there. */
static sw_status access_blocks(scanner *c, const sw_event *ev) {
    uint64_t whole = 0, extent = 0;
    for (uint32_t i = 0; i < ev->n_uses; i++) {
        const sw_ev_use *u = &ev->uses[i];
        if (u->block >= c->live.n || !c->live.v[u->block].alive)
            return bad(c, "is used but does not live", u->block);
        uint64_t bytes = c->live.v[u->block].bytes;
        if (u->bytes == 0 || u->offset > bytes || u->bytes > bytes - u->offset)
            return bad(c, "is used outside its bounds", u->block);
        if (u->mode < SW_READ || u->mode > SW_RW)
            return bad(c, "is used in no known mode", u->block);
        if (u->touched > BYTES_MAX) return bad(c, "is touched too much", u->block);
        if (c->live.v[u->block].last != c->seq) whole += bytes;
        c->live.v[u->block].last = c->seq;
        extent = extent > BYTES_MAX ? extent : extent + u->bytes;
        c->uses.v[u->block] += i == 0 || ev->uses[i - 1].block != u->block;
    }
    if (whole > c->s->largest_access_bytes) c->s->largest_access_bytes = whole;
    if (extent > c->s->largest_access_extent) c->s->largest_access_extent = extent;
    c->s->n_accesses++;
    const sw_work *w = &ev->work;
    if (!(w->flops >= 0 && w->flops <= FLOPS_MAX)) return bad_event(c, "does impossible flops");
    if (w->math >= SW_MATH_COUNT) return bad_event(c, "computes in no known format");
    if (w->cls >= SW_CLASS_COUNT) return bad_event(c, "is a kernel of no known class");
    if (w->launches < 1 || w->launches > LAUNCHES_MAX)
        return bad_event(c, "launches no kernel, or too many");
    return SW_OK;
}

static sw_status one(scanner *c, const sw_event *ev) {
    if (ev->known_after >= c->seq)
        return sw_fail(c->err, SW_INPUT,
                       "event %llu is known after event %llu, which is not earlier",
                       (unsigned long long)c->seq, (unsigned long long)ev->known_after);
    if (ev->kind != SW_EV_BLOCK) c->begun = true;
    switch (ev->kind) {
    case SW_EV_BLOCK:
    case SW_EV_ALLOC:
        return new_block(c, ev);
    case SW_EV_FREE:
        return end_block(c, ev);
    case SW_EV_ACCESS:
        return access_blocks(c, ev);
    case SW_EV_STEP:
        if ((unsigned)ev->phase > SW_PHASE_OTHER) return bad_event(c, "is a step of no known kind");
        if (ev->step != c->s->n_steps) return bad_event(c, "is a step out of turn");
        c->s->n_steps++;
        c->s->n_tokens += ev->tokens;
        c->s->n_outputs += ev->outputs;
        return SW_OK;
    case SW_EV_HOST:
        if (!(ev->host_s >= 0 && ev->host_s <= HOST_S_MAX))
            return bad_event(c, "keeps the host busy for an impossible time");
        return SW_OK;
    case SW_EV_PREDICT:
    case SW_EV_MARK:
    case SW_EV_RELEASE:
    case SW_EV_SEGMENT:
        return SW_OK;
    case SW_EV_ARRIVE:
        return bad_event(c, "is the arrival of a request, which says nothing of blocks: no policy "
                            "can be run on it");
    case SW_EV_RECORDED:
        return bad_event(c, "is a recorded op without blocks: no policy can be run on it");
    }
    return bad_event(c, "is of no known kind");
}

/* Runs a fresh source to its end, each event to `each`. A closed-loop source makes its events up as
 * it goes: of it only what it declares before life begins can be known beforehand. */
typedef sw_status each_fn(void *arg, uint64_t seq, const sw_event *ev);

static sw_status for_each(const sw_source_ops *ops, const sw_node *map, const sw_source_env *env,
                          each_fn *each, void *arg, sw_error *err) {
    void *so = NULL;
    bool closed = ops->plugin.flags & SW_SOURCE_CLOSED_LOOP;
    SW_TRY(sw_plugin_new(&ops->plugin, "workload", map, &so, err));
    sw_status st = ops->open(so, env, err);
    for (uint64_t seq = 1; !st; seq++) {
        sw_event ev = {0};
        sw_feedback nothing = {0};
        st = ops->next(so, closed ? &nothing : NULL, &ev, err);
        if (closed && !st && ev.kind != SW_EV_BLOCK) break;
        if (!st) st = each(arg, seq, &ev);
    }
    ops->close(so);
    free(so);
    return st == SW_END ? SW_OK : st;
}

static sw_status first_pass(void *arg, uint64_t seq, const sw_event *ev) {
    scanner *c = arg;
    c->seq = c->s->n_events = seq;
    return one(c, ev);
}

static sw_status second_pass(void *arg, uint64_t seq, const sw_event *ev) {
    scanner *c = arg; /* uses now holds where each block's next access goes */
    if (ev->kind != SW_EV_ACCESS) return SW_OK;
    for (uint32_t i = 0; i < ev->n_uses; i++) {
        uint32_t b = ev->uses[i].block;
        if (i > 0 && ev->uses[i - 1].block == b) continue;
        if (b >= c->uses.n || c->uses.v[b] >= c->s->use_at[b + 1])
            return sw_fail(c->err, SW_INPUT, "the source tells another story the second time");
        c->s->use_seq[c->uses.v[b]++] = seq;
    }
    return SW_OK;
}

static sw_status index_uses(scanner *c, const sw_source_ops *ops, const sw_node *map,
                            const sw_source_env *env) {
    sw_scan *s = c->s;
    s->use_at = malloc((s->n_blocks + 2) * sizeof *s->use_at);
    if (!s->use_at) return no_memory(c);
    uint64_t at = 0;
    for (uint32_t b = 0; b < s->n_blocks; b++) {
        s->use_at[b] = at;
        at += c->uses.v[b];
        c->uses.v[b] = s->use_at[b];
    }
    s->use_at[s->n_blocks] = at;
    s->use_seq = malloc((at + 1) * sizeof *s->use_seq);
    if (!s->use_seq) return no_memory(c);
    return for_each(ops, map, env, second_pass, c, c->err);
}

sw_status sw_scan_run(const sw_source_ops *ops, const sw_node *map, const sw_source_env *env,
                      bool next_uses, sw_scan **out, sw_error *err) {
    sw_scan *s = sw_zalloc(1, sizeof *s);
    if (!s) return sw_fail(err, SW_MEMORY, "out of memory");
    scanner c = {.s = s, .err = err};
    sw_status st = SW_OK;
    if (!st) st = for_each(ops, map, env, first_pass, &c, err);
    s->n_blocks = (uint32_t)c.live.n;
    s->n_layers = (uint32_t)c.layer_static.n;
    s->blocks = c.blocks.v;
    s->is_static = c.is_static.v;
    s->layer_static_bytes = c.layer_static.v;
    s->layer_dynamic_bytes = c.layer_dynamic.v;
    if (!st && next_uses) st = index_uses(&c, ops, map, env);
    sw_vec_free(&c.live);
    sw_vec_free(&c.uses);
    sw_vec_free(&c.layer_now);
    if (st)
        sw_scan_free(s);
    else
        *out = s;
    return st;
}

void sw_scan_free(sw_scan *s) {
    if (!s) return;
    free(s->blocks);
    free(s->is_static);
    free(s->layer_static_bytes);
    free(s->layer_dynamic_bytes);
    free(s->use_at);
    free(s->use_seq);
    free(s);
}
