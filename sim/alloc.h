/* An allocator hands out addresses in one tier. No clock, no memory: offsets and effects only.
 *
 * Fragmentation is a result, so offsets are real: the CUDA backend uses the same ones. What a
 * system allocator does on the way (a cudaMalloc, a device synchronisation) comes back as effects,
 * which the plan turns into host ops. */
#ifndef SW_ALLOC_H
#define SW_ALLOC_H

#include "sim/plugin.h"

typedef enum sw_effect {
    SW_EFFECT_SYSTEM_ALLOC = 1u, /* a system call that takes memory (cudaMalloc) */
    SW_EFFECT_SYSTEM_FREE = 2u,  /* one that gives it back */
    SW_EFFECT_DEVICE_SYNC = 4u   /* the device must be idle (cudaFree) */
} sw_effect;

typedef struct sw_alloc_stats {
    uint64_t capacity_bytes, used_bytes; /* used: as asked plus rounding */
    uint64_t asked_bytes;                /* sum of live requests */
    uint64_t peak_used_bytes;
    uint64_t largest_free_bytes; /* the largest hole */
    uint64_t n_live, n_takes, n_fails;
} sw_alloc_stats;

typedef struct sw_alloc_ops {
    sw_plugin plugin;
    sw_status (*open)(void *al, uint64_t capacity_bytes, sw_error *err);
    /* bytes > 0. SW_OK: *addr and *effects (sw_effect bits) set. SW_SPACE: no hole fits, nothing
     * changed (err is not written: the caller knows the block). SW_MEMORY: the host is out of
     * memory. */
    sw_status (*take)(void *al, uint64_t bytes, uint64_t *addr, uint32_t *effects);
    /* addr from take, once. */
    void (*give)(void *al, uint64_t addr, uint32_t *effects);
    void (*stats)(const void *al, sw_alloc_stats *out);
    /* Whole-structure invariant; for tests and debug builds. */
    bool (*valid)(const void *al);
    void (*close)(void *al);
} sw_alloc_ops;

extern const sw_plugin *const sw_alloc_table[];
extern const size_t sw_alloc_table_n;

#endif
