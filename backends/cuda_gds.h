/* GPUDirect Storage: a file's bytes go to VRAM and back without passing through RAM. cuFile does it,
 * a library that is looked for when a run begins. Its own compatibility mode, where the file system
 * or the driver cannot do better, stages as we do, and does not say so. */
#ifndef SW_BACKEND_CUDA_GDS_H
#define SW_BACKEND_CUDA_GDS_H

#include "sim/base/error.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct sw_cuda_gds sw_cuda_gds;

/** *out = NULL where there is no `lib`, or it cannot run here: files are then staged. Fails
 * SW_MEMORY. */
sw_status sw_cuda_gds_open(const char *lib, sw_cuda_gds **out, sw_error *err);
void sw_cuda_gds_close(sw_cuda_gds *g);
/** *file = NULL where cuFile does not take that file. Leave it before the descriptor is closed. */
void sw_cuda_gds_join(sw_cuda_gds *g, int fd, void **file);
void sw_cuda_gds_leave(sw_cuda_gds *g, void *file);
/** Lets cuFile map this memory of the GPU, if it can; else it copies within the GPU. */
bool sw_cuda_gds_map(sw_cuda_gds *g, const void *base, uint64_t bytes);
void sw_cuda_gds_unmap(sw_cuda_gds *g, const void *base);

/** base + off: memory of the GPU; base as in sw_cuda_gds_map. All of it is done when these return.
 * From any thread. Writes want whole sectors: two that share one would undo each other. Fail
 * SW_RUN. */
sw_status sw_cuda_gds_read(sw_cuda_gds *g, void *file, uint64_t at, void *base, uint64_t off,
                           uint64_t bytes, sw_error *err);
sw_status sw_cuda_gds_write(sw_cuda_gds *g, void *file, uint64_t at, const void *base, uint64_t off,
                            uint64_t bytes, sw_error *err);

#endif
