/* The plan's kernels: running an event on a unit, whole or in parts; collectives (see plan.h and
 * policy.h). */
#include "sim/cost.h"
#include "sim/plan.h"

/* --- launching -------------------------------------------------------------------------------- */

/* The host's share of a launch, and the limit on how far it may run ahead of the device. */
static sw_status launch(sw_plan *p, uint32_t launches, bool first, const char *name,
                        sw_error *err) {
    const sw_runtime *rt = p->rt;
    if (rt->run_ahead) {
        sw_launch *v = p->launched.v;
        uint64_t total = p->launched_total + launches;
        const sw_launch *last = NULL;
        while (p->launched_at < p->launched.n && v[p->launched_at].total + rt->run_ahead < total)
            last = &v[p->launched_at++];
        if (last) sw_plan_need(p, last->queue, last->id);
        if (p->launched_at > 4096) { /* drop what has been passed */
            memmove(v, v + p->launched_at, (p->launched.n - p->launched_at) * sizeof *v);
            p->launched.n -= p->launched_at;
            p->launched_at = 0;
        }
    }
    double host_s = launches * rt->launch_host_s + (first ? rt->event_host_s : 0);
    return sw_plan_host(p, host_s, SW_CAT_HOST, name, err);
}

static sw_status launched(sw_plan *p, const sw_op *op, sw_error *err) {
    if (!p->rt->run_ahead) return SW_OK;
    p->launched_total += op->work.launches;
    sw_launch l = {op->id, p->launched_total, op->queue};
    return sw_vec_push(&p->launched, l) ? SW_OK : sw_fail(err, SW_MEMORY, "out of memory");
}

/* --- running an event ------------------------------------------------------------------------- */

/* A block about to be overwritten whole moves without a copy. */
static sw_status move_empty(sw_plan *p, sw_entry *e, int tier, sw_error *err) {
    sw_replica *r;
    SW_TRY(sw_plan_take(p, e, tier, true, &r, err));
    for (int k = e->n_replicas - 1; k >= 0; k--) {
        uint32_t effects;
        if (e->replicas[k].tier == tier) continue;
        SW_TRY(sw_ledger_give(&p->ledger, e, e->replicas[k].tier, &effects, err));
        SW_TRY(sw_plan_effects(p, effects, err));
    }
    return SW_OK;
}

/* The replica that `unit` works on. Activations follow the op to its local tier; anything else is
 * used where it lies. */
static sw_status resolve(sw_plan *p, const sw_ev_use *u, int unit, int *tier, sw_error *err) {
    sw_entry *e = sw_ledger_entry(&p->ledger, u->block);
    if (!e || !e->alive)
        return sw_fail(err, SW_INPUT, "event %llu uses block %u, which is not alive",
                       (unsigned long long)p->seq, u->block);
    int local = p->topo->units[unit].tier;
    if (e->block.kind == SW_BLOCK_ACT && !sw_plan_resident(p, u->block, local)) {
        sw_status st = u->mode == SW_WRITE && u->bytes == e->block.bytes
                           ? move_empty(p, e, local, err)
                           : sw_plan_fetch(p, u->block, local, err);
        if (st == SW_SPACE)
            return sw_fail(err, SW_FIT, "does not fit: no room for %s in %s", e->block.name,
                           p->topo->tiers[local].name);
        SW_TRY(st);
    }
    *tier = sw_plan_where(p, u->block, unit);
    if (*tier < 0)
        return sw_fail(err, SW_RUN, "policy %s runs %s on %s, which cannot reach %s",
                       p->policy->plugin.name, p->ev && p->ev->name ? p->ev->name : "an op",
                       p->topo->units[unit].name, e->block.name);
    return SW_OK;
}

/* Weight bytes that the fast units touch in a step: what does not fit into their memory must come
 * over a link. */
static void note_touched(sw_plan *p, sw_entry *e, const sw_use *u, int unit) {
    const sw_topology *t = p->topo;
    sw_tier_kind local = t->tiers[t->units[unit].tier].kind;
    if (local != SW_TIER_VRAM || !e->is_static) return;
    if (e->step_stamp != p->step + 1) {
        e->step_stamp = p->step + 1;
        e->step_touched = 0;
    }
    uint64_t add = u->bytes, room = e->block.bytes - e->step_touched;
    if (add > room) add = room;
    e->step_touched += add;
    p->step_fast_bytes += (double)add;
}

