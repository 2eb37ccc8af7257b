/* null: closed form, no contention. Each op takes what it would take alone (sw_op_solo_s) and
 * starts when its queue, its dependencies and the window let it. Tests the core, bounds the speed
 * of a simulation from above, and sweeps where contention does not matter. */
#include "sim/backend.h"
#include "sim/base/vec.h"
#include "sim/pager.h"
#include <math.h>

typedef struct null_ctx {
    const sw_topology *topo;
    double queue_end[SW_QUEUES_MAX];
    double now;       /* latest end that a wait has returned */
    uint64_t next_id; /* of the next op submitted */
    uint64_t first;   /* lowest id not yet returned by wait(upto > 0) */
    sw_done *ring;    /* by id & mask: ops first … next_id-1 */
    uint64_t mask;
    double pager_end; /* the pager serves one op after the other */
    bool *told;       /* same index: returned by wait(0) */
} null_ctx;

static sw_status null_open(void *be, const sw_topology *topo, sw_error *err) {
    null_ctx *c = be;
    c->topo = topo;
    c->next_id = c->first = 1;
    c->mask = 8191;
    c->ring = sw_zalloc(c->mask + 1, sizeof *c->ring);
    c->told = sw_zalloc(c->mask + 1, sizeof *c->told);
    return c->ring && c->told ? SW_OK : sw_fail(err, SW_MEMORY, "out of memory");
}

static sw_status null_run(void *be, sw_body_fn *body, void *arg, sw_error *err) {
    (void)be;
    return body(arg, err);
}

static sw_status grow(null_ctx *c, uint64_t need, sw_error *err) {
    uint64_t mask = c->mask;
    while (mask + 1 < need) mask = mask * 2 + 1;
    sw_done *ring = sw_zalloc(mask + 1, sizeof *ring);
    bool *told = sw_zalloc(mask + 1, sizeof *told);
    if (!ring || !told) {
        free(ring);
        free(told);
        return sw_fail(err, SW_MEMORY, "out of memory");
    }
    for (uint64_t id = c->first; id < c->next_id; id++) {
        ring[id & mask] = c->ring[id & c->mask];
        told[id & mask] = c->told[id & c->mask];
    }
    free(c->ring);
    free(c->told);
    c->ring = ring;
    c->told = told;
    c->mask = mask;
    return SW_OK;
}

/* When one that waits for op `id` may start; `now` if it ended so long ago that it no longer matters.
 */
static inline double after(const null_ctx *c, uint64_t id) {
    return id >= c->first ? c->ring[id & c->mask].end_s + c->topo->wake_s : c->now;
}

/* How long an op that starts waiting for its pager at `now` waits. */
static sw_status page(null_ctx *c, const sw_op *op, double now, double *waits_s, sw_error *err) {
    sw_page_service s;
    SW_TRY(sw_paging_touch(op, &s, err));
    double takes_s = sw_paging_solo_s(c->topo, &s);
    if (takes_s > 0) c->pager_end = fmax(c->pager_end, now) + takes_s;
    *waits_s = takes_s > 0 ? c->pager_end - now : 0;
    return SW_OK;
}

static sw_status null_submit(void *be, const sw_op *ops, uint32_t n, sw_error *err) {
    null_ctx *c = be;
    if (c->next_id + n - c->first > c->mask) SW_TRY(grow(c, c->next_id + n - c->first + 1, err));
    for (uint32_t i = 0; i < n; i++) {
        const sw_op *op = &ops[i];
        double start = c->queue_end[op->queue];
        if (c->now > start) start = c->now;
        if (op->issued_by) {
            double e = after(c, op->issued_by);
            if (e > start) start = e;
        }
        for (uint32_t k = 0; k < op->n_after; k++) {
            double e = after(c, op->after[k]);
            if (e > start) start = e;
        }
        double paged = 0;
        if (op->paging) SW_TRY(page(c, op, start + op->fixed_s, &paged, err));
        double end = start + sw_op_solo_s(c->topo, op) + paged;
        c->queue_end[op->queue] = end;
        c->ring[op->id & c->mask] = (sw_done){op->id, start, end, paged};
        c->told[op->id & c->mask] = false;
        c->next_id = op->id + 1;
    }
    return SW_OK;
}

static int by_end(const void *a, const void *b) {
    const sw_done *x = a, *y = b;
    if (x->end_s != y->end_s) return x->end_s < y->end_s ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

/* Of those that wait(0) has not returned: all that have ended by now, or else the ops of the
 * earliest instant, which becomes now. */
static sw_status wait_any(null_ctx *c, sw_done *out, uint32_t cap, uint32_t *n, sw_error *err) {
    double first = INFINITY;
    for (uint64_t id = c->first; id < c->next_id; id++) {
        const sw_done *d = &c->ring[id & c->mask];
        if (!c->told[id & c->mask] && d->end_s < first) first = d->end_s;
    }
    if (first > c->now && first < INFINITY) c->now = first;
    uint32_t k = 0;
    for (uint64_t id = c->first; id < c->next_id && k < cap; id++)
        if (c->ring[id & c->mask].end_s <= c->now && !c->told[id & c->mask]) {
            c->told[id & c->mask] = true;
            out[k++] = c->ring[id & c->mask];
        }
    qsort(out, k, sizeof *out, by_end);
    *n = k;
    return k ? SW_OK : sw_fail(err, SW_RUN, "null: nothing is in flight to wait for");
}

static sw_status null_wait(void *be, uint64_t upto, sw_done *out, uint32_t cap, uint32_t *n,
                           sw_error *err) {
    null_ctx *c = be;
    if (!upto) return wait_any(c, out, cap, n, err);
    uint32_t k = 0;
    for (; c->first <= upto && c->first < c->next_id && k < cap; c->first++) {
        out[k] = c->ring[c->first & c->mask];
        if (out[k].end_s > c->now) c->now = out[k].end_s;
        k++;
    }
    *n = k;
    return SW_OK;
}

static double null_now(void *be) {
    return ((null_ctx *)be)->now;
}

static void null_close(void *be) {
    null_ctx *c = be;
    free(c->ring);
    free(c->told);
    c->ring = NULL;
    c->told = NULL;
}

const sw_backend_ops sw_backend_null = {
    .plugin = {.name = "null",
               .summary = "closed form, no contention: the fastest answer, an upper bound on speed",
               .doc = "Each op takes the time that it would take alone. Two ops on different "
                      "queues never slow "
                      "each other, so a copy that competes with a kernel for DRAM comes out too "
                      "fast: use simgrid for "
                      "answers, null for tests and for sweeps where contention does not matter.",
               .flags = SW_BACKEND_VIRTUAL_TIME,
               .ctx_bytes = sizeof(null_ctx)},
    .open = null_open,
    .run = null_run,
    .submit = null_submit,
    .wait = null_wait,
    .now_s = null_now,
    .close = null_close,
};
