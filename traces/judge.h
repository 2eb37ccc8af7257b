/* Can offloading work on this trace at all, and why (not)? A verdict from the figures of info.h. */
#ifndef SW_JUDGE_H
#define SW_JUDGE_H

#include "traces/info.h"

typedef enum sw_trace_order {
    SW_ORDER_UNKNOWN,
    SW_ORDER_SAME,
    SW_ORDER_MOSTLY,
    SW_ORDER_RANDOM
} sw_trace_order;
typedef enum sw_trace_offload {
    SW_OFFLOAD_NOTHING, /* no weights, or none are used */
    SW_OFFLOAD_HIDES,   /* a step computes long enough to cover the transfers */
    SW_OFFLOAD_CACHES,  /* few weights serve most steps */
    SW_OFFLOAD_PAYS,    /* what does not fit is paid for in each step */
    SW_OFFLOAD_CANNOT   /* one op uses nearly all there is at once */
} sw_trace_offload;

typedef struct sw_trace_verdict {
    sw_trace_order order;
    sw_trace_offload offload;
    int phase;               /* sw_phase that it speaks of: the one with the most steps */
    double step_weights;     /* mean distinct weight bytes a step */
    double flops_per_byte;   /* of weights touched */
    double half_cache_share; /* of what is used again: fetched by an LRU cache of half the weights,
                                against one that holds the largest block; 1: no reuse */
    char why[2][400];        /* of the order, of the offload; whole sentences */
} sw_trace_verdict;

/** Whether offloading can work at all, and why. */
void sw_trace_judge(const sw_trace_info *info, sw_trace_verdict *out);

#endif
