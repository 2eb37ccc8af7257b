/* How a trace uses memory, as text and JSON (see trace_use.h). */
#include "cli/trace_use.h"
#include "traces/judge.h"
#include "traces/swt.h"

/* --- text ------------------------------------------------------------------------------------- */

static sw_status steps(const sw_trace_info *x, const sw_style *s, FILE *out, sw_error *err) {
    static const sw_column cols[] = {
        {"steps", NULL, SW_LEFT, false},          {"number", NULL, SW_RIGHT, false},
        {"ops", "a step", SW_RIGHT, false},       {"tokens", "a step", SW_RIGHT, false},
        {"touched", "a step", SW_RIGHT, false},   {"weights", "a step", SW_RIGHT, false},
        {"least", NULL, SW_RIGHT, false},         {"most", NULL, SW_RIGHT, false},
        {"operations", "a step", SW_RIGHT, false}};
    char a[5][32];
    fputc('\n', out);
    if (!x->n_events[SW_EV_STEP]) {
        sw_paragraph(s, out, 2, 2, SW_TONE_DIM, "Steps: not in this trace.");
        return SW_OK;
    }
    sw_table *t = sw_table_new(cols, 9, 2);
    for (int i = 0; i < SW_INFO_PHASES; i++) {
        const sw_info_phase *p = &x->phase[i];
        double n = (double)p->steps;
        if (!p->steps) continue;
        sw_table_row(t);
        sw_table_cell(t, SW_TONE_NONE, "%s", sw_swt_phases[i]);
        sw_table_cell(t, SW_TONE_NONE, "%llu", (unsigned long long)p->steps);
        sw_table_cell(t, SW_TONE_NONE, "%.0f", (double)p->ops / n);
        sw_table_cell(t, SW_TONE_NONE, "%s", sw_format_count(a[0], 32, p->tokens / n));
        sw_table_cell(t, SW_TONE_NONE, "%s", sw_format_bytes(a[0], 32, p->touched.sum / n));
        sw_table_cell(t, SW_TONE_BOLD, "%s",
                      sw_format_bytes(a[1], 32, p->distinct_weights.sum / n));
        sw_table_cell(t, SW_TONE_NONE, "%s", sw_format_bytes(a[2], 32, p->distinct_weights.min));
        sw_table_cell(t, SW_TONE_NONE, "%s", sw_format_bytes(a[3], 32, p->distinct_weights.max));
        sw_table_cell(t, SW_TONE_NONE, "%s", sw_format_count(a[4], 32, p->flops / n));
    }
    return sw_table_print(t, s, out, err);
}

static sw_status windows(const sw_trace_info *x, const sw_style *s, FILE *out, sw_error *err) {
    static const sw_column cols[] = {{"working set", "ops", SW_LEFT, false},
                                     {"bytes", "mean", SW_RIGHT, false},
                                     {"", NULL, SW_LEFT, false}};
    char a[32], bar[256];
    fputc('\n', out);
    sw_table *t = sw_table_new(cols, 3, 2);
    for (int i = 0; i < SW_INFO_WINDOWS; i++) {
        if (i && x->window_ops[i] > x->n_events[SW_EV_ACCESS]) break;
        double share = x->peak_bytes ? x->window_bytes[i] / (double)x->peak_bytes : 0;
        sw_table_row(t);
        sw_table_cell(t, SW_TONE_NONE, "%llu", (unsigned long long)x->window_ops[i]);
        sw_table_cell(t, SW_TONE_NONE, "%s", sw_format_bytes(a, sizeof a, x->window_bytes[i]));
        sw_table_cell(t, SW_TONE_NONE, "%s", sw_bar(bar, sizeof bar, s, share, 30));
    }
    return sw_table_print(t, s, out, err);
}

/* What an LRU cache would fetch, by its size: one row a factor of two around what is used again. */
static sw_status caches(const sw_trace_info *x, const sw_style *s, FILE *out, sw_error *err) {
    static const sw_column cols[] = {{"an LRU cache of", NULL, SW_LEFT, false},
                                     {"fetches weights", "a step", SW_RIGHT, false},
                                     {"", NULL, SW_LEFT, false}};
    enum { ROWS = 8 };
    char a[32], b[32], bar[256];
    double n = (double)x->n_events[SW_EV_STEP], most = sw_info_lru_fetched(x, 0);
    fputc('\n', out);
    if (!n || !x->reuses || most <= 0) {
        sw_paragraph(s, out, 2, 2, SW_TONE_DIM, "Caches: not in this trace: no reuse of weights.");
        return SW_OK;
    }
    int last = 0;
    for (int i = 0; i < SW_INFO_BUCKETS; i++)
        if (x->reuse_weights[i] > 0) last = i;
    last = (last + SW_INFO_OCTAVE - 1) / SW_INFO_OCTAVE * SW_INFO_OCTAVE;
    sw_table *t = sw_table_new(cols, 3, 2);
    for (int i = last - (ROWS - 1) * SW_INFO_OCTAVE; i <= last; i += SW_INFO_OCTAVE) {
        if (i < 0 || sw_info_bucket_bytes(i) < (double)x->largest_block_bytes) continue;
        double fetched = sw_info_lru_fetched(x, sw_info_bucket_bytes(i));
        sw_table_row(t);
        sw_table_cell(t, SW_TONE_NONE, "%s", sw_format_bytes(a, sizeof a, sw_info_bucket_bytes(i)));
        sw_table_cell(t, SW_TONE_NONE, "%s", sw_format_bytes(b, sizeof b, fetched / n));
        sw_table_cell(t, SW_TONE_NONE, "%s", sw_bar(bar, sizeof bar, s, fetched / most, 30));
    }
    return sw_table_print(t, s, out, err);
}

