/* The plan: building ops, the host thread, and the life of blocks (see plan.h). Copies are in
 * plan_copy.c, kernels in plan_run.c. */
#include "sim/plan.h"

/* --- chunks and ops ----------------------------------------------------------------------------
 */

enum { ARENA_BYTES = 64 << 10 };

void *sw_plan_arena(sw_plan *p, size_t bytes) {
    sw_chunk *c = p->chunk;
    bytes = (bytes + 15) & ~(size_t)15;
    if (!c->arena || c->arena->used + bytes > c->arena->cap) {
        size_t cap = bytes > ARENA_BYTES ? bytes : ARENA_BYTES;
        sw_arena_block *b = malloc(sizeof *b + cap);
        if (!b) return NULL;
        *b = (sw_arena_block){.next = c->arena, .cap = cap};
        c->arena = b;
    }
    void *out = c->arena->data + c->arena->used;
    c->arena->used += bytes;
    return out;
}

void sw_chunk_reset(sw_chunk *c) {
    while (c->arena && c->arena->next) {
        sw_arena_block *next = c->arena->next;
        free(c->arena);
        c->arena = next;
    }
    if (c->arena) c->arena->used = 0;
    c->n = 0;
}

void sw_chunk_free(sw_chunk *c) {
    for (sw_arena_block *b = c->arena, *next; b; b = next) next = b->next, free(b);
    free(c->ops);
    *c = (sw_chunk){0};
}

sw_op *sw_plan_op(sw_plan *p, sw_op_kind kind, int queue, const char *name) {
    sw_chunk *c = p->chunk;
    if (c->n == c->cap) {
        uint32_t cap = c->cap ? c->cap * 2 : 1024;
        sw_op *ops = realloc(c->ops, cap * sizeof *ops);
        if (!ops) return NULL;
        c->ops = ops;
        c->cap = cap;
    }
    sw_op *op = &c->ops[c->n++];
    *op = (sw_op){.id = ++p->next_id,
                  .issued_by = p->host_last > p->ledger.floor ? p->host_last : 0,
                  .name = name,
                  .queue = (uint16_t)queue,
                  .unit = -1,
                  .kind = (uint8_t)kind,
                  .cat_fixed = SW_CAT_SETUP,
                  .step = p->step,
                  .phase = p->phase,
                  .event = p->seq};
    c->last_id = op->id;
    return op;
}

void sw_plan_need(sw_plan *p, int queue, uint64_t id) {
    if (id <= p->ledger.floor) return;
    uint64_t bit = 1ull << queue;
    if (!(p->need_mask & bit) || p->need[queue] < id) p->need[queue] = id;
    p->need_mask |= bit;
}

void sw_plan_need_refs(sw_plan *p, const sw_refs *refs) {
    const sw_ref *v = sw_refs_items(refs);
    for (uint32_t i = 0; i < refs->n; i++) sw_plan_need(p, v[i].queue, v[i].id);
}

void sw_plan_need_queues(sw_plan *p, int unit, bool compute_only) {
    for (int q = 1; q < p->topo->n_queues; q++) {
        const sw_queue *queue = &p->topo->queues[q];
        bool compute = queue->kind == SW_QUEUE_COMPUTE;
        if (compute_only && !compute) continue;
        if (unit >= 0 && compute && queue->unit != unit) continue;
        sw_plan_need(p, q, p->queue_last[q]);
    }
}

sw_status sw_plan_seal(sw_plan *p, sw_op *op, sw_error *err) {
    if (p->known_op > p->ledger.floor) {
        op->needs_known = p->known_op;
    }
    uint64_t mask = p->need_mask & ~(1ull << op->queue);
    uint32_t n = (uint32_t)__builtin_popcountll(mask) + (op->needs_known ? 1 : 0);
    p->need_mask = 0;
    p->queue_last[op->queue] = op->id;
    if (!n) return SW_OK;
    uint64_t *after = sw_plan_arena(p, n * sizeof *after);
    if (!after) return sw_fail(err, SW_MEMORY, "out of memory");
    uint32_t k = 0;
    uint64_t known = op->needs_known;
    for (; mask || known; known = 0) {
        uint64_t id = known;
        if (!id) {
            int q = __builtin_ctzll(mask);
            mask &= mask - 1;
            id = p->need[q];
        }
        uint32_t at = k; /* ascending, no doubles; lists are short */
        while (at > 0 && after[at - 1] > id) at--;
        if (at > 0 && after[at - 1] == id) continue;
        memmove(after + at + 1, after + at, (k - at) * sizeof *after);
        after[at] = id;
        k++;
    }
    op->after = after;
    op->n_after = k;
    return SW_OK;
}

