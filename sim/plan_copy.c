/* The plan's copies: placing, fetching, evicting blocks (see plan.h and policy.h). */
#include "sim/cost.h"
#include "sim/plan.h"

/* --- memory --------------------------------------------------------------------------------------
 */

sw_status sw_plan_take(sw_plan *p, sw_entry *e, int tier, bool evict, sw_replica **out,
                       sw_error *err) {
    for (;;) {
        uint32_t effects = 0;
        sw_status st = sw_ledger_take(&p->ledger, e, tier, out, &effects, err);
        if (st == SW_OK) {
            SW_TRY(sw_plan_effects(p, effects, err));
            *out = sw_entry_replica(e, tier);
            return SW_OK;
        }
        if (st != SW_SPACE || !evict || !p->policy->victim) return st;
        uint32_t victim = p->policy->victim(p->policy_ctx, p, tier, e->block.bytes);
        if (victim == SW_NONE) return SW_SPACE;
        if (!sw_plan_evictable(p, victim, tier))
            return sw_fail(err, SW_RUN, "policy %s evicts block %u, which it may not",
                           p->policy->plugin.name, victim);
        SW_TRY(sw_plan_evict(p, victim, tier, err));
    }
}

/* --- placing before the run ------------------------------------------------------------------- */

static sw_status no_room(sw_plan *p, const sw_entry *e, int tier, sw_error *err) {
    uint64_t room = sw_ledger_room(&p->ledger, tier), hole = sw_ledger_hole(&p->ledger, tier);
    char need[32], have[32], missing[32];
    sw_format_bytes(need, sizeof need, (double)e->block.bytes);
    if (room >= e->block.bytes) {
        sw_format_bytes(have, sizeof have, (double)room);
        sw_format_bytes(missing, sizeof missing, (double)hole);
        return sw_fail(
            err, SW_FIT,
            "does not fit: %s (%s) needs one piece in %s; %s are free, the largest hole is %s",
            e->block.name, need, p->topo->tiers[tier].name, have, missing);
    }
    sw_format_bytes(have, sizeof have, (double)room);
    sw_format_bytes(missing, sizeof missing, (double)(e->block.bytes - room));
    return sw_fail(err, SW_FIT, "does not fit: %s (%s) with %s free in %s: %s missing",
                   e->block.name, need, have, p->topo->tiers[tier].name, missing);
}

sw_status sw_plan_place(sw_plan *p, uint32_t block, int tier, sw_error *err) {
    sw_entry *e = sw_ledger_entry(&p->ledger, block);
    if (!p->opening || !e || !e->alive)
        return sw_fail(err, SW_RUN, "policy %s places block %u outside its open",
                       p->policy->plugin.name, block);
    if (sw_entry_replica(e, tier)) return SW_OK;
    sw_replica *r;
    sw_status st = sw_plan_take(p, e, tier, false, &r, err);
    if (st == SW_SPACE) return no_room(p, e, tier, err);
    SW_TRY(st);
    r->written = true;
    p->ledger.tier[tier].static_bytes += e->block.bytes;
    sw_plan_log(p, "place", block, tier, r->addr);
    return SW_OK;
}

static const sw_route *route_of(const sw_plan *p, int src, int dst) {
    int pageable = p->rt->pinned ? 0 : 1;
    int r = p->topo->route_of[src][dst][pageable];
    if (r < 0) r = p->topo->route_of[src][dst][0];
    return r < 0 ? NULL : &p->topo->routes[r];
}

/* --- paged ranges ----------------------------------------------------------------------------- */

