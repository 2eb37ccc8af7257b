/* A scenario as JSON with everything resolved: what a result file needs to be reproduced (see
 * scenario.h). */
#include "sim/scenario.h"
#include "sim/topology_json.h"
#include <string.h>

/* The plug-in's name and its options with defaults filled, or null when they cannot be read (they
 * were checked before). */
static json_t *plugin_json(const sw_plugin *p, const char *kind, const sw_node *map) {
    json_t *o = json_object();
    void *ctx = NULL;
    json_object_set_new(o, "name", json_string(p->name));
    if (sw_plugin_new(p, kind, map, &ctx, NULL) != SW_OK) return o;
    json_t *options = sw_params_json(p->params, p->n_params, ctx);
    json_object_update(o, options);
    json_decref(options);
    free(ctx);
    return o;
}

static json_t *model_json(const sw_model *m) {
    json_t *o = json_object();
    json_object_set_new(o, "name", json_string(m->name));
    json_object_set_new(o, "arch", json_string(m->arch));
    json_object_set_new(o, "quant", json_string(m->quant));
    json_object_set_new(o, "source", json_string(m->source));
    json_object_set_new(o, "layers", json_integer(m->n_layers));
    json_object_set_new(o, "params", json_integer((json_int_t)m->params));
    json_object_set_new(o, "active_params", json_integer((json_int_t)m->active_params));
    json_object_set_new(o, "bytes", json_integer((json_int_t)m->bytes));
    json_object_set_new(o, "bytes_exact", json_boolean(m->bytes_exact));
    return o;
}

static json_t *runtime_json(const sw_runtime *rt) {
    const struct {
        const char *key;
        double value;
    } rows[] = {{"launch_host_s", rt->launch_host_s}, {"launch_device_s", rt->launch_device_s},
                {"copy_host_s", rt->copy_host_s},     {"sync_host_s", rt->sync_host_s},
                {"step_host_s", rt->step_host_s},     {"event_host_s", rt->event_host_s},
                {"alloc_host_s", rt->alloc_host_s}};
    json_t *o = json_object();
    json_object_set_new(o, "name", json_string(rt->name));
    json_object_set_new(o, "version", json_string(rt->version));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        json_object_set_new(o, rows[i].key, json_real(rows[i].value));
    json_object_set_new(o, "run_ahead", json_integer(rt->run_ahead));
    json_object_set_new(o, "pinned", json_boolean(rt->pinned));
    json_object_set_new(o, "vram_reserved_bytes",
                        json_integer((json_int_t)rt->vram_reserved_bytes));
    return o;
}

static json_t *scale_json(const sw_node *scale) {
    json_t *o = json_object();
    for (size_t i = 0; scale && i < scale->n; i++) {
        double x = 1;
        if (sw_node_num(scale->items[i], scale->keys[i], 0, 1e9, &x, NULL) == SW_OK)
            json_object_set_new(o, scale->keys[i], json_real(x));
    }
    return o;
}

json_t *sw_scenario_json(const sw_scenario *s) {
    json_t *o = json_object(), *machine = NULL;
    const char *slash = strrchr(s->path, '/');
    json_object_set_new(o, "file", json_string(slash ? slash + 1 : s->path));
    if (s->question[0]) json_object_set_new(o, "question", json_string(s->question));
    json_object_set_new(o, "seed", json_integer((json_int_t)s->seed));
    if (sw_topology_json(&s->topo, &machine, NULL) == SW_OK)
        json_object_set_new(o, "machine", machine);
    if (s->model) json_object_set_new(o, "model", model_json(s->model));
    json_object_set_new(o, "workload", plugin_json(s->source, "workload", s->source_map));
    json_object_set_new(o, "policy", plugin_json(s->policy, "policy", s->policy_map));
    json_object_set_new(o, "runtime", runtime_json(&s->runtime));
    json_object_set_new(o, "allocator", plugin_json(s->alloc, "allocator", s->alloc_map));
    json_object_set_new(o, "pager", plugin_json(s->pager, "pager", s->pager_map));
    json_object_set_new(o, "backend", json_string(s->backend));
    const sw_node *scale = sw_node_get(sw_yaml_root(s->doc), "scale");
    if (scale) json_object_set_new(o, "scale", scale_json(scale));
    return o;
}
