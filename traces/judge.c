/* Can offloading work on this trace? (see judge.h)
 *
 * A step that uses W bytes of weights of which x do not fit must bring x over a link. Three ways
 * out: compute long enough meanwhile (flops a byte, and an order that a prefetch can follow); use
 * few weights much more than others, so that a cache serves most; or fit. None is open where one op
 * uses nearly all there is: its blocks must all be there while it runs. Rates for orientation: a
 * link of 25 GB/s (PCIe 4.0 x16), a GPU of 50 TFLOP/s, hence 2000 operations for each byte that
 * arrives. */
#include "traces/judge.h"
#include <stdio.h>

static const double LINK_BPS = 25e9, HIDES_FLOPS_PER_BYTE = 2000;
static const double SAME_ORDER = 0.9, MOSTLY_SAME = 0.5, SERVES = 0.25,
                    NEARLY_ALL = 0.9; /* shares */

static void judge_order(const sw_trace_info *x, sw_trace_verdict *v) {
    double kept = sw_info_order(x);
    char *s = v->why[0];
    size_t n = sizeof v->why[0];
    if (kept < 0) {
        v->order = SW_ORDER_UNKNOWN;
        snprintf(s, n, "Order: not in this trace: too few weight blocks are used again.");
        return;
    }
    v->order = kept >= SAME_ORDER    ? SW_ORDER_SAME
               : kept >= MOSTLY_SAME ? SW_ORDER_MOSTLY
                                     : SW_ORDER_RANDOM;
    const char *what =
        v->order == SW_ORDER_SAME
            ? "Sequential: a prefetch can follow, and LRU drops just what comes next."
        : v->order == SW_ORDER_MOSTLY
            ? "Mostly sequential: a prefetch can follow part of it."
            : "Random: a prefetch cannot follow; what counts is which blocks are kept.";
    snprintf(s, n,
             "%s After a weight block comes the same one as the last time in %.0f %% of cases.",
             what, kept * 100);
}

static void judge_offload(const sw_trace_info *x, sw_trace_verdict *v) {
    char a[32], b[32], c[32];
    char *s = v->why[1];
    size_t n = sizeof v->why[1];
    double all = (double)x->static_bytes;
    sw_format_bytes(a, sizeof a, v->step_weights);
    if (v->step_weights <= 0) {
        v->offload = SW_OFFLOAD_NOTHING;
        snprintf(s, n, "No step uses weights: there is nothing to offload but what is allocated.");
    } else if ((double)x->largest_op_bytes >= NEARLY_ALL * (double)x->peak_bytes) {
        v->offload = SW_OFFLOAD_CANNOT;
        snprintf(s, n,
                 "Offloading cannot work: one op uses %s at once, of %s in all. What does not fit "
                 "cannot take turns; it can only be read where it lies.",
                 sw_format_bytes(b, sizeof b, (double)x->largest_op_bytes),
                 sw_format_bytes(c, sizeof c, (double)x->peak_bytes));
    } else if (v->order == SW_ORDER_SAME && v->flops_per_byte >= HIDES_FLOPS_PER_BYTE) {
        v->offload = SW_OFFLOAD_HIDES;
        snprintf(
            s, n,
            "Offloading can hide: a step computes %s operations for each byte of weights, more "
            "than the %.0f that a GPU of 50 TFLOP/s does while a byte comes over %s.",
            sw_format_count(b, sizeof b, v->flops_per_byte), HIDES_FLOPS_PER_BYTE,
            sw_format_rate(c, sizeof c, LINK_BPS));
    } else if (v->half_cache_share <= SERVES) {
        v->offload = SW_OFFLOAD_CACHES;
        snprintf(s, n,
                 "Offloading can work with a cache: a step uses %s of weights, and an LRU cache of "
                 "%s, half of all, fetches %.0f %% of what is used again.",
                 a, sw_format_bytes(b, sizeof b, all / 2), v->half_cache_share * 100);
    } else {
        char cache[128] = "";
        v->offload = SW_OFFLOAD_PAYS;
        if (v->half_cache_share < 0.95)
            snprintf(cache, sizeof cache,
                     " An LRU cache of half the weights fetches %.0f %% of what is used again.",
                     v->half_cache_share * 100);
        snprintf(
            s, n,
            "Offloading is paid for in each step: a step uses %s of weights with %s operations "
            "for each byte, so each GiB of them that does not fit costs %s over 25 GB/s, and "
            "little hides it.%s More work for each byte (a larger batch) is the cure.",
            a, sw_format_count(b, sizeof b, v->flops_per_byte),
            sw_format_seconds(c, sizeof c, 0x1p30 / LINK_BPS), cache);
    }
}

void sw_trace_judge(const sw_trace_info *x, sw_trace_verdict *v) {
    *v = (sw_trace_verdict){0};
    for (int i = 0; i < SW_INFO_PHASES; i++)
        if (x->phase[i].steps > x->phase[v->phase].steps) v->phase = i;
    const sw_info_phase *p = &x->phase[v->phase];
    if (p->steps) v->step_weights = p->distinct_weights.sum / (double)p->steps;
    if (p->weights_touched.sum > 0) v->flops_per_byte = p->flops / p->weights_touched.sum;
    double again = sw_info_lru_fetched(x, (double)x->largest_block_bytes);
    v->half_cache_share =
        again > 0 ? sw_info_lru_fetched(x, (double)x->static_bytes / 2) / again : 1;
    judge_order(x, v);
    judge_offload(x, v);
}
