/* Writing a machine out (sim/topology_json.h). */
#include "sim/topology_json.h"

static const char *const tier_kinds[] = {"vram", "ram", "nvme", "unified"};
static const char *const queue_kinds[] = {"host", "compute", "copy", "io"};
static const char *const math_names[SW_MATH_COUNT] = {"fp32", "fp16", "fp8", "fp4", "int8"};

static void put(json_t *o, const char *key, json_t *value) {
    json_object_set_new(o, key, value);
}

/* Whole numbers as integers, so that bytes and rates read as such. */
static json_t *number(double x) {
    return x >= 0 && x < 9e15 && x == (double)(json_int_t)x ? json_integer((json_int_t)x)
                                                            : json_real(x);
}

static json_t *path_json(const sw_topology *t, int path) {
    json_t *list = json_array();
    for (int i = 0; i < t->paths[path].n; i++)
        json_array_append_new(list, json_string(t->res[t->paths[path].res[i]].name));
    return list;
}

static json_t *tier_json(const sw_topology *t, const sw_tier *tier) {
    json_t *o = json_object();
    put(o, "name", json_string(tier->name));
    put(o, "kind", json_string(tier_kinds[tier->kind]));
    put(o, "capacity_bytes", json_integer((json_int_t)tier->capacity_bytes));
    put(o, "nominal_bytes", json_integer((json_int_t)tier->nominal_bytes));
    put(o, "nominal_Bps", number(tier->nominal_Bps));
    put(o, "read_Bps", number(t->res[tier->res].rate));
    put(o, "write_Bps", number(t->res[tier->write_res].rate));
    put(o, "unit", tier->unit < 0 ? json_null() : json_string(t->units[tier->unit].name));
    return o;
}

static json_t *port_json(const sw_topology *t, const sw_port *p, int tier) {
    json_t *o = json_object();
    put(o, "tier", json_string(t->tiers[tier].name));
    put(o, "read_Bps", number(p->read_Bps));
    put(o, "read_path", path_json(t, p->read_path));
    if (p->write_path >= 0) {
        put(o, "write_Bps", number(p->write_Bps));
        put(o, "write_path", path_json(t, p->write_path));
    }
    return o;
}

static json_t *unit_json(const sw_topology *t, int index) {
    const sw_unit *u = &t->units[index];
    json_t *o = json_object(), *peak = json_object(), *eff = json_object(), *ports = json_array();
    put(o, "name", json_string(u->name));
    put(o, "kind", json_string(u->kind == SW_UNIT_GPU ? "gpu" : "cpu"));
    put(o, "tier", json_string(t->tiers[u->tier].name));
    if (u->kind == SW_UNIT_CPU) {
        put(o, "cores", number(u->cores));
        put(o, "core_Bps", number(u->core_Bps));
    }
    for (int m = 0; m < SW_MATH_COUNT; m++) put(peak, math_names[m], number(u->peak[m]));
    put(o, "peak_ops", peak);
    for (int c = 0; c < SW_CLASS_COUNT; c++) {
        json_t *e = json_object();
        put(e, "memory", number(u->eff[c].memory));
        put(e, "compute", number(u->eff[c].compute));
        put(e, "fixed_s", number(u->eff[c].fixed_s));
        put(eff, sw_class_name((sw_class)c), e);
    }
    put(o, "efficiency", eff);
    if (u->core_of >= 0) put(o, "core_of", json_string(t->units[u->core_of].name));
    for (int i = 0; i < t->n_tiers; i++)
        if (t->ports[index][i].read_path >= 0)
            json_array_append_new(ports, port_json(t, &t->ports[index][i], i));
    put(o, "ports", ports);
    return o;
}

static json_t *route_json(const sw_topology *t, const sw_route *r) {
    json_t *o = json_object();
    put(o, "from", json_string(t->tiers[r->src].name));
    put(o, "to", json_string(t->tiers[r->dst].name));
    put(o, "pageable", json_boolean(r->pageable));
    put(o, "cap_Bps", number(r->cap_Bps));
    put(o, "latency_s", number(r->latency_s));
    put(o, "queue", json_string(t->queues[r->queue].name));
    put(o, "driver", r->driver < 0 ? json_string("dma") : json_string(t->units[r->driver].name));
    put(o, "staged", json_boolean(r->staged));
    if (r->traffic > 0) put(o, "traffic", number(r->traffic));
    put(o, "path", path_json(t, r->path));
    return o;
}

sw_status sw_topology_json(const sw_topology *t, json_t **out, sw_error *err) {
    json_t *o = json_object(), *tiers = json_array(), *units = json_array(), *links = json_array();
    json_t *routes = json_array(), *queues = json_array();
    if (!o || !tiers || !units || !links || !routes || !queues) {
        json_decref(o), json_decref(tiers), json_decref(units);
        json_decref(links), json_decref(routes), json_decref(queues);
        return sw_fail(err, SW_MEMORY, "no memory for the machine's JSON");
    }
    for (int i = 0; i < t->n_tiers; i++) json_array_append_new(tiers, tier_json(t, &t->tiers[i]));
    for (int i = 0; i < t->n_units; i++) json_array_append_new(units, unit_json(t, i));
    for (int i = 0; i < t->n_res; i++) {
        if (t->res[i].kind != SW_RES_LINK) continue;
        json_t *link = json_object();
        put(link, "name", json_string(t->res[i].name));
        put(link, "Bps", number(t->res[i].rate));
        json_array_append_new(links, link);
    }
    for (int i = 0; i < t->n_routes; i++)
        json_array_append_new(routes, route_json(t, &t->routes[i]));
    for (int i = 0; i < t->n_queues; i++) {
        json_t *queue = json_object();
        put(queue, "name", json_string(t->queues[i].name));
        put(queue, "kind", json_string(queue_kinds[t->queues[i].kind]));
        json_array_append_new(queues, queue);
    }
    put(o, "name", json_string(t->name));
    put(o, "measured", json_boolean(t->measured));
    put(o, "price_usd", number(t->price_usd));
    put(o, "power_w", number(t->power_w));
    put(o, "tiers", tiers);
    put(o, "units", units);
    put(o, "links", links);
    put(o, "routes", routes);
    put(o, "queues", queues);
    *out = o;
    return SW_OK;
}
