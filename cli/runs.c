/* Scenarios into jobs into runs (see runs.h). */
#include "cli/runs.h"
#include "sim/base/vec.h"
#include "sim/policy.h"
#include <time.h>
#include <unistd.h>

/* --- finding it ---------------------------------------------------------------------------- */

sw_status sw_find_scenario(const char *name, char *path, size_t n, sw_error *err) {
    char data[512];
    if (strlen(name) >= n) return sw_fail(err, SW_INPUT, "the scenario's path is too long");
    snprintf(path, n, "%s", name);
    if (access(name, F_OK) == 0) return SW_OK;
    if (!strchr(name, '/') && !strchr(name, '.')) {
        sw_data_dir(NULL, data, sizeof data);
        snprintf(path, n, "%s/scenarios/%s.yaml", data, name);
        if (access(path, F_OK) == 0) return SW_OK;
        return sw_fail(err, SW_INPUT,
                       "no scenario \"%s\": neither a file nor in spillway list scenarios", name);
    }
    return SW_OK; /* opening it says what is wrong */
}

/* --- overrides ----------------------------------------------------------------------------- */

static char *own(sw_task *t, const char *text, size_t n) {
    if (t->n_owned == SW_OVER_MAX * 2) return NULL;
    char *copy = malloc(n + 1);
    if (!copy) return NULL;
    memcpy(copy, text, n);
    copy[n] = 0;
    t->owned[t->n_owned++] = copy;
    return copy;
}

sw_status sw_task_over(sw_task *t, const char *key, const char *value, sw_error *err) {
    if (t->job.n_over == SW_OVER_MAX) return sw_fail(err, SW_INPUT, "too many settings");
    char *k = own(t, key, strlen(key)), *v = own(t, value, strlen(value));
    if (!k || !v) return sw_fail(err, SW_MEMORY, "out of memory");
    t->over[t->job.n_over++] = (sw_override){k, v};
    t->job.over = t->over;
    return SW_OK;
}

sw_status sw_task_set(sw_task *t, const char *assignment, sw_error *err) {
    const char *eq = strchr(assignment, '=');
    if (!eq || eq == assignment)
        return sw_fail(err, SW_INPUT, "--set wants KEY=VALUE, not \"%.60s\"", assignment);
    char key[256];
    if ((size_t)(eq - assignment) >= sizeof key)
        return sw_fail(err, SW_INPUT, "--set: the key is too long");
    snprintf(key, sizeof key, "%.*s", (int)(eq - assignment), assignment);
    return sw_task_over(t, key, eq + 1, err);
}

/* Whether the file's own `policy:` map names this policy: then its options stay. */
static bool file_has_policy(const char *path, const char *name) {
    sw_yaml *doc;
    if (sw_yaml_load(path, &doc, NULL)) return false;
    const sw_node *n = sw_node_get(sw_node_get(sw_yaml_root(doc), "policy"), "name");
    bool same = n && n->kind == SW_NODE_SCALAR && !strcmp(n->text, name);
    sw_yaml_free(doc);
    return same;
}

/* NAME:key=value:key=value as a YAML map. */
static sw_status policy(sw_task *t, const char *path, const char *text, sw_error *err) {
    char flow[600], part[200];
    size_t n = strcspn(text, ":");
    if (n == 0 || strlen(text) > 300 || strpbrk(text, "{}[],\"'#"))
        return sw_fail(err, SW_INPUT, "--policy wants NAME or NAME:key=value, not \"%.60s\"", text);
    snprintf(part, sizeof part, "%.*s", (int)(n < 199 ? n : 199), text);
    const sw_plugin *found;
    if (sw_plugin_find(sw_policy_table, sw_policy_table_n, "policy", part, (sw_mark){0}, &found,
                       err))
        return SW_INPUT;
    if (!text[n] && file_has_policy(path, part)) return SW_OK;
    int at = snprintf(flow, sizeof flow, "{name: %s", part);
    while (text[n]) {
        const char *opt = text + n + 1;
        size_t len = strcspn(opt, ":"), eq = strcspn(opt, "=");
        if (eq == 0 || eq >= len)
            return sw_fail(err, SW_INPUT, "--policy wants NAME:key=value, not \"%.60s\"", text);
        at += snprintf(flow + at, sizeof flow - (size_t)at, ", %.*s: %.*s", (int)eq, opt,
                       (int)(len - eq - 1), opt + eq + 1);
        n += 1 + len;
    }
    snprintf(flow + at, sizeof flow - (size_t)at, "}");
    return sw_task_over(t, "policy", flow, err);
}

sw_status sw_task_options(sw_task *t, const char *path, const char *name, const sw_run_opts *o,
                          sw_error *err) {
    t->job.path = path;
    t->job.verify = o->verify;
    SW_TRY(sw_output_ok("json", o->json, err));
    SW_TRY(sw_output_ok("csv", o->csv, err));
    SW_TRY(sw_output_ok("chrome-trace", o->chrome, err));
    SW_TRY(sw_output_ok("op-log", o->op_log, err));
    SW_TRY(sw_output_ok("decision-log", o->decisions, err));
    if (name) {
        snprintf(t->label, sizeof t->label, "%s", name);
        SW_TRY(policy(t, path, name, err));
    }
    if (o->backend) SW_TRY(sw_task_over(t, "backend", o->backend, err));
    for (size_t i = 0; i < o->set.n; i++) SW_TRY(sw_task_set(t, o->set.items[i], err));
    return SW_OK;
}

