/* Claims with their figures and verdicts: for people, as Markdown, as JSON (see claims.h). */
#include "cli/claims.h"
#include <math.h>
#include <string.h>

static void verdict(const sw_claim_answer *a, char *buf, size_t n) {
    switch (a->verdict) {
    case SW_VERDICT_HOLDS:
        snprintf(buf, n, "holds");
        return;
    case SW_VERDICT_PARTLY:
        if (*a->claim.when)
            snprintf(buf, n, "holds only when %s", a->claim.when);
        else
            snprintf(buf, n, "holds in part");
        return;
    case SW_VERDICT_FAILS:
        snprintf(buf, n, "does not hold");
        return;
    }
}

/* "17.2 GB/s"; bytes and seconds get their own prefix, a percentage its factor. */
static void figure(const sw_claim_answer *a, int i, char *buf, size_t n) {
    const char *unit = a->claim.shows[i].unit;
    double x = a->shown[i];
    char num[32];
    if (isnan(x))
        snprintf(buf, n, "does not fit");
    else if (!strcmp(unit, "bytes"))
        sw_text_bytes10(buf, n, x);
    else if (!strcmp(unit, "s"))
        sw_format_seconds(buf, n, x);
    else
        snprintf(buf, n, "%s%s%s", sw_text_num(num, sizeof num, x), *unit ? " " : "", unit);
}

static bool surprising(const sw_claim_answer *a) {
    return a->claim.expect >= 0 && a->claim.expect != (int)a->verdict;
}

sw_status sw_claims_text(const sw_claim_answer *a, size_t n, const sw_style *s, FILE *out,
                         sw_error *err) {
    static const sw_column cols[] = {{NULL, NULL, SW_LEFT, false}, {NULL, NULL, SW_LEFT, false}};
    static const sw_tone tones[] = {SW_TONE_GOOD, SW_TONE_BOLD, SW_TONE_BAD};
    char buf[400], words[460];
    for (size_t i = 0; i < n; i++) {
        const sw_claim *c = &a[i].claim;
        if (i) fputc('\n', out);
        snprintf(buf, sizeof buf, "(%s) %s", c->id, c->text);
        sw_paragraph(s, out, 0, 4, SW_TONE_BOLD, buf);
        sw_table *t = sw_table_new(cols, 2, 4);
        for (int k = 0; k < c->n_shows; k++) {
            figure(&a[i], k, buf, sizeof buf);
            sw_table_row(t);
            sw_table_cell(t, SW_TONE_NONE, "%s", c->shows[k].label);
            sw_table_span(t, SW_TONE_NONE, "%s", buf);
        }
        SW_TRY(sw_table_print(t, s, out, err));
        verdict(&a[i], buf, sizeof buf);
        snprintf(words, sizeof words, "Verdict: %s%s%s.", buf,
                 surprising(&a[i]) ? "; expected: " : "",
                 surprising(&a[i]) ? sw_verdict_name((sw_verdict)c->expect) : "");
        sw_paragraph(s, out, 4, 4, tones[a[i].verdict], words);
        if (*c->note) sw_paragraph(s, out, 4, 4, SW_TONE_DIM, c->note);
    }
    return SW_OK;
}

static void put_cell(sw_writer *w, const char *text) {
    for (; *text; text++) sw_writer_printf(w, *text == '|' ? "\\|" : "%c", *text);
}

sw_status sw_claims_markdown(const sw_claim_answer *a, size_t n, const char *path, sw_error *err) {
    sw_writer *w;
    char buf[400];
    SW_TRY(sw_writer_open(path, &w, err));
    sw_writer_printf(w, "| | Claim | Simulated | Verdict |\n|---|---|---|---|\n");
    for (size_t i = 0; i < n; i++) {
        const sw_claim *c = &a[i].claim;
        sw_writer_printf(w, "| %s | ", c->id);
        put_cell(w, c->text);
        sw_writer_printf(w, " | ");
        for (int k = 0; k < c->n_shows; k++) {
            figure(&a[i], k, buf, sizeof buf);
            sw_writer_printf(w, "%s", k ? "; " : "");
            put_cell(w, c->shows[k].label);
            sw_writer_printf(w, " %s", buf);
        }
        verdict(&a[i], buf, sizeof buf);
        sw_writer_printf(w, " | **");
        put_cell(w, buf);
        sw_writer_printf(w, "**%s", *c->note ? ". " : "");
        put_cell(w, c->note);
        sw_writer_printf(w, " |\n");
    }
    return sw_writer_commit(w, err);
}

static json_t *object(const sw_claim_answer *a) {
    const sw_claim *c = &a->claim;
    json_t *o = json_object(), *shows = json_array(), *runs = json_array();
    const struct {
        const char *key, *text;
    } texts[] = {{"id", c->id},
                 {"text", c->text},
                 {"source", c->source},
                 {"when", c->when},
                 {"note", c->note}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        json_object_set_new(o, texts[i].key, json_string(texts[i].text));
    json_object_set_new(o, "verdict", json_string(sw_verdict_name(a->verdict)));
    json_object_set_new(o, "expected",
                        c->expect < 0 ? json_null()
                                      : json_string(sw_verdict_name((sw_verdict)c->expect)));
    for (int i = 0; i < c->n_shows; i++) {
        json_t *x = json_object();
        json_object_set_new(x, "label", json_string(c->shows[i].label));
        json_object_set_new(x, "value", isnan(a->shown[i]) ? json_null() : json_real(a->shown[i]));
        json_object_set_new(x, "unit", json_string(c->shows[i].unit));
        json_object_set_new(x, "expression", json_string(c->shows[i].value->text));
        json_array_append_new(shows, x);
    }
    for (int i = 0; i < c->n_runs; i++) {
        const sw_job_result *r = a->tasks[i]->result;
        json_t *x = json_object();
        json_object_set_new(x, "name", json_string(c->runs[i].name));
        json_object_set_new(x, "fits", json_boolean(r->status == SW_OK));
        json_object_set_new(x, "why", r->status ? json_string(r->err.text) : json_null());
        json_array_append_new(runs, x);
    }
    json_object_set_new(o, "show", shows);
    json_object_set_new(o, "holds", json_string(c->holds->text));
    json_object_set_new(o, "partly", c->partly ? json_string(c->partly->text) : json_null());
    json_object_set_new(o, "runs", runs);
    return o;
}

sw_status sw_claims_json(const sw_claim_answer *a, size_t n, const char *path, sw_error *err) {
    json_t *o = json_object(), *list = json_array();
    json_object_set_new(o, "schema", json_integer(SW_JSON_SCHEMA));
    for (size_t i = 0; i < n; i++) json_array_append_new(list, object(&a[i]));
    json_object_set_new(o, "claims", list);
    return sw_json_write(o, path, err);
}
