/* The matrix on a terminal, as CSV and as a page (see matrix.h). */
#include "sim/base/stream.h"
#include "validate/matrix.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static double error_of(const sw_result *r, const sw_case *c) {
    return r->makespan_s / c->real_s - 1;
}

/* --- terminal --------------------------------------------------------------------------------- */

static void stats_row(sw_table *t, const char *what, const sw_error_stats *s) {
    if (!s->n) return;
    sw_table_row(t);
    sw_table_cell(t, SW_TONE_NONE, "%s", what);
    sw_table_cell(t, SW_TONE_NONE, "%d", s->n);
    sw_table_cell(t, SW_TONE_NONE, "%+.1f", 100 * s->bias);
    sw_table_cell(t, SW_TONE_NONE, "%.1f", 100 * s->median);
    sw_table_cell(t, SW_TONE_NONE, "%.1f", 100 * s->p90);
    sw_table_cell(t, SW_TONE_NONE, "%.1f", 100 * s->worst);
}

static sw_status stats_table(const sw_matrix *m, const sw_verdict_of_matrix *v, const sw_style *s,
                             FILE *out, sw_error *err) {
    static const sw_column cols[] = {
        {"error of", NULL, SW_LEFT, true},     {"cases", NULL, SW_RIGHT, false},
        {"bias", "%", SW_RIGHT, false},        {"median", "% of size", SW_RIGHT, false},
        {"p90", "% of size", SW_RIGHT, false}, {"worst", "% of size", SW_RIGHT, false}};
    char what[96];
    sw_table *t = sw_table_new(cols, 6, 0);
    stats_row(t, "makespan, simgrid", &v->sim);
    stats_row(t, "makespan, null", &v->null);
    stats_row(t, "where it took 1.2 x null or more: simgrid", &v->contended_sim);
    stats_row(t, "where it took 1.2 x null or more: null", &v->contended_null);
    for (int q = 0; q < m->topo.n_queues; q++) {
        snprintf(what, sizeof what, "busy time of %s", m->topo.queues[q].name);
        stats_row(t, what, &v->queue[q]);
    }
    for (int c = 0; c < SW_CAT_COUNT; c++) {
        snprintf(what, sizeof what, "time of ops: %s", sw_cat_text((sw_cat)c));
        stats_row(t, what, &v->cat[c]);
    }
    return sw_table_print(t, s, out, err);
}

static sw_status case_table(const sw_matrix *m, bool all, const sw_style *s, FILE *out,
                            sw_error *err) {
    static const sw_column cols[] = {
        {"case", NULL, SW_LEFT, true},    {"measured", "ms", SW_RIGHT, false},
        {"spread", "%", SW_RIGHT, false}, {"simgrid", "ms", SW_RIGHT, false},
        {"error", "%", SW_RIGHT, false},  {"null", "error %", SW_RIGHT, false}};
    int order[SW_CASES_MAX], n = 0;
    for (int i = 0; i < m->n; i++)
        if (m->cases[i].real) order[n++] = i;
    for (int i = 1; !all && i < n; i++) /* the worst first */
        for (int k = i;
             k > 0 && fabs(error_of(m->cases[order[k]].sim, &m->cases[order[k]])) >
                          fabs(error_of(m->cases[order[k - 1]].sim, &m->cases[order[k - 1]]));
             k--) {
            int x = order[k];
            order[k] = order[k - 1], order[k - 1] = x;
        }
    sw_table *t = sw_table_new(cols, 6, 0);
    for (int i = 0; i < n && (all || i < 10); i++) {
        const sw_case *c = &m->cases[order[i]];
        sw_table_row(t);
        sw_table_cell(t, SW_TONE_NONE, "%s", c->name);
        sw_table_cell(t, SW_TONE_NONE, "%.1f", c->real_s * 1e3);
        sw_table_cell(t, SW_TONE_NONE, "%.1f", 100 * c->spread);
        sw_table_cell(t, SW_TONE_NONE, "%.1f", c->sim->makespan_s * 1e3);
        sw_table_cell(t, SW_TONE_NONE, "%+.1f", 100 * error_of(c->sim, c));
        sw_table_cell(t, SW_TONE_NONE, "%+.1f", 100 * error_of(c->null, c));
    }
    return sw_table_print(t, s, out, err);
}

sw_status sw_matrix_text(const sw_matrix *m, const sw_verdict_of_matrix *v, bool all,
                         const sw_style *s, FILE *out, sw_error *err) {
    fputs(all ? "Every case\n" : "The ten that are furthest off\n", out);
    SW_TRY(case_table(m, all, s, out, err));
    fputs("\nErrors, predicted over measured\n", out);
    SW_TRY(stats_table(m, v, s, out, err));
    fprintf(out, "\nRepetitions of a case differ by %.1f %% in the median (max - min).\n",
            100 * v->spread);
    if (v->n_logs_differ)
        fprintf(out, "DECISIONS DIFFER between the real run and the simulation in %d cases.\n",
                v->n_logs_differ);
    else
        fputs("Decision logs are identical on all backends.\n", out);
    return SW_OK;
}

