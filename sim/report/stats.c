/* The table of statistics (see stats.h). */
#include "sim/report/stats.h"
#include "sim/base/vec.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static double ratio(double a, double b) {
    return b > 0 ? a / b : 0;
}

/* --- derived figures ----------------------------------------------------------------------- */

sw_cat sw_result_top(const sw_result *r, double *share) {
    const double *path = r->decode_s > 0 ? r->path_decode_s : r->path_s;
    double sum = 0;
    int top = SW_CAT_IDLE;
    for (int c = 0; c < SW_CAT_COUNT; c++) {
        sum += path[c];
        if (path[c] > path[top]) top = c;
    }
    if (share) *share = ratio(path[top], sum);
    return (sw_cat)top;
}

double sw_result_moved_bytes(const sw_result *r) {
    return r->fetched_bytes + r->written_back_bytes + r->paged_bytes;
}

double sw_result_bound_tokens_per_s(const sw_result *r) {
    return r->decode_s > 0 && r->bound.decode_s > 0
               ? r->tokens_per_s * r->decode_s / r->bound.decode_s
               : 0;
}

/* --- getters ------------------------------------------------------------------------------- */

#define GET(name, expr)                                                                            \
    static double name(const sw_result *r, const sw_topology *t, int i) {                          \
        (void)r, (void)t, (void)i;                                                                 \
        return (double)(expr);                                                                     \
    }

GET(get_makespan, r->makespan_s)
GET(get_ttft, r->ttft_s)
GET(get_prefill, r->prefill_s)
GET(get_decode, r->decode_s)
GET(get_tokens_per_s, r->tokens_per_s)
GET(get_prefill_rate, r->prefill_tokens_per_s)
GET(get_prompt, r->prompt_tokens)
GET(get_outputs, r->outputs)
GET(get_steps, r->n_steps)
GET(get_ops, r->n_ops)
GET(get_events, r->n_events)
GET(get_itl_mean, ratio(r->itl.sum_s, (double)r->itl.n))
GET(get_itl_min, r->itl.min_s)
GET(get_itl_p50, r->itl.p50_s)
GET(get_itl_p90, r->itl.p90_s)
GET(get_itl_p99, r->itl.p99_s)
GET(get_itl_max, r->itl.max_s)
GET(get_fetches, r->n_fetches)
GET(get_fetches_decode, r->n_fetches_decode)
GET(get_evictions, r->n_evictions)
GET(get_writebacks, r->n_writebacks)
GET(get_fetched, r->fetched_bytes)
GET(get_written_back, r->written_back_bytes)
GET(get_moved, sw_result_moved_bytes(r))
GET(get_moved_token, ratio(sw_result_moved_bytes(r), (double)r->outputs))
GET(get_least_h2d, r->least_h2d_bytes)
GET(get_bound, r->bound.total_s)
GET(get_bound_prefill, r->bound.prefill_s)
GET(get_bound_decode, r->bound.decode_s)
GET(get_bound_rate, sw_result_bound_tokens_per_s(r))
GET(get_bound_ratio, ratio(r->makespan_s, r->bound.total_s))
GET(get_bound_decode_ratio, ratio(r->decode_s, r->bound.decode_s))

GET(get_path, r->path_s[i])
GET(get_path_share, ratio(r->path_s[i], r->makespan_s))
GET(get_path_decode, r->path_decode_s[i])
static double get_path_decode_share(const sw_result *r, const sw_topology *t, int i) {
    double sum = 0;
    (void)t;
    for (int c = 0; c < SW_CAT_COUNT; c++) sum += r->path_decode_s[c];
    return ratio(r->path_decode_s[i], sum);
}

GET(get_capacity, r->tier[i].capacity_bytes)
GET(get_peak, r->tier[i].peak_bytes)
GET(get_static, r->tier[i].static_bytes)
GET(get_hole, r->tier[i].largest_hole_at_peak_bytes)
GET(get_fragmentation, r->tier[i].fragmentation)
GET(get_failed, r->tier[i].n_failed)

static bool is_unit(const sw_topology *t, int i) {
    return t->res[i].kind == SW_RES_UNIT;
}
GET(get_res_bytes, is_unit(t, i) ? 0 : r->res[i].amount)
GET(get_res_bound, is_unit(t, i) ? 0 : r->bound.res_bytes[i])
GET(get_res_busy, r->res[i].busy_s)
GET(get_res_share, ratio(r->res[i].busy_s, r->makespan_s))
GET(get_res_rate, is_unit(t, i) ? 0 : t->res[i].rate)

GET(get_queue_busy, r->queue_busy_s[i])
GET(get_queue_share, ratio(r->queue_busy_s[i], r->makespan_s))
GET(get_counter, r->counters[i].value)

/* --- the table ----------------------------------------------------------------------------- */

