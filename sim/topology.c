/* Asking a topology things, and checking it (sim/topology.h). */
#include "sim/topology.h"
#include <math.h>
#include <string.h>

const char *sw_class_name(sw_class c) {
    static const char *const names[] = {
#define X(name, text) text,
        SW_CLASS_LIST(X)
#undef X
    };
    return (unsigned)c < SW_CLASS_COUNT ? names[c] : "unknown";
}

int sw_topology_tier(const sw_topology *t, sw_tier_kind kind) {
    for (int i = 0; i < t->n_tiers; i++)
        if (t->tiers[i].kind == kind) return i;
    return -1;
}

int sw_topology_unit(const sw_topology *t, sw_unit_kind kind) {
    for (int i = 0; i < t->n_units; i++)
        if (t->units[i].kind == kind) return i;
    return -1;
}

int sw_topology_fast_tier(const sw_topology *t) {
    static const sw_tier_kind order[] = {SW_TIER_VRAM, SW_TIER_UNIFIED, SW_TIER_RAM};
    for (int i = 0; i < 3; i++) {
        int tier = sw_topology_tier(t, order[i]);
        if (tier >= 0) return tier;
    }
    return -1;
}

int sw_topology_primary_unit(const sw_topology *t) {
    int tier = sw_topology_fast_tier(t);
    return tier < 0 ? -1 : t->tiers[tier].unit;
}

/* A finite number over zero. */
static bool positive(double x) {
    return x > 0 && x < INFINITY;
}
static bool in(int index, int n) {
    return index >= 0 && index < n;
}
static bool in_or_none(int index, int n) {
    return index >= -1 && index < n;
}

static sw_status bad(sw_error *err, const char *name, const char *what) {
    return sw_fail(err, SW_INPUT, "%s: %s", name, what);
}

static sw_status check_paths(const sw_topology *t, sw_error *err) {
    for (int i = 0; i < t->n_res; i++)
        if (!positive(t->res[i].rate))
            return bad(err, t->res[i].name, "the rate is not a number over 0");
    for (int i = 0; i < t->n_paths; i++) {
        const sw_path *p = &t->paths[i];
        if (p->n == 0 || p->n > SW_PATH_LEN)
            return sw_fail(err, SW_INPUT, "path %d: %d resources; 1 to %d are possible", i, p->n,
                           SW_PATH_LEN);
        for (int k = 0; k < p->n; k++)
            if (!in(p->res[k], t->n_res))
                return sw_fail(err, SW_INPUT, "path %d: resource %d does not exist", i, p->res[k]);
    }
    return SW_OK;
}

static sw_status check_tier(const sw_topology *t, int i, sw_error *err) {
    const sw_tier *tier = &t->tiers[i];
    if (tier->capacity_bytes > tier->nominal_bytes)
        return bad(err, tier->name, "usable bytes exceed the nominal ones");
    if (!positive(tier->nominal_Bps)) return bad(err, tier->name, "no nominal bandwidth");
    if (!in(tier->res, t->n_res) || !in(tier->write_res, t->n_res))
        return bad(err, tier->name, "no bandwidth resource");
    if (!in_or_none(tier->unit, t->n_units)) return bad(err, tier->name, "no such unit");
    if (!in_or_none(tier->time_path, t->n_paths))
        return bad(err, tier->name, "the path of its time does not exist");
    bool reached = tier->unit >= 0;
    for (int k = 0; k < t->n_routes; k++)
        reached = reached || t->routes[k].src == i || t->routes[k].dst == i;
    return reached ? SW_OK : bad(err, tier->name, "neither a unit nor a route reaches it");
}

