/* spillway run: one scenario, one answer. */
#include "cli/runs.h"
#include "sim/backend.h"
#include "sim/base/vec.h"

static const sw_opt opts[] = {
    {"policy", 0, SW_OPT_TEXT, "NAME", offsetof(sw_run_opts, policy),
     "another policy than the scenario's; NAME:key=value sets its options"},
    {"no-sensitivity", 0, SW_OPT_FLAG, NULL, offsetof(sw_run_opts, no_sensitivity),
     "do not run the machine again with each figure doubled"},
    SW_RUN_OPT_ROWS};

static sw_status outputs(const sw_report *r, const sw_run_opts *o, sw_error *err) {
    if (o->json) SW_TRY(sw_report_json(r, 1, false, o->json, err));
    if (o->csv) SW_TRY(sw_report_csv(r, 1, o->csv, err));
    return SW_OK;
}

/* A machine with a figure doubled can be simulated; the one that really runs stays as it is. */
static bool simulated(const char *backend) {
    for (size_t i = 0; i < sw_backend_table_n; i++)
        if (!strcmp(sw_backend_table[i]->name, backend))
            return sw_backend_table[i]->flags & SW_BACKEND_VIRTUAL_TIME;
    return true;
}

static sw_status answer(sw_task *t, const sw_run_opts *o, sw_error *err) {
    sw_report r = {.scenario = t->scenario, .outcome = {.label = t->label}};
    SW_TRY(sw_tasks_run(&t, 1, o, "simulating", err));
    sw_status st = t->result->status;
    if (st && sw_exit_code(st) != 4) {
        *err = t->result->err;
        return st;
    }
    sw_report_fill(&r, st, t->result->err.text, &t->result->result);
    if (o->timing) r.wall_s = t->wall_s;
    if (!o->no_sensitivity && simulated(t->scenario->backend)) SW_TRY(sw_what_if(t, o, &r, err));
    bool silent =
        o->quiet || (o->json && !strcmp(o->json, "-")) || (o->csv && !strcmp(o->csv, "-"));
    if (!silent) {
        sw_style style = sw_style_for(stdout, o->plain);
        SW_TRY(sw_report_text(&r, &style, stdout, err));
        fflush(stdout);
    }
    SW_TRY(outputs(&r, o, err));
    return st && silent ? sw_fail(err, st, "%s", t->result->err.text) : st;
}

static sw_status run(const sw_command *cmd, int argc, char **argv, sw_error *err) {
    sw_run_opts o = {0};
    char path[512];
    int n;
    sw_status st = sw_args_read(cmd, argc, argv, &o, &n, err);
    if (st) return st;
    SW_TRY(sw_find_scenario(argv[1], path, sizeof path, err));
    sw_task *t = sw_zalloc(1, sizeof *t);
    if (!t) return sw_fail(err, SW_MEMORY, "out of memory");
    t->job.chrome_path = o.chrome;
    t->job.op_log_path = o.op_log;
    t->job.decisions_path = o.decisions;
    st = sw_task_options(t, path, o.policy, &o, err);
    if (!st) st = sw_task_open(t, err);
    if (!st) st = answer(t, &o, err);
    sw_task_close(t);
    free(t);
    return st;
}

const sw_command sw_cmd_run = {
    .name = "run",
    .summary = "simulate a scenario: does it fit, how fast is it, what limits it, what would help",
    .usage = "SCENARIO [options]",
    .doc = "SCENARIO is a file, or the name of one in spillway list scenarios. Exits 4 when it "
           "does not "
           "fit.",
    .example =
        "  spillway run scenarios/llama3-70b-q4-rtx4090.yaml --set workload.batch=8\n"
        "  spillway run llama3-70b-q4-rtx4090 --policy prefetch:depth=2 --chrome-trace t.json.gz\n",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
