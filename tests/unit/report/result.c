/* Do the figures agree with each other, and text, JSON and CSV with the figures? */
#include "run.h"
#include <unistd.h>

typedef struct fixture {
    sw_scenario *s;
    sw_result *r;
    sw_report report;
} fixture;

static fixture setup(const char *policy) {
    fixture f = {0};
    sw_override over = {"policy", policy};
    sw_error err = {0};
    f.s = open_stream(&over, 1);
    f.r = sw_zalloc(1, sizeof *f.r);
    sw_status st = run_here(f.s, NULL, 0, f.r, &err);
    f.report.scenario = f.s;
    sw_report_fill(&f.report, st, st ? sw_strdup(err.text) : NULL, f.r);
    return f;
}

static void teardown(fixture *f) {
    free((char *)(uintptr_t)f->report.outcome.why);
    sw_scenario_free(f->s);
    free(f->r);
}

static double stat(const fixture *f, const char *name) {
    double x = NAN;
    sw_error err = {0};
    if (sw_stat_value(&f->report.outcome, name, &x, &err)) printf("\n  %s\n", err.text);
    return x;
}

static void stats(void) {
    fixture f = setup("prefetch");
    CHECK(stat(&f, "fits") == 1);
    CHECK(stat(&f, "makespan_s") == f.r->makespan_s);
    CHECK(stat(&f, "tier.vram0.peak_bytes") == (double)f.r->tier[0].peak_bytes);
    CHECK(stat(&f, "resource.pcie0.h2d.bytes") > 1e9);
    CHECK(stat(&f, "counter.prefetch_late") >= 1);
    CHECK(stat(&f, "queue.gpu0.compute.busy_s") > 0);
    double sum = 0, share = 0;
    char name[64];
    for (int c = 0; c < SW_CAT_COUNT; c++) {
        snprintf(name, sizeof name, "path.%s.time_s", sw_cat_key((sw_cat)c));
        sum += stat(&f, name);
        snprintf(name, sizeof name, "path.%s.share", sw_cat_key((sw_cat)c));
        share += stat(&f, name);
    }
    CHECK_REL(sum, f.r->makespan_s, 1e-9);
    CHECK_REL(share, 1, 1e-9);
    CHECK(stat(&f, "bound_ratio") >= 1);
    CHECK_REL(stat(&f, "moved_bytes_per_token") * stat(&f, "outputs"), stat(&f, "moved_bytes"),
              1e-12);
    teardown(&f);
}

static void unknown(void) {
    fixture f = setup("prefetch");
    sw_error err = {0};
    double x = 5;
    CHECK_INT(sw_stat_value(&f.report.outcome, "tier.vram0.peak_byte", &x, &err), SW_INPUT);
    CHECK_STR(err.text,
              "unknown figure \"tier.vram0.peak_byte\"; did you mean \"tier.vram0.peak_bytes\"?");
    CHECK(x == 5);
    teardown(&f);
}

/* A run that does not fit has `fits` and nothing else. */
static void not_fitting(void) {
    fixture f = setup("resident");
    sw_error err = {0};
    double x = 5;
    CHECK_INT(f.report.outcome.status, SW_FIT);
    CHECK(stat(&f, "fits") == 0);
    CHECK_INT(sw_stat_value(&f.report.outcome, "makespan_s", &x, &err), SW_FIT);
    CHECK(strstr(err.text, "run resident has no makespan_s: does not fit") == err.text);
    teardown(&f);
}

static void keys(void) {
    for (size_t i = 0; i < sw_stats_n; i++) {
        CHECK(sw_stats[i].key && sw_stats[i].text && sw_stats[i].unit && sw_stats[i].get);
        CHECK(*sw_stats[i].text && sw_stats[i].text[strlen(sw_stats[i].text) - 1] != '.');
        for (size_t k = 0; k < i; k++)
            CHECK(sw_stats[i].family != sw_stats[k].family ||
                  strcmp(sw_stats[i].key, sw_stats[k].key));
    }
}

