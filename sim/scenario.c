/* Scenario files, resolved (see scenario.h and docs/scenario.md). */
#include "sim/scenario.h"
#include "sim/base/vec.h"
#include <stdio.h>
#include <unistd.h>

static const char *const top_keys[] = {"spillway", "seed",   "question", "machine",   "model",
                                       "workload", "policy", "runtime",  "allocator", "pager",
                                       "backend",  "scale",  "claim"};

/* --- where the catalogue lies ----------------------------------------------------------------- */

static bool has_models(const char *dir) {
    char path[600];
    snprintf(path, sizeof path, "%s/models/devices", dir);
    return access(path, R_OK) == 0;
}

void sw_data_dir(const char *given, char *out, size_t n) {
    const char *env = getenv("SPILLWAY_DATA");
    char exe[400];
    ssize_t len = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (given || env) {
        snprintf(out, n, "%s", given ? given : env);
        return;
    }
    if (len > 0) { /* PREFIX/bin/spillway or PREFIX/libexec/spillway/spillway-worker */
        exe[len] = 0;
        for (int up = 0; up < 3; up++) {
            char *slash = strrchr(exe, '/');
            if (!slash || slash == exe) break;
            *slash = 0;
            snprintf(out, n, "%s/share/spillway", exe);
            if (has_models(out)) return;
        }
    }
    snprintf(out, n, "%s", SPILLWAY_SOURCE_DIR);
}

static void dir_of(const char *path, char *out, size_t n) {
    const char *slash = strrchr(path, '/');
    if (!slash)
        snprintf(out, n, ".");
    else
        snprintf(out, n, "%.*s", (int)(slash == path ? 1 : slash - path), path);
}

/* --- plug-ins --------------------------------------------------------------------------------- */

/* `policy: NAME` or `policy: {name: NAME, …}`; map is NULL for the short form. */
static sw_status named(const sw_node *node, const char *key, const char *name_key, const char *def,
                       const char **name, const sw_node **map, sw_mark *mark, sw_error *err) {
    *map = NULL;
    *name = def;
    *mark = node ? node->mark : (sw_mark){0};
    if (!node) return SW_OK;
    if (node->kind == SW_NODE_SCALAR) return sw_node_str(node, key, name, err);
    if (node->kind != SW_NODE_MAP)
        return sw_fail_at(err, SW_INPUT, node->mark, key, "expected a name or a map");
    *map = node;
    const sw_node *n = sw_node_get(node, name_key);
    if (!n && def) return SW_OK;
    SW_TRY(sw_node_need(node, name_key, &n, err));
    *mark = n->mark;
    return sw_node_str(n, name_key, name, err);
}

static sw_status find_workload(sw_scenario *s, const sw_node *node, sw_error *err) {
    const char *name = NULL;
    sw_mark mark = node->mark;
    const sw_node *trace = sw_node_get(node, "trace");
    if (trace) {
        const char *file;
        SW_TRY(sw_node_str(trace, "trace", &file, err));
        bool absolute = file[0] == '/';
        int n = snprintf(s->trace_path, sizeof s->trace_path, "%s%s%s", absolute ? "" : s->dir,
                         absolute ? "" : "/", file);
        if (n < 0 || (size_t)n >= sizeof s->trace_path)
            return sw_fail_at(err, SW_INPUT, trace->mark, "trace", "the path is too long");
        const sw_node *f = sw_node_get(node, "format");
        name = "swt";
        if (f) SW_TRY(sw_node_str(f, "format", &name, err));
        mark = f ? f->mark : trace->mark;
    } else {
        const sw_node *g;
        SW_TRY(sw_node_need(node, "generator", &g, err));
        SW_TRY(sw_node_str(g, "generator", &name, err));
        mark = g->mark;
    }
    s->source_map = node;
    return sw_plugin_find(sw_source_table, sw_source_table_n, "generator", name, mark, &s->source,
                          err);
}

