/* What a trace is like: sizes, peaks, working sets, reuse, order. Computed in one pass; memory
 * grows with the number of blocks, not with the length.
 *
 * touched         bytes that uses say really move
 * distinct        bytes of the different blocks used, each whole
 * working set     distinct bytes over a window of ops; the mean over all places of the window
 *                 (Denning 1968)
 * reuse distance  distinct bytes used since the last use of a block, itself included: an LRU cache
 * of
 *                 at least that size still holds it (Mattson et al. 1970)
 * order           how often a weight block is followed by the same weight block as the last time
 * Rows gathered from an embedding count as touched, not as a use of the whole block. */
#ifndef SW_INFO_H
#define SW_INFO_H

#include "sim/trace.h"

enum {
    SW_INFO_WINDOWS = 7, /* 1, 4, 16 … 4096 ops */
    SW_INFO_OCTAVE = 4,  /* buckets of reuse distance to a factor of two */
    SW_INFO_BUCKETS = 62 * SW_INFO_OCTAVE + 1,
    SW_INFO_KINDS = SW_BLOCK_EMBED + 1,
    SW_INFO_EVENTS = SW_EVENT_KINDS,
    SW_INFO_PHASES = SW_PHASE_OTHER + 1
};

typedef struct sw_info_range {
    double min, max, sum; /* over the steps */
} sw_info_range;

typedef struct sw_info_phase {
    uint64_t steps, ops;
    double tokens, outputs, flops;
    sw_info_range touched;          /* by all ops of a step */
    sw_info_range weights_touched;  /* of blocks that exist from the start */
    sw_info_range distinct_weights; /* of the same */
} sw_info_phase;

typedef struct sw_trace_info {
    uint64_t n_events[SW_INFO_EVENTS]; /* by kind */
    uint64_t n_uses, n_blocks, n_static;
    uint64_t static_bytes, peak_dynamic_bytes, peak_bytes; /* the last: both at once */
    uint64_t kind_blocks[SW_INFO_KINDS], kind_peak_bytes[SW_INFO_KINDS];
    uint64_t largest_block_bytes, largest_op_bytes; /* distinct */
    double mean_op_bytes;                           /* distinct */
    uint64_t window_ops[SW_INFO_WINDOWS];
    double window_bytes[SW_INFO_WINDOWS]; /* mean working set */
    sw_info_phase phase[SW_INFO_PHASES];
    uint64_t first_uses, reuses;
    /* by distance: bucket i holds those above 2^((i-1)/4) up to 2^(i/4) bytes */
    uint64_t reuse_count[SW_INFO_BUCKETS];
    double reuse_bytes[SW_INFO_BUCKETS];   /* sizes of the blocks used */
    double reuse_weights[SW_INFO_BUCKETS]; /* the same, blocks that exist from the start only */
    uint64_t largest_reuse;                /* distance */
    uint64_t order_seen, order_kept;       /* successors of weight blocks; those as the last time */
} sw_trace_info;

/* One pass, event by event. */
typedef struct sw_trace_meter sw_trace_meter;
sw_trace_meter *sw_trace_meter_new(void); /* NULL when memory is out */
/** Fails SW_INPUT when the event uses a block that does not live, or an id is beyond 16 M or
 *  sparse. */
sw_status sw_trace_meter_put(sw_trace_meter *m, const sw_event *ev, sw_error *err);
void sw_trace_meter_end(sw_trace_meter *m, sw_trace_info *out);
void sw_trace_meter_free(sw_trace_meter *m);

/** Measures a fresh open-loop source from its start to its end. Fails as the source does, or as
 * sw_trace_meter_put; the finer rules of trace.h are sim/scan.h's to check. */
sw_status sw_trace_info_run(const sw_source_ops *ops, const sw_node *map, const sw_source_env *env,
                            sw_trace_info *out, sw_error *err);

/** Upper end of a bucket of reuse distance, in bytes. */
double sw_info_bucket_bytes(int bucket);
/** Bytes of weight blocks that an LRU cache of `bytes`, shared by all blocks, fetches again after
 * their first use. Exact where `bytes` is the end of a bucket, else of the next smaller. */
double sw_info_lru_fetched(const sw_trace_info *info, double bytes);
/** Share of successors that came as the last time; -1: too few to say. */
double sw_info_order(const sw_trace_info *info);

#endif
