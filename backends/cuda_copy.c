/* Copies that a thread makes (see cuda_store.h). Between a file and memory of the GPU the bytes go by
 * cuFile, else through two pinned buffers: one is read into while the other one's bytes go up. */
#include "backends/cuda_store.h"

enum { STAGE = 4 << 20 }; /* bytes of a buffer */

/* --- what a thread has ------------------------------------------------------------------------- */

sw_status sw_cuda_lane_open(sw_cuda_lane *l, const sw_cuda_options *o, bool io,
                            const atomic_bool *stop, sw_error *err) {
    sw_host_how how = {.engine = io ? (sw_host_engine)o->io : SW_HOST_THREADS,
                       .block = o->block,
                       .depth = io ? (uint32_t)o->depth : 1,
                       .stop = stop};
    return sw_host_mover_open(&l->mover, &how, err);
}

void sw_cuda_lane_close(sw_cuda_lane *l) {
    sw_host_mover_close(&l->mover);
    for (int i = 0; i < 2; i++) {
        if (l->stage[i]) cudaFreeHost(l->stage[i]);
        if (l->free[i]) cudaEventDestroy(l->free[i]);
        l->stage[i] = NULL, l->free[i] = NULL;
    }
    if (l->stream) cudaStreamDestroy(l->stream);
    l->stream = NULL;
}

static sw_status make_stage(sw_cuda_lane *l, sw_error *err) {
    if (l->ready) return SW_OK;
    if (!l->stream)
        SW_CUDA("cannot make a stream",
                cudaStreamCreateWithFlags(&l->stream, cudaStreamNonBlocking), err);
    for (int i = 0; i < 2; i++) {
        void *p = NULL;
        SW_CUDA("cannot allocate a pinned buffer", cudaHostAlloc(&p, STAGE, cudaHostAllocPortable),
                err);
        l->stage[i] = p;
        SW_CUDA("cannot make an event",
                cudaEventCreateWithFlags(&l->free[i], cudaEventDisableTiming), err);
    }
    l->ready = true;
    return SW_OK;
}

static uint64_t part(uint64_t at, uint64_t bytes) {
    return bytes - at < STAGE ? bytes - at : STAGE;
}

/* One buffer is read into while the other one's bytes go up. */
static sw_status up(sw_cuda_lane *l, sw_host_file *f, uint64_t from, char *to, uint64_t bytes,
                    sw_error *err) {
    int i = 0;
    for (uint64_t at = 0, n; at < bytes; at += n, i ^= 1) {
        n = part(at, bytes);
        SW_CUDA("a staged copy", cudaEventSynchronize(l->free[i]), err); /* never recorded: free */
        SW_TRY(sw_host_file_read(f, &l->mover, from + at, l->stage[i], n, err));
        SW_CUDA("cannot start a copy",
                cudaMemcpyAsync(to + at, l->stage[i], n, cudaMemcpyDefault, l->stream), err);
        SW_CUDA("cannot record an event", cudaEventRecord(l->free[i], l->stream), err);
    }
    SW_CUDA("a staged copy", cudaStreamSynchronize(l->stream), err);
    return SW_OK;
}

static sw_status fetch_down(sw_cuda_lane *l, int i, const char *from, uint64_t n, sw_error *err) {
    SW_CUDA("cannot start a copy",
            cudaMemcpyAsync(l->stage[i], from, n, cudaMemcpyDefault, l->stream), err);
    SW_CUDA("cannot record an event", cudaEventRecord(l->free[i], l->stream), err);
    return SW_OK;
}

/* One buffer is written to the file while the next bytes come down into the other. */
static sw_status down(sw_cuda_lane *l, const char *from, sw_host_file *f, uint64_t to,
                      uint64_t bytes, sw_error *err) {
    int i = 0;
    SW_TRY(fetch_down(l, 0, from, part(0, bytes), err));
    for (uint64_t at = 0, n; at < bytes; at += n, i ^= 1) {
        n = part(at, bytes);
        if (at + n < bytes) SW_TRY(fetch_down(l, i ^ 1, from + at + n, part(at + n, bytes), err));
        SW_CUDA("a staged copy", cudaEventSynchronize(l->free[i]), err);
        SW_TRY(sw_host_file_write(f, &l->mover, to + at, l->stage[i], n, err));
    }
    return SW_OK;
}