static sw_status check_unit(const sw_topology *t, int i, sw_error *err) {
    const sw_unit *u = &t->units[i];
    for (int m = 0; m < SW_MATH_COUNT; m++)
        if (!positive(u->peak[m])) return bad(err, u->name, "a peak rate is not a number over 0");
    if (u->kind == SW_UNIT_CPU && !positive(u->core_Bps))
        return bad(err, u->name, "no bandwidth of one core");
    for (int c = 0; c < SW_CLASS_COUNT; c++) {
        const sw_efficiency *e = &u->eff[c];
        if (!positive(e->memory) || !positive(e->compute) || !(e->fixed_s >= 0) ||
            isinf(e->fixed_s))
            return sw_fail(err, SW_INPUT, "%s: the efficiency of class %s is out of range", u->name,
                           sw_class_name((sw_class)c));
    }
    if (!in(u->res, t->n_res) || t->res[u->res].kind != SW_RES_UNIT ||
        t->res[u->res].rate != SW_UNIT_RATE)
        return bad(err, u->name, "no resource of its own");
    if (!in(u->path, t->n_paths) || t->paths[u->path].n != 1 || t->paths[u->path].res[0] != u->res)
        return bad(err, u->name, "its path is not just its arithmetic");
    if (!in_or_none(u->core_of, t->n_units)) return bad(err, u->name, "no such CPU to run on");
    if (!positive(u->cores)) return bad(err, u->name, "its cores are not a number over 0");
    if (!in(u->queue, t->n_queues) || t->queues[u->queue].kind != SW_QUEUE_COMPUTE)
        return bad(err, u->name, "no compute queue");
    if (!in(u->tier, t->n_tiers)) return bad(err, u->name, "no local tier");
    if (t->ports[i][u->tier].read_path < 0)
        return bad(err, u->name, "it does not reach its local tier");
    for (int k = 0; k < t->n_tiers; k++) {
        const sw_port *p = &t->ports[i][k];
        if (!in_or_none(p->read_path, t->n_paths) || !in_or_none(p->write_path, t->n_paths))
            return bad(err, u->name, "a port's path does not exist");
        if ((p->read_path >= 0 && !positive(p->read_Bps)) ||
            (p->write_path >= 0 && !positive(p->write_Bps)))
            return bad(err, u->name, "a port's ceiling is not a number over 0");
    }
    return SW_OK;
}

static sw_status check_route(const sw_topology *t, int i, sw_error *err) {
    const sw_route *r = &t->routes[i];
    if (!in(r->src, t->n_tiers) || !in(r->dst, t->n_tiers))
        return sw_fail(err, SW_INPUT, "route %d: no such tier", i);
    const char *src = t->tiers[r->src].name, *dst = t->tiers[r->dst].name;
    const char *why = NULL;
    if (!in(r->path, t->n_paths))
        why = "no path";
    else if (!in(r->queue, t->n_queues) || t->queues[r->queue].kind == SW_QUEUE_HOST)
        why = "no queue";
    else if (!in_or_none(r->driver, t->n_units))
        why = "no such driver";
    else if (!positive(r->cap_Bps))
        why = "the ceiling is not a number over 0";
    else if (!(r->core_Bps >= 0) || isinf(r->core_Bps))
        why = "what a core moves is out of range";
    else if (!(r->traffic >= 0) || isinf(r->traffic))
        why = "its traffic is out of range";
    else if (!(r->latency_s >= 0) || isinf(r->latency_s))
        why = "the latency is out of range";
    else if (t->route_of[r->src][r->dst][r->pageable] != i)
        why = "it is not entered in route_of";
    return why ? sw_fail(err, SW_INPUT, "route %s -> %s: %s", src, dst, why) : SW_OK;
}

sw_status sw_topology_check(const sw_topology *t, sw_error *err) {
    if (t->n_tiers == 0 || t->n_tiers > SW_TIERS_MAX || t->n_units == 0 ||
        t->n_units > SW_UNITS_MAX || t->n_res > SW_RES_MAX || t->n_paths > SW_PATHS_MAX ||
        t->n_queues > SW_QUEUES_MAX || t->n_routes > SW_ROUTES_MAX)
        return sw_fail(err, SW_INPUT, "%s: a machine has 1 to %d tiers and 1 to %d units", t->name,
                       SW_TIERS_MAX, SW_UNITS_MAX);
    if (t->n_queues == 0 || t->queues[0].kind != SW_QUEUE_HOST)
        return sw_fail(err, SW_INPUT, "%s: queue 0 is not the host", t->name);
    for (int i = 0; i < t->n_queues; i++)
        if (!in_or_none(t->queues[i].unit, t->n_units))
            return bad(err, t->queues[i].name, "no such unit");
    if (!(t->wake_s >= 0) || isinf(t->wake_s)) return bad(err, t->name, "wake is out of range");
    SW_TRY(check_paths(t, err));
    for (int i = 0; i < t->n_tiers; i++) SW_TRY(check_tier(t, i, err));
    for (int i = 0; i < t->n_units; i++) SW_TRY(check_unit(t, i, err));
    for (int i = 0; i < t->n_routes; i++) SW_TRY(check_route(t, i, err));
    for (int s = 0; s < t->n_tiers; s++)
        for (int d = 0; d < t->n_tiers; d++)
            for (int p = 0; p < 2; p++)
                if (!in_or_none(t->route_of[s][d][p], t->n_routes))
                    return bad(err, t->tiers[s].name, "route_of names no route");
    return SW_OK;
}
