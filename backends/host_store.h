/* The tiers of `host`: VRAM, RAM and unified memory are mapped memory, NVMe is a file. Addresses are
 * the allocator's: offsets into the map or the file. Only what is used takes memory or disk. */
#ifndef SW_BACKEND_HOST_STORE_H
#define SW_BACKEND_HOST_STORE_H

#include "backends/host.h"
#include "backends/host_io.h"
#include "sim/trace.h"

typedef struct sw_host_tier {
    char *base; /* NULL: a file */
    void *map;
    size_t map_bytes;
    uint64_t used; /* highest address used */
    sw_host_file file;
} sw_host_tier;

typedef struct sw_host_store {
    const sw_topology *topo;
    sw_host_tier tier[SW_TIERS_MAX];
    uint64_t available; /* memory when it was opened */
    uint32_t n_buffered, n_files;
} sw_host_store;

typedef struct sw_host_lane { /* what a thread that moves bytes has for itself */
    sw_host_mover mover;      /* of files */
    sw_host_stats stats;
} sw_host_lane;

/** file, direct: see sw_host_file_open; further NVMe tiers take the name with a number behind it.
 *  Fails SW_RUN. Close it in every case. */
sw_status sw_host_store_open(sw_host_store *s, const sw_topology *topo, const char *file,
                             bool direct, sw_error *err);
void sw_host_store_close(sw_host_store *s);

/** The bytes [addr, addr + bytes) of the tier will be used. Not from two threads at once. Fails
 * SW_RUN: outside the tier, or more than this machine has. */
sw_status sw_host_store_reach(sw_host_store *s, int tier, uint64_t addr, uint64_t bytes,
                              sw_error *err);
/** Writes the pattern of a block that is there from the beginning. */
sw_status sw_host_store_place(sw_host_store *s, sw_host_lane *l, const sw_block *block, int tier,
                              uint64_t addr, sw_error *err);
/** From tier to tier; both extents were reached. Fails SW_RUN. */
sw_status sw_host_store_copy(sw_host_store *s, sw_host_lane *l, const sw_use *from,
                             const sw_use *to, sw_error *err);

#endif