sw_status sw_task_open(sw_task *t, sw_error *err) {
    SW_TRY(
        sw_scenario_open(t->job.path, NULL, NULL, t->job.over, t->job.n_over, &t->scenario, err));
    if (!t->label[0]) snprintf(t->label, sizeof t->label, "%s", t->scenario->policy->name);
    t->result = sw_zalloc(1, sizeof *t->result);
    return t->result ? SW_OK : sw_fail(err, SW_MEMORY, "out of memory");
}

void sw_task_close(sw_task *t) {
    for (size_t i = 0; i < t->n_owned; i++) free(t->owned[i]);
    sw_scenario_free(t->scenario);
    free(t->result);
    *t = (sw_task){0};
}

/* --- running ------------------------------------------------------------------------------- */

typedef struct progress {
    const char *what;
    bool shown;
} progress;

static void show(void *arg, size_t done, size_t n) {
    const progress *p = arg;
    if (p->shown) fprintf(stderr, "\r\033[K%s: %zu of %zu", p->what, done, n);
}

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

sw_status sw_tasks_run(sw_task *const *tasks, size_t n, const sw_run_opts *o, const char *what,
                       sw_error *err) {
    sw_job *jobs = sw_zalloc(n + 1, sizeof *jobs);
    sw_job_result *results = sw_zalloc(n + 1, sizeof *results);
    progress p = {what, !o->quiet && isatty(2)};
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned parallel = o->parallel ? (unsigned)o->parallel : cpus > 0 ? (unsigned)cpus : 1;
    if (parallel > 64) parallel = 64;
    sw_status st = jobs && results ? SW_OK : sw_fail(err, SW_MEMORY, "out of memory");
    double start = now_s();
    if (!st) {
        for (size_t i = 0; i < n; i++) jobs[i] = tasks[i]->job;
        show(&p, 0, n);
        st = sw_jobs_run(jobs, n, parallel, results, show, &p, err);
        if (p.shown) fputs("\r\033[K", stderr);
    }
    for (size_t i = 0; i < n && !st; i++) {
        *tasks[i]->result = results[i];
        tasks[i]->wall_s = now_s() - start;
    }
    free(jobs);
    free(results);
    return st;
}

/* --- what would help ----------------------------------------------------------------------- */

/* The scenario's own factor for a knob, which doubling multiplies. */
static double factor_now(const sw_scenario *s, const char *knob) {
    double f = 1;
    const sw_node *n = sw_node_get(sw_node_get(sw_yaml_root(s->doc), "scale"), knob);
    if (n && sw_node_num(n, knob, 1e-6, 1e6, &f, NULL)) f = 1;
    return f;
}

static bool is_size(const char *knob) {
    size_t n = strlen(knob);
    return n > 5 && !strcmp(knob + n - 5, " size");
}

static sw_status make(const sw_task *base, const char *knob, sw_task **out, sw_error *err) {
    sw_task *t = sw_zalloc(1, sizeof *t);
    if (!t) return sw_fail(err, SW_MEMORY, "out of memory");
    *out = t;
    t->job.path = base->job.path;
    for (size_t i = 0; i < base->job.n_over; i++)
        SW_TRY(sw_task_over(t, base->over[i].path, base->over[i].text, err));
    char key[96], value[32];
    snprintf(key, sizeof key, "scale.%s", knob);
    snprintf(value, sizeof value, "%.17g", 2 * factor_now(base->scenario, knob));
    SW_TRY(sw_task_over(t, key, value, err));
    t->result = sw_zalloc(1, sizeof *t->result);
    return t->result ? SW_OK : sw_fail(err, SW_MEMORY, "out of memory");
}

sw_status sw_what_if(const sw_task *base, const sw_run_opts *o, sw_report *r, sw_error *err) {
    sw_task *tasks[SW_WHATIF_MAX] = {0};
    sw_topology *topo = malloc(sizeof *topo);
    size_t n = 0;
    sw_status st = topo ? SW_OK : sw_fail(err, SW_MEMORY, "out of memory");
    for (size_t k = 0; k < sw_topology_knobs_n && n < SW_WHATIF_MAX && !st; k++) {
        const char *knob = sw_topology_knobs[k];
        if (!r->outcome.result && !is_size(knob)) continue;
        *topo = base->scenario->topo;
        if (!sw_topology_scale(topo, knob, 2)) continue; /* no such part */
        r->whatif[n] = (sw_whatif){.knob = knob, .factor = 2};
        st = make(base, knob, &tasks[n], err);
        n += tasks[n] != NULL;
    }
    free(topo);
    if (!st) st = sw_tasks_run(tasks, n, o, "what would help", err);
    for (size_t i = 0; i < n && !st; i++) {
        sw_whatif *w = &r->whatif[i];
        w->status = tasks[i]->result->status;
        if (w->status) continue;
        w->tokens_per_s = tasks[i]->result->result.tokens_per_s;
        w->makespan_s = tasks[i]->result->result.makespan_s;
    }
    r->n_whatif = st ? 0 : (int)n;
    sw_report_rank(r);
    for (size_t i = 0; i < n; i++) {
        sw_task_close(tasks[i]);
        free(tasks[i]);
    }
    return st;
}
