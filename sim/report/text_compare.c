/* Several policies side by side, one row each (see report.h). */
#include "sim/report/report.h"
#include <string.h>

/* What the rows are ranked by: decode rate, or speed of the whole where nothing is decoded. */
static double merit(const sw_report *r) {
    const sw_result *x = r->outcome.result;
    if (!x || x->makespan_s <= 0) return 0;
    return sw_report_decodes(r) ? x->tokens_per_s : 1 / x->makespan_s;
}

static void headline(const sw_report *runs, size_t n, size_t best, const sw_style *style,
                     FILE *out) {
    char line[700], subject[160], a[32], limit[128] = "";
    sw_report_subject(&runs[0], subject, sizeof subject);
    if (best == n) {
        snprintf(line, sizeof line, "%s on %s: fits under none of these policies.", subject,
                 runs[0].scenario->topo.name);
        sw_paragraph(style, out, 0, 0, SW_TONE_BAD, line);
        return;
    }
    const sw_report *b = &runs[best];
    double share;
    sw_cat top = sw_result_top(b->outcome.result, &share);
    snprintf(limit, sizeof limit, "; limited by %s %.0f %% of the %stime",
             sw_text_limit(top, false), share * 100, sw_report_decodes(b) ? "decode " : "");
    if (sw_report_decodes(b))
        snprintf(line, sizeof line, "%s on %s: %s is best, %s tokens/s decode%s.", subject,
                 b->scenario->topo.name, b->outcome.label,
                 sw_text_num(a, sizeof a, b->outcome.result->tokens_per_s), limit);
    else
        snprintf(line, sizeof line, "%s on %s: %s is best, %s in all%s.", subject,
                 b->scenario->topo.name, b->outcome.label,
                 sw_format_seconds(a, sizeof a, b->outcome.result->makespan_s), limit);
    sw_paragraph(style, out, 0, 0, SW_TONE_BOLD, line);
}

static char *gigabytes(char *buf, double bytes) {
    if (bytes < 1e7) return snprintf(buf, 32, "0.00"), buf;
    return sw_text_num(buf, 32, bytes / 1e9);
}

static void row(sw_table *t, const sw_report *run, bool best, bool decodes, bool prefills,
                bool brief) {
    const sw_result *r = run->outcome.result;
    char a[32], b[32];
    sw_table_row(t);
    sw_table_cell(t, best ? SW_TONE_GOOD : SW_TONE_NONE, "%s%s", run->outcome.label,
                  best ? " *" : "");
    if (!r) {
        sw_table_span(t, SW_TONE_BAD, "%s", run->outcome.why ? run->outcome.why : "failed");
        return;
    }
    if (decodes) {
        sw_table_cell(t, best ? SW_TONE_GOOD : SW_TONE_NONE, "%s",
                      r->tokens_per_s > 0 ? sw_text_num(a, 32, r->tokens_per_s) : "");
        sw_table_cell(t, SW_TONE_NONE, "%s", sw_format_seconds(a, 32, r->ttft_s));
    }
    if (prefills) sw_table_cell(t, SW_TONE_NONE, "%s", sw_text_num(a, 32, r->prefill_tokens_per_s));
    sw_table_cell(t, SW_TONE_NONE, "%s", sw_format_seconds(a, 32, r->makespan_s));
    double moved = sw_result_moved_bytes(r);
    if (decodes)
        sw_table_cell(t, SW_TONE_NONE, "%s",
                      gigabytes(a, r->outputs ? moved / (double)r->outputs : 0));
    else
        sw_table_cell(t, SW_TONE_NONE, "%s", gigabytes(a, moved));
    double over = r->decode_s > 0 && r->bound.decode_s > 0 ? r->decode_s / r->bound.decode_s
                  : r->bound.total_s > 0                   ? r->makespan_s / r->bound.total_s
                                                           : 0;
    sw_table_cell(t, SW_TONE_NONE, "%s", over > 0 ? sw_text_num(b, 32, over) : "");
    double share;
    sw_cat top = sw_result_top(r, &share);
    sw_table_cell(t, SW_TONE_NONE, "%.0f %% %s", share * 100, sw_text_limit(top, brief));
}

sw_status sw_report_compare(const sw_report *runs, size_t n, const sw_style *style, FILE *out,
                            sw_error *err) {
    bool decodes = false, prefills = false;
    size_t best = n;
    for (size_t i = 0; i < n; i++) {
        decodes = decodes || sw_report_decodes(&runs[i]);
        prefills = prefills || (runs[i].outcome.result && runs[i].outcome.result->prefill_s > 0);
        if (merit(&runs[i]) > (best == n ? 0 : merit(&runs[best]) * (1 + 1e-9))) best = i;
    }
    sw_column cols[8];
    int k = 0;
    cols[k++] = (sw_column){"policy", NULL, SW_LEFT, false};
    if (decodes) {
        cols[k++] = (sw_column){"decode", "tok/s", SW_RIGHT, false};
        cols[k++] = (sw_column){"TTFT", NULL, SW_RIGHT, false};
    }
    if (prefills) cols[k++] = (sw_column){"prefill", "tok/s", SW_RIGHT, false};
    cols[k++] = (sw_column){"whole", NULL, SW_RIGHT, false};
    cols[k++] = (sw_column){"moved", decodes ? "GB/tok" : "GB", SW_RIGHT, false};
    cols[k++] = (sw_column){"bound", "x", SW_RIGHT, false};
    cols[k++] = (sw_column){"limited by", NULL, SW_LEFT, true};
    headline(runs, n, best, style, out);
    fputc('\n', out);
    sw_table *t = sw_table_new(cols, k, 0);
    for (size_t i = 0; i < n; i++)
        row(t, &runs[i], i == best, decodes, prefills, style->width < 100);
    SW_TRY(sw_table_print(t, style, out, err));
    char notes[400];
    snprintf(notes, sizeof notes,
             "moved: bytes copied between tiers%s. bound: how many times "
             "longer than the physical bound%s.%s",
             decodes ? " for each output token" : "", decodes ? " of decode" : "",
             runs[0].scenario->topo.measured ? "" : " Not validated against measurements.");
    fputc('\n', out);
    sw_paragraph(style, out, 0, 0, SW_TONE_DIM, notes);
    return SW_OK;
}
