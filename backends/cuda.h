/* What a run on `cuda` cost beside its ops, for tests and for whoever measures. */
#ifndef SW_BACKEND_CUDA_H
#define SW_BACKEND_CUDA_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sw_cuda_stats {
    uint64_t n_enqueues;     /* ops put on streams */
    double enqueue_s;        /* the time that took, of whoever did it */
    uint64_t n_events;       /* events that were ever made: they are pooled */
    double checked_bytes;    /* held against the pattern, by kernels on the GPU and on the CPU */
    bool has_cublas;         /* matrix products ran in cuBLAS, not as plain arithmetic */
    bool has_cufile;         /* files went to VRAM by cuFile, not through pinned buffers */
    uint64_t occupied_bytes; /* of VRAM, so that pages find no more room than the scenario says */
} sw_cuda_stats;

/** `be`: the context of a sw_backend_cuda, when no op runs. */
void sw_cuda_stats_of(const void *be, sw_cuda_stats *out);

#endif
