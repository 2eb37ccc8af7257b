/* What several policies need (see policy_kit.h). */
#include "sim/policy_kit.h"

/* --- recency ---------------------------------------------------------------------------------- */

bool sw_recency_open(sw_recency *r, uint32_t n) {
    *r = (sw_recency){.head = SW_NONE, .tail = SW_NONE, .cap = n};
    r->prev = malloc((n + 1) * sizeof *r->prev);
    r->next = malloc((n + 1) * sizeof *r->next);
    r->in = sw_zalloc(n + 1, sizeof *r->in);
    return r->prev && r->next && r->in;
}

void sw_recency_close(sw_recency *r) {
    free(r->prev);
    free(r->next);
    free(r->in);
    *r = (sw_recency){0};
}

void sw_recency_drop(sw_recency *r, uint32_t b) {
    if (!r->in[b]) return;
    if (r->prev[b] == SW_NONE)
        r->head = r->next[b];
    else
        r->next[r->prev[b]] = r->next[b];
    if (r->next[b] == SW_NONE)
        r->tail = r->prev[b];
    else
        r->prev[r->next[b]] = r->prev[b];
    r->in[b] = false;
}

void sw_recency_touch(sw_recency *r, uint32_t b) {
    if (r->tail == b && r->in[b]) return;
    sw_recency_drop(r, b);
    r->prev[b] = r->tail;
    r->next[b] = SW_NONE;
    if (r->tail == SW_NONE)
        r->head = b;
    else
        r->next[r->tail] = b;
    r->tail = b;
    r->in[b] = true;
}

uint32_t sw_recency_victim(sw_recency *r, const sw_plan *p, int tier, bool newest) {
    for (uint32_t b = newest ? r->tail : r->head, next; b != SW_NONE; b = next) {
        next = newest ? r->prev[b] : r->next[b];
        if (sw_plan_evictable(p, b, tier)) return b;
        if (!sw_plan_resident(p, b, tier)) sw_recency_drop(r, b);
    }
    return SW_NONE;
}

/* --- access ----------------------------------------------------------------------------------- */

bool sw_kit_is_weight(const sw_plan *p, uint32_t block) {
    const sw_scan *s = sw_plan_scan(p);
    return block < s->n_blocks && s->is_static[block];
}

sw_status sw_kit_gather(sw_plan *p, const sw_event *ev, bool *done, sw_error *err) {
    const sw_topology *t = sw_plan_topology(p);
    int cpu = sw_topology_unit(t, SW_UNIT_CPU), fast = sw_topology_fast_tier(t);
    *done = false;
    if (!ev->gather || cpu < 0) return SW_OK;
    for (uint32_t i = 0; i < ev->n_uses; i++) {
        uint32_t b = ev->uses[i].block;
        if (!sw_kit_is_weight(p, b)) continue;
        if (sw_plan_resident(p, b, fast) || sw_plan_where(p, b, cpu) < 0) return SW_OK;
    }
    *done = true;
    return sw_plan_run(p, ev, cpu, err);
}

sw_status sw_kit_demand(sw_plan *p, const sw_event *ev, int unit, sw_recency *r, bool sync,
                        sw_error *err) {
    int tier = sw_plan_topology(p)->units[unit].tier;
    uint32_t first = 0; /* of the part at hand */
    double bytes = 0, part = 0;
    for (uint32_t i = 0; i < ev->n_uses; i++) bytes += (double)ev->uses[i].touched;
    for (uint32_t i = 0; i < ev->n_uses; i++) {
        uint32_t b = ev->uses[i].block;
        if (sw_kit_is_weight(p, b)) {
            bool miss = !sw_plan_resident(p, b, tier);
            sw_status st = sw_plan_fetch(p, b, tier, err);
            if (st == SW_SPACE && ev->work.cls == SW_CLASS_EXPERT && i > first) {
                SW_TRY(sw_plan_run_part(p, ev, first, i - first, part / bytes, unit, err));
                for (uint32_t k = first; k < i; k++) sw_plan_unlock(p, ev->uses[k].block);
                first = i;
                part = 0;
                st = sw_plan_fetch(p, b, tier, err);
            }
            SW_TRY(st);
            sw_recency_touch(r, b);
            if (sync && miss) SW_TRY(sw_plan_sync(p, unit, err));
        }
        part += (double)ev->uses[i].touched;
    }
    if (first)
        SW_TRY(sw_plan_run_part(p, ev, first, ev->n_uses - first, part / bytes, unit, err));
    else
        SW_TRY(sw_plan_run(p, ev, unit, err));
    return sync ? sw_plan_sync(p, unit, err) : SW_OK;
}

/* --- demand --------------------------------------------------------------------------------- */

const sw_param sw_demand_params[SW_DEMAND_PARAMS] = {
    {"sync", SW_PARAM_BOOL, "true", 0, 0, NULL, offsetof(sw_demand, sync),
     "the host waits for each copy and each op, so that nothing overlaps"},
};

sw_status sw_demand_open(void *po, sw_plan *p, sw_error *err) {
    sw_demand *d = po;
    d->unit = sw_topology_primary_unit(sw_plan_topology(p));
    return sw_recency_open(&d->recent, sw_plan_scan(p)->n_blocks)
               ? SW_OK
               : sw_fail(err, SW_MEMORY, "out of memory");
}

sw_status sw_demand_access(void *po, sw_plan *p, const sw_event *ev, sw_error *err) {
    sw_demand *d = po;
    bool done;
    SW_TRY(sw_kit_gather(p, ev, &done, err));
    return done ? SW_OK : sw_kit_demand(p, ev, d->unit, &d->recent, d->sync, err);
}

void sw_demand_close(void *po) {
    sw_recency_close(&((sw_demand *)po)->recent);
}

/* --- what does not fit ------------------------------------------------------------------------ */

sw_status sw_kit_missing(const sw_plan *p, int tier, uint64_t weights, uint64_t other,
                         sw_error *err) {
    char w[32], o[32], c[32], m[32];
    uint64_t cap = sw_plan_capacity(p, tier), room = sw_plan_room(p, tier);
    uint64_t need = weights + other;
    sw_format_bytes(w, sizeof w, (double)weights);
    sw_format_bytes(o, sizeof o, (double)other);
    sw_format_bytes(c, sizeof c, (double)cap);
    sw_format_bytes(m, sizeof m, (double)(need > room ? need - room : 0));
    return sw_fail(
        err, SW_FIT,
        "does not fit: %s missing in %s (%s of weights and %s of KV cache and activations "
        "in %s)",
        m, sw_plan_topology(p)->tiers[tier].name, w, o, c);
}
