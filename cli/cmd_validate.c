/* spillway validate: predicted against measured, on this machine. */
#include "cli/args.h"
#include "jobs/job.h"
#include "sim/base/stream.h"
#include "sim/base/vec.h"
#include "validate/calibrate.h"
#include "validate/matrix.h"
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct validate_opts {
    const char *backend, *machine, *nvme, *csv, *html, *median, *p90;
    int64_t reps;
    bool fast, all, quiet, plain;
} validate_opts;

static const sw_opt opts[] = {
    {"backend", 0, SW_OPT_TEXT, "NAME", offsetof(validate_opts, backend),
     "host (default) or cuda: what really runs the cases"},
    {"machine", 'm', SW_OPT_TEXT, "FILE", offsetof(validate_opts, machine),
     "the device file that calibrate wrote (default: calibrate first)"},
    {"nvme", 0, SW_OPT_TEXT, "PATH", offsetof(validate_opts, nvme),
     "a folder on the disk that was measured"},
    {"reps", 0, SW_OPT_COUNT, "N", offsetof(validate_opts, reps),
     "run each case so often, interleaved; the median counts (default 3)"},
    {"csv", 0, SW_OPT_TEXT, "FILE", offsetof(validate_opts, csv), "write one row a case"},
    {"html", 0, SW_OPT_TEXT, "FILE", offsetof(validate_opts, html),
     "write a page with a scatter plot"},
    {"median", 0, SW_OPT_TEXT, "PERCENT", offsetof(validate_opts, median),
     "exit 3 when the median error is larger (default 5)"},
    {"p90", 0, SW_OPT_TEXT, "PERCENT", offsetof(validate_opts, p90),
     "exit 3 when one case in ten is further off (default 15)"},
    {"all", 0, SW_OPT_FLAG, NULL, offsetof(validate_opts, all),
     "show every case, not the worst ten"},
    {"fast", 0, SW_OPT_FLAG, NULL, offsetof(validate_opts, fast),
     "a few small cases once, for a smoke test"},
    {"quiet", 'q', SW_OPT_FLAG, NULL, offsetof(validate_opts, quiet), "print nothing but errors"},
    {"plain", 0, SW_OPT_FLAG, NULL, offsetof(validate_opts, plain), "ASCII only, no colour"}};

typedef struct session {
    validate_opts o;
    double median, p90; /* tolerated */
    bool shown;
    char machine[512]; /* absolute */
    sw_matrix *m;
} session;

static void progress(void *arg, int done, int of) {
    if (((session *)arg)->shown) fprintf(stderr, "\r\033[Kcalibrating: %d of %d", done, of);
}

static sw_status percent(const char *option, const char *text, double otherwise, double *out,
                         sw_error *err) {
    char *end;
    *out = otherwise / 100;
    if (!text) return SW_OK;
    double x = strtod(text, &end);
    if (end == text || *end || !(x > 0 && x <= 1000))
        return sw_fail(err, SW_INPUT, "--%s wants a percentage such as 10, not \"%.40s\"", option,
                       text);
    *out = x / 100;
    return SW_OK;
}

/* Without a device file: measure now, into a temporary one. */
static sw_status calibrate(session *s, const sw_backend_ops *backend, sw_error *err) {
    sw_cal_options o = {
        .backend = backend, .nvme = s->o.nvme, .quick = s->o.fast, .progress = progress, .arg = s};
    const char *tmp = getenv("TMPDIR");
    snprintf(s->machine, sizeof s->machine, "%.400s/spillway-machine-%ld.yaml", tmp ? tmp : "/tmp",
             (long)getpid());
    sw_calibration *c = sw_zalloc(1, sizeof *c);
    if (!c) return sw_fail(err, SW_MEMORY, "out of memory");
    sw_status st = sw_calibrate(&o, c, err);
    if (s->shown) fputs("\r\033[K", stderr);
    char *text = st ? NULL : sw_calibration_yaml(c);
    sw_writer *w;
    if (!st) st = text ? sw_writer_open(s->machine, &w, err) : SW_MEMORY;
    if (!st) {
        sw_writer_put(w, text, strlen(text));
        st = sw_writer_commit(w, err);
    }
    free(text);
    free(c);
    return st;
}

static sw_status run_on(const session *s, const sw_case *c, const char *backend, sw_result *out,
                        sw_error *err) {
    char map[500];
    snprintf(map, sizeof map, "%s", backend);
    if (s->o.nvme && !strcmp(backend, s->o.backend))
        snprintf(map, sizeof map, "{name: %s, file: \"%.400s\"}", backend, s->o.nvme);
    sw_override over[] = {{"backend", map}};
    sw_job job = {.path = c->name, .text = c->text, .over = over, .n_over = 1};
    return sw_job_run(&job, out, err);
}

static sw_status simulate(session *s, sw_error *err) {
    for (int i = 0; i < s->m->n; i++) {
        sw_case *c = &s->m->cases[i];
        c->sim = malloc(sizeof *c->sim);
        c->null = malloc(sizeof *c->null);
        if (!c->sim || !c->null) return sw_fail(err, SW_MEMORY, "out of memory");
        if (s->shown) fprintf(stderr, "\r\033[Ksimulating: %d of %d", i + 1, s->m->n);
        SW_TRY(run_on(s, c, "null", c->null, err));
        SW_TRY(run_on(s, c, "simgrid", c->sim, err));
    }
    return SW_OK;
}