/* --- the host thread ---------------------------------------------------------------------------
 */

/* A host op with the needs collected so far; nothing when it costs nothing and waits for nothing.
 */
sw_status sw_plan_host(sw_plan *p, double seconds, sw_cat cat, const char *name, sw_error *err) {
    if (p->opening) {
        p->need_mask = 0;
        return SW_OK;
    }
    if (seconds <= 0 && !p->need_mask) return SW_OK;
    sw_op *op = sw_plan_op(p, SW_OP_HOST, 0, name);
    if (!op) return sw_fail(err, SW_MEMORY, "out of memory");
    op->fixed_s = seconds;
    op->cat = op->cat_fixed = (uint8_t)cat;
    uint64_t known = p->known_op;
    p->known_op = 0; /* the host may run before it knows, unless the needs say otherwise */
    sw_status st = sw_plan_seal(p, op, err);
    p->known_op = known;
    p->host_last = op->id;
    return st;
}

sw_status sw_plan_sync(sw_plan *p, int unit, sw_error *err) {
    sw_plan_need_queues(p, unit, false);
    sw_plan_log(p, "sync", SW_NONE, unit, 0);
    return sw_plan_host(p, p->rt->sync_host_s, SW_CAT_HOST, "sync", err);
}

sw_status sw_plan_effects(sw_plan *p, uint32_t effects, sw_error *err) {
    if (!effects || p->opening) return SW_OK;
    if (effects & SW_EFFECT_DEVICE_SYNC) sw_plan_need_queues(p, -1, false);
    double s = effects & (SW_EFFECT_SYSTEM_ALLOC | SW_EFFECT_SYSTEM_FREE) ? p->rt->alloc_host_s : 0;
    return sw_plan_host(p, s, SW_CAT_ALLOC, "allocate", err);
}

/* --- decision log -------------------------------------------------------------------------------
 */

