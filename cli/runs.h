/* What `run`, `compare` and `claims` share: scenarios with overrides made into jobs, run side by
 * side, and turned into the reports' runs. */
#ifndef SW_CLI_RUNS_H
#define SW_CLI_RUNS_H

#include "cli/args.h"
#include "jobs/job.h"
#include "sim/report/report.h"

typedef struct sw_run_opts {
    const char *policy, *backend;
    sw_opt_list set; /* "key=value" */
    const char *json, *csv, *chrome, *op_log, *decisions;
    bool no_sensitivity, quiet, timing, plain, verify;
    int64_t parallel; /* 0: as many as there are processors */
} sw_run_opts;

/* Rows of an option table over sw_run_opts. */
#define SW_RUN_OPT_ROWS                                                                              \
    {"backend",                                                                                      \
     0,                                                                                              \
     SW_OPT_TEXT,                                                                                    \
     "NAME",                                                                                         \
     offsetof(sw_run_opts, backend),                                                                 \
     "simgrid (contention), null (none), host or cuda (really run)"},                                \
        {"set",                                                                                      \
         0,                                                                                          \
         SW_OPT_LIST,                                                                                \
         "KEY=VALUE",                                                                                \
         offsetof(sw_run_opts, set),                                                                 \
         "set a key of the scenario, such as workload.batch=8; may be given again"},                 \
        {"json",                                                                                     \
         0,                                                                                          \
         SW_OPT_TEXT,                                                                                \
         "FILE",                                                                                     \
         offsetof(sw_run_opts, json),                                                                \
         "write every figure, with the resolved scenario; \"-\" is standard output"},                \
        {"csv", 0, SW_OPT_TEXT, "FILE", offsetof(sw_run_opts, csv), "write one row a run"},          \
        {"chrome-trace",                                                                             \
         0,                                                                                          \
         SW_OPT_TEXT,                                                                                \
         "FILE",                                                                                     \
         offsetof(sw_run_opts, chrome),                                                              \
         "write a timeline for Perfetto or chrome://tracing (.gz: compressed)"},                     \
        {"op-log",                                                                                   \
         0,                                                                                          \
         SW_OPT_TEXT,                                                                                \
         "FILE",                                                                                     \
         offsetof(sw_run_opts, op_log),                                                              \
         "write every op, for spillway verify (.gz: compressed)"},                                   \
        {"decision-log",                                                                             \
         0,                                                                                          \
         SW_OPT_TEXT,                                                                                \
         "FILE",                                                                                     \
         offsetof(sw_run_opts, decisions),                                                           \
         "write what the policy decided, one line an intent"},                                       \
        {"verify",                                                                                   \
         0,                                                                                          \
         SW_OPT_FLAG,                                                                                \
         NULL,                                                                                       \
         offsetof(sw_run_opts, verify),                                                              \
         "judge the run by the independent verifier; a violation fails it"},                         \
        {"quiet", 'q', SW_OPT_FLAG, NULL, offsetof(sw_run_opts, quiet), "print nothing but errors"}, \
        {"plain", 0, SW_OPT_FLAG, NULL, offsetof(sw_run_opts, plain), "ASCII only, no colour"},      \
        {"timing",                                                                                   \
         0,                                                                                          \
         SW_OPT_FLAG,                                                                                \
         NULL,                                                                                       \
         offsetof(sw_run_opts, timing),                                                              \
         "say how long the simulation itself took"},                                                 \
    {                                                                                                \
        "jobs", 'j', SW_OPT_COUNT, "N", offsetof(sw_run_opts, parallel),                             \
            "runs at a time (default: the processors)"                                               \
    }

enum { SW_OVER_MAX = SW_LIST_MAX + 40 };

/* A run to be: the job, its overrides, the scenario that they resolve to, and what came out. Owns
 * what it points to; do not move it (a job points into it). */
typedef struct sw_task {
    sw_override over[SW_OVER_MAX];
    char *owned[SW_OVER_MAX * 2]; /* texts made for it */
    size_t n_owned;
    sw_job job;
    sw_scenario *scenario;
    sw_job_result *result;
    double wall_s;
    char label[96];
} sw_task;

/** The scenario's file: `name` itself, or scenarios/NAME.yaml of the catalogue. Fails SW_INPUT when
 * there is neither. */
sw_status sw_find_scenario(const char *name, char *path, size_t n, sw_error *err);

/** Adds "key=value". Fails SW_INPUT when there is no '='. */
sw_status sw_task_set(sw_task *t, const char *assignment, sw_error *err);
sw_status sw_task_over(sw_task *t, const char *key, const char *value, sw_error *err);
/** Policy (NAME or NAME:key=value:key=value), backend and --set, in this order; the label. */
sw_status sw_task_options(sw_task *t, const char *path, const char *policy, const sw_run_opts *o,
                          sw_error *err);
/** Resolves the scenario. Fails as it does. */
sw_status sw_task_open(sw_task *t, sw_error *err);
void sw_task_close(sw_task *t);

/** Runs all of them (those that are open). Each task's result is filled; fails only for lack of
 * memory. Says how far it is on a terminal unless quiet. */
sw_status sw_tasks_run(sw_task *const *tasks, size_t n, const sw_run_opts *o, const char *what,
                       sw_error *err);

/** What twice each figure of the machine would give; fills r->whatif, ranked. A run that does not
 * fit is asked about the sizes of memories only. */
sw_status sw_what_if(const sw_task *base, const sw_run_opts *o, sw_report *r, sw_error *err);

#endif
