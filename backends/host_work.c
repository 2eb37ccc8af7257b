/* Running one op (see host_work.h). An op reads first, then writes, then computes. */
#include "backends/host_work.h"
#include "backends/host_kernel.h"
#include <inttypes.h>
#include <time.h>

static double clock_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const char *name_of(const sw_op *op) {
    return op->name ? op->name : sw_op_kind_name((sw_op_kind)op->kind);
}

/* --- what can be run --------------------------------------------------------------------------- */

static const char *why_no_copy(const sw_op *op) {
    const sw_use *u = op->uses;
    if (op->n_uses != 2 || u[0].mode != SW_READ || u[1].mode != SW_WRITE)
        return "is a copy, but not one read and one write";
    if (u[0].block != u[1].block || u[0].version != u[1].version || u[0].bytes != u[1].bytes)
        return "is a copy, but writes something else than it reads";
    return NULL;
}

sw_status sw_host_work_allows(const sw_host_work *w, const sw_op *op, sw_error *err) {
    const sw_topology *t = w->store.topo;
    const char *why = NULL;
    if (op->queue >= t->n_queues)
        why = "is on a queue that does not exist";
    else if (op->kind == SW_OP_COLLECTIVE)
        why = "is a collective, which one machine cannot run";
    for (uint32_t i = 0; i < op->n_uses && !why; i++) {
        const sw_use *u = &op->uses[i];
        if (u->tier < 0 || u->tier >= t->n_tiers || u->mode < SW_READ || u->mode > SW_RW ||
            !u->bytes)
            why = "has a use that makes no sense";
        else if (op->kind != SW_OP_COPY && !w->store.tier[u->tier].base)
            why = "would use bytes that lie in a file: a kernel needs them in memory";
    }
    if (!why && op->kind == SW_OP_COPY) why = why_no_copy(op);
    if (!why) return SW_OK;
    return sw_fail(err, SW_RUN, "host: op %" PRIu64 " (%s) %s", op->id, name_of(op), why);
}

/* --- reading and writing ------------------------------------------------------------------------ */

static sw_status wrong(const sw_host_work *w, const sw_op *op, const sw_use *u, uint64_t addr,
                       uint64_t expected, const char *at, uint64_t left, sw_error *err) {
    uint64_t found = 0;
    memcpy(&found, at, left < sizeof found ? left : sizeof found);
    return sw_fail(err, SW_RUN,
                   "host: op %" PRIu64 " (%s) reads version %u of block %u in %s+%" PRIu64
                   "; at %" PRIu64 " it expects %016" PRIx64 " and finds %016" PRIx64
                   ": something else was written there, or nothing yet",
                   op->id, name_of(op), u->version - (u->mode == SW_RW), u->block,
                   w->store.topo->tiers[u->tier].name, u->addr, addr, expected, found);
}

static bool stopped(const sw_host_work *w) {
    return atomic_load_explicit(&w->stop, memory_order_relaxed);
}

/* The first `bytes` of the use, against the spans, of which the first reaches at least to its
 * beginning. */
static sw_status check(const sw_host_work *w, const sw_op *op, const sw_use *u,
                       const sw_host_span *s, size_t n, uint64_t bytes, sw_error *err) {
    const char *base = w->store.tier[u->tier].base;
    for (size_t k = 0; k < n && s[k].lo < u->addr + bytes && !stopped(w); k++) {
        uint64_t hi = s[k].hi < u->addr + bytes ? s[k].hi : u->addr + bytes;
        uint64_t skip = s[k].lo - s[k].origin, len = hi - s[k].lo;
        uint64_t good = sw_host_check(base + s[k].lo, skip, len, s[k].seed);
        if (good == len) continue;
        return wrong(w, op, u, s[k].lo + good, sw_host_word(skip + good, s[k].seed),
                     base + s[k].lo + good, len - good, err);
    }
    return SW_OK;
}

static volatile uint64_t sink; /* where sums go that nobody asks for */

/* `touched` bytes: the first ones, or all of them again and again. */
static sw_status read_use(const sw_host_work *w, sw_host_lane *l, const sw_op *op, const sw_use *u,
                          const sw_host_span *s, size_t n, sw_error *err) {
    double start = clock_s();
    for (uint64_t left = u->touched; left && !stopped(w);) {
        uint64_t bytes = left < u->bytes ? left : u->bytes;
        if (n) {
            SW_TRY(check(w, op, u, s, n, bytes, err));
            l->stats.checked_bytes += (double)bytes;
        } else {
            uint64_t sum = sw_host_sum(w->store.tier[u->tier].base + u->addr, bytes);
            if (sum == 1) sink = sum;
        }
        left -= bytes;
    }
    l->stats.read_bytes += (double)u->touched;
    l->stats.read_s += clock_s() - start;
    return SW_OK;
}

static void write_use(const sw_host_work *w, sw_host_lane *l, const sw_op *op, uint32_t i) {
    const sw_use *u = &op->uses[i];
    double start = clock_s();
    sw_host_fill(w->store.tier[u->tier].base + u->addr, 0, u->bytes,
                 sw_host_seed(u->block, u->version, op->id, i));
    l->stats.write_bytes += (double)u->bytes;
    l->stats.write_s += clock_s() - start;
}

static void compute(sw_host_work *w, sw_host_lane *l, const sw_op *op) {
    double start = clock_s();
    if (sw_host_flops(op->work.flops, &w->stop) == 0) sink = 1;
    l->stats.flops += op->work.flops;
    l->stats.flops_s += clock_s() - start;
}

sw_status sw_host_work_run(sw_host_work *w, sw_host_lane *l, const sw_op *op,
                           const sw_host_span *expect, size_t n, sw_error *err) {
    if (op->kind == SW_OP_COPY)
        return sw_host_store_copy(&w->store, l, &op->uses[0], &op->uses[1], err);
    size_t at = 0;
    for (uint32_t i = 0; i < op->n_uses; i++) {
        size_t first = at;
        while (at < n && expect[at].use == i) at++;
        if (op->uses[i].mode & SW_READ)
            SW_TRY(read_use(w, l, op, &op->uses[i], expect + first, at - first, err));
    }
    for (uint32_t i = 0; i < op->n_uses; i++)
        if (op->uses[i].mode & SW_WRITE) write_use(w, l, op, i);
    if (op->kind == SW_OP_COMPUTE && op->work.flops > 0) compute(w, l, op);
    return SW_OK;
}