static uint64_t mix(uint64_t h, uint64_t x) {
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

void sw_plan_log(sw_plan *p, const char *intent, uint32_t block, int tier, uint64_t addr) {
    uint64_t h = mix(p->log_hash, p->seq);
    h = mix(h, (uint64_t)(unsigned char)intent[0] << 8 | (unsigned char)intent[1]);
    h = mix(h, (uint64_t)block << 32 | (uint32_t)tier);
    p->log_hash = mix(h, addr);
    if (!p->decisions) return;
    sw_writer_printf(p->decisions, "%llu %s %lld %d %llu\n", (unsigned long long)p->seq, intent,
                     block == SW_NONE ? -1ll : (long long)block, tier, (unsigned long long)addr);
}

/* --- questions ----------------------------------------------------------------------------------
 */

const sw_topology *sw_plan_topology(const sw_plan *p) {
    return p->topo;
}
const sw_scan *sw_plan_scan(const sw_plan *p) {
    return p->scan;
}
uint64_t sw_plan_now(const sw_plan *p) {
    return p->seq;
}

const sw_block *sw_plan_block(const sw_plan *p, uint32_t block) {
    const sw_entry *e = sw_ledger_entry(&p->ledger, block);
    return e && e->alive ? &e->block : NULL;
}

bool sw_plan_resident(const sw_plan *p, uint32_t block, int tier) {
    const sw_entry *e = sw_ledger_entry(&p->ledger, block);
    return e && e->alive && sw_replica_current(e, sw_entry_replica(e, tier));
}

int sw_plan_where(const sw_plan *p, uint32_t block, int unit) {
    const sw_entry *e = sw_ledger_entry(&p->ledger, block);
    int best = -1;
    double best_Bps = -1;
    if (!e || !e->alive) return -1;
    for (int i = 0; i < e->n_replicas; i++) {
        const sw_replica *r = &e->replicas[i];
        const sw_port *port = &p->topo->ports[unit][r->tier];
        if (r->version != e->version) continue;
        if (r->paged) return r->tier;
        if (port->read_path < 0) continue;
        if (r->tier == p->topo->units[unit].tier) return r->tier;
        if (port->read_Bps > best_Bps || (port->read_Bps == best_Bps && r->tier < best))
            best = r->tier, best_Bps = port->read_Bps;
    }
    return best;
}

bool sw_plan_evictable(const sw_plan *p, uint32_t block, int tier) {
    const sw_entry *e = sw_ledger_entry(&p->ledger, block);
    if (!e || !e->alive || (p->ev && e->locked_event == p->seq)) return false;
    const sw_replica *r = sw_entry_replica(e, tier);
    return r && !r->pinned && !r->paged;
}

uint64_t sw_plan_room(const sw_plan *p, int tier) {
    return sw_ledger_room(&p->ledger, tier);
}
uint64_t sw_plan_capacity(const sw_plan *p, int tier) {
    return p->topo->tiers[tier].capacity_bytes;
}

uint64_t sw_plan_later_bytes(const sw_plan *p) {
    uint64_t peak = p->scan->peak_dynamic_bytes;
    return peak > p->dynamic_bytes ? peak - p->dynamic_bytes : 0;
}

uint64_t sw_plan_next_use(sw_plan *p, uint32_t block) {
    const sw_scan *s = p->scan;
    uint64_t at = p->use_cursor[block], end = s->use_at[block + 1];
    while (at < end && s->use_seq[at] <= p->seq) at++;
    p->use_cursor[block] = at;
    return at < end ? s->use_seq[at] : UINT64_MAX;
}

void sw_plan_unlock(sw_plan *p, uint32_t block) {
    sw_entry *e = sw_ledger_entry(&p->ledger, block);
    if (e) e->locked_event = 0;
}

void sw_plan_pin(sw_plan *p, uint32_t block, int tier, bool pinned) {
    sw_entry *e = sw_ledger_entry(&p->ledger, block);
    sw_replica *r = e ? sw_entry_replica(e, tier) : NULL;
    if (r) r->pinned = pinned;
}

void sw_plan_count(sw_plan *p, const char *name, double add) {
    for (size_t i = 0; i < p->counters.n; i++)
        if (!strcmp(p->counters.v[i].name, name)) {
            p->counters.v[i].value += add;
            return;
        }
    if (!sw_vec_reserve(&p->counters, p->counters.n + 1)) return;
    p->counters.v[p->counters.n].name = name;
    p->counters.v[p->counters.n++].value = add;
}

/* --- life of a plan ------------------------------------------------------------------------------
 */

sw_status sw_plan_open(const sw_topology *topo, const sw_runtime *rt, const sw_scan *scan,
                       const sw_policy_ops *policy, const sw_node *policy_map,
                       const sw_alloc_ops *alloc, const sw_node *alloc_map, sw_plan **out,
                       sw_error *err) {
    sw_plan *p = sw_zalloc(1, sizeof *p);
    if (!p) return sw_fail(err, SW_MEMORY, "out of memory");
    p->topo = topo;
    p->rt = rt;
    p->scan = scan;
    p->policy = policy;
    p->log_hash = 0xcbf29ce484222325u;
    sw_status st = sw_plugin_new(&policy->plugin, "policy", policy_map, &p->policy_ctx, err);
    if (!st) st = sw_ledger_open(&p->ledger, topo, alloc, alloc_map, err);
    if (!st && (policy->plugin.flags & SW_POLICY_OFFLINE)) {
        p->use_cursor = malloc((scan->n_blocks + 1) * sizeof *p->use_cursor);
        if (!p->use_cursor)
            st = sw_fail(err, SW_MEMORY, "out of memory");
        else
            memcpy(p->use_cursor, scan->use_at, scan->n_blocks * sizeof *p->use_cursor);
    }
    if (st) {
        free(p->policy_ctx);
        p->policy_ctx = NULL;
        sw_plan_close(p);
        return st;
    }
    *out = p;
    return SW_OK;
}

void sw_plan_close(sw_plan *p) {
    if (!p) return;
    if (p->policy_ctx && p->policy->close) p->policy->close(p->policy_ctx);
    free(p->policy_ctx);
    if (p->paging.ops) p->paging.ops->close(p->paging.ctx);
    free(p->paging.ctx);
    sw_ledger_close(&p->ledger);
    sw_vec_free(&p->parts);
    sw_vec_free(&p->launched);
    sw_vec_free(&p->counters);
    free(p->use_cursor);
    free(p);
}