sw_status sw_plan_pager(sw_plan *p, int home, int near, uint64_t pool_bytes, sw_error *err) {
    sw_paging *g = &p->paging;
    const sw_route *in = route_of(p, home, near), *out = route_of(p, near, home);
    if (!p->opening || g->ops || !in || !out)
        return sw_fail(err, SW_RUN, "policy %s cannot have a pager here", p->policy->plugin.name);
    uint64_t addr;
    sw_status st = sw_ledger_reserve(&p->ledger, near, pool_bytes, &addr);
    if (st == SW_SPACE)
        return sw_fail(err, SW_FIT, "does not fit: no room for a pager's pool in %s",
                       p->topo->tiers[near].name);
    if (st) return sw_fail(err, st, "out of memory");
    SW_TRY(sw_plugin_new(&p->pager->plugin, "pager", p->pager_map, &g->ctx, err));
    *g = (sw_paging){.ops = p->pager,
                     .ctx = g->ctx,
                     .topo = p->topo,
                     .home = (int16_t)home,
                     .near = (int16_t)near,
                     .pool_addr = addr,
                     .pool_bytes = pool_bytes,
                     .in = in,
                     .out = out};
    return g->ops->open(g->ctx, pool_bytes, err);
}

sw_status sw_plan_page(sw_plan *p, uint32_t block, sw_error *err) {
    if (!p->paging.ops)
        return sw_fail(err, SW_RUN, "policy %s pages without a pager", p->policy->plugin.name);
    SW_TRY(sw_plan_place(p, block, p->paging.home, err));
    sw_entry_replica(sw_ledger_entry(&p->ledger, block), p->paging.home)->paged = true;
    return SW_OK;
}

/* --- copies ----------------------------------------------------------------------------------- */

sw_status sw_plan_copy(sw_plan *p, sw_entry *e, int src, int dst, sw_error *err) {
    const sw_route *route = route_of(p, src, dst);
    if (!route)
        return sw_fail(err, SW_RUN, "no route from %s to %s for %s", p->topo->tiers[src].name,
                       p->topo->tiers[dst].name, e->block.name);
    sw_replica *from = sw_entry_replica(e, src), *to = sw_entry_replica(e, dst);
    if (!from->written) { /* nothing to copy yet */
        to->version = e->version;
        return SW_OK;
    }
    SW_TRY(sw_plan_host(p, p->rt->copy_host_s, SW_CAT_HOST, "issue copy", err));
    sw_op *op = sw_plan_op(p, SW_OP_COPY, route->queue, e->block.name);
    sw_use *uses = sw_plan_arena(p, 2 * sizeof *uses);
    if (!op || !uses) return sw_fail(err, SW_MEMORY, "out of memory");
    uint64_t bytes = e->block.bytes;
    uses[0] = uses[1] =
        (sw_use){.block = e->block.id, .version = e->version, .bytes = bytes, .touched = bytes};
    uses[0].tier = (int16_t)src, uses[0].mode = SW_READ, uses[0].addr = from->addr;
    uses[1].tier = (int16_t)dst, uses[1].mode = SW_WRITE, uses[1].addr = to->addr;
    op->uses = uses;
    op->n_uses = 2;
    sw_cost_copy(p->topo, route, bytes, op);
    sw_plan_need_refs(p, &from->writers);
    sw_plan_need_refs(p, &to->writers);
    sw_plan_need_refs(p, &to->readers);
    SW_TRY(sw_plan_seal(p, op, err));
    bool ok = sw_refs_add(&from->readers, p->ledger.floor, op->queue, op->id);
    sw_refs_clear(&to->writers);
    sw_refs_clear(&to->readers);
    ok = ok && sw_refs_add(&to->writers, p->ledger.floor, op->queue, op->id);
    to->version = e->version;
    to->written = true;
    return ok ? SW_OK : sw_fail(err, SW_MEMORY, "out of memory");
}

/* The host acts on what the event tells, so it must have learnt it: once an event. */
static sw_status know_on_host(sw_plan *p, sw_error *err) {
    if (!p->known_op || p->known_on_host || p->known_op <= p->ledger.floor) return SW_OK;
    p->known_on_host = true;
    for (int q = 1; q < p->topo->n_queues; q++)
        if (p->queue_last[q] >= p->known_op && p->topo->queues[q].kind == SW_QUEUE_COMPUTE)
            sw_plan_need(p, q, p->known_op);
    return sw_plan_host(p, p->rt->sync_host_s, SW_CAT_HOST, "learn", err);
}

