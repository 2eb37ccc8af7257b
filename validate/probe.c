/* Streams of ops on a backend (see probe.h). */
#include "validate/probe.h"
#include "sim/base/vec.h"
#include "sim/cost.h"
#include <math.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WARM_UP = 4, GUARD = 1 << 20 };

sw_status sw_stream_op(const sw_topology *t, const sw_stream *s, sw_op *op, sw_error *err) {
    double read[SW_TIERS_MAX] = {0}, write[SW_TIERS_MAX] = {0};
    *op = (sw_op){.unit = -1, .name = s->name, .kind = SW_OP_JOIN};
    if (s->kind == SW_STREAM_COPY || s->kind == SW_STREAM_TURNS) {
        const sw_route *r = &t->routes[t->route_of[s->src][s->dst][s->pageable]];
        op->kind = SW_OP_COPY;
        op->queue = (uint16_t)r->queue;
        sw_cost_copy(t, r, s->bytes, op);
        return SW_OK;
    }
    op->queue = (uint16_t)t->units[s->unit].queue;
    if (s->kind == SW_STREAM_EMPTY) return SW_OK;
    op->kind = SW_OP_COMPUTE;
    op->unit = s->unit;
    op->work = (sw_work){s->flops, s->math, s->cls, 1};
    if (s->kind == SW_STREAM_READ) read[s->src] = (double)s->bytes;
    if (s->kind == SW_STREAM_WRITE) write[s->src] = (double)s->bytes;
    return sw_cost_kernel(t, 0, read, write, op, err);
}

/* --- one run ---------------------------------------------------------------------------------- */

static bool copies(const sw_stream *s) {
    return s->kind == SW_STREAM_COPY || s->kind == SW_STREAM_TURNS;
}

/* The kernels of TURNS. */
static sw_stream reader(const sw_stream *s) {
    sw_stream r = *s;
    r.kind = SW_STREAM_READ;
    r.src = s->dst;
    return r;
}

typedef struct lane { /* a stream at work */
    const sw_stream *s;
    uint32_t n, extents, first_block;
    uint64_t src_at, dst_at;
    uint32_t *version; /* by extent */
} lane;

typedef struct run {
    const sw_probe *p;
    void *be;
    lane lanes[SW_STREAMS_MAX];
    int n;
    uint32_t blocks, n_ops;
    uint64_t at[SW_TIERS_MAX];
    sw_topology topo;
    sw_op *ops;
    sw_use *uses;
    uint64_t *after;
    sw_done *done;
} run;

static sw_status place(run *r, uint32_t block, uint64_t bytes, int tier, uint64_t addr,
                       sw_error *err) {
    sw_block b = {.id = block, .layer = -1, .expert = -1, .bytes = bytes, .name = "probe"};
    return r->p->backend->place ? r->p->backend->place(r->be, &b, tier, addr, err) : SW_OK;
}

/* Where the stream's extents lie. */
static sw_status lay_out(run *r, lane *l, sw_error *err) {
    const sw_stream *s = l->s;
    l->n = s->n + WARM_UP;
    if (!s->bytes) return SW_OK;
    uint64_t fit = r->p->span_bytes / s->bytes;
    l->extents = fit < 1 ? 1 : fit < l->n ? (uint32_t)fit : l->n;
    l->version = sw_zalloc(l->extents, sizeof *l->version);
    if (!l->version) return sw_fail(err, SW_MEMORY, "out of memory");
    uint64_t bytes = l->extents * s->bytes;
    l->src_at = r->at[s->src];
    r->at[s->src] += bytes + GUARD;
    if (copies(s)) l->dst_at = r->at[s->dst], r->at[s->dst] += bytes + GUARD;
    l->first_block = r->blocks;
    r->blocks += l->extents * 2;
    return SW_OK;
}

/* The machine, its memories just as large as the streams need. */
static sw_status shrink(run *r, sw_error *err) {
    r->topo = *r->p->topo;
    for (int t = 0; t < r->topo.n_tiers; t++) {
        sw_tier *tier = &r->topo.tiers[t];
        if (r->at[t] > tier->capacity_bytes)
            return sw_fail(err, SW_FIT, "does not fit: the probes need %llu bytes of %s",
                           (unsigned long long)r->at[t], tier->name);
        tier->capacity_bytes = r->at[t] + GUARD;
    }
    return SW_OK;
}

/* All of it is written once, so that no page is new. */
static sw_status fill(run *r, const lane *l, sw_error *err) {
    const sw_stream *s = l->s;
    bool copy = copies(s);
    for (uint32_t i = 0; i < l->extents; i++) {
        if (copy)
            SW_TRY(place(r, l->first_block + l->extents + i, s->bytes, s->dst,
                         l->dst_at + i * s->bytes, err));
        SW_TRY(place(r, l->first_block + i, s->bytes, s->src, l->src_at + i * s->bytes, err));
    }
    return SW_OK;
}

/* The lane's k-th op, as number `id` of the run. */
static sw_status make(run *r, lane *l, uint32_t k, uint64_t id, sw_error *err) {
    const sw_stream *s = l->s, kernel = reader(s);
    sw_op *op = &r->ops[id - 1];
    sw_use *u = &r->uses[2 * (id - 1)];
    bool turns = s->kind == SW_STREAM_TURNS, reads = turns && k % 2;
    SW_TRY(sw_stream_op(r->p->topo, reads ? &kernel : s, op, err));
    op->id = id;
    op->uses = u;
    if (turns && k) {
        r->after[id - 1] = id - (uint64_t)r->n; /* lanes take turns: the one before on this lane */
        op->after = &r->after[id - 1];
        op->n_after = 1;
    }
    if (!s->bytes) return SW_OK;
    uint32_t e = (turns ? k / 2 : k) % l->extents;
    u[0] = (sw_use){.block = l->first_block + e,
                    .tier = s->src,
                    .mode = s->kind == SW_STREAM_WRITE ? SW_WRITE : SW_READ,
                    .addr = l->src_at + e * s->bytes,
                    .bytes = s->bytes,
                    .touched = s->bytes};
    if (s->kind == SW_STREAM_WRITE) u[0].version = ++l->version[e];
    op->n_uses = 1;
    if (reads) u[0].tier = s->dst, u[0].addr = l->dst_at + e * s->bytes;
    if (reads || !copies(s)) return SW_OK;
    u[1] = u[0];
    u[1].tier = s->dst, u[1].mode = SW_WRITE, u[1].addr = l->dst_at + e * s->bytes;
    op->n_uses = 2;
    return SW_OK;
}