static void json(void) {
    fixture f = setup("prefetch");
    json_t *o = sw_report_object(&f.report);
    char *a = sw_json_text(o), *b;
    json_decref(o);
    o = sw_report_object(&f.report);
    b = sw_json_text(o);
    CHECK(a && b && !strcmp(a, b)); /* the same run, the same bytes */
    CHECK(json_is_true(json_object_get(o, "fits")));
    json_t *m = json_object_get(json_object_get(o, "stats"), "makespan_s");
    CHECK(json_number_value(json_object_get(m, "value")) == f.r->makespan_s);
    CHECK_STR(json_string_value(json_object_get(m, "unit")), "s");
    json_t *v = json_object_get(json_object_get(o, "tier"), "vram0");
    CHECK((uint64_t)json_integer_value(json_object_get(v, "peak_bytes")) ==
          f.r->tier[0].peak_bytes);
    CHECK(json_object_get(o, "wall_s") == NULL);
    for (size_t i = 0; i < sw_stats_n; i++)
        if (sw_stats[i].family == SW_FAMILY_RUN)
            CHECK(json_object_get(json_object_get(o, "stats"), sw_stats[i].key) != NULL);
    json_decref(o);
    free(a);
    free(b);
    teardown(&f);
}

/* As many fields in each row as in the header; the figures read back. */
static void csv(void) {
    fixture f[] = {setup("prefetch"), setup("resident")};
    sw_report runs[] = {f[0].report, f[1].report};
    char path[] = "/tmp/spillway-csv-XXXXXX";
    int fd = mkstemp(path);
    close(fd);
    CHECK_INT(sw_report_csv(runs, 2, path, NULL), SW_OK);
    FILE *in = fopen(path, "r");
    static char line[1 << 16];
    int commas[3] = {0};
    for (int row = 0; row < 3; row++) {
        bool quoted = false;
        CHECK(fgets(line, sizeof line, in) != NULL);
        for (const char *p = line; *p; p++) {
            if (*p == '"') quoted = !quoted;
            commas[row] += *p == ',' && !quoted;
        }
    }
    CHECK(commas[0] > 60);
    CHECK_INT(commas[1], commas[0]);
    CHECK_INT(commas[2], commas[0]);
    fclose(in);
    unlink(path);
    teardown(&f[0]);
    teardown(&f[1]);
}

/* docs/results.md has every figure as the table has it. */
static void documented(void) {
    sw_reader *in;
    char *line;
    static char text[1 << 16], want[400];
    size_t n = 0, bytes;
    CHECK_INT(sw_reader_open(SPILLWAY_SOURCE_DIR "/docs/results.md", &in, NULL), SW_OK);
    while (sw_reader_line(in, &line, &bytes, NULL) == SW_OK)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s\n", line);
    sw_reader_close(in);
    for (size_t i = 0; i < sw_stats_n; i++) {
        const sw_stat *s = &sw_stats[i];
        bool counter = s->family == SW_FAMILY_COUNTER;
        snprintf(want, sizeof want, "%s` | %s | %s |\n", counter ? "NAME" : s->key, s->unit,
                 s->text);
        if (!strstr(text, want)) printf("\n  docs/results.md lacks: %s", want);
        CHECK(strstr(text, want) != NULL);
    }
}

static void ranking(void) {
    fixture f = setup("prefetch");
    double now = f.r->tokens_per_s;
    f.report.n_whatif = 3;
    f.report.whatif[0] =
        (sw_whatif){.knob = "nvme", .factor = 2, .tokens_per_s = now, .makespan_s = 1};
    f.report.whatif[1] =
        (sw_whatif){.knob = "pcie", .factor = 2, .tokens_per_s = 2 * now, .makespan_s = 1};
    f.report.whatif[2] = (sw_whatif){.knob = "ram size", .factor = 2, .status = SW_FIT};
    sw_report_rank(&f.report);
    CHECK_STR(f.report.whatif[0].knob, "pcie");
    CHECK_REL(f.report.whatif[0].speedup, 2, 1e-12);
    CHECK_STR(f.report.whatif[1].knob, "nvme");
    CHECK_STR(f.report.whatif[2].knob, "ram size");
    teardown(&f);
}

SW_TESTS("result", {"stats", stats}, {"unknown", unknown}, {"not fitting", not_fitting},
         {"keys", keys}, {"json", json}, {"csv", csv}, {"ranking", ranking},
         {"documented", documented})
