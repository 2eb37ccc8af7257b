/* The answer for one run, for people (see report.h): first in words, then in tables. The order is
 * that of design questions: how fast, where the time goes, what moved, what it takes, how good that
 * is, what would help. */
#include "sim/report/report.h"
#include <string.h>

typedef struct page {
    const sw_report *run;
    const sw_result *r;
    const sw_topology *t;
    const sw_style *style;
    FILE *out;
    int bar; /* columns for bars */
    sw_error *err;
} page;

static char *seconds(char *buf, double s) {
    return sw_format_seconds(buf, 32, s);
}

/* --- in words ------------------------------------------------------------------------------ */

static size_t add(char *buf, size_t cap, size_t at, const char *text) {
    size_t n = strlen(text);
    if (at + n + 1 > cap) n = cap - at - 1;
    memcpy(buf + at, text, n);
    buf[at + n] = 0;
    return at + n;
}

static void first_line(const page *p) {
    const sw_scenario *s = p->run->scenario;
    char line[1200], a[160], b[64], part[420];
    sw_report_subject(p->run, a, sizeof a);
    size_t at = (size_t)snprintf(line, sizeof line, "%s on %s, policy %s: ", a, s->topo.name,
                                 p->run->outcome.label);
    if (!p->r) {
        add(line, sizeof line, at, p->run->outcome.why ? p->run->outcome.why : "failed");
        sw_paragraph(p->style, p->out, 0, 0, SW_TONE_BAD, line);
        return;
    }
    if (sw_report_decodes(p->run)) {
        snprintf(part, sizeof part, "%s tokens/s decode, ",
                 sw_text_num(b, sizeof b, p->r->tokens_per_s));
        at = add(line, sizeof line, at, part);
    }
    if (p->r->ttft_s > 0)
        snprintf(part, sizeof part, "TTFT %s; ", seconds(b, p->r->ttft_s));
    else
        snprintf(part, sizeof part, "%s in all; ", seconds(b, p->r->makespan_s));
    at = add(line, sizeof line, at, part);
    double share;
    sw_cat top = sw_result_top(p->r, &share);
    snprintf(part, sizeof part, "limited by %s %.0f %% of the %stime.", sw_text_limit(top, false),
             share * 100, p->r->decode_s > 0 && p->r->prefill_s > 0 ? "decode " : "");
    add(line, sizeof line, at, part);
    sw_paragraph(p->style, p->out, 0, 0, SW_TONE_BOLD, line);
}

static void fits_line(const page *p) {
    char line[900], a[32], b[32], part[160];
    size_t at = (size_t)snprintf(line, sizeof line, "It fits: ");
    for (int i = 0, n = 0; i < p->t->n_tiers; i++) {
        const sw_tier_result *tr = &p->r->tier[i];
        if (!tr->peak_bytes) continue;
        snprintf(part, sizeof part, "%s%s of %s in %s", n++ ? ", " : "",
                 sw_format_bytes(a, sizeof a, (double)tr->peak_bytes),
                 sw_format_bytes(b, sizeof b, (double)tr->capacity_bytes), p->t->tiers[i].name);
        at = add(line, sizeof line, at, part);
    }
    add(line, sizeof line, at, ".");
    sw_paragraph(p->style, p->out, 0, 0, SW_TONE_NONE, line);
}

/* --- time ---------------------------------------------------------------------------------- */

