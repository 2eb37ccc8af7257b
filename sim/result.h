/* What a run found, as plain numbers: filled by the replay, read by the reports. Seconds, bytes,
 * counts. */
#ifndef SW_RESULT_H
#define SW_RESULT_H

#include "sim/op.h"

enum { SW_COUNTERS_MAX = 48, SW_NAME_MAX = 64 };

typedef struct sw_tier_result {
    uint64_t capacity_bytes,
        peak_bytes;        /* peak of allocated bytes in plan order, initial placement included */
    uint64_t static_bytes; /* weights placed before the run */
    uint64_t largest_hole_at_peak_bytes; /* largest free extent when the peak was reached */
    double fragmentation; /* worst external fragmentation seen: 1 - largest hole / free bytes, when
                             a request failed or at the peak */
    uint64_t n_failed;    /* requests that no hole fitted although the free bytes sufficed */
} sw_tier_result;

typedef struct sw_res_result {
    double amount; /* bytes, or unit work */
    double busy_s; /* amount / rate: time at full rate */
} sw_res_result;

typedef struct sw_counter {
    char name[SW_NAME_MAX];
    double value;
} sw_counter;

/* Statistics of token latencies (ITL) without keeping them: exact mean, min and max, percentiles
 * from a log histogram. */
typedef struct sw_latency {
    uint64_t n;
    double sum_s, min_s, max_s, p50_s, p90_s, p99_s;
} sw_latency;

typedef struct sw_bound {
    double total_s; /* no policy on this machine can be faster under the stated relaxation */
    double prefill_s, decode_s;
    char limit[32]; /* resource that sets it ("pcie0.h2d", "vram0", "gpu0") for most of the time */
    double
        res_bytes[SW_RES_MAX]; /* least bytes over each resource in the optimum of the relaxation */
} sw_bound;

typedef struct sw_result {
    double makespan_s;
    double ttft_s; /* end of the step that gives the first output; 0: none */
    uint64_t prompt_tokens, outputs, n_steps, n_ops, n_events;
    double prefill_s, decode_s; /* time of the steps of each phase */
    double tokens_per_s;        /* outputs after the first of each sequence / decode time */
    double prefill_tokens_per_s;
    sw_latency itl;                     /* time between decode steps: TPOT of a sequence */
    double path_s[SW_CAT_COUNT];        /* critical path; sums to makespan_s */
    double path_decode_s[SW_CAT_COUNT]; /* the part of it that belongs to decode steps */
    char path_top[SW_NAME_MAX];         /* queue with most critical time */
    sw_tier_result tier[SW_TIERS_MAX];
    sw_res_result res[SW_RES_MAX];
    double queue_busy_s[SW_QUEUES_MAX];
    double cat_busy_s[SW_CAT_COUNT]; /* by the category of an op's flows: its whole time */
    uint64_t n_fetches, n_evictions, n_writebacks, n_fetches_decode;
    double fetched_bytes, written_back_bytes;
    double paged_bytes;     /* moved by a pager, both ways */
    double least_h2d_bytes; /* least bytes that this placement of compute must copy to the fast tier
                               (bound.h) */
    sw_counter counters[SW_COUNTERS_MAX];
    uint32_t n_counters;
    sw_bound bound;
    uint64_t log_hash; /* of the decision log: intents, blocks, addresses */
} sw_result;

#endif