/* --- CSV -------------------------------------------------------------------------------------- */

sw_status sw_matrix_csv(const sw_matrix *m, const char *path, sw_error *err) {
    sw_writer *w;
    SW_TRY(sw_writer_open(path, &w, err));
    sw_writer_printf(w, "case,policy,measured_s,spread,reps,simgrid_s,simgrid_error,null_s,"
                        "null_error,ops,same_decisions");
    for (int q = 0; q < m->topo.n_queues; q++)
        sw_writer_printf(w, ",%s_measured_s,%s_simgrid_s", m->topo.queues[q].name,
                         m->topo.queues[q].name);
    sw_writer_printf(w, "\n");
    for (int i = 0; i < m->n; i++) {
        const sw_case *c = &m->cases[i];
        if (!c->real) continue;
        sw_writer_printf(w, "\"%s\",%s,%.9g,%.4f,%d,%.9g,%.4f,%.9g,%.4f,%llu,%d", c->name, c->group,
                         c->real_s, c->spread, c->reps, c->sim->makespan_s, error_of(c->sim, c),
                         c->null->makespan_s, error_of(c->null, c),
                         (unsigned long long)c->real->n_ops, c->same_log);
        for (int q = 0; q < m->topo.n_queues; q++)
            sw_writer_printf(w, ",%.9g,%.9g", c->real->queue_busy_s[q], c->sim->queue_busy_s[q]);
        sw_writer_printf(w, "\n");
    }
    return sw_writer_commit(w, err);
}

/* --- the page --------------------------------------------------------------------------------- */

enum { SIDE = 520, MARGIN = 56 };

static double at(double s, double lo, double hi) { /* 0 … 1 on a logarithmic axis */
    return log(s / lo) / log(hi / lo);
}

/* Predicted over measured, both logarithmic; the diagonal, and 15 % beside it. */
static void scatter(sw_writer *w, const sw_matrix *m) {
    double lo = INFINITY, hi = 0;
    for (int i = 0; i < m->n; i++) {
        const sw_case *c = &m->cases[i];
        if (!c->real) continue;
        lo = fmin(lo, fmin(c->real_s, c->null->makespan_s));
        hi = fmax(hi, fmax(c->real_s, c->sim->makespan_s));
    }
    if (!(hi > lo)) return;
    lo *= 0.8, hi *= 1.25;
    const double span = SIDE - 2 * MARGIN;
    sw_writer_printf(w,
                     "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Predicted against "
                     "measured makespan, logarithmic; points on the diagonal are right\">\n",
                     SIDE, SIDE);
    for (double d = pow(10, floor(log10(lo))); d <= hi; d *= 10)
        for (int k = 1; k < 10; k++) {
            double x = at(d * k, lo, hi);
            if (x < 0 || x > 1) continue;
            double px = MARGIN + x * span, py = SIDE - MARGIN - x * span;
            sw_writer_printf(w, "<path class=\"g\" d=\"M%.1f %d V%d M%d %.1f H%d\"/>\n", px, MARGIN,
                             SIDE - MARGIN, MARGIN, py, SIDE - MARGIN);
            if (k == 1 || k == 2 || k == 5)
                sw_writer_printf(w,
                                 "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text><text "
                                 "x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                                 px, SIDE - MARGIN + 16, d * k * 1e3, MARGIN - 6, py + 4,
                                 d * k * 1e3);
        }
    static const double factors[] = {1, 1.15, 1 / 1.15};
    for (int i = 0; i < 3; i++) {
        double off = at(lo * factors[i], lo, hi) * span;
        sw_writer_printf(w, "<path class=\"%s\" d=\"M%.1f %.1f L%.1f %.1f\"/>\n", i ? "d" : "e",
                         MARGIN + fmax(0, -off), SIDE - MARGIN - fmax(0, off),
                         SIDE - MARGIN - fmax(0, off), MARGIN + fmax(0, -off));
    }
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < m->n; i++) {
            const sw_case *c = &m->cases[i];
            if (!c->real) continue;
            const sw_result *r = pass ? c->sim : c->null;
            double x = MARGIN + at(c->real_s, lo, hi) * span;
            double y = SIDE - MARGIN - at(r->makespan_s, lo, hi) * span;
            if (pass)
                sw_writer_printf(w, "<circle class=\"s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\">", x, y);
            else
                sw_writer_printf(w, "<path class=\"n\" d=\"M%.1f %.1fl7 7m0 -7l-7 7\">", x - 3.5,
                                 y - 3.5);
            sw_writer_printf(w, "<title>%s: measured %.1f ms, %s %.1f ms</title></%s>\n", c->name,
                             c->real_s * 1e3, pass ? "simgrid" : "null", r->makespan_s * 1e3,
                             pass ? "circle" : "path");
        }
    sw_writer_printf(w,
                     "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">measured, ms</text><text "
                     "transform=\"translate(14 %d) rotate(-90)\" text-anchor=\"middle\">predicted, "
                     "ms</text></svg>\n<p>Dots: simgrid. Crosses: null, which knows no contention. "
                     "The lines beside the diagonal are 15 %% away.</p>\n",
                     SIDE / 2, SIDE - 12, SIDE / 2);
}