static sw_status times(const page *p) {
    static const sw_column cols[] = {
        {NULL, NULL, SW_LEFT, false}, {NULL, NULL, SW_RIGHT, false}, {NULL, NULL, SW_LEFT, true}};
    const sw_result *r = p->r;
    char a[32], b[32], c[32], d[32];
    sw_heading(p->style, p->out, "Time");
    sw_table *t = sw_table_new(cols, 3, 2);
    if (r->ttft_s > 0) {
        sw_table_row(t);
        sw_table_cell(t, SW_TONE_NONE, "time to first token");
        sw_table_cell(t, SW_TONE_NONE, "%s", seconds(a, r->ttft_s));
    }
    if (r->prefill_s > 0) {
        sw_table_row(t);
        sw_table_cell(t, SW_TONE_NONE, "prefill");
        sw_table_cell(t, SW_TONE_NONE, "%s tok/s", sw_text_num(a, 32, r->prefill_tokens_per_s));
        sw_table_cell(t, SW_TONE_DIM, "%llu prompt tokens in %s",
                      (unsigned long long)r->prompt_tokens, seconds(b, r->prefill_s));
    }
    if (r->tokens_per_s > 0) {
        sw_table_row(t);
        sw_table_cell(t, SW_TONE_NONE, "decode");
        sw_table_cell(t, SW_TONE_BOLD, "%s tok/s", sw_text_num(a, 32, r->tokens_per_s));
        sw_table_cell(t, SW_TONE_DIM, "%.0f tokens in %llu steps, %s",
                      r->tokens_per_s * r->decode_s, (unsigned long long)r->itl.n,
                      seconds(b, r->decode_s));
    }
    if (r->itl.n) {
        sw_table_row(t);
        sw_table_cell(t, SW_TONE_NONE, "between tokens (ITL)");
        sw_table_cell(t, SW_TONE_NONE, "%s", seconds(a, r->itl.sum_s / (double)r->itl.n));
        sw_table_cell(t, SW_TONE_DIM, "p50 %s, p90 %s, p99 %s", seconds(b, r->itl.p50_s),
                      seconds(c, r->itl.p90_s), seconds(d, r->itl.p99_s));
    }
    sw_table_row(t);
    sw_table_cell(t, SW_TONE_NONE, "whole run");
    sw_table_cell(t, SW_TONE_NONE, "%s", seconds(a, r->makespan_s));
    sw_table_cell(t, SW_TONE_DIM, "%llu steps, %llu ops", (unsigned long long)r->n_steps,
                  (unsigned long long)r->n_ops);
    return sw_table_print(t, p->style, p->out, p->err);
}

static sw_status path(const page *p) {
    static const sw_column cols[] = {{"critical path", NULL, SW_LEFT, true},
                                     {"time", NULL, SW_RIGHT, false},
                                     {"share", "%", SW_RIGHT, false},
                                     {"", NULL, SW_LEFT, false},
                                     {"decode", "%", SW_RIGHT, false}};
    const sw_result *r = p->r;
    bool both = r->decode_s > 0 && r->prefill_s > 0;
    int all[SW_CAT_COUNT], decode[SW_CAT_COUNT], order[SW_CAT_COUNT];
    sw_permille(r->path_s, SW_CAT_COUNT, all);
    sw_permille(r->path_decode_s, SW_CAT_COUNT, decode);
    for (int i = 0; i < SW_CAT_COUNT; i++) { /* longest first */
        int k = i;
        for (; k > 0 && r->path_s[order[k - 1]] < r->path_s[i]; k--) order[k] = order[k - 1];
        order[k] = i;
    }
    char a[32], bar[256];
    sw_heading(p->style, p->out, "Where the time goes");
    sw_table *t = sw_table_new(cols, both ? 5 : 4, 2);
    for (int k = 0; k < SW_CAT_COUNT; k++) {
        int c = order[k];
        if (r->path_s[c] <= 0) continue;
        sw_table_row(t);
        sw_table_cell(t, SW_TONE_NONE, "%s", sw_cat_text((sw_cat)c));
        sw_table_cell(t, SW_TONE_NONE, "%s", seconds(a, r->path_s[c]));
        sw_table_cell(t, SW_TONE_NONE, "%d.%d", all[c] / 10, all[c] % 10);
        sw_bar(bar, sizeof bar, p->style, r->path_s[c] / r->makespan_s, p->bar);
        sw_table_cell(t, SW_TONE_NONE, "%s", bar);
        sw_table_cell(t, SW_TONE_DIM, "%d.%d", decode[c] / 10, decode[c] % 10);
    }
    sw_table_rule(t);
    sw_table_row(t);
    sw_table_cell(t, SW_TONE_NONE, "whole run");
    sw_table_cell(t, SW_TONE_NONE, "%s", seconds(a, r->makespan_s));
    sw_table_cell(t, SW_TONE_NONE, "100.0");
    sw_table_cell(t, SW_TONE_NONE, "%s", "");
    sw_table_cell(t, SW_TONE_DIM, "100.0");
    return sw_table_print(t, p->style, p->out, p->err);
}

