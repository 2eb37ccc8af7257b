/* The kernels of `cuda` on the CPU: what backends/cuda_kernels.h says, as work of the stand-in. */
#include "backends/cuda_kernels.h"
#include "backends/host_kernel.h"
#include "standin.h"
#include <string.h>

static _Atomic uint64_t n_flops;

double standin_flops(void) {
    return (double)n_flops;
}

typedef struct check {
    sw_cuda_read r;
    sw_cuda_bad *bad;
} check;

static void do_check(void *arg) {
    const check *c = arg;
    const char *at = c->r.at;
    if (!c->r.check || c->bad->op) return;
    uint64_t good = sw_host_check(at, c->r.skip, c->r.bytes, c->r.seed), found = 0;
    if (good == c->r.bytes) return;
    memcpy(&found, at + good, c->r.bytes - good < 8 ? c->r.bytes - good : 8);
    *c->bad = (sw_cuda_bad){c->r.op, c->r.use, c->r.addr + good,
                            sw_host_word(c->r.skip + good, c->r.seed), found};
}

cudaError_t sw_cuda_stream_check(const sw_cuda_read *r, sw_cuda_bad *bad, cudaStream_t stream) {
    check c = {*r, bad};
    n_flops += r->turns * r->rounds * SW_CUDA_TURN_FLOPS * r->bytes / 16;
    return standin_put(stream, do_check, &c, sizeof c, 1e-6 + 1e-12 * (double)r->bytes);
}

typedef struct fill {
    void *at;
    uint64_t skip, bytes, seed;
} fill;

static void do_fill(void *arg) {
    const fill *f = arg;
    sw_host_fill(f->at, f->skip, f->bytes, f->seed);
}

cudaError_t sw_cuda_stream_write(void *at, uint64_t skip, uint64_t bytes, uint64_t seed,
                                 cudaStream_t stream) {
    fill f = {at, skip, bytes, seed};
    return standin_put(stream, do_fill, &f, sizeof f, 1e-6 + 1e-12 * (double)bytes);
}

static void do_nothing(void *arg) {
    (void)arg;
}

cudaError_t sw_cuda_flops(double n, sw_cuda_bad *bad, cudaStream_t stream) {
    (void)bad;
    n_flops += (uint64_t)n;
    return standin_put(stream, do_nothing, "", 0, 1e-6 + 1e-14 * n);
}

cudaError_t sw_cuda_delay(double seconds, cudaStream_t stream) {
    return standin_put(stream, do_nothing, "", 0, seconds);
}

/* A product is a call like any other; there is nothing to hold. */
cudaError_t sw_cuda_gemm_open(sw_cuda_gemm **out) {
    *out = NULL;
    return cudaSuccess;
}

cudaError_t sw_cuda_gemm_run(sw_cuda_gemm *g, double n, cudaStream_t stream) {
    (void)g, (void)n, (void)stream;
    return cudaErrorNotSupported;
}

void sw_cuda_gemm_close(sw_cuda_gemm *g) {
    (void)g;
}