/* Repetition by repetition over all cases, so that no case has a quiet machine to itself. */
static sw_status measure(session *s, sw_error *err) {
    int reps = s->o.reps ? (int)s->o.reps : s->o.fast ? 1 : 3;
    sw_result *runs = malloc((size_t)s->m->n * (size_t)reps * sizeof *runs);
    sw_status st = runs ? SW_OK : sw_fail(err, SW_MEMORY, "out of memory");
    for (int k = 0; k < reps && !st; k++)
        for (int i = 0; i < s->m->n && !st; i++) {
            sw_case *c = &s->m->cases[i];
            if (s->shown)
                fprintf(stderr, "\r\033[Krunning: %d of %d", k * s->m->n + i + 1, reps * s->m->n);
            sw_result *r = &runs[i * reps + k];
            st = run_on(s, c, s->o.backend, r, err);
            c->raw_s[c->reps++] = r->makespan_s;
        }
    for (int i = 0; i < s->m->n && !st; i++)
        st = sw_case_settle(&s->m->cases[i], &runs[i * reps], err);
    free(runs);
    return st;
}

static sw_status answer(session *s, sw_error *err) {
    sw_verdict_of_matrix v;
    char title[700], day[16];
    time_t now = time(NULL);
    struct tm tm;
    sw_style style = sw_style_for(stdout, s->o.plain);
    sw_matrix_judge(s->m, &v);
    gmtime_r(&now, &tm);
    strftime(day, sizeof day, "%Y-%m-%d", &tm);
    snprintf(title, sizeof title, "%s, backend %s, %s, %d cases", s->m->topo.name, s->o.backend,
             day, v.sim.n);
    if (!s->o.quiet) {
        printf("%s\n\n", title);
        SW_TRY(sw_matrix_text(s->m, &v, s->o.all, &style, stdout, err));
    }
    if (s->o.csv) SW_TRY(sw_matrix_csv(s->m, s->o.csv, err));
    if (s->o.html) SW_TRY(sw_matrix_html(s->m, &v, title, s->o.html, err));
    if (v.n_logs_differ)
        return sw_fail(err, SW_RUN, "decisions differ between backends in %d cases",
                       v.n_logs_differ);
    if (v.sim.median > s->median || v.sim.p90 > s->p90)
        return sw_fail(err, SW_TOLERANCE,
                       "outside the tolerance: median error %.1f %% (%.3g allowed), p90 %.1f %% "
                       "(%.3g allowed)",
                       100 * v.sim.median, 100 * s->median, 100 * v.sim.p90, 100 * s->p90);
    return SW_OK;
}

static sw_status validate(session *s, const sw_backend_ops *backend, sw_error *err) {
    if (!s->o.machine)
        SW_TRY(calibrate(s, backend, err));
    else if (!realpath(s->o.machine, s->machine))
        return sw_fail(err, SW_INPUT, "%s: no such device file", s->o.machine);
    sw_matrix_fill(s->m, s->machine, s->o.fast);
    sw_scenario *first;
    SW_TRY(sw_scenario_open(s->m->cases[0].name, s->m->cases[0].text, NULL, NULL, 0, &first, err));
    s->m->topo = first->topo;
    sw_scenario_free(first);
    sw_status st = simulate(s, err);
    if (!st) st = measure(s, err);
    if (s->shown) fputs("\r\033[K", stderr);
    return st ? st : answer(s, err);
}

static sw_status run(const sw_command *cmd, int argc, char **argv, sw_error *err) {
    session s = {.o = {.backend = "host"}};
    const sw_plugin *backend;
    int n;
    SW_TRY(sw_args_read(cmd, argc, argv, &s.o, &n, err));
    SW_TRY(sw_output_ok("csv", s.o.csv, err));
    SW_TRY(sw_output_ok("html", s.o.html, err));
    SW_TRY(percent("median", s.o.median, 5, &s.median, err));
    SW_TRY(percent("p90", s.o.p90, 15, &s.p90, err));
    if (s.o.reps > SW_REPS_MAX) return sw_fail(err, SW_INPUT, "--reps: at most %d", SW_REPS_MAX);
    SW_TRY(sw_plugin_find(sw_backend_table, sw_backend_table_n, "backend", s.o.backend,
                          (sw_mark){0}, &backend, err));
    if (backend->flags & SW_BACKEND_VIRTUAL_TIME)
        return sw_fail(err, SW_INPUT, "--backend %s simulates: there is nothing to measure",
                       s.o.backend);
    s.shown = !s.o.quiet && isatty(2);
    s.m = sw_zalloc(1, sizeof *s.m);
    if (!s.m) return sw_fail(err, SW_MEMORY, "out of memory");
    sw_status st = validate(&s, (const sw_backend_ops *)backend, err);
    if (!s.o.machine && *s.machine) unlink(s.machine);
    sw_matrix_free(s.m);
    free(s.m);
    return st;
}

const sw_command sw_cmd_validate = {
    .name = "validate",
    .summary = "run a matrix of scenarios for real and hold the simulator against it",
    .usage = "[options]",
    .doc = "Runs each case on a real backend, on simgrid and on null with the calibrated machine, "
           "and prints the errors. Exits 3 outside the tolerance. docs/validation.md says what the "
           "cases are.",
    .example = "  spillway calibrate -o mymachine.yaml\n"
               "  spillway validate --machine mymachine.yaml --html errors.html\n",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
    .min_args = 0,
    .max_args = 0,
    .run = run,
};
