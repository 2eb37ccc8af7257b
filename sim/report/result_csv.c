/* One row a run (see report.h). The columns are the run's own figures, then those of each tier,
 * resource and category that some run has; a run without a result leaves them empty. */
#include "sim/base/vec.h"
#include "sim/report/report.h"
#include <math.h>
#include <string.h>

typedef struct column {
    const sw_stat *stat;
    char name[160]; /* as sw_stat_value takes it */
} column;

typedef struct columns { /* a SW_VEC with a name */
    column *v;
    size_t n, cap;
} columns;

static bool have(const columns *c, const char *name) {
    for (size_t i = 0; i < c->n; i++)
        if (!strcmp(c->v[i].name, name)) return true;
    return false;
}

static bool collect(columns *c, const sw_outcome *o) {
    for (size_t s = 0; s < sw_stats_n; s++) {
        const sw_stat *stat = &sw_stats[s];
        int n = sw_family_items(stat->family, o->result, o->topo);
        for (int i = 0; i < n; i++) {
            column col = {.stat = stat};
            const char *item = sw_family_item(stat->family, o->result, o->topo, i);
            if (stat->family == SW_FAMILY_RUN)
                snprintf(col.name, sizeof col.name, "%s", stat->key);
            else if (stat->family == SW_FAMILY_COUNTER)
                snprintf(col.name, sizeof col.name, "counter.%s", item);
            else
                snprintf(col.name, sizeof col.name, "%s.%s.%s", sw_family_name(stat->family), item,
                         stat->key);
            if (!have(c, col.name) && !sw_vec_push(c, col)) return false;
        }
    }
    return true;
}

/* Text with quotes where a comma, a quote or a line break asks for them. */
static void put_text(sw_writer *w, const char *text) {
    if (!strpbrk(text, ",\"\n\r")) {
        sw_writer_put(w, text, strlen(text));
        return;
    }
    sw_writer_put(w, "\"", 1);
    for (; *text; text++) sw_writer_printf(w, *text == '"' ? "\"\"" : "%c", *text);
    sw_writer_put(w, "\"", 1);
}

static void put_row(sw_writer *w, const sw_report *r, const columns *c) {
    char subject[200], num[32];
    const sw_outcome *o = &r->outcome;
    sw_report_subject(r, subject, sizeof subject);
    const char *texts[] = {o->label,
                           subject,
                           r->scenario->topo.name,
                           r->scenario->runtime.name,
                           r->scenario->backend,
                           o->why ? o->why : ""};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put_text(w, texts[i]);
        sw_writer_put(w, ",", 1);
    }
    sw_writer_printf(w, "%d", o->status == SW_OK);
    for (size_t i = 0; i < c->n; i++) {
        double x;
        sw_writer_put(w, ",", 1);
        if (sw_stat_value(o, c->v[i].name, &x, NULL) || !isfinite(x)) continue;
        if (c->v[i].stat->whole && fabs(x) < 9e15)
            sw_writer_printf(w, "%.0f", x);
        else
            sw_writer_printf(w, "%s", sw_json_double(num, x));
    }
    sw_writer_put(w, "\n", 1);
}

sw_status sw_report_csv(const sw_report *runs, size_t n, const char *path, sw_error *err) {
    columns c = {0};
    sw_writer *w;
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++)
        if (runs[i].outcome.result) ok = collect(&c, &runs[i].outcome);
    sw_status st = ok ? sw_writer_open(path, &w, err) : sw_fail(err, SW_MEMORY, "out of memory");
    if (!st) {
        static const char head[] = "label,subject,machine,runtime,backend,why,fits";
        sw_writer_put(w, head, sizeof head - 1);
        for (size_t i = 0; i < c.n; i++) {
            sw_writer_put(w, ",", 1);
            put_text(w, c.v[i].name);
        }
        sw_writer_put(w, "\n", 1);
        for (size_t i = 0; i < n; i++) put_row(w, &runs[i], &c);
        st = sw_writer_commit(w, err);
    }
    sw_vec_free(&c);
    return st;
}
