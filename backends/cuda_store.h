/* The tiers of `cuda`: VRAM is one cudaMalloc, RAM one pinned block, unified memory one managed
 * block, NVMe a file. Addresses are the allocator's: offsets into the block or the file.
 *
 * Nothing is allocated before the first op: what is placed until then says how much RAM it takes.
 * A block cannot grow, so an address past its end is an error. */
#ifndef SW_BACKEND_CUDA_STORE_H
#define SW_BACKEND_CUDA_STORE_H

#include "backends/host_io.h"
#include "sim/base/vec.h"
#include "sim/trace.h"
#include <cuda_runtime_api.h>

enum { SW_CUDA_STAGE = 4 << 20 }; /* bytes of a staging buffer; a lane has two */

typedef enum sw_cuda_advice {
    SW_CUDA_ADVISE_NONE,
    SW_CUDA_ADVISE_DEVICE,  /* managed memory prefers the GPU */
    SW_CUDA_ADVISE_PREFETCH /* and is moved there before time starts */
} sw_cuda_advice;

typedef struct sw_cuda_tier {
    char *base; /* NULL: a file, or not allocated */
    uint64_t bytes, placed;
    sw_host_file file;
} sw_cuda_tier;

typedef struct sw_cuda_placed {
    uint32_t block;
    int tier;
    uint64_t addr, bytes;
} sw_cuda_placed;

typedef struct sw_cuda_lane { /* what a thread that moves bytes has for itself */
    sw_host_bounce bounce;
    char *stage[2]; /* pinned */
    cudaEvent_t free[2];
    cudaStream_t stream;
    bool ready;
} sw_cuda_lane;

typedef struct sw_cuda_store {
    const sw_topology *topo;
    bool pinned;
    int device, advise;
    uint64_t host_arena; /* bytes of RAM beyond what is placed; 0: up to half of what is free */
    sw_cuda_tier tier[SW_TIERS_MAX];
    SW_VEC(sw_cuda_placed) placed;
    uint32_t n_files, n_buffered;
} sw_cuda_store;

/** One line: what was tried, and what CUDA said. Returns SW_RUN. */
sw_status sw_cuda_fail(sw_error *err, const char *what, cudaError_t e);
#define SW_CUDA(what, call, err)                                                                   \
    do {                                                                                           \
        cudaError_t e_ = (call);                                                                   \
        if (e_ != cudaSuccess) return sw_cuda_fail(err, what, e_);                                 \
    } while (0)

/** The options (pinned, device, advise, host_arena) and topo are set; opens the files. Close it in
 * every case. */
sw_status sw_cuda_store_open(sw_cuda_store *s, const char *file, bool direct, sw_error *err);
void sw_cuda_store_close(sw_cuda_store *s);

/** Remembers a block that is there when time starts. Fails SW_MEMORY, SW_RUN: outside its tier. */
sw_status sw_cuda_store_place(sw_cuda_store *s, const sw_block *block, int tier, uint64_t addr,
                              sw_error *err);
/** Allocates, and writes what was placed. All of it is done when this returns. */
sw_status sw_cuda_store_begin(sw_cuda_store *s, sw_cuda_lane *l, cudaStream_t stream,
                              sw_error *err);
/** Refuses bytes past the end of what there is. A file grows. Fails SW_RUN. */
sw_status sw_cuda_store_reach(sw_cuda_store *s, int tier, uint64_t addr, uint64_t bytes,
                              sw_error *err);
/** May the GPU, or a thread of this process, use the tier's bytes where they are? */
bool sw_cuda_store_gpu_sees(const sw_cuda_store *s, int tier);
bool sw_cuda_store_cpu_sees(const sw_cuda_store *s, int tier);

/** A copy by the calling thread, to its end: between files and memory, and within RAM. */
sw_status sw_cuda_store_copy(sw_cuda_store *s, sw_cuda_lane *l, const sw_use *from,
                             const sw_use *to, sw_error *err);
/** Gives back what a lane has. No copy of it is under way. */
void sw_cuda_lane_close(sw_cuda_lane *l);

#endif
