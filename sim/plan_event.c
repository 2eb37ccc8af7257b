/* The plan's events: what begins a run, and what each trace event does (see plan.h). */
#include "sim/plan.h"

/* --- before the run --------------------------------------------------------------------------- */

/* Where the weights lie that no policy has placed: RAM, else NVMe; on a machine without RAM, NVMe,
 * else unified. With an NVMe a copy always lies there too: the model file. */
static sw_status home_one(sw_plan *p, sw_entry *e, bool placed, uint64_t *ram_left, sw_error *err) {
    const sw_topology *t = p->topo;
    int nvme = sw_topology_tier(t, SW_TIER_NVME), ram = sw_topology_tier(t, SW_TIER_RAM);
    bool on_nvme = sw_entry_replica(e, nvme) != NULL;
    if (ram < 0 && nvme < 0 && !placed)
        return sw_plan_place(p, e->block.id, sw_topology_fast_tier(t), err);
    if (ram < 0 || sw_entry_replica(e, ram) || (placed && on_nvme)) return SW_OK;
    if (e->block.bytes > *ram_left) {
        if (placed || on_nvme) return SW_OK;
        return sw_plan_place(p, e->block.id, ram, err); /* says what is missing */
    }
    SW_TRY(sw_plan_place(p, e->block.id, ram, err));
    *ram_left -= e->block.bytes;
    return SW_OK;
}

static sw_status homes(sw_plan *p, sw_error *err) {
    const sw_topology *t = p->topo;
    int nvme = sw_topology_tier(t, SW_TIER_NVME), ram = sw_topology_tier(t, SW_TIER_RAM);
    if (nvme >= 0 && p->scan->static_bytes <= sw_ledger_room(&p->ledger, nvme))
        for (size_t i = 0; i < p->ledger.entries.n; i++)
            if (p->ledger.entries.v[i].is_static) SW_TRY(sw_plan_place(p, (uint32_t)i, nvme, err));
    /* Leave RAM for what a policy may put there later, but not at the price of weights without a
     * home. */
    uint64_t left = ram >= 0 ? sw_ledger_room(&p->ledger, ram) : 0;
    uint64_t later = p->policy->on_alloc ? sw_plan_later_bytes(p) : 0;
    if (nvme >= 0) left = left > later ? left - later : 0;
    for (int pass = 0; pass < 2; pass++) /* first those that lie nowhere faster */
        for (size_t i = 0; i < p->ledger.entries.n; i++) {
            sw_entry *e = &p->ledger.entries.v[i];
            if (!e->is_static) continue;
            bool placed = e->n_replicas > (sw_entry_replica(e, nvme) ? 1 : 0);
            if (placed == (pass == 1)) SW_TRY(home_one(p, e, placed, &left, err));
        }
    return SW_OK;
}

sw_status sw_plan_begin(sw_plan *p, sw_error *err) {
    p->opening = true;
    for (uint32_t i = 0; i < p->scan->n_blocks; i++)
        if (p->scan->is_static[i])
            SW_TRY(sw_ledger_add(&p->ledger, &p->scan->blocks[i], true, err));
    if (p->policy->open) SW_TRY(p->policy->open(p->policy_ctx, p, err));
    SW_TRY(homes(p, err));
    p->opening = false;
    return SW_OK;
}

sw_status sw_plan_tell(const sw_plan *p, const sw_observer *obs, sw_error *err) {
    for (size_t i = 0; obs->placed && i < p->ledger.entries.n; i++) {
        const sw_entry *e = &p->ledger.entries.v[i];
        for (int k = 0; k < e->n_replicas; k++)
            SW_TRY(obs->placed(obs->arg, &e->block, e->replicas[k].tier, e->replicas[k].addr, err));
    }
    return SW_OK;
}

/* --- events ----------------------------------------------------------------------------------- */

static uint64_t known_op(const sw_plan *p, uint64_t seq) {
    size_t at = seq % SW_KNOWN_RING;
    return p->known_seq[at] == seq ? p->known_id[at] : 0;
}

static sw_status access_event(sw_plan *p, const sw_event *ev, sw_error *err) {
    for (uint32_t i = 0; i < ev->n_uses; i++) {
        sw_entry *e = sw_ledger_entry(&p->ledger, ev->uses[i].block);
        if (e) e->locked_event = p->seq;
    }
    p->last_compute = 0;
    sw_status st = p->policy->on_access(p->policy_ctx, p, ev, err);
    if (st == SW_SPACE)
        return sw_fail(err, SW_FIT, "does not fit: %s needs more at once than %s holds",
                       ev->name ? ev->name : "an op",
                       p->topo->tiers[sw_topology_fast_tier(p->topo)].name);
    SW_TRY(st);
    SW_TRY(sw_plan_join(p, ev, err));
    if (!p->last_compute)
        return sw_fail(err, SW_RUN, "policy %s did not run event %llu (%s)", p->policy->plugin.name,
                       (unsigned long long)p->seq, ev->name ? ev->name : "");
    if (ev->makes_known) {
        p->known_seq[p->seq % SW_KNOWN_RING] = p->seq;
        p->known_id[p->seq % SW_KNOWN_RING] = p->last_compute;
    }
    return SW_OK;
}