/* After the op has an id: who reads, who writes, which replicas are stale. */
static sw_status settle(sw_plan *p, const sw_op *sealed, sw_error *err) {
    const sw_op copy = *sealed, *op = &copy; /* effects add ops, which may move the chunk's array */
    for (uint32_t i = 0; i < op->n_uses; i++) {
        const sw_use *u = &op->uses[i];
        sw_entry *e = sw_ledger_entry(&p->ledger, u->block);
        sw_replica *r = sw_entry_replica(e, u->tier);
        note_touched(p, e, u, op->unit < 0 ? 0 : op->unit);
        if (u->mode == SW_READ) {
            if (!sw_refs_add(&r->readers, p->ledger.floor, op->queue, op->id))
                return sw_fail(err, SW_MEMORY, "out of memory");
            continue;
        }
        e->version = u->version;
        for (int k = e->n_replicas - 1; k >= 0; k--) { /* the others are stale now */
            uint32_t effects;
            if (e->replicas[k].tier == u->tier) continue;
            SW_TRY(sw_ledger_give(&p->ledger, e, e->replicas[k].tier, &effects, err));
            SW_TRY(sw_plan_effects(p, effects, err));
        }
        r = sw_entry_replica(e, u->tier);
        r->version = u->version;
        r->written = true;
        sw_refs_clear(&r->writers);
        sw_refs_clear(&r->readers);
        if (!sw_refs_add(&r->writers, p->ledger.floor, op->queue, op->id))
            return sw_fail(err, SW_MEMORY, "out of memory");
    }
    return SW_OK;
}

/* One op on one unit. In a part only activations and the part's own uses count, and what it would
 * change (RW) it only reads: the join that ends the event makes the writes. */
static sw_status run(sw_plan *p, const sw_event *ev, uint32_t first, uint32_t n, double share,
                     int unit, bool part, sw_error *err) {
    const sw_topology *t = p->topo;
    double read[SW_TIERS_MAX] = {0}, write[SW_TIERS_MAX] = {0};
    for (uint32_t i = 0; i < ev->n_uses; i++) { /* moves first: they are ops of their own */
        int tier;
        const sw_entry *e = sw_ledger_entry(&p->ledger, ev->uses[i].block);
        bool mine = !part || (i >= first && i < first + n) ||
                    (e && e->block.kind == SW_BLOCK_ACT && ev->uses[i].mode != SW_WRITE);
        if (mine) SW_TRY(resolve(p, &ev->uses[i], unit, &tier, err));
    }
    SW_TRY(launch(p, ev->work.launches, !p->parts.n, ev->name, err));
    sw_op *op = sw_plan_op(p, SW_OP_COMPUTE, t->units[unit].queue, ev->name);
    sw_use *uses = sw_plan_arena(p, (ev->n_uses + 1) * sizeof *uses);
    if (!op || !uses) return sw_fail(err, SW_MEMORY, "out of memory");
    op->unit = (int16_t)unit;
    op->work = ev->work;
    op->work.flops *= share;
    uint32_t k = 0;
    for (uint32_t i = 0; i < ev->n_uses; i++) {
        const sw_ev_use *u = &ev->uses[i];
        sw_entry *e = sw_ledger_entry(&p->ledger, u->block);
        bool mine = !part || (i >= first && i < first + n) ||
                    (e->block.kind == SW_BLOCK_ACT && u->mode != SW_WRITE);
        if (!mine) continue;
        int tier = sw_plan_where(p, u->block, unit);
        sw_replica *r = sw_entry_replica(e, tier);
        uint8_t mode = part && u->mode == SW_RW ? SW_READ : u->mode;
        uses[k++] = (sw_use){.block = u->block,
                             .version = e->version + (mode != SW_READ),
                             .tier = (int16_t)tier,
                             .mode = mode,
                             .addr = r->addr + u->offset,
                             .bytes = u->bytes,
                             .touched = u->touched};
        if (r->paged) uses[k - 1].paged = true, op->paging = &p->paging;
        double *bytes = u->mode == SW_WRITE ? write : read; /* what is paged has come by then */
        bytes[r->paged ? t->units[unit].tier : tier] += (double)u->touched;
        sw_plan_need_refs(p, &r->writers);
        if (mode != SW_READ) sw_plan_need_refs(p, &r->readers);
    }
    op->uses = uses;
    op->n_uses = k;
    SW_TRY(sw_cost_kernel(t, p->rt->launch_device_s, read, write, op, err));
    SW_TRY(sw_plan_seal(p, op, err));
    SW_TRY(launched(p, op, err));
    sw_plan_log(p, "run", SW_NONE, unit, k);
    p->last_compute = op->id;
    if (part && !sw_vec_push(&p->parts, op->id)) return sw_fail(err, SW_MEMORY, "out of memory");
    return settle(p, op, err);
}