static void stats_html(sw_writer *w, const char *what, const sw_error_stats *s) {
    if (!s->n) return;
    sw_writer_printf(w, "<tr><th scope=\"row\">%s<td>%d<td>%+.1f<td>%.1f<td>%.1f<td>%.1f</tr>\n",
                     what, s->n, 100 * s->bias, 100 * s->median, 100 * s->p90, 100 * s->worst);
}

static const char head[] =
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" "
    "content=\"width=device-width\"><title>Spillway: predicted against measured</title><style>"
    ":root{color-scheme:light dark;--ink:#222;--dim:#888;--grid:#ddd;--sim:#0072b2;--null:#d55e00}"
    "@media(prefers-color-scheme:dark){:root{--ink:#ddd;--dim:#999;--grid:#444;--sim:#56b4e9;"
    "--null:#e69f00}}"
    "body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);max-width:60em;margin:2em auto;"
    "padding:0 1em}svg{width:100%;max-width:36em;font-size:11px}svg text{fill:var(--dim)}"
    ".g{stroke:var(--grid);stroke-width:.5}.e{stroke:var(--ink)}.d{stroke:var(--dim);"
    "stroke-dasharray:4}.s{fill:var(--sim)}.n{stroke:var(--null);stroke-width:1.5}"
    "table{border-collapse:collapse;display:block;overflow-x:auto}td,th{padding:.2em .6em;"
    "text-align:right;border-bottom:1px solid var(--grid)}th[scope=row]{text-align:left;"
    "font-weight:normal}</style>\n";

sw_status sw_matrix_html(const sw_matrix *m, const sw_verdict_of_matrix *v, const char *title,
                         const char *path, sw_error *err) {
    char what[96];
    sw_writer *w;
    SW_TRY(sw_writer_open(path, &w, err));
    sw_writer_put(w, head, sizeof head - 1);
    sw_writer_printf(w,
                     "<h1>Predicted against measured</h1><p>%s.</p><p>The makespan of simgrid is "
                     "off by %.1f %% in the "
                     "median and %.1f %% in nine cases of ten; repetitions of one case differ by "
                     "%.1f %%.</p>\n",
                     title, 100 * v->sim.median, 100 * v->sim.p90, 100 * v->spread);
    scatter(w, m);
    sw_writer_printf(w, "<h2>Errors</h2><table><tr><th scope=\"col\">error of<th>cases<th>bias "
                        "%%<th>median %%<th>p90 %%<th>worst %%</tr>\n");
    stats_html(w, "makespan, simgrid", &v->sim);
    stats_html(w, "makespan, null", &v->null);
    stats_html(w, "where it took 1.2 x null or more: simgrid", &v->contended_sim);
    stats_html(w, "where it took 1.2 x null or more: null", &v->contended_null);
    for (int q = 0; q < m->topo.n_queues; q++) {
        snprintf(what, sizeof what, "busy time of %s", m->topo.queues[q].name);
        stats_html(w, what, &v->queue[q]);
    }
    for (int c = 0; c < SW_CAT_COUNT; c++) {
        snprintf(what, sizeof what, "time of ops: %s", sw_cat_text((sw_cat)c));
        stats_html(w, what, &v->cat[c]);
    }
    sw_writer_printf(w, "</table><h2>Cases</h2><table><tr><th scope=\"col\">case<th>measured "
                        "ms<th>spread %%<th>simgrid ms<th>error %%<th>null, error %%</tr>\n");
    for (int i = 0; i < m->n; i++) {
        const sw_case *c = &m->cases[i];
        if (!c->real) continue;
        sw_writer_printf(
            w, "<tr><th scope=\"row\">%s<td>%.1f<td>%.1f<td>%.1f<td>%+.1f<td>%+.1f</tr>\n", c->name,
            c->real_s * 1e3, 100 * c->spread, c->sim->makespan_s * 1e3, 100 * error_of(c->sim, c),
            100 * error_of(c->null, c));
    }
    sw_writer_printf(w, "</table></html>\n");
    return sw_writer_commit(w, err);
}
