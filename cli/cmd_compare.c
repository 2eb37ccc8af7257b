/* spillway compare: one scenario under several policies, one row each. */
#include "cli/runs.h"
#include "sim/base/vec.h"

enum { POLICIES_MAX = 32 };

static const sw_opt opts[] = {{"policy", 0, SW_OPT_TEXT, "A,B,C", offsetof(sw_run_opts, policy),
                               "the policies (default: all of them); NAME:key=value sets options"},
                              SW_RUN_OPT_ROWS};

/* A file a run: "t.json.gz" becomes "t.prefetch.json.gz". */
static const char *own_name(sw_task *t, const char *path, sw_error *err) {
    if (!path) return NULL;
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const char *dot = strchr(base + (*base != 0), '.');
    size_t stem = dot ? (size_t)(dot - path) : strlen(path);
    size_t n = strlen(path) + strlen(t->label) + 2;
    char *name = malloc(n);
    if (!name || t->n_owned == SW_OVER_MAX * 2) {
        free(name);
        sw_fail(err, SW_MEMORY, "out of memory");
        return NULL;
    }
    snprintf(name, n, "%.*s.%s%s", (int)stem, path, t->label, path + stem);
    for (char *p = name + stem; *p; p++)
        if (*p == ':' || *p == '=') *p = '-';
    t->owned[t->n_owned++] = name;
    return name;
}

/* Splits "a,b:x=1,c"; text is changed. Without text: every policy. */
static sw_status names(char *text, const char **out, size_t *n, sw_error *err) {
    *n = 0;
    if (!text) {
        for (; *n < sw_policy_table_n && *n < POLICIES_MAX; ++*n)
            out[*n] = sw_policy_table[*n]->name;
        return SW_OK;
    }
    for (char *save, *p = strtok_r(text, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
        if (*n == POLICIES_MAX)
            return sw_fail(err, SW_INPUT, "--policy takes at most %d policies", POLICIES_MAX);
        out[(*n)++] = p;
    }
    return *n ? SW_OK : sw_fail(err, SW_INPUT, "--policy wants a list of policies");
}

static sw_status report(sw_task *const *tasks, size_t n, const sw_run_opts *o, sw_error *err) {
    sw_report *runs = sw_zalloc(n, sizeof *runs);
    if (!runs) return sw_fail(err, SW_MEMORY, "out of memory");
    sw_status worst = SW_OK;
    size_t fitting = 0;
    for (size_t i = 0; i < n; i++) {
        const sw_job_result *r = tasks[i]->result;
        runs[i].scenario = tasks[i]->scenario;
        runs[i].outcome.label = tasks[i]->label;
        sw_report_fill(&runs[i], r->status, r->err.text, &r->result);
        if (o->timing) runs[i].wall_s = tasks[i]->wall_s;
        fitting += r->status == SW_OK;
        if (r->status && sw_exit_code(r->status) != 4 && !worst) worst = r->status;
    }
    bool silent =
        o->quiet || (o->json && !strcmp(o->json, "-")) || (o->csv && !strcmp(o->csv, "-"));
    sw_status st = SW_OK;
    if (!silent) {
        sw_style style = sw_style_for(stdout, o->plain);
        st = sw_report_compare(runs, n, &style, stdout, err);
        fflush(stdout);
    }
    if (!st && o->json) st = sw_report_json(runs, n, true, o->json, err);
    if (!st && o->csv) st = sw_report_csv(runs, n, o->csv, err);
    free(runs);
    if (st) return st;
    if (worst) return sw_fail(err, worst, "a run failed; its row says why");
    return fitting ? SW_OK : SW_FIT;
}

static sw_status compare(const char *path, const char **policy, size_t n, const sw_run_opts *o,
                         sw_error *err) {
    sw_task **tasks = sw_zalloc(n, sizeof *tasks);
    sw_status st = tasks ? SW_OK : sw_fail(err, SW_MEMORY, "out of memory");
    for (size_t i = 0; i < n && !st; i++) {
        sw_task *t = tasks[i] = sw_zalloc(1, sizeof *t);
        if (!t) {
            st = sw_fail(err, SW_MEMORY, "out of memory");
            break;
        }
        st = sw_task_options(t, path, policy[i], o, err);
        t->job.chrome_path = own_name(t, o->chrome, err);
        t->job.op_log_path = own_name(t, o->op_log, err);
        t->job.decisions_path = own_name(t, o->decisions, err);
        if (!st) st = sw_task_open(t, err);
    }
    if (!st) st = sw_tasks_run(tasks, n, o, "simulating", err);
    if (!st) st = report(tasks, n, o, err);
    for (size_t i = 0; tasks && i < n; i++)
        if (tasks[i]) {
            sw_task_close(tasks[i]);
            free(tasks[i]);
        }
    free(tasks);
    return st;
}

static sw_status run(const sw_command *cmd, int argc, char **argv, sw_error *err) {
    sw_run_opts o = {0};
    char path[512];
    const char *policy[POLICIES_MAX];
    size_t k;
    int n;
    SW_TRY(sw_args_read(cmd, argc, argv, &o, &n, err));
    SW_TRY(sw_find_scenario(argv[1], path, sizeof path, err));
    char *list = o.policy ? sw_strdup(o.policy) : NULL;
    if (o.policy && !list) return sw_fail(err, SW_MEMORY, "out of memory");
    sw_status st = names(list, policy, &k, err);
    if (!st) st = compare(path, policy, k, &o, err);
    free(list);
    return st;
}

const sw_command sw_cmd_compare = {
    .name = "compare",
    .summary = "run a scenario under several policies and print one row each",
    .usage = "SCENARIO [--policy A,B,C] [options]",
    .doc =
        "A policy that does not fit is a row that says what is missing. Exits 4 when none fits. "
        "--chrome-trace, --op-log and --decision-log write one file a policy, its name before the "
        "first dot.",
    .example =
        "  spillway compare scenarios/llama3-70b-q4-rtx4090.yaml --policy resident,prefetch,split\n"
        "  spillway compare llama3-70b-q4-rtx4090 --policy prefetch:depth=1,prefetch:depth=4\n",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
