/* One look over a trace before it is replayed: what exists, the peaks, the working sets, and (for
 * offline policies only) when each block is used next. Streaming: memory is O(blocks), plus
 * O(accesses) when next uses are asked for. */
#ifndef SW_SCAN_H
#define SW_SCAN_H

#include "sim/trace.h"

typedef struct sw_scan {
    uint64_t n_events, n_accesses, n_steps, n_tokens, n_outputs;
    uint32_t n_blocks; /* ids are 0 … n_blocks-1 */
    sw_block *blocks;  /* by id, as first declared or allocated, bytes = the largest */
    bool *is_static;   /* by id: declared by BLOCK */
    uint32_t n_layers; /* 1 + the largest layer of a block */
    uint64_t static_bytes, largest_block_bytes;
    uint64_t peak_dynamic_bytes;   /* most allocated at one time, all kinds */
    uint64_t peak_act_bytes;       /* the same, ACT and OTHER only: not tied to a layer's home */
    uint64_t *layer_static_bytes;  /* by layer */
    uint64_t *layer_dynamic_bytes; /* by layer: peak of KV and STATE */
    uint64_t
        largest_access_bytes; /* most bytes of blocks that one op uses at once (whole blocks) */
    uint64_t largest_access_extent; /* the same by extents */
    /* only when asked for: the accesses of block b are use_seq[use_at[b]] … use_seq[use_at[b+1]-1],
     * ascending */
    uint64_t *use_at, *use_seq;
} sw_scan;

/** Reads `ops` from its start to its end (a fresh context opened with `env` and options `map`).
 *  Of a closed-loop source only the blocks declared at its start are read: peaks and counts stay 0.
 *  Fails as the source does, or SW_INPUT when the stream breaks a rule of trace.h, naming the
 * event. */
sw_status sw_scan_run(const sw_source_ops *ops, const sw_node *map, const sw_source_env *env,
                      bool next_uses, sw_scan **out, sw_error *err);
void sw_scan_free(sw_scan *scan);

#endif
