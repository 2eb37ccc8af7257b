/* spillway claims: what people say, put to the simulator. Reads every claim of a folder, runs all
 * their runs side by side, and decides. */
#include "cli/claims.h"
#include "sim/base/vec.h"
#include <dirent.h>
#include <sys/stat.h>

typedef struct claims_opts {
    sw_run_opts run; /* backend, quiet, parallel */
    const char *json, *markdown;
    bool plain;
} claims_opts;

static const sw_opt opts[] = {
    {"backend", 0, SW_OPT_TEXT, "NAME", offsetof(claims_opts, run.backend),
     "another backend than the scenarios'"},
    {"json", 0, SW_OPT_TEXT, "FILE", offsetof(claims_opts, json),
     "write claims, figures and verdicts; \"-\" is standard output"},
    {"markdown", 0, SW_OPT_TEXT, "FILE", offsetof(claims_opts, markdown),
     "write the table; \"-\" is standard output"},
    {"quiet", 'q', SW_OPT_FLAG, NULL, offsetof(claims_opts, run.quiet), "print nothing but errors"},
    {"plain", 0, SW_OPT_FLAG, NULL, offsetof(claims_opts, plain), "ASCII only, no colour"},
    {"jobs", 'j', SW_OPT_COUNT, "N", offsetof(claims_opts, run.parallel),
     "runs at a time (default: the processors)"}};

typedef struct claims {
    sw_claim_answer *v;
    size_t n, cap;
} claims;

/* --- collecting ---------------------------------------------------------------------------- */

static sw_status add(claims *c, const char *path, sw_error *err) {
    sw_claim_answer a = {.path = sw_strdup(path)};
    if (!a.path || !sw_vec_push(c, a)) {
        free(a.path);
        return sw_fail(err, SW_MEMORY, "out of memory");
    }
    return SW_OK;
}

static int by_path(const void *a, const void *b) {
    return strcmp(((const sw_claim_answer *)a)->path, ((const sw_claim_answer *)b)->path);
}