#define RUN(key, unit, whole, get, text)        {key, unit, text, SW_FAMILY_RUN, whole, get},
#define OF(family, key, unit, whole, get, text) {key, unit, text, SW_FAMILY_##family, whole, get},

/* clang-format off */
const sw_stat sw_stats[] = {
    RUN("makespan_s", "s", 0, get_makespan, "from the start of the run to the end of its last op")
    RUN("ttft_s", "s", 0, get_ttft, "time to first token: end of the step that gives the first output; 0 without outputs")
    RUN("tokens_per_s", "tokens/s", 0, get_tokens_per_s, "outputs of decode steps, all sequences together, over the time of those steps")
    RUN("prefill_tokens_per_s", "tokens/s", 0, get_prefill_rate, "prompt tokens over the time of the prefill steps")
    RUN("prefill_s", "s", 0, get_prefill, "time of the prefill steps")
    RUN("decode_s", "s", 0, get_decode, "time of the decode steps")
    RUN("itl_mean_s", "s", 0, get_itl_mean, "mean time between two tokens of a sequence (TPOT)")
    RUN("itl_min_s", "s", 0, get_itl_min, "shortest time between two tokens")
    RUN("itl_p50_s", "s", 0, get_itl_p50, "median time between two tokens, from a histogram with bins 7 % wide")
    RUN("itl_p90_s", "s", 0, get_itl_p90, "90th percentile of the time between two tokens")
    RUN("itl_p99_s", "s", 0, get_itl_p99, "99th percentile of the time between two tokens")
    RUN("itl_max_s", "s", 0, get_itl_max, "longest time between two tokens")
    RUN("prompt_tokens", "tokens", 1, get_prompt, "prompt tokens processed, all sequences together")
    RUN("outputs", "tokens", 1, get_outputs, "tokens produced, all sequences together")
    RUN("steps", "", 1, get_steps, "iterations: prefill chunks, decode tokens, training steps")
    RUN("ops", "", 1, get_ops, "ops that the plan made")
    RUN("events", "", 1, get_events, "events of the trace")
    RUN("fetches", "", 1, get_fetches, "blocks copied to another tier because an op needs them there")
    RUN("fetches_decode", "", 1, get_fetches_decode, "the same, in decode steps only")
    RUN("evictions", "", 1, get_evictions, "replicas given up to make room")
    RUN("writebacks", "", 1, get_writebacks, "evictions that first copied the block away")
    RUN("fetched_bytes", "bytes", 1, get_fetched, "bytes of the fetches")
    RUN("written_back_bytes", "bytes", 1, get_written_back, "bytes of the write-backs")
    RUN("moved_bytes", "bytes", 1, get_moved, "bytes of blocks copied from tier to tier: fetches and write-backs")
    RUN("moved_bytes_per_token", "bytes", 0, get_moved_token, "moved_bytes over outputs")
    RUN("least_h2d_bytes", "bytes", 1, get_least_h2d, "least bytes that this placement of compute must copy to the fast tier: what each step touches beyond its capacity")
    RUN("bound_s", "s", 0, get_bound, "no policy on this machine can be faster, under the relaxation of docs/bound.md")
    RUN("bound_prefill_s", "s", 0, get_bound_prefill, "the same, of the prefill steps")
    RUN("bound_decode_s", "s", 0, get_bound_decode, "the same, of the decode steps")
    RUN("bound_tokens_per_s", "tokens/s", 0, get_bound_rate, "decode rate that the bound allows")
    RUN("bound_ratio", "", 0, get_bound_ratio, "makespan_s over bound_s: 1 cannot be beaten")
    RUN("bound_decode_ratio", "", 0, get_bound_decode_ratio, "decode_s over bound_decode_s")
    OF(PATH, "time_s", "s", 0, get_path, "time on the critical path; the categories sum to makespan_s")
    OF(PATH, "share", "", 0, get_path_share, "time_s over makespan_s")
    OF(PATH, "decode_s", "s", 0, get_path_decode, "the part of time_s that belongs to decode steps")
    OF(PATH, "decode_share", "", 0, get_path_decode_share, "decode_s over the sum of decode_s")
    OF(TIER, "capacity_bytes", "bytes", 1, get_capacity, "what allocations may use, reserves taken off")
    OF(TIER, "peak_bytes", "bytes", 1, get_peak, "most bytes allocated at one time, in plan order")
    OF(TIER, "static_bytes", "bytes", 1, get_static, "weights placed before the run")
    OF(TIER, "largest_hole_at_peak_bytes", "bytes", 1, get_hole, "largest free extent when the peak was reached")
    OF(TIER, "fragmentation", "", 0, get_fragmentation, "worst external fragmentation: 1 - largest hole / free bytes")
    OF(TIER, "failed_requests", "", 1, get_failed, "requests that no hole fitted although the free bytes sufficed")
    OF(RESOURCE, "bytes", "bytes", 1, get_res_bytes, "bytes that passed over it; 0 for a unit")
    OF(RESOURCE, "bound_bytes", "bytes", 1, get_res_bound, "bytes over it in the optimum of the bound's relaxation; 0 for a unit")
    OF(RESOURCE, "busy_s", "s", 0, get_res_busy, "time that the same amount takes at full rate")
    OF(RESOURCE, "utilisation", "", 0, get_res_share, "busy_s over makespan_s")
    OF(RESOURCE, "rate_Bps", "bytes/s", 0, get_res_rate, "full rate; 0 for a unit")
    OF(QUEUE, "busy_s", "s", 0, get_queue_busy, "time in which one of its ops ran")
    OF(QUEUE, "utilisation", "", 0, get_queue_share, "busy_s over makespan_s")
    OF(COUNTER, "value", "", 0, get_counter, "what the policy counted under this name")
};
/* clang-format on */
const size_t sw_stats_n = sizeof sw_stats / sizeof *sw_stats;