static sw_status alloc_event(sw_plan *p, const sw_event *ev, sw_error *err) {
    SW_TRY(sw_ledger_add(&p->ledger, &ev->block, false, err));
    sw_entry *e = sw_ledger_entry(&p->ledger, ev->block.id);
    int tier = sw_topology_fast_tier(p->topo);
    if (p->policy->on_alloc) tier = p->policy->on_alloc(p->policy_ctx, p, &e->block);
    sw_replica *r;
    sw_status st = sw_plan_take(p, e, tier, true, &r, err);
    if (st == SW_SPACE) {
        char need[32], room[32];
        sw_format_bytes(need, sizeof need, (double)e->block.bytes);
        sw_format_bytes(room, sizeof room, (double)sw_ledger_room(&p->ledger, tier));
        return sw_fail(err, SW_FIT, "does not fit: %s needs %s in %s, where %s are free",
                       e->block.name, need, p->topo->tiers[tier].name, room);
    }
    SW_TRY(st);
    p->dynamic_bytes += e->block.bytes;
    sw_plan_log(p, "alloc", e->block.id, tier, r->addr);
    return SW_OK;
}

static sw_status free_event(sw_plan *p, const sw_event *ev, sw_error *err) {
    sw_entry *e = sw_ledger_entry(&p->ledger, ev->block.id);
    if (!e || !e->alive)
        return sw_fail(err, SW_INPUT, "block %u is freed but not alive", ev->block.id);
    while (e->n_replicas) {
        uint32_t effects;
        SW_TRY(sw_ledger_give(&p->ledger, e, e->replicas[0].tier, &effects, err));
        SW_TRY(sw_plan_effects(p, effects, err));
    }
    if (!e->is_static) p->dynamic_bytes -= e->block.bytes;
    e->alive = false;
    return SW_OK;
}

/* What the fast memory could not hold when the step began must have come over a link. */
static void close_step(sw_plan *p) {
    double fast = 0;
    for (int t = 0; t < p->topo->n_tiers; t++)
        if (p->topo->tiers[t].kind == SW_TIER_VRAM)
            fast += (double)p->topo->tiers[t].capacity_bytes;
    if (p->step_fast_bytes > fast) p->least_bytes += p->step_fast_bytes - fast;
    p->step_fast_bytes = 0;
}

/* The host waits for the step's outcome before it begins the next one, in a runtime with host work
 * a step. */
static sw_status step_event(sw_plan *p, const sw_event *ev, sw_error *err) {
    close_step(p);
    p->step = ev->step;
    p->phase = (uint8_t)ev->phase;
    if (p->rt->step_host_s > 0) {
        sw_plan_need_queues(p, -1, true);
        SW_TRY(sw_plan_host(p, p->rt->step_host_s + p->rt->sync_host_s, SW_CAT_HOST, "step", err));
    }
    return p->policy->on_hint ? p->policy->on_hint(p->policy_ctx, p, ev, err) : SW_OK;
}

sw_status sw_plan_event(sw_plan *p, uint64_t seq, const sw_event *ev, sw_error *err) {
    p->seq = seq;
    p->ev = ev;
    p->known_op = ev->known_after ? known_op(p, ev->known_after) : 0;
    p->known_on_host = false;
    switch (ev->kind) {
    case SW_EV_BLOCK:
        return SW_OK; /* known from the scan */
    case SW_EV_ALLOC:
        return alloc_event(p, ev, err);
    case SW_EV_FREE:
        return free_event(p, ev, err);
    case SW_EV_ACCESS:
        return access_event(p, ev, err);
    case SW_EV_STEP:
        return step_event(p, ev, err);
    case SW_EV_PREDICT:
        return p->policy->on_hint ? p->policy->on_hint(p->policy_ctx, p, ev, err) : SW_OK;
    case SW_EV_HOST:
        return sw_plan_host(p, ev->host_s, SW_CAT_HOST, ev->name, err);
    case SW_EV_MARK:
    case SW_EV_RELEASE:
    case SW_EV_SEGMENT:
        return SW_OK;
    case SW_EV_ARRIVE:
    case SW_EV_RECORDED:
        break; /* the scan has refused them */
    }
    return sw_fail(err, SW_INPUT, "event %llu is of no known kind", (unsigned long long)seq);
}

void sw_plan_end(sw_plan *p) {
    close_step(p);
}