sw_status sw_plan_run(sw_plan *p, const sw_event *ev, int unit, sw_error *err) {
    return run(p, ev, 0, ev->n_uses, 1, unit, false, err);
}

sw_status sw_plan_run_part(sw_plan *p, const sw_event *ev, uint32_t first, uint32_t n, double share,
                           int unit, sw_error *err) {
    return run(p, ev, first, n, share, unit, true, err);
}

/* Ends an event that ran in parts: a join after all of them makes its writes. */
sw_status sw_plan_join(sw_plan *p, const sw_event *ev, sw_error *err) {
    const sw_topology *t = p->topo;
    int unit = sw_topology_primary_unit(t);
    if (!p->parts.n) return SW_OK;
    for (uint32_t i = 0; i < ev->n_uses; i++) {
        int tier;
        if (ev->uses[i].mode != SW_READ) SW_TRY(resolve(p, &ev->uses[i], unit, &tier, err));
    }
    sw_op *op = sw_plan_op(p, SW_OP_JOIN, t->units[unit].queue, ev->name);
    sw_use *uses = sw_plan_arena(p, (ev->n_uses + 1) * sizeof *uses);
    if (!op || !uses) return sw_fail(err, SW_MEMORY, "out of memory");
    uint32_t k = 0;
    for (uint32_t i = 0; i < ev->n_uses; i++) {
        const sw_ev_use *u = &ev->uses[i];
        if (u->mode == SW_READ) continue;
        sw_entry *e = sw_ledger_entry(&p->ledger, u->block);
        int tier = sw_plan_where(p, u->block, unit);
        sw_replica *r = sw_entry_replica(e, tier);
        uses[k++] = (sw_use){.block = u->block,
                             .version = e->version + 1,
                             .tier = (int16_t)tier,
                             .mode = u->mode,
                             .addr = r->addr + u->offset,
                             .bytes = u->bytes};
        sw_plan_need_refs(p, &r->writers);
        sw_plan_need_refs(p, &r->readers);
    }
    op->uses = uses;
    op->n_uses = k;
    op->unit = (int16_t)unit;
    for (size_t i = 0; i < p->parts.n; i++) /* parts sit on few queues; ids tell which */
        for (uint32_t c = p->chunk->n; c-- > 0;)
            if (p->chunk->ops[c].id == p->parts.v[i]) {
                sw_plan_need(p, p->chunk->ops[c].queue, p->parts.v[i]);
                break;
            }
    SW_TRY(sw_plan_seal(p, op, err));
    p->last_compute = op->id;
    p->parts.n = 0;
    return settle(p, op, err);
}

/* --- collectives ------------------------------------------------------------------------------ */

sw_status sw_plan_all_reduce(sw_plan *p, uint32_t unit_mask, uint64_t bytes, double alpha_s,
                             sw_error *err) {
    const sw_topology *t = p->topo;
    int members[SW_UNITS_MAX], n = 0;
    for (int u = 0; u < t->n_units; u++)
        if (unit_mask >> u & 1) members[n++] = u;
    if (n < 2) return SW_OK;
    for (int i = 0; i < n; i++) /* it starts when every participant has come to it */
        sw_plan_need(p, t->units[members[i]].queue, p->queue_last[t->units[members[i]].queue]);
    sw_op *op = sw_plan_op(p, SW_OP_COLLECTIVE, t->units[members[0]].queue, "all_reduce");
    if (!op) return sw_fail(err, SW_MEMORY, "out of memory");
    op->cat = SW_CAT_COLLECTIVE;
    op->fixed_s = alpha_s;
    double amount = 2.0 * (n - 1) / n * (double)bytes;
    for (int i = 0; i < n; i++) {
        int src = t->units[members[i]].tier, dst = t->units[members[(i + 1) % n]].tier;
        int r = t->route_of[src][dst][0];
        if (r < 0 || n > SW_FLOWS_MAX)
            return sw_fail(err, SW_RUN, "no route for a ring over %d units", n);
        op->flows[op->n_flows++] = (sw_flow){t->routes[r].path, amount, t->routes[r].cap_Bps};
    }
    SW_TRY(sw_plan_seal(p, op, err));
    uint64_t id = op->id;
    int queue = op->queue;
    for (int i = 1; i < n; i++) { /* and holds a slot on each one's queue until it ends */
        sw_op *slot = sw_plan_op(p, SW_OP_JOIN, t->units[members[i]].queue, "all_reduce");
        if (!slot) return sw_fail(err, SW_MEMORY, "out of memory");
        sw_plan_need(p, queue, id);
        SW_TRY(sw_plan_seal(p, slot, err));
    }
    return SW_OK;
}