/* --- families ------------------------------------------------------------------------------ */

const char *sw_family_name(sw_family f) {
    static const char *const names[] = {"run", "path", "tier", "resource", "queue", "counter"};
    return names[f];
}

int sw_family_items(sw_family f, const sw_result *r, const sw_topology *t) {
    switch (f) {
    case SW_FAMILY_RUN:
        return 1;
    case SW_FAMILY_PATH:
        return SW_CAT_COUNT;
    case SW_FAMILY_TIER:
        return t->n_tiers;
    case SW_FAMILY_RESOURCE:
        return t->n_res;
    case SW_FAMILY_QUEUE:
        return t->n_queues;
    case SW_FAMILY_COUNTER:
        return (int)r->n_counters;
    default:
        return 0;
    }
}

const char *sw_family_item(sw_family f, const sw_result *r, const sw_topology *t, int item) {
    switch (f) {
    case SW_FAMILY_PATH:
        return sw_cat_key((sw_cat)item);
    case SW_FAMILY_TIER:
        return t->tiers[item].name;
    case SW_FAMILY_RESOURCE:
        return t->res[item].name;
    case SW_FAMILY_QUEUE:
        return t->queues[item].name;
    case SW_FAMILY_COUNTER:
        return r->counters[item].name;
    default:
        return "";
    }
}

/* --- by name ------------------------------------------------------------------------------- */

enum { NAME_MAX_BYTES = 160, NAMES_MAX = 2048 };

static void full_name(char *buf, const sw_stat *s, const char *item) {
    if (s->family == SW_FAMILY_RUN)
        snprintf(buf, NAME_MAX_BYTES, "%s", s->key);
    else if (s->family == SW_FAMILY_COUNTER)
        snprintf(buf, NAME_MAX_BYTES, "counter.%s", item);
    else
        snprintf(buf, NAME_MAX_BYTES, "%s.%s.%s", sw_family_name(s->family), item, s->key);
}

static sw_status unknown(const sw_outcome *o, const char *name, sw_error *err) {
    char(*names)[NAME_MAX_BYTES] = malloc(NAMES_MAX * sizeof *names);
    const char **list = malloc(NAMES_MAX * sizeof *list);
    size_t n = 0;
    for (size_t s = 0; names && list && s < sw_stats_n; s++) {
        int items = sw_family_items(sw_stats[s].family, o->result, o->topo);
        for (int i = 0; i < items && n < NAMES_MAX; i++) {
            full_name(names[n], &sw_stats[s],
                      sw_family_item(sw_stats[s].family, o->result, o->topo, i));
            list[n] = names[n];
            n++;
        }
    }
    const char *near = n ? sw_nearest(name, list, n) : NULL;
    sw_status st = sw_fail(err, SW_INPUT, "unknown figure \"%.80s\"%s%s%s", name,
                           near ? "; did you mean \"" : " (see spillway help stats)",
                           near ? near : "", near ? "\"?" : "");
    free(names);
    free(list);
    return st;
}

sw_status sw_stat_value(const sw_outcome *o, const char *name, double *out, sw_error *err) {
    if (!strcmp(name, "fits")) {
        if (o->status != SW_OK && sw_exit_code(o->status) != 4)
            return sw_fail(err, o->status, "run %s failed: %s", o->label, o->why);
        *out = o->status == SW_OK;
        return SW_OK;
    }
    if (!o->result) return sw_fail(err, o->status, "run %s has no %s: %s", o->label, name, o->why);
    char full[NAME_MAX_BYTES];
    for (size_t s = 0; s < sw_stats_n; s++) {
        int items = sw_family_items(sw_stats[s].family, o->result, o->topo);
        for (int i = 0; i < items; i++) {
            full_name(full, &sw_stats[s],
                      sw_family_item(sw_stats[s].family, o->result, o->topo, i));
            if (strcmp(full, name)) continue;
            *out = sw_stats[s].get(o->result, o->topo, i);
            return SW_OK;
        }
    }
    return unknown(o, name, err);
}