static sw_status collect(const char *where, claims *c, sw_error *err) {
    struct stat info;
    char path[900];
    if (stat(where, &info)) return sw_fail(err, SW_INPUT, "%s: no such file or folder", where);
    if (!S_ISDIR(info.st_mode)) return add(c, where, err);
    DIR *d = opendir(where);
    if (!d) return sw_fail(err, SW_INPUT, "%s: cannot be read", where);
    sw_status st = SW_OK;
    for (struct dirent *e; !st && (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        if (e->d_name[0] == '.' || n < 6 || strcmp(e->d_name + n - 5, ".yaml")) continue;
        snprintf(path, sizeof path, "%s/%s", where, e->d_name);
        st = add(c, path, err);
    }
    closedir(d);
    if (!st && !c->n) st = sw_fail(err, SW_INPUT, "%s: holds no claims (*.yaml)", where);
    if (!st) qsort(c->v, c->n, sizeof *c->v, by_path);
    return st;
}

static sw_status open_run(sw_claim_answer *a, int i, const claims_opts *o, sw_error *err) {
    const sw_node *set = a->claim.runs[i].set;
    sw_task *t = a->tasks[i] = sw_zalloc(1, sizeof *t);
    if (!t) return sw_fail(err, SW_MEMORY, "out of memory");
    snprintf(t->label, sizeof t->label, "%s", a->claim.runs[i].name);
    t->job.path = a->path;
    for (size_t k = 0; set && k < set->n; k++) {
        char *text = sw_node_flow(set->items[k]);
        if (!text) return sw_fail(err, SW_MEMORY, "out of memory");
        sw_status st = sw_task_over(t, set->keys[k], text, err);
        free(text);
        if (st) return st;
    }
    if (o->run.backend) SW_TRY(sw_task_over(t, "backend", o->run.backend, err));
    sw_status st = sw_task_open(t, err);
    if (!st || !err || strncmp(err->text, "--set", 5)) return st;
    sw_error inner = *err; /* the place of an override is the run's */
    return sw_fail_at(err, st, a->claim.runs[i].set->mark, a->claim.runs[i].name, "%.500s",
                      inner.text);
}

static sw_status open_claim(sw_claim_answer *a, const claims_opts *o, sw_error *err) {
    SW_TRY(sw_yaml_load(a->path, &a->doc, err));
    SW_TRY(sw_claim_read(sw_yaml_root(a->doc), &a->claim, err));
    for (int i = 0; i < a->claim.n_runs; i++) SW_TRY(open_run(a, i, o, err));
    return SW_OK;
}

/* --- deciding ------------------------------------------------------------------------------ */

static sw_status run_all(claims *c, const claims_opts *o, sw_error *err) {
    SW_VEC(sw_task *) tasks = {0};
    bool ok = true;
    for (size_t i = 0; i < c->n; i++)
        for (int k = 0; k < c->v[i].claim.n_runs; k++)
            ok = ok && sw_vec_push(&tasks, c->v[i].tasks[k]);
    sw_status st = ok ? sw_tasks_run(tasks.v, tasks.n, &o->run, "claims", err)
                      : sw_fail(err, SW_MEMORY, "out of memory");
    sw_vec_free(&tasks);
    return st;
}

static sw_status judge(sw_claim_answer *a, sw_error *err) {
    sw_outcome runs[SW_CLAIM_RUNS_MAX];
    for (int i = 0; i < a->claim.n_runs; i++) {
        const sw_task *t = a->tasks[i];
        const sw_job_result *r = t->result;
        if (r->status && sw_exit_code(r->status) != 4)
            return sw_fail(err, r->status, "%s: run %s: %s", a->path, t->label, r->err.text);
        runs[i] = (sw_outcome){.label = t->label,
                               .topo = &t->scenario->topo,
                               .status = r->status,
                               .why = r->status ? r->err.text : NULL,
                               .result = r->status ? NULL : &r->result};
    }
    return sw_claim_judge(&a->claim, runs, &a->verdict, a->shown, err);
}

static sw_status print(const claims *c, const claims_opts *o, sw_error *err) {
    bool files = (o->json && !strcmp(o->json, "-")) || (o->markdown && !strcmp(o->markdown, "-"));
    if (!o->run.quiet && !files) {
        sw_style s = sw_style_for(stdout, o->plain);
        SW_TRY(sw_claims_text(c->v, c->n, &s, stdout, err));
        fflush(stdout);
    }
    if (o->json) SW_TRY(sw_claims_json(c->v, c->n, o->json, err));
    if (o->markdown) SW_TRY(sw_claims_markdown(c->v, c->n, o->markdown, err));
    for (size_t i = 0; i < c->n; i++) {
        const sw_claim_answer *a = &c->v[i];
        if (a->claim.expect >= 0 && a->claim.expect != (int)a->verdict)
            return sw_fail(err, SW_TOLERANCE, "claim %s: expected \"%s\", found \"%s\"",
                           a->claim.id, sw_verdict_name((sw_verdict)a->claim.expect),
                           sw_verdict_name(a->verdict));
    }
    return SW_OK;
}

static sw_status run(const sw_command *cmd, int argc, char **argv, sw_error *err) {
    claims_opts o = {0};
    claims c = {0};
    char where[600], data[512];
    int n;
    SW_TRY(sw_args_read(cmd, argc, argv, &o, &n, err));
    SW_TRY(sw_output_ok("json", o.json, err));
    SW_TRY(sw_output_ok("markdown", o.markdown, err));
    sw_data_dir(NULL, data, sizeof data);
    if (n)
        snprintf(where, sizeof where, "%s", argv[1]);
    else
        snprintf(where, sizeof where, "%s/scenarios/claims", data);
    sw_status st = collect(where, &c, err);
    for (size_t i = 0; i < c.n && !st; i++) st = open_claim(&c.v[i], &o, err);
    if (!st) st = run_all(&c, &o, err);
    for (size_t i = 0; i < c.n && !st; i++) st = judge(&c.v[i], err);
    if (!st) st = print(&c, &o, err);
    for (size_t i = 0; i < c.n; i++) {
        for (int k = 0; k < SW_CLAIM_RUNS_MAX; k++)
            if (c.v[i].tasks[k]) {
                sw_task_close(c.v[i].tasks[k]);
                free(c.v[i].tasks[k]);
            }
        if (c.v[i].doc) sw_yaml_free(c.v[i].doc);
        free(c.v[i].path);
    }
    sw_vec_free(&c);
    return st;
}

const sw_command sw_cmd_claims = {
    .name = "claims",
    .summary =
        "put what people claim about offloading to the simulator: figures and a verdict each",
    .usage = "[DIR|FILE] [options]",
    .doc = "Reads scenarios with a `claim:` map (docs/claims.md); without a folder those of the "
           "catalogue. Exits 3 when a verdict is not the one that the file expects.",
    .example = "  spillway claims\n  spillway claims scenarios/claims --markdown claims.md\n",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
    .min_args = 0,
    .max_args = 1,
    .run = run,
};