static sw_status find_plugins(sw_scenario *s, const sw_node *root, sw_error *err) {
    const char *name;
    sw_mark mark;
    const sw_node *node = sw_node_get(root, "policy");
    SW_TRY(named(node, "policy", "name", "resident", &name, &s->policy_map, &mark, err));
    SW_TRY(
        sw_plugin_find(sw_policy_table, sw_policy_table_n, "policy", name, mark, &s->policy, err));
    node = sw_node_get(root, "allocator");
    SW_TRY(named(node, "allocator", "name", "best_fit", &name, &s->alloc_map, &mark, err));
    SW_TRY(
        sw_plugin_find(sw_alloc_table, sw_alloc_table_n, "allocator", name, mark, &s->alloc, err));
    node = sw_node_get(root, "pager");
    SW_TRY(named(node, "pager", "name", "uvm", &name, &s->pager_map, &mark, err));
    SW_TRY(sw_plugin_find(sw_pager_table, sw_pager_table_n, "pager", name, mark, &s->pager, err));
    node = sw_node_get(root, "backend");
    SW_TRY(named(node, "backend", "name", "simgrid", &name, &s->backend_map, &mark, err));
    static const char *const backends[] = {"null", "simgrid", "host", "cuda"};
    enum { N_BACKENDS = sizeof backends / sizeof *backends };
    bool known = false;
    for (size_t i = 0; i < N_BACKENDS; i++) known |= !strcmp(name, backends[i]);
    if (!known) {
        const char *near = sw_nearest(name, backends, N_BACKENDS);
        return sw_fail_at(err, SW_INPUT, mark, "backend", "unknown backend \"%s\"%s%s%s", name,
                          near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    }
    snprintf(s->backend, sizeof s->backend, "%s", name);
    SW_TRY(sw_node_need(root, "workload", &node, err));
    return find_workload(s, node, err);
}

/* Options are checked here, at their place in the file, and not first in the middle of a run. */
static sw_status try_options(const sw_scenario *s, sw_error *err) {
    const struct {
        const sw_plugin *plugin;
        const char *kind;
        const sw_node *map;
    } all[] = {{s->policy, "policy", s->policy_map},
               {s->alloc, "allocator", s->alloc_map},
               {s->pager, "pager", s->pager_map},
               {s->source, "workload", s->source_map}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        void *ctx = NULL;
        SW_TRY(sw_plugin_new(all[i].plugin, all[i].kind, all[i].map, &ctx, err));
        free(ctx);
    }
    return SW_OK;
}

/* --- scale: what sensitivity changes ---------------------------------------------------------- */

static sw_status apply_scale(sw_scenario *s, const sw_node *scale, sw_error *err) {
    if (!scale) return SW_OK;
    SW_TRY(sw_node_keys(scale, "scale", sw_topology_knobs, sw_topology_knobs_n, err));
    for (size_t i = 0; i < scale->n; i++) {
        double factor;
        SW_TRY(sw_node_num(scale->items[i], scale->keys[i], 1e-6, 1e6, &factor, err));
        if (!sw_topology_scale(&s->topo, scale->keys[i], factor))
            return sw_fail_at(err, SW_INPUT, scale->key_marks[i], scale->keys[i],
                              "this machine has no such part");
    }
    return SW_OK;
}

/* --- opening ---------------------------------------------------------------------------------- */

static sw_status resolve(sw_scenario *s, sw_error *err) {
    const sw_node *root = sw_yaml_root(s->doc), *node;
    SW_TRY(sw_node_keys(root, "scenario", top_keys, sizeof top_keys / sizeof *top_keys, err));
    int64_t version = 1, seed = 1;
    SW_TRY(sw_node_need(root, "spillway", &node, err));
    SW_TRY(sw_node_int(node, "spillway", 1, 1, &version, err));
    if ((node = sw_node_get(root, "seed")))
        SW_TRY(sw_node_int(node, "seed", 0, INT64_MAX, &seed, err));
    s->seed = (uint64_t)seed;
    if ((node = sw_node_get(root, "question"))) {
        const char *text;
        SW_TRY(sw_node_str(node, "question", &text, err));
        snprintf(s->question, sizeof s->question, "%s", text);
        size_t n = strlen(s->question); /* a character that did not fit goes as a whole */
        while (n && ((unsigned char)text[n] & 0xc0) == 0x80) n--;
        s->question[n] = 0;
    }
    SW_TRY(find_plugins(s, root, err));
    SW_TRY(try_options(s, err));
    SW_TRY(sw_node_need(root, "machine", &node, err));
    SW_TRY(sw_topology_open(node, s->dir, s->data_dir, &s->topo, err));
    SW_TRY(sw_runtime_open(sw_node_get(root, "runtime"), s->dir, s->data_dir, &s->runtime, err));
    sw_runtime_apply(&s->runtime, &s->topo);
    SW_TRY(apply_scale(s, sw_node_get(root, "scale"), err));
    if ((node = sw_node_get(root, "model")))
        SW_TRY(sw_model_open(node, s->dir, s->data_dir, &s->model, err));
    return sw_topology_check(&s->topo, err);
}

sw_status sw_scenario_open(const char *path, const char *text, const char *data_dir,
                           const sw_override *over, size_t n_over, sw_scenario **out,
                           sw_error *err) {
    sw_scenario *s = sw_zalloc(1, sizeof *s);
    if (!s) return sw_fail(err, SW_MEMORY, "out of memory");
    if (strlen(path) >= sizeof s->path) {
        free(s);
        return sw_fail(err, SW_INPUT, "the scenario's path is too long");
    }
    snprintf(s->path, sizeof s->path, "%s", path);
    dir_of(path, s->dir, sizeof s->dir);
    sw_data_dir(data_dir, s->data_dir, sizeof s->data_dir);
    sw_status st = text ? sw_yaml_parse(text, strlen(text), path, &s->doc, err)
                        : sw_yaml_load(path, &s->doc, err);
    for (size_t i = 0; i < n_over && st == SW_OK; i++)
        st = sw_yaml_set(s->doc, over[i].path, over[i].text, "--set", err);
    if (st == SW_OK) st = resolve(s, err);
    if (st != SW_OK) {
        sw_scenario_free(s);
        return st;
    }
    *out = s;
    return SW_OK;
}

void sw_scenario_free(sw_scenario *s) {
    if (!s) return;
    sw_model_free(s->model);
    if (s->doc) sw_yaml_free(s->doc);
    free(s);
}

void sw_scenario_replay(const sw_scenario *s, sw_replay *out) {
    *out = (sw_replay){.topo = &s->topo,
                       .runtime = &s->runtime,
                       .source = (const sw_source_ops *)s->source,
                       .source_map = s->source_map,
                       .source_env = {.model = s->model,
                                      .path = s->trace_path[0] ? s->trace_path : NULL,
                                      .seed = s->seed},
                       .policy = (const sw_policy_ops *)s->policy,
                       .policy_map = s->policy_map,
                       .alloc = (const sw_alloc_ops *)s->alloc,
                       .alloc_map = s->alloc_map,
                       .pager = (const sw_pager_ops *)s->pager,
                       .pager_map = s->pager_map,
                       .backend_map = s->backend_map};
}