/* Sectors that a write fills only in part are left to staging, which keeps what is beside it. */
static sw_status gds_down(sw_cuda_store *s, sw_cuda_lane *l, const sw_use *from, const sw_use *to,
                          sw_error *err) {
    const sw_cuda_tier *a = &s->tier[from->tier];
    sw_cuda_tier *b = &s->tier[to->tier];
    char *src = sw_cuda_store_at(s, from->tier, from->addr);
    uint64_t rest = from->bytes % SW_HOST_SECTOR, whole = from->bytes - rest;
    if (to->addr % SW_HOST_SECTOR) whole = 0, rest = from->bytes;
    SW_TRY(sw_cuda_gds_write(s->gds, b->gds, to->addr, a->base, (uint64_t)(src - a->base), whole,
                             err));
    return rest ? down(l, src + whole, &b->file, to->addr + whole, rest, err) : SW_OK;
}

/* O_DIRECT may refuse memory that moves, so managed memory is staged as well. */
static bool in_ram(const sw_cuda_tier *t) {
    return t->memory == SW_CUDA_PINNED || t->memory == SW_CUDA_PAGEABLE;
}

static sw_status from_file(sw_cuda_store *s, sw_cuda_lane *l, const sw_use *from, const sw_use *to,
                           sw_error *err) {
    sw_cuda_tier *a = &s->tier[from->tier], *b = &s->tier[to->tier];
    char *dst = sw_cuda_store_at(s, to->tier, to->addr);
    if (in_ram(b)) return sw_host_file_read(&a->file, &l->mover, from->addr, dst, from->bytes, err);
    if (a->gds && b->memory == SW_CUDA_DEVICE)
        return sw_cuda_gds_read(s->gds, a->gds, from->addr, b->base, (uint64_t)(dst - b->base),
                                from->bytes, err);
    SW_TRY(make_stage(l, err));
    return up(l, &a->file, from->addr, dst, from->bytes, err);
}

static sw_status to_file(sw_cuda_store *s, sw_cuda_lane *l, const sw_use *from, const sw_use *to,
                         sw_error *err) {
    sw_cuda_tier *a = &s->tier[from->tier], *b = &s->tier[to->tier];
    char *src = sw_cuda_store_at(s, from->tier, from->addr);
    if (in_ram(a)) return sw_host_file_write(&b->file, &l->mover, to->addr, src, from->bytes, err);
    SW_TRY(make_stage(l, err));
    if (b->gds && a->memory == SW_CUDA_DEVICE) return gds_down(s, l, from, to, err);
    return down(l, src, &b->file, to->addr, from->bytes, err);
}

sw_status sw_cuda_store_copy(sw_cuda_store *s, sw_cuda_lane *l, const sw_use *from,
                             const sw_use *to, sw_error *err) {
    const sw_cuda_tier *a = &s->tier[from->tier], *b = &s->tier[to->tier];
    if (a->memory == SW_CUDA_FILE && b->memory == SW_CUDA_FILE)
        return sw_fail(err, SW_RUN, "cuda: no copy goes from file to file");
    if (a->memory == SW_CUDA_FILE) return from_file(s, l, from, to, err);
    if (b->memory == SW_CUDA_FILE) return to_file(s, l, from, to, err);
    char *src = sw_cuda_store_at(s, from->tier, from->addr);
    char *dst = sw_cuda_store_at(s, to->tier, to->addr);
    if (in_ram(a) && in_ram(b)) {
        memmove(dst, src, from->bytes);
        return SW_OK;
    }
    SW_TRY(make_stage(l, err));
    SW_CUDA("cannot start a copy",
            cudaMemcpyAsync(dst, src, from->bytes, cudaMemcpyDefault, l->stream), err);
    SW_CUDA("a copy", cudaStreamSynchronize(l->stream), err);
    return SW_OK;
}