static sw_status body(void *arg, sw_error *err) {
    run *r = arg;
    uint32_t most = 0, got;
    uint64_t id = 0;
    for (int i = 0; i < r->n; i++) {
        SW_TRY(fill(r, &r->lanes[i], err));
        if (r->lanes[i].n > most) most = r->lanes[i].n;
    }
    for (uint32_t k = 0; k < most; k++)
        for (int i = 0; i < r->n; i++)
            if (k < r->lanes[i].n) SW_TRY(make(r, &r->lanes[i], k, ++id, err));
    SW_TRY(r->p->backend->submit(r->be, r->ops, (uint32_t)id, err));
    return r->p->backend->wait(r->be, id, r->done, (uint32_t)id, &got, err);
}

/* Means over the time in which every lane runs ops that count. */
static sw_status evaluate(const run *r, double *op_s, sw_error *err) {
    double from = 0, to = INFINITY, first[SW_STREAMS_MAX], last[SW_STREAMS_MAX];
    uint32_t k[SW_STREAMS_MAX] = {0}, in[SW_STREAMS_MAX] = {0};
    for (int pass = 0; pass < 2; pass++) {
        uint64_t id = 0;
        uint32_t most = 0;
        for (int i = 0; i < r->n; i++) most = r->lanes[i].n > most ? r->lanes[i].n : most;
        memset(k, 0, sizeof k);
        for (uint32_t turn = 0; turn < most; turn++)
            for (int i = 0; i < r->n; i++) {
                if (turn >= r->lanes[i].n) continue;
                const sw_done *d = &r->done[id++];
                if (!pass && turn == WARM_UP - 1 && d->end_s > from) from = d->end_s;
                if (!pass && turn == r->lanes[i].n - 1 && d->end_s < to) to = d->end_s;
                if (!pass || turn < WARM_UP || d->end_s < from || d->end_s > to) continue;
                if (!in[i]++) first[i] = d->end_s;
                last[i] = d->end_s;
            }
    }
    for (int i = 0; i < r->n; i++) {
        if (in[i] < 2)
            return sw_fail(err, SW_RUN, "the probe of %s was over before the others began",
                           r->lanes[i].s->name);
        op_s[i] = (last[i] - first[i]) / (in[i] - 1); /* between ends: gaps count */
    }
    return SW_OK;
}

static sw_status run_here(const sw_probe *p, const sw_stream *streams, int n, double *op_s,
                          sw_error *err) {
    run r = {.p = p, .n = n};
    for (int i = 0; i < n; i++) {
        r.lanes[i].s = &streams[i];
        r.n_ops += streams[i].n + WARM_UP;
    }
    r.ops = malloc(r.n_ops * sizeof *r.ops);
    r.uses = malloc(2 * r.n_ops * sizeof *r.uses);
    r.after = malloc(r.n_ops * sizeof *r.after);
    r.done = malloc(r.n_ops * sizeof *r.done);
    sw_status st = SW_MEMORY;
    if (r.ops && r.uses && r.after && r.done)
        st = SW_OK;
    else
        sw_fail(err, SW_MEMORY, "out of memory");
    for (int i = 0; i < n && !st; i++) st = lay_out(&r, &r.lanes[i], err);
    if (!st) st = shrink(&r, err);
    if (!st) st = sw_plugin_new(&p->backend->plugin, "backend", p->backend_map, &r.be, err);
    if (!st) {
        st = p->backend->open(r.be, &r.topo, err);
        if (!st) st = p->backend->run(r.be, body, &r, err);
        if (!st) st = evaluate(&r, op_s, err);
        p->backend->close(r.be);
        free(r.be);
    }
    for (int i = 0; i < n; i++) free(r.lanes[i].version);
    free(r.ops);
    free(r.uses);
    free(r.after);
    free(r.done);
    return st;
}

/* A backend that runs once a process: in a child, which answers through shared memory. */
static sw_status run_in_child(const sw_probe *p, const sw_stream *streams, int n, double *op_s,
                              sw_error *err) {
    struct answer {
        sw_status status;
        sw_error err;
        double op_s[SW_STREAMS_MAX];
    } *a = mmap(NULL, sizeof *a, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (a == MAP_FAILED) return sw_fail(err, SW_MEMORY, "out of memory");
    a->status = SW_RUN;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        a->status = run_here(p, streams, n, a->op_s, &a->err);
        _exit(0);
    }
    if (pid > 0) waitpid(pid, NULL, 0);
    sw_status st = a->status;
    memcpy(op_s, a->op_s, (size_t)n * sizeof *op_s);
    if (st && err) *err = a->err;
    munmap(a, sizeof *a);
    return st;
}

sw_status sw_probe_run(const sw_probe *p, const sw_stream *streams, int n, double *op_s,
                       sw_error *err) {
    return (p->backend->plugin.flags & SW_BACKEND_WORKER ? run_in_child : run_here)(p, streams, n,
                                                                                    op_s, err);
}
