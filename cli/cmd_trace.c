/* spillway trace: looking into traces and making them. A trace is a recording, in any format that
 * an importer reads, or what a scenario's workload makes. */
#include "cli/out.h"
#include "cli/runs.h"
#include "cli/trace_use.h"
#include "sim/base/vec.h"
#include "sim/report/trace_text.h"
#include "traces/swt_write.h"

typedef struct trace_opts {
    sw_run_opts run; /* set, quiet, plain, json */
    const char *output;
} trace_opts;

static const sw_opt opts[] = {
    {"output", 'o', SW_OPT_TEXT, "FILE", offsetof(trace_opts, output),
     "gen: the file to write (.gz: compressed); \"-\" is standard output"},
    {"set", 0, SW_OPT_LIST, "KEY=VALUE", offsetof(trace_opts, run.set),
     "set a key of the scenario, such as workload.batch=8; may be given again"},
    {"json", 0, SW_OPT_TEXT, "FILE", offsetof(trace_opts, run.json),
     "info: write the figures; \"-\" is standard output"},
    {"quiet", 'q', SW_OPT_FLAG, NULL, offsetof(trace_opts, run.quiet), "print nothing but errors"},
    {"plain", 0, SW_OPT_FLAG, NULL, offsetof(trace_opts, run.plain), "ASCII only, no colour"}};

/* A source ready to be read. */
typedef struct stream {
    const sw_source_ops *ops;
    const sw_node *map;
    sw_source_env env;
    char name[512];
    sw_task *task; /* the scenario behind it; NULL: a recording */
} stream;

/* --- finding it ---------------------------------------------------------------------------- */

static bool ends(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

static bool is_model(const char *file) {
    return ends(file, ".gguf") || ends(file, ".safetensors") || ends(file, ".json");
}

/* The importer that is surest of the file's first bytes. */
static sw_status importer(const char *path, const sw_source_ops **out, sw_error *err) {
    char head[4096];
    size_t got = 0;
    int best = 0;
    sw_reader *r;
    SW_TRY(sw_reader_open(path, &r, err));
    sw_status st = sw_reader_read(r, head, sizeof head, &got, err);
    sw_reader_close(r);
    SW_TRY(st);
    *out = NULL;
    for (size_t i = 0; i < sw_source_table_n; i++) {
        const sw_source_ops *s = (const sw_source_ops *)sw_source_table[i];
        if (!(s->plugin.flags & SW_SOURCE_IMPORTER) || !s->sniff) continue;
        int sure = s->sniff(path, head, got);
        if (sure > best) best = sure, *out = s;
    }
    if (*out) return SW_OK;
    return sw_fail(err, SW_INPUT, "%s: no format of spillway list importers", path);
}

static sw_status open_scenario(stream *s, const char *path, const sw_run_opts *o, sw_error *err) {
    s->task = sw_zalloc(1, sizeof *s->task);
    if (!s->task) return sw_fail(err, SW_MEMORY, "out of memory");
    SW_TRY(sw_task_options(s->task, path, NULL, o, err));
    SW_TRY(sw_task_open(s->task, err));
    sw_replay r;
    sw_report report = {.scenario = s->task->scenario};
    sw_scenario_replay(s->task->scenario, &r);
    s->ops = r.source;
    s->map = r.source_map;
    s->env = r.source_env;
    sw_report_subject(&report, s->name, sizeof s->name);
    return SW_OK;
}

/* path: room for the scenario's, which lives as long as the stream. */
static sw_status open_stream(stream *s, const char *what, char *path, size_t n,
                             const sw_run_opts *o, sw_error *err) {
    if (is_model(what))
        return sw_fail(err, SW_INPUT, "%s: a model, not a trace; see spillway model", what);
    if (ends(what, ".yaml") || !strpbrk(what, "./")) {
        SW_TRY(sw_find_scenario(what, path, n, err));
        return open_scenario(s, path, o, err);
    }
    s->env = (sw_source_env){.path = what, .seed = 1};
    snprintf(s->name, sizeof s->name, "%s", what);
    return importer(what, &s->ops, err);
}

/* --- the subcommands ----------------------------------------------------------------------- */

static sw_status info(const stream *s, const trace_opts *o, sw_error *err) {
    sw_scan *scan;
    sw_trace_info use;
    bool silent = o->run.quiet || (o->run.json && !strcmp(o->run.json, "-"));
    SW_TRY(sw_scan_run(s->ops, s->map, &s->env, false, &scan, err));
    sw_style style = sw_style_for(stdout, o->run.plain);
    sw_status st = sw_trace_info_run(s->ops, s->map, &s->env, &use, err);
    if (!st && !silent) st = sw_trace_text(scan, s->name, &style, stdout, err);
    if (!st && !silent) st = sw_trace_use_text(&use, &style, stdout, err);
    fflush(stdout);
    if (!st && o->run.json) {
        json_t *all = sw_trace_json(scan, s->name);
        sw_trace_use_json(&use, all);
        st = sw_json_write(all, o->run.json, err);
    }
    sw_scan_free(scan);
    return st;
}

static sw_status gen(const stream *s, const trace_opts *o, sw_error *err) {
    if (!o->output) return sw_fail(err, SW_INPUT, "trace gen wants -o FILE");
    return sw_swt_record(s->ops, s->map, &s->env, o->output, s->task ? s->name : NULL, err);
}

static sw_status cat(const stream *s, const trace_opts *o, sw_error *err) {
    (void)o;
    return sw_swt_record(s->ops, s->map, &s->env, "-", NULL, err);
}

static const struct {
    const char *name;
    sw_status (*run)(const stream *s, const trace_opts *o, sw_error *err);
} verbs[] = {{"info", info}, {"gen", gen}, {"cat", cat}};

static sw_status run(const sw_command *cmd, int argc, char **argv, sw_error *err) {
    enum { VERBS = sizeof verbs / sizeof *verbs };
    trace_opts o = {0};
    char path[512];
    const char *words[VERBS];
    int n;
    SW_TRY(sw_args_read(cmd, argc, argv, &o, &n, err));
    SW_TRY(sw_output_ok("json", o.run.json, err));
    SW_TRY(sw_output_ok("output", o.output, err));
    for (size_t i = 0; i < VERBS; i++) {
        words[i] = verbs[i].name;
        if (strcmp(words[i], argv[1])) continue;
        if (verbs[i].run == info && is_model(argv[2]))
            return sw_model_show(argv[2], o.run.json, o.run.quiet, o.run.plain, err);
        stream s = {0};
        sw_status st = open_stream(&s, argv[2], path, sizeof path, &o.run, err);
        if (!st) st = verbs[i].run(&s, &o, err);
        if (s.task) sw_task_close(s.task);
        free(s.task);
        return st;
    }
    return sw_unknown("trace command", argv[1], words, VERBS, err);
}

const sw_command sw_cmd_trace = {
    .name = "trace",
    .summary = "look into a trace, make one from a scenario, print one as text",
    .usage = "info|gen|cat FILE|SCENARIO [options]",
    .doc =
        "info sums a trace up, gen writes it in Spillway's own format, cat prints it in that "
        "format. FILE is a recording in a format of spillway list importers; of a SCENARIO it is "
        "what its workload makes, whatever the policy. info takes a model's file too.",
    .example = "  spillway trace info llama3-70b-q4-rtx4090 --set workload.batch=8\n"
               "  spillway trace gen llama3-70b-q4-rtx4090 -o t.swt.gz\n"
               "  spillway trace cat t.swt.gz\n",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
    .min_args = 2,
    .max_args = 2,
    .run = run,
};