sw_status sw_trace_use_text(const sw_trace_info *x, const sw_style *style, FILE *out,
                            sw_error *err) {
    sw_trace_verdict v;
    SW_TRY(steps(x, style, out, err));
    SW_TRY(windows(x, style, out, err));
    SW_TRY(caches(x, style, out, err));
    sw_trace_judge(x, &v);
    for (int i = 0; i < 2; i++) {
        fputc('\n', out);
        sw_paragraph(style, out, 0, 0, SW_TONE_NONE, v.why[i]);
    }
    return SW_OK;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void integer(json_t *o, const char *key, uint64_t x) {
    json_object_set_new(o, key, json_integer((json_int_t)(x > INT64_MAX ? INT64_MAX : x)));
}

static void real(json_t *o, const char *key, double x) {
    json_object_set_new(o, key, json_real(x));
}

static json_t *phase_json(const sw_info_phase *p) {
    const struct {
        const char *name;
        const sw_info_range *r;
    } ranges[] = {{"touched_bytes", &p->touched},
                  {"weights_touched_bytes", &p->weights_touched},
                  {"distinct_weight_bytes", &p->distinct_weights}};
    json_t *o = json_object();
    integer(o, "steps", p->steps);
    integer(o, "ops", p->ops);
    real(o, "tokens", p->tokens);
    real(o, "outputs", p->outputs);
    real(o, "flops", p->flops);
    for (int i = 0; i < 3; i++) {
        json_t *r = json_object();
        real(r, "min", ranges[i].r->min);
        real(r, "mean", ranges[i].r->sum / (double)p->steps);
        real(r, "max", ranges[i].r->max);
        json_object_set_new(o, ranges[i].name, r);
    }
    return o;
}

static json_t *reuse_json(const sw_trace_info *x) {
    json_t *list = json_array();
    for (int i = 0; i < SW_INFO_BUCKETS; i++) {
        if (!x->reuse_count[i]) continue;
        json_t *o = json_object();
        real(o, "up_to_bytes", sw_info_bucket_bytes(i));
        integer(o, "uses", x->reuse_count[i]);
        real(o, "bytes", x->reuse_bytes[i]);
        real(o, "weight_bytes", x->reuse_weights[i]);
        json_array_append_new(list, o);
    }
    return list;
}

void sw_trace_use_json(const sw_trace_info *x, json_t *o) {
    static const char *const orders[] = {"unknown", "sequential", "mostly sequential", "random"};
    static const char *const offloads[] = {"nothing", "hides", "caches", "pays", "cannot"};
    json_t *phases = json_object(), *sets = json_array(), *verdict = json_object();
    sw_trace_verdict v;
    sw_trace_judge(x, &v);
    for (int i = 0; i < SW_INFO_PHASES; i++)
        if (x->phase[i].steps)
            json_object_set_new(phases, sw_swt_phases[i], phase_json(&x->phase[i]));
    json_object_set_new(o, "phases", phases);
    for (int i = 0; i < SW_INFO_WINDOWS; i++) {
        json_t *w = json_object();
        integer(w, "ops", x->window_ops[i]);
        real(w, "mean_bytes", x->window_bytes[i]);
        json_array_append_new(sets, w);
    }
    json_object_set_new(o, "working_sets", sets);
    integer(o, "first_uses", x->first_uses);
    integer(o, "reuses", x->reuses);
    json_object_set_new(o, "reuse_distances", reuse_json(x));
    json_object_set_new(verdict, "order", json_string(orders[v.order]));
    json_object_set_new(verdict, "offload", json_string(offloads[v.offload]));
    json_object_set_new(verdict, "why_order", json_string(v.why[0]));
    json_object_set_new(verdict, "why_offload", json_string(v.why[1]));
    json_object_set_new(o, "verdict", verdict);
}
