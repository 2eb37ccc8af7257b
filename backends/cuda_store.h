/* The tiers of `cuda`: VRAM is one cudaMalloc, RAM one pinned or pageable block, unified memory one
 * managed block, NVMe a file. Addresses are the allocator's: offsets into the block or the file.
 *
 * Paged ranges. RAM that a pager has as its home is one managed block, and the pager's pool is a hole
 * in VRAM: it is left free, so that the driver has it for the pages, and addresses beyond it move
 * down. What VRAM there is beyond the scenario's is occupied, so the driver has no more than that.
 *
 * Nothing is allocated before the first op: what is placed until then says how much RAM it takes.
 * A block cannot grow, so an address past its end is an error. */
#ifndef SW_BACKEND_CUDA_STORE_H
#define SW_BACKEND_CUDA_STORE_H

#include "backends/cuda_gds.h"
#include "backends/host_io.h"
#include "sim/base/vec.h"
#include "sim/pager.h"
#include "sim/trace.h"
#include <cuda_runtime_api.h>

typedef enum sw_cuda_advice {
    SW_CUDA_ADVISE_NONE,
    SW_CUDA_ADVISE_DEVICE, /* managed memory prefers the GPU */
    SW_CUDA_ADVISE_HOST,   /* it prefers RAM: the GPU reads it over the link */
    SW_CUDA_ADVISE_READ_MOSTLY
} sw_cuda_advice;

typedef enum sw_cuda_prefetch {
    SW_CUDA_PREFETCH_NONE,
    SW_CUDA_PREFETCH_START, /* what has room is moved to the GPU before time starts */
    SW_CUDA_PREFETCH_USE    /* paged bytes are, on the op's stream, before the op reads them */
} sw_cuda_prefetch;

typedef struct sw_cuda_options {
    char file[64], cufile[64];
    int64_t device;
    bool direct, pinned, occupy, verify, stats;
    int advise, prefetch, io;
    int64_t depth;
    uint64_t block;
    uint64_t host_arena; /* bytes of RAM beyond what is placed; 0: up to half of what is free */
} sw_cuda_options;

typedef enum sw_cuda_memory {
    SW_CUDA_FILE,
    SW_CUDA_DEVICE,
    SW_CUDA_PINNED,
    SW_CUDA_PAGEABLE,
    SW_CUDA_MANAGED
} sw_cuda_memory;

typedef struct sw_cuda_tier {
    sw_cuda_memory memory;
    char *base; /* NULL: a file, or not allocated */
    uint64_t end, placed;
    uint64_t hole, hole_bytes; /* the pager's pool */
    sw_host_file file;
    void *gds;   /* cuFile's name for it; NULL: staged */
    bool mapped; /* by cuFile */
} sw_cuda_tier;

typedef struct sw_cuda_placed {
    uint32_t block;
    int tier;
    uint64_t addr, bytes;
} sw_cuda_placed;

typedef struct sw_cuda_lane { /* what a thread that moves bytes has for itself */
    sw_host_mover mover;      /* of files */
    char *stage[2];           /* pinned */
    cudaEvent_t free[2];
    cudaStream_t stream;
    bool ready;
} sw_cuda_lane;

typedef struct sw_cuda_store {
    const sw_topology *topo;
    const sw_cuda_options *opt;
    sw_cuda_gds *gds; /* NULL: there is no cuFile */
    sw_cuda_tier tier[SW_TIERS_MAX];
    SW_VEC(sw_cuda_placed) placed;
    uint64_t pool_bytes; /* of VRAM, for pages; 0: nothing pages */
    void *occupied;
    uint64_t occupied_bytes;
    uint32_t n_files, n_buffered, n_gds;
} sw_cuda_store;

/** One line: what was tried, and what CUDA said. Returns SW_RUN. */
sw_status sw_cuda_fail(sw_error *err, const char *what, cudaError_t e);
#define SW_CUDA(what, call, err)                                                                   \
    do {                                                                                           \
        cudaError_t e_ = (call);                                                                   \
        if (e_ != cudaSuccess) return sw_cuda_fail(err, what, e_);                                 \
    } while (0)

/** topo and opt are set; opens the files. Close it in every case. */
sw_status sw_cuda_store_open(sw_cuda_store *s, sw_error *err);
void sw_cuda_store_close(sw_cuda_store *s);

/** The run pages (sw_backend_ops.page). Before the first block is placed. */
sw_status sw_cuda_store_page(sw_cuda_store *s, const sw_paging *p, sw_error *err);
/** Remembers a block that is there when time starts. Fails SW_MEMORY, SW_RUN: outside its tier. */
sw_status sw_cuda_store_place(sw_cuda_store *s, const sw_block *block, int tier, uint64_t addr,
                              sw_error *err);
/** Allocates, and writes what was placed. All of it is done when this returns. */
sw_status sw_cuda_store_begin(sw_cuda_store *s, sw_cuda_lane *l, cudaStream_t stream,
                              sw_error *err);
/** Refuses bytes past the end of what there is. A file grows. Fails SW_RUN. */
sw_status sw_cuda_store_reach(sw_cuda_store *s, int tier, uint64_t addr, uint64_t bytes,
                              sw_error *err);
/** Where the tier's byte `addr` is; not in a file. */
static inline char *sw_cuda_store_at(const sw_cuda_store *s, int tier, uint64_t addr) {
    const sw_cuda_tier *t = &s->tier[tier];
    return t->base + (addr < t->hole ? addr : addr - t->hole_bytes);
}
/** May the GPU, or a thread of this process, use the tier's bytes where they are? */
bool sw_cuda_store_gpu_sees(const sw_cuda_store *s, int tier);
bool sw_cuda_store_cpu_sees(const sw_cuda_store *s, int tier);

/** Asks the driver to bring managed bytes to the GPU. */
sw_status sw_cuda_store_prefetch(const sw_cuda_store *s, int tier, uint64_t addr, uint64_t bytes,
                                 cudaStream_t stream, sw_error *err);
/** A copy by the calling thread, to its end: between files and memory, and within RAM. */
sw_status sw_cuda_store_copy(sw_cuda_store *s, sw_cuda_lane *l, const sw_use *from,
                             const sw_use *to, sw_error *err);
/** For the thread of a queue that reads and writes files, with several requests in flight, or of
 * another. Close it in every case. */
sw_status sw_cuda_lane_open(sw_cuda_lane *l, const sw_cuda_options *o, bool io,
                            const atomic_bool *stop, sw_error *err);
/** Gives back what a lane has. No copy of it is under way. */
void sw_cuda_lane_close(sw_cuda_lane *l);

#endif