/* The current replica from which a copy to `dst` is fastest; -1: none has a route. */
static int best_source(const sw_plan *p, const sw_entry *e, int dst) {
    int best = -1;
    double best_Bps = 0;
    for (int i = 0; i < e->n_replicas; i++) {
        const sw_replica *r = &e->replicas[i];
        const sw_route *route = r->version == e->version ? route_of(p, r->tier, dst) : NULL;
        if (!route) continue;
        double Bps = sw_cost_route_Bps(p->topo, route);
        if (best < 0 || Bps > best_Bps || (Bps == best_Bps && r->tier < best))
            best = r->tier, best_Bps = Bps;
    }
    return best;
}

static sw_status fetch(sw_plan *p, uint32_t block, int tier, bool evict, sw_error *err) {
    sw_entry *e = sw_ledger_entry(&p->ledger, block);
    if (!e || !e->alive) return sw_fail(err, SW_RUN, "block %u is not alive", block);
    if (sw_plan_resident(p, block, tier)) return SW_OK;
    SW_TRY(know_on_host(p, err));
    int src = best_source(p, e, tier);
    if (src < 0)
        return sw_fail(err, SW_RUN, "no route brings %s to %s", e->block.name,
                       p->topo->tiers[tier].name);
    sw_replica *r;
    SW_TRY(sw_plan_take(p, e, tier, evict, &r, err));
    sw_plan_log(p, "fetch", block, tier, r->addr);
    p->n_fetches++;
    p->n_fetches_decode += p->phase == SW_PHASE_DECODE;
    p->fetched_bytes += (double)e->block.bytes;
    return sw_plan_copy(p, e, src, tier, err);
}

sw_status sw_plan_fetch(sw_plan *p, uint32_t block, int tier, sw_error *err) {
    return fetch(p, block, tier, true, err);
}

sw_status sw_plan_prefetch(sw_plan *p, uint32_t block, int tier, sw_error *err) {
    return fetch(p, block, tier, false, err);
}

/* Where the only current copy goes when it must leave `tier`: RAM, else NVMe, else nowhere. */
static sw_status write_back(sw_plan *p, sw_entry *e, int tier, sw_error *err) {
    const sw_tier_kind order[] = {SW_TIER_RAM, SW_TIER_NVME};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        int dst = sw_topology_tier(p->topo, order[i]);
        sw_replica *r;
        if (dst < 0 || dst == tier || !route_of(p, tier, dst)) continue;
        sw_status st = sw_plan_take(p, e, dst, false, &r, err);
        if (st == SW_SPACE) continue;
        SW_TRY(st);
        p->n_writebacks++;
        p->written_back_bytes += (double)e->block.bytes;
        return sw_plan_copy(p, e, tier, dst, err);
    }
    return no_room(p, e, tier, err);
}

sw_status sw_plan_evict(sw_plan *p, uint32_t block, int tier, sw_error *err) {
    sw_entry *e = sw_ledger_entry(&p->ledger, block);
    sw_replica *r = e && e->alive ? sw_entry_replica(e, tier) : NULL;
    if (!r || !sw_plan_evictable(p, block, tier))
        return sw_fail(err, SW_RUN, "policy %s evicts block %u from %s, which it may not",
                       p->policy->plugin.name, block, p->topo->tiers[tier].name);
    SW_TRY(know_on_host(p, err));
    int other = -1;
    for (int i = 0; i < e->n_replicas; i++)
        if (e->replicas[i].tier != tier && e->replicas[i].version == e->version)
            other = e->replicas[i].tier;
    sw_plan_log(p, "evict", block, tier, r->addr);
    p->n_evictions++;
    if (r->version == e->version && other < 0) {
        SW_TRY(write_back(p, e, tier, err));
    } else if ((p->policy->plugin.flags & SW_POLICY_COPY_ALWAYS) &&
               p->topo->tiers[other].kind == SW_TIER_RAM) {
        p->n_writebacks++;
        p->written_back_bytes += (double)e->block.bytes;
        SW_TRY(sw_plan_copy(p, e, tier, other, err));
    }
    uint32_t effects;
    SW_TRY(sw_ledger_give(&p->ledger, e, tier, &effects, err));
    return sw_plan_effects(p, effects, err);
}
