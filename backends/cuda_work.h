/* What one op does on `cuda`: work put on a stream, or done by the calling thread. An op reads
 * first, and computes meanwhile; then it writes. What has no bytes to go with, and matrix products
 * on tensor cores, come last. */
#ifndef SW_BACKEND_CUDA_WORK_H
#define SW_BACKEND_CUDA_WORK_H

#include "backends/cuda_kernels.h"
#include "backends/cuda_store.h"
#include "backends/host_data.h"
#include <stdatomic.h>

typedef struct sw_cuda_work {
    sw_cuda_store store;
    sw_cuda_bad *bad;         /* device memory */
    sw_cuda_gemm *gemm;       /* NULL: no cuBLAS */
    _Atomic uint64_t checked; /* bytes */
    atomic_bool stop;         /* long work of a thread looks at it now and then, and leaves */
} sw_cuda_work;

/** Refuses what cannot be run here: an op that has no real counterpart, an index out of range, bytes
 * that its unit cannot reach. Fails SW_RUN.
 *  stream  its queue is a stream, not a thread */
sw_status sw_cuda_work_allows(sw_cuda_work *w, const sw_op *op, bool stream, sw_error *err);
/** Puts it on the stream. `expect`: what its reads must find (host_data.h). */
sw_status sw_cuda_work_enqueue(sw_cuda_work *w, cudaStream_t stream, const sw_op *op,
                               const sw_host_span *expect, size_t n, sw_error *err);
/** Does it, except for HOST and DELAY, which only take time. Fails SW_RUN naming op, block, tier
 * and address if it finds other bytes. */
sw_status sw_cuda_work_run(sw_cuda_work *w, sw_cuda_lane *l, const sw_op *op,
                           const sw_host_span *expect, size_t n, sw_error *err);
/** The line for bytes that are not as they should be. Returns SW_RUN. */
sw_status sw_cuda_work_wrong(const sw_cuda_work *w, const sw_op *op, const sw_cuda_bad *bad,
                             sw_error *err);

#endif
