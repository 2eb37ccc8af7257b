/* Running one op (see cuda_work.h). */
#include "backends/cuda_work.h"
#include "backends/host_kernel.h"
#include <inttypes.h>
#include <math.h>

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

static const char *why_no_use(const sw_cuda_work *w, const sw_op *op, const sw_use *u,
                              bool stream) {
    const sw_topology *t = w->store.topo;
    if (u->tier < 0 || u->tier >= t->n_tiers || u->mode < SW_READ || u->mode > SW_RW || !u->bytes)
        return "has a use that makes no sense";
    bool file = t->tiers[u->tier].kind == SW_TIER_NVME;
    if (u->paged && w->store.tier[u->tier].memory != SW_CUDA_MANAGED)
        return "touches a paged range, and this run has no pager";
    if (op->kind == SW_OP_COPY)
        return stream && file ? "copies to or from a file on a queue of the GPU" : NULL;
    if (file) return "would use bytes that lie in a file: a kernel needs them in memory";
    if (stream && !sw_cuda_store_gpu_sees(&w->store, u->tier))
        return "reads pageable RAM from the GPU, which only pinned memory allows";
    if (!stream && !sw_cuda_store_cpu_sees(&w->store, u->tier))
        return "runs on the CPU, and VRAM is out of its reach";
    return NULL;
}

sw_status sw_cuda_work_allows(sw_cuda_work *w, const sw_op *op, bool stream, sw_error *err) {
    const char *why = NULL;
    if (op->kind == SW_OP_COLLECTIVE) why = "is a collective, which one GPU cannot run";
    for (uint32_t i = 0; i < op->n_uses && !why; i++) why = why_no_use(w, op, &op->uses[i], stream);
    if (!why && op->kind == SW_OP_COPY) why = why_no_copy(op);
    if (why) return sw_fail(err, SW_RUN, "cuda: op %" PRIu64 " (%s) %s", op->id, name_of(op), why);
    for (uint32_t i = 0; i < op->n_uses; i++)
        SW_TRY(sw_cuda_store_reach(&w->store, op->uses[i].tier, op->uses[i].addr, op->uses[i].bytes,
                                   err));
    return SW_OK;
}

sw_status sw_cuda_work_wrong(const sw_cuda_work *w, const sw_op *op, const sw_cuda_bad *bad,
                             sw_error *err) {
    const sw_use *u = &op->uses[bad->use < op->n_uses ? bad->use : 0];
    return sw_fail(err, SW_RUN,
                   "cuda: op %" PRIu64 " (%s) reads version %u of block %u in %s+%" PRIu64
                   "; at %llu it expects %llx and finds %llx: something else was written there, or "
                   "nothing yet",
                   op->id, name_of(op), u->version - (u->mode == SW_RW), u->block,
                   w->store.topo->tiers[u->tier].name, u->addr, bad->addr, bad->expected,
                   bad->found);
}

/* --- reading: what goes through the unit, in pieces that have one pattern ----------------------- */

typedef sw_status read_fn(sw_cuda_work *w, void *to, const sw_op *op, const sw_cuda_read *r,
                          sw_error *err);

/* The first `bytes` of the use, `rounds` times. */
static sw_status read_part(sw_cuda_work *w, void *to, const sw_op *op, sw_cuda_read r,
                           const sw_host_span *s, size_t n, uint64_t bytes, read_fn *read,
                           sw_error *err) {
    const sw_use *u = &op->uses[r.use];
    const char *start = sw_cuda_store_at(&w->store, u->tier, u->addr);
    if (!bytes || !r.rounds) return SW_OK;
    if (!n) { /* nobody knows what is there */
        r.at = start, r.addr = u->addr, r.bytes = bytes;
        return read(w, to, op, &r, err);
    }
    for (size_t k = 0; k < n && s[k].lo < u->addr + bytes; k++) {
        uint64_t hi = s[k].hi < u->addr + bytes ? s[k].hi : u->addr + bytes;
        r.at = start + (s[k].lo - u->addr), r.addr = s[k].lo, r.bytes = hi - s[k].lo;
        r.skip = s[k].lo - s[k].origin, r.seed = s[k].seed, r.check = 1;
        atomic_fetch_add_explicit(&w->checked, r.bytes * r.rounds, memory_order_relaxed);
        SW_TRY(read(w, to, op, &r, err));
    }
    return SW_OK;
}

/* Every use that is read: `touched` bytes, the first ones, or all of them again and again. `turns`
 * of arithmetic go with them (cuda_kernels.h). */
static sw_status read_uses(sw_cuda_work *w, void *to, const sw_op *op, uint64_t turns,
                           const sw_host_span *s, size_t n, read_fn *read, sw_error *err) {
    for (uint32_t i = 0; i < op->n_uses; i++) {
        const sw_use *u = &op->uses[i];
        size_t mine = 0;
        while (mine < n && s[mine].use == i) mine++;
        sw_cuda_read r = {.op = op->id, .use = i, .turns = turns, .rounds = u->touched / u->bytes};
        if (u->mode & SW_READ) {
            SW_TRY(read_part(w, to, op, r, s, mine, u->bytes, read, err));
            r.rounds = 1;
            SW_TRY(read_part(w, to, op, r, s, mine, u->touched % u->bytes, read, err));
        }
        if (mine) s += mine; /* there may be no list */
        n -= mine;
    }
    return SW_OK;
}

/* --- on a stream ------------------------------------------------------------------------------- */

static sw_status gpu_read(sw_cuda_work *w, void *to, const sw_op *op, const sw_cuda_read *r,
                          sw_error *err) {
    (void)op;
    SW_CUDA("cannot start a kernel", sw_cuda_stream_check(r, w->bad, *(cudaStream_t *)to), err);
    return SW_OK;
}