/* --- what moved, and what worked ------------------------------------------------------------ */

/* Bytes that came over the GPUs' own links. */
static double over_links(const page *p, const char *end) {
    double sum = 0;
    for (int i = 0; i < p->t->n_res; i++) {
        const char *name = p->t->res[i].name, *dot = strrchr(name, '.');
        if (p->t->res[i].kind == SW_RES_LINK && dot && !strcmp(dot, end) &&
            strncmp(name, "host", 4))
            sum += p->r->res[i].amount;
    }
    return sum;
}

static sw_status traffic(const page *p) {
    static const sw_column cols[] = {
        {"resource", NULL, SW_LEFT, false},      {"carried", NULL, SW_RIGHT, false},
        {"in the bound", NULL, SW_RIGHT, false}, {"at most", NULL, SW_RIGHT, false},
        {"busy", "%", SW_RIGHT, false},          {"", NULL, SW_LEFT, false}};
    const sw_result *r = p->r;
    char a[32], b[32], c[32], bar[256];
    sw_heading(p->style, p->out, "What moved, and what worked");
    sw_table *t = sw_table_new(cols, 6, 2);
    for (int i = 0; i < p->t->n_res; i++) {
        const sw_resource *res = &p->t->res[i];
        if (r->res[i].amount <= 0) continue;
        bool unit = res->kind == SW_RES_UNIT;
        double busy = r->makespan_s > 0 ? r->res[i].busy_s / r->makespan_s : 0;
        sw_table_row(t);
        sw_table_cell(t, SW_TONE_NONE, "%s", res->name);
        sw_table_cell(t, SW_TONE_NONE, "%s", unit ? "" : sw_text_bytes10(a, 32, r->res[i].amount));
        sw_table_cell(t, SW_TONE_DIM, "%s",
                      unit || r->bound.res_bytes[i] <= 0
                          ? ""
                          : sw_text_bytes10(b, 32, r->bound.res_bytes[i]));
        sw_table_cell(t, SW_TONE_DIM, "%s", unit ? "" : sw_format_rate(c, 32, res->rate));
        sw_table_cell(t, SW_TONE_NONE, "%.1f", busy * 100);
        sw_table_cell(t, SW_TONE_NONE, "%s", sw_bar(bar, sizeof bar, p->style, busy, p->bar));
    }
    SW_TRY(sw_table_print(t, p->style, p->out, p->err));
    double h2d = over_links(p, ".h2d");
    char line[400];
    if (h2d > 0 && r->least_h2d_bytes > 0) {
        snprintf(line, sizeof line,
                 "To the GPU: %s; this placement of compute needs at least %s (%.2f x).",
                 sw_text_bytes10(a, 32, h2d), sw_text_bytes10(b, 32, r->least_h2d_bytes),
                 h2d / r->least_h2d_bytes);
        sw_paragraph(p->style, p->out, 2, 2, SW_TONE_NONE, line);
    }
    if (r->n_fetches) {
        snprintf(line, sizeof line,
                 "Blocks: %llu fetched (%s), %llu evicted, %llu written back%s%s.",
                 (unsigned long long)r->n_fetches, sw_text_bytes10(a, 32, r->fetched_bytes),
                 (unsigned long long)r->n_evictions, (unsigned long long)r->n_writebacks,
                 r->outputs ? "; moved for each output token " : "",
                 r->outputs ? sw_text_bytes10(b, 32, sw_result_moved_bytes(r) / (double)r->outputs)
                            : "");
        sw_paragraph(p->style, p->out, 2, 2, SW_TONE_NONE, line);
    }
    return SW_OK;
}

