/* The kernels of `cuda`, callable from C. Each puts work on a stream and returns at once; what it
 * returns is what CUDA said of the launch.
 *
 * Patterns are those of host_kernel.h: 8-byte words seed, seed + STEP, seed + 2 STEP …, of which
 * `skip` bytes come before `at`. */
#ifndef SW_BACKEND_CUDA_KERNELS_H
#define SW_BACKEND_CUDA_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Operations that a reading kernel does at least beside each 16 bytes, if it computes at all. */
enum { SW_CUDA_TURN_FLOPS = 8 };

/* The first bytes that were not as they should be; op 0: none. In device memory. */
typedef struct sw_cuda_bad {
    unsigned long long op, use, addr, expected, found;
} sw_cuda_bad;

typedef struct sw_cuda_read {
    const void *at;
    uint64_t skip, bytes, seed;
    uint64_t rounds;   /* times that the bytes are read, one after the other */
    uint64_t turns;    /* of arithmetic for each 16 bytes: SW_CUDA_TURN_FLOPS each */
    uint64_t op, addr; /* for sw_cuda_bad: addr is what `at` is called there */
    uint32_t use;
    int check; /* 0: only read */
} sw_cuda_read;

/** Streams the bytes through the GPU, and holds them against the pattern. */
cudaError_t sw_cuda_stream_check(const sw_cuda_read *r, sw_cuda_bad *bad, cudaStream_t stream);
cudaError_t sw_cuda_stream_write(void *at, uint64_t skip, uint64_t bytes, uint64_t seed,
                                 cudaStream_t stream);
/** n floating point operations in single precision; nothing comes of them. `bad` only serves as an
 * address that the compiler must believe could be written. */
cudaError_t sw_cuda_flops(double n, sw_cuda_bad *bad, cudaStream_t stream);
/** Holds the stream for so long. */
cudaError_t sw_cuda_delay(double seconds, cudaStream_t stream);

/* Matrix products in half precision by cuBLAS, which is looked for when the run begins. */
typedef struct sw_cuda_gemm sw_cuda_gemm;
/** *out = NULL and success where there is no cuBLAS. */
cudaError_t sw_cuda_gemm_open(sw_cuda_gemm **out);
/** Products of about n operations altogether. */
cudaError_t sw_cuda_gemm_run(sw_cuda_gemm *g, double n, cudaStream_t stream);
void sw_cuda_gemm_close(sw_cuda_gemm *g);

#ifdef __cplusplus
}
#endif
#endif