static bool on_tensor_cores(const sw_cuda_work *w, const sw_op *op) {
    bool product = op->work.cls == SW_CLASS_GEMM || op->work.cls == SW_CLASS_EXPERT;
    return w->gemm && product && op->work.math != SW_FP32 && op->work.flops > 0;
}

/* Plain arithmetic goes on while bytes are read, as in a fused kernel, in whole turns; *rest is what
 * these leave, if it is worth a kernel. */
static uint64_t turns_of(const sw_op *op, double *rest) {
    double units = 0;
    for (uint32_t i = 0; i < op->n_uses; i++)
        if (op->uses[i].mode & SW_READ) units += (double)op->uses[i].touched / 16;
    double per_turn = units * SW_CUDA_TURN_FLOPS;
    double turns = per_turn > 0 ? floor(op->work.flops / per_turn) : 0;
    *rest = op->work.flops - turns * per_turn;
    if (*rest < 0.02 * op->work.flops) *rest = 0;
    return (uint64_t)turns;
}

static sw_status prefetch_uses(const sw_cuda_work *w, cudaStream_t stream, const sw_op *op,
                               sw_error *err) {
    for (uint32_t i = 0; i < op->n_uses; i++) {
        const sw_use *u = &op->uses[i];
        if (u->paged)
            SW_TRY(sw_cuda_store_prefetch(&w->store, u->tier, u->addr, u->bytes, stream, err));
    }
    return SW_OK;
}

sw_status sw_cuda_work_enqueue(sw_cuda_work *w, cudaStream_t stream, const sw_op *op,
                               const sw_host_span *expect, size_t n, sw_error *err) {
    const sw_use *u = op->uses;
    if (op->kind == SW_OP_COPY) {
        SW_CUDA("cannot start a copy",
                cudaMemcpyAsync(sw_cuda_store_at(&w->store, u[1].tier, u[1].addr),
                                sw_cuda_store_at(&w->store, u[0].tier, u[0].addr), u[0].bytes,
                                cudaMemcpyDefault, stream),
                err);
        return SW_OK;
    }
    if ((op->kind == SW_OP_HOST || op->kind == SW_OP_DELAY) && op->fixed_s > 0)
        SW_CUDA("cannot start a kernel", sw_cuda_delay(op->fixed_s, stream), err);
    bool product = op->kind == SW_OP_COMPUTE && on_tensor_cores(w, op);
    double rest = op->work.flops;
    uint64_t turns = product ? 0 : turns_of(op, &rest);
    if (op->paging && w->store.opt->prefetch == SW_CUDA_PREFETCH_USE)
        SW_TRY(prefetch_uses(w, stream, op, err));
    SW_TRY(read_uses(w, &stream, op, turns, expect, n, gpu_read, err));
    for (uint32_t i = 0; i < op->n_uses; i++)
        if (u[i].mode & SW_WRITE)
            SW_CUDA("cannot start a kernel",
                    sw_cuda_stream_write(sw_cuda_store_at(&w->store, u[i].tier, u[i].addr), 0,
                                         u[i].bytes,
                                         sw_host_seed(u[i].block, u[i].version, op->id, i), stream),
                    err);
    if (product)
        SW_CUDA("cannot start a matrix product", sw_cuda_gemm_run(w->gemm, rest, stream), err);
    else if (op->kind == SW_OP_COMPUTE && (rest > 0 || !op->n_uses)) /* at least an empty kernel */
        SW_CUDA("cannot start a kernel", sw_cuda_flops(rest, w->bad, stream), err);
    return SW_OK;
}

/* --- by a thread ------------------------------------------------------------------------------- */

static bool stopped(const sw_cuda_work *w) {
    return atomic_load_explicit(&w->stop, memory_order_relaxed);
}

static sw_status cpu_read(sw_cuda_work *w, void *to, const sw_op *op, const sw_cuda_read *r,
                          sw_error *err) {
    volatile uint64_t *sink = to; /* where sums go that nobody asks for */
    const char *at = r->at;
    for (uint64_t k = 0; k < r->rounds && !stopped(w); k++) {
        if (!r->check) {
            *sink = sw_host_sum(at, r->bytes);
            continue;
        }
        uint64_t good = sw_host_check(at, r->skip, r->bytes, r->seed), found = 0;
        if (good == r->bytes) continue;
        memcpy(&found, at + good, r->bytes - good < 8 ? r->bytes - good : 8);
        sw_cuda_bad bad = {.op = op->id,
                           .use = r->use,
                           .addr = r->addr + good,
                           .expected = sw_host_word(r->skip + good, r->seed),
                           .found = found};
        return sw_cuda_work_wrong(w, op, &bad, err);
    }
    return SW_OK;
}

sw_status sw_cuda_work_run(sw_cuda_work *w, sw_cuda_lane *l, const sw_op *op,
                           const sw_host_span *expect, size_t n, sw_error *err) {
    if (op->kind == SW_OP_COPY)
        return sw_cuda_store_copy(&w->store, l, &op->uses[0], &op->uses[1], err);
    volatile uint64_t sink = 0;
    SW_TRY(read_uses(w, (void *)&sink, op, 0, expect, n, cpu_read, err));
    for (uint32_t i = 0; i < op->n_uses; i++) {
        const sw_use *u = &op->uses[i];
        if (u->mode & SW_WRITE)
            sw_host_fill(sw_cuda_store_at(&w->store, u->tier, u->addr), 0, u->bytes,
                         sw_host_seed(u->block, u->version, op->id, i));
    }
    if (op->kind == SW_OP_COMPUTE && op->work.flops > 0)
        sink = (uint64_t)sw_host_flops(op->work.flops, &w->stop);
    return SW_OK;
}