static sw_status memory(const page *p) {
    static const sw_column cols[] = {
        {"tier", NULL, SW_LEFT, false},      {"peak", NULL, SW_RIGHT, false},
        {"capacity", NULL, SW_RIGHT, false}, {"weights", "at the start", SW_RIGHT, false},
        {"used", "%", SW_RIGHT, false},      {"", NULL, SW_LEFT, false},
        {"fragmented", "%", SW_RIGHT, false}};
    char a[32], b[32], c[32], bar[256];
    int wide = p->bar > 12 ? p->bar - 4 : p->bar;
    sw_heading(p->style, p->out, "Memory");
    sw_table *t = sw_table_new(cols, 7, 2);
    for (int i = 0; i < p->t->n_tiers; i++) {
        const sw_tier_result *tr = &p->r->tier[i];
        double used = tr->capacity_bytes ? (double)tr->peak_bytes / (double)tr->capacity_bytes : 0;
        sw_table_row(t);
        sw_table_cell(t, SW_TONE_NONE, "%s", p->t->tiers[i].name);
        sw_table_cell(t, SW_TONE_NONE, "%s", sw_format_bytes(a, 32, (double)tr->peak_bytes));
        sw_table_cell(t, SW_TONE_NONE, "%s", sw_format_bytes(b, 32, (double)tr->capacity_bytes));
        sw_table_cell(t, SW_TONE_DIM, "%s", sw_format_bytes(c, 32, (double)tr->static_bytes));
        sw_table_cell(t, SW_TONE_NONE, "%.1f", used * 100);
        sw_table_cell(t, SW_TONE_NONE, "%s", sw_bar(bar, sizeof bar, p->style, used, wide));
        sw_table_cell(t, tr->n_failed ? SW_TONE_BAD : SW_TONE_DIM, "%.1f", tr->fragmentation * 100);
    }
    SW_TRY(sw_table_print(t, p->style, p->out, p->err));
    for (int i = 0; i < p->t->n_tiers; i++) {
        const sw_tier_result *tr = &p->r->tier[i];
        char line[200];
        if (!tr->n_failed) continue;
        snprintf(line, sizeof line,
                 "%s: %llu requests found no hole although the free bytes sufficed.",
                 p->t->tiers[i].name, (unsigned long long)tr->n_failed);
        sw_paragraph(p->style, p->out, 2, 2, SW_TONE_BAD, line);
    }
    return SW_OK;
}

/* --- how good is that ------------------------------------------------------------------------ */

static void bound(const page *p) {
    const sw_bound *b = &p->r->bound;
    char line[400], x[32], y[32];
    if (b->total_s <= 0) return;
    sw_heading(p->style, p->out, "The bound");
    snprintf(line, sizeof line,
             "No policy on this machine takes less than %s; this run takes %.2f times as long.",
             seconds(x, b->total_s), p->r->makespan_s / b->total_s);
    sw_paragraph(p->style, p->out, 2, 2, SW_TONE_NONE, line);
    if (b->decode_s > 0 && p->r->decode_s > 0) {
        snprintf(line, sizeof line, "Decode: at most %s tokens/s (%.2f times this run's).",
                 sw_text_num(y, 32, sw_result_bound_tokens_per_s(p->r)),
                 p->r->decode_s / b->decode_s);
        sw_paragraph(p->style, p->out, 2, 2, SW_TONE_NONE, line);
    }
    if (b->limit[0]) {
        snprintf(line, sizeof line, "The bound is set by %s.", b->limit);
        sw_paragraph(p->style, p->out, 2, 2, SW_TONE_NONE, line);
    }
}

