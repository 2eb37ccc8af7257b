/* One JSON object a run (docs/results.md): schema number, the resolved scenario, seed, versions,
 * every figure with its unit and what it means. Keys stand in a fixed order, and nothing depends on
 * the clock unless asked for, so that two results diff clean. */
#include "sim/report/report.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

static void put(json_t *o, const char *key, json_t *value) {
    json_object_set_new(o, key, value);
}

static json_t *number(double x, bool whole) {
    if (!isfinite(x)) return json_null();
    if (whole && fabs(x) < 9e15) return json_integer((json_int_t)x);
    return json_real(x);
}

static json_t *meaning(const sw_stat *s) {
    json_t *o = json_object();
    put(o, "unit", json_string(s->unit));
    put(o, "description", json_string(s->text));
    return o;
}

/* {"makespan_s": {"value": …, "unit": …, "description": …}, …} */
static json_t *run_stats(const sw_outcome *o) {
    json_t *out = json_object();
    for (size_t i = 0; i < sw_stats_n; i++) {
        const sw_stat *s = &sw_stats[i];
        if (s->family != SW_FAMILY_RUN) continue;
        json_t *x = json_object();
        put(x, "value", number(s->get(o->result, o->topo, 0), s->whole));
        json_t *m = meaning(s);
        json_object_update(x, m);
        json_decref(m);
        put(out, s->key, x);
    }
    return out;
}

/* {"figures": {"peak_bytes": {"unit": …, "description": …}, …}, "vram0": {"peak_bytes": …}, …} */
static json_t *family(const sw_outcome *o, sw_family f) {
    json_t *out = json_object(), *figures = json_object();
    put(out, "figures", figures);
    for (size_t i = 0; i < sw_stats_n; i++)
        if (sw_stats[i].family == f) put(figures, sw_stats[i].key, meaning(&sw_stats[i]));
    int n = sw_family_items(f, o->result, o->topo);
    for (int item = 0; item < n; item++) {
        json_t *x = json_object();
        for (size_t i = 0; i < sw_stats_n; i++)
            if (sw_stats[i].family == f)
                put(x, sw_stats[i].key,
                    number(sw_stats[i].get(o->result, o->topo, item), sw_stats[i].whole));
        put(out, sw_family_item(f, o->result, o->topo, item), x);
    }
    return out;
}

static json_t *what_ifs(const sw_report *r) {
    json_t *list = json_array();
    for (int i = 0; i < r->n_whatif; i++) {
        const sw_whatif *w = &r->whatif[i];
        json_t *o = json_object();
        put(o, "knob", json_string(w->knob));
        put(o, "factor", json_real(w->factor));
        put(o, "fits", w->status == SW_OK ? json_true() : json_false());
        put(o, "speedup", w->speedup > 0 ? json_real(w->speedup) : json_null());
        put(o, "tokens_per_s", w->status ? json_null() : json_real(w->tokens_per_s));
        put(o, "makespan_s", w->status ? json_null() : json_real(w->makespan_s));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *versions(const sw_scenario *s) {
    json_t *o = json_object();
    put(o, "spillway", json_string(SPILLWAY_VERSION));
    put(o, "backend", json_string(s->backend));
    put(o, "runtime", json_string(s->runtime.name));
    put(o, "runtime_version", json_string(s->runtime.version));
    return o;
}

json_t *sw_report_object(const sw_report *r) {
    const sw_outcome *o = &r->outcome;
    const sw_scenario *s = r->scenario;
    json_t *out = json_object();
    char hash[24];
    put(out, "schema", json_integer(SW_JSON_SCHEMA));
    put(out, "label", json_string(o->label));
    put(out, "fits", json_boolean(o->status == SW_OK));
    put(out, "why", o->why ? json_string(o->why) : json_null());
    put(out, "seed", json_integer((json_int_t)s->seed));
    put(out, "versions", versions(s));
    put(out, "validated", json_boolean(s->topo.measured));
    if (o->result) {
        double share;
        sw_cat top = sw_result_top(o->result, &share);
        put(out, "limited_by", json_string(sw_cat_key(top)));
        put(out, "limited_by_share", json_real(share));
        put(out, "bound_limit", json_string(o->result->bound.limit));
        put(out, "busiest_queue", json_string(o->result->path_top));
        snprintf(hash, sizeof hash, "%016" PRIx64, o->result->log_hash);
        put(out, "decisions_fnv1a", json_string(hash));
        put(out, "stats", run_stats(o));
        for (int f = SW_FAMILY_PATH; f < SW_FAMILY_COUNT; f++)
            put(out, sw_family_name((sw_family)f), family(o, (sw_family)f));
    }
    if (r->n_whatif) put(out, "what_if", what_ifs(r));
    if (r->wall_s > 0) put(out, "wall_s", json_real(r->wall_s));
    put(out, "scenario", sw_scenario_json(s));
    return out;
}

sw_status sw_report_json(const sw_report *runs, size_t n, bool compare, const char *path,
                         sw_error *err) {
    json_t *out;
    if (compare) {
        json_t *list = json_array();
        for (size_t i = 0; i < n; i++) json_array_append_new(list, sw_report_object(&runs[i]));
        out = json_object();
        put(out, "schema", json_integer(SW_JSON_SCHEMA));
        put(out, "runs", list);
    } else {
        out = sw_report_object(&runs[0]);
    }
    return sw_json_write(out, path, err);
}