static sw_status what_if(const page *p) {
    static const sw_column cols[] = {{NULL, NULL, SW_LEFT, false},
                                     {NULL, NULL, SW_RIGHT, false},
                                     {NULL, NULL, SW_RIGHT, false},
                                     {NULL, NULL, SW_LEFT, false}};
    const sw_report *run = p->run;
    if (!run->n_whatif) return SW_OK;
    bool decodes = sw_report_decodes(run);
    char a[32], bar[256];
    sw_heading(p->style, p->out, p->r ? "What would help" : "Would it fit");
    sw_table *t = sw_table_new(cols, 4, 2);
    for (int i = 0; i < run->n_whatif; i++) {
        const sw_whatif *w = &run->whatif[i];
        sw_table_row(t);
        if (w->factor == 2)
            sw_table_cell(t, SW_TONE_NONE, "twice the %s", w->knob);
        else
            sw_table_cell(t, SW_TONE_NONE, "%g times the %s", w->factor, w->knob);
        if (w->status) {
            sw_table_span(t, SW_TONE_BAD, "%s",
                          sw_exit_code(w->status) == 4 ? "does not fit" : "failed");
            continue;
        }
        if (!p->r) {
            if (w->tokens_per_s > 0)
                sw_table_span(t, SW_TONE_GOOD, "fits: %s tokens/s",
                              sw_text_num(a, 32, w->tokens_per_s));
            else
                sw_table_span(t, SW_TONE_GOOD, "fits: %s in all", seconds(a, w->makespan_s));
            continue;
        }
        sw_tone tone = w->speedup >= 1.1 ? SW_TONE_GOOD : SW_TONE_DIM;
        sw_table_cell(t, tone, w->speedup < 10 ? "%.2f x" : "%.1f x", w->speedup);
        if (decodes)
            sw_table_cell(t, SW_TONE_NONE, "%s tokens/s", sw_text_num(a, 32, w->tokens_per_s));
        else
            sw_table_cell(t, SW_TONE_NONE, "%s", seconds(a, w->makespan_s));
        sw_table_cell(
            t, tone, "%s",
            w->speedup < 1.005 ? "" : sw_bar(bar, sizeof bar, p->style, w->speedup - 1, p->bar));
    }
    return sw_table_print(t, p->style, p->out, p->err);
}

static sw_status counters(const page *p) {
    static const sw_column cols[] = {{NULL, NULL, SW_LEFT, true}, {NULL, NULL, SW_RIGHT, false}};
    if (!p->r->n_counters) return SW_OK;
    char a[32];
    sw_heading(p->style, p->out, "Counted by the policy");
    sw_table *t = sw_table_new(cols, 2, 2);
    for (uint32_t i = 0; i < p->r->n_counters; i++) {
        double v = p->r->counters[i].value;
        sw_table_row(t);
        sw_table_cell(t, SW_TONE_NONE, "%s", p->r->counters[i].name);
        if (v == (double)(int64_t)v)
            sw_table_cell(t, SW_TONE_NONE, "%.0f", v);
        else
            sw_table_cell(t, SW_TONE_NONE, "%s", sw_text_num(a, 32, v));
    }
    return sw_table_print(t, p->style, p->out, p->err);
}

sw_status sw_report_text(const sw_report *run, const sw_style *style, FILE *out, sw_error *err) {
    page p = {run, run->outcome.result, run->outcome.topo, style, out, 0, err};
    p.bar = style->width >= 100 ? 30 : style->width >= 80 ? 20 : 10;
    first_line(&p);
    if (!p.r) return what_if(&p);
    fits_line(&p);
    SW_TRY(times(&p));
    SW_TRY(path(&p));
    SW_TRY(traffic(&p));
    SW_TRY(memory(&p));
    bound(&p);
    SW_TRY(what_if(&p));
    SW_TRY(counters(&p));
    if (!p.t->measured) {
        fputc('\n', out);
        sw_paragraph(style, out, 0, 0, SW_TONE_DIM,
                     "Not validated against measurements: the machine's figures come from "
                     "datasheets and from other machines' measurements.");
    }
    if (run->wall_s > 0) {
        char a[32];
        fprintf(out, "Simulated in %s.\n", seconds(a, run->wall_s));
    }
    return SW_OK;
}
