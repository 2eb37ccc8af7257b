/* The ledger (see ledger.h): entries, replicas, and the guards of freed extents. */
#include "sim/ledger.h"

/* --- refs ------------------------------------------------------------------------------------ */

bool sw_refs_add(sw_refs *r, uint64_t floor, uint16_t queue, uint64_t id) {
    sw_ref *v = r->cap ? r->u.heap : r->u.in;
    for (uint32_t i = 0; i < r->n; i++) {
        if (v[i].queue != queue) continue;
        if (id > v[i].id) v[i].id = id;
        return true;
    }
    uint32_t cap = r->cap ? r->cap : SW_REFS_INLINE;
    if (r->n == cap) { /* drop what has long ended before growing */
        uint32_t kept = 0;
        for (uint32_t i = 0; i < r->n; i++)
            if (v[i].id > floor) v[kept++] = v[i];
        r->n = kept;
    }
    if (r->n == cap) {
        sw_ref *heap = malloc(2u * cap * sizeof *heap);
        if (!heap) return false;
        memcpy(heap, v, r->n * sizeof *heap);
        if (r->cap) free(r->u.heap);
        r->u.heap = v = heap;
        r->cap = 2 * cap;
    }
    v[r->n++] = (sw_ref){id, queue};
    return true;
}

bool sw_refs_merge(sw_refs *into, uint64_t floor, const sw_refs *from) {
    const sw_ref *v = sw_refs_items(from);
    for (uint32_t i = 0; i < from->n; i++)
        if (v[i].id > floor && !sw_refs_add(into, floor, v[i].queue, v[i].id)) return false;
    return true;
}

void sw_refs_clear(sw_refs *r) {
    if (r->cap) free(r->u.heap);
    r->n = r->cap = 0;
}

/* --- freed extents ---------------------------------------------------------------------------- */

/* First freed extent that ends after `addr`. */
static size_t freed_find(const sw_tier_ledger *t, uint64_t addr) {
    size_t lo = 0, hi = t->freed.n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (t->freed.v[mid].hi <= addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void freed_remove(sw_tier_ledger *t, size_t at, size_t n) {
    memmove(t->freed.v + at, t->freed.v + at + n, (t->freed.n - at - n) * sizeof *t->freed.v);
    t->freed.n -= n;
}

static bool freed_insert(sw_tier_ledger *t, size_t at, sw_freed f) {
    if (!sw_vec_reserve(&t->freed, t->freed.n + 1)) return false;
    memmove(t->freed.v + at + 1, t->freed.v + at, (t->freed.n - at) * sizeof *t->freed.v);
    t->freed.v[at] = f;
    t->freed.n++;
    return true;
}

/* The new owner of [lo, hi) inherits the guards of what it overlaps; the rest of those extents
 * stays. */
static bool freed_claim(sw_tier_ledger *t, uint64_t floor, uint64_t lo, uint64_t hi,
                        sw_refs *guard) {
    size_t at = freed_find(t, lo);
    while (at < t->freed.n && t->freed.v[at].lo < hi) {
        sw_freed *f = &t->freed.v[at];
        if (!sw_refs_merge(guard, floor, &f->refs)) return false;
        if (f->lo < lo && f->hi > hi) { /* keep both ends */
            sw_freed tail = {.lo = hi, .hi = f->hi};
            if (!sw_refs_merge(&tail.refs, floor, &f->refs)) return false;
            f->hi = lo;
            return freed_insert(t, at + 1, tail);
        }
        if (f->lo < lo)
            f->hi = lo, at++;
        else if (f->hi > hi)
            f->lo = hi, at++;
        else
            sw_refs_clear(&f->refs), freed_remove(t, at, 1);
    }
    return true;
}

/* Drops extents whose ops have all ended, when the list has grown. */
static void freed_prune(sw_tier_ledger *t, uint64_t floor) {
    size_t kept = 0;
    for (size_t i = 0; i < t->freed.n; i++) {
        sw_freed *f = &t->freed.v[i];
        const sw_ref *v = sw_refs_items(&f->refs);
        bool live = false;
        for (uint32_t k = 0; k < f->refs.n && !live; k++) live = v[k].id > floor;
        if (live)
            t->freed.v[kept++] = *f;
        else
            sw_refs_clear(&f->refs);
    }
    t->freed.n = kept;
}

/* --- entries and replicas ----------------------------------------------------------------------
 */

sw_status sw_ledger_open(sw_ledger *l, const sw_topology *topo, const sw_alloc_ops *ops,
                         const sw_node *map, sw_error *err) {
    *l = (sw_ledger){.n_tiers = topo->n_tiers};
    for (uint32_t t = 0; t < topo->n_tiers; t++) {
        l->tier[t].ops = ops;
        SW_TRY(sw_plugin_new(&ops->plugin, "allocator", map, &l->tier[t].alloc, err));
        SW_TRY(ops->open(l->tier[t].alloc, topo->tiers[t].capacity_bytes, err));
    }
    return SW_OK;
}

static void replica_clear(sw_replica *r) {
    sw_refs_clear(&r->writers);
    sw_refs_clear(&r->readers);
}

void sw_ledger_close(sw_ledger *l) {
    for (size_t i = 0; i < l->entries.n; i++) {
        sw_entry *e = &l->entries.v[i];
        for (int k = 0; k < e->n_replicas; k++) replica_clear(&e->replicas[k]);
        free(e->replicas);
    }
    sw_vec_free(&l->entries);
    for (uint32_t t = 0; t < l->n_tiers; t++) {
        for (size_t i = 0; i < l->tier[t].freed.n; i++) sw_refs_clear(&l->tier[t].freed.v[i].refs);
        sw_vec_free(&l->tier[t].freed);
        if (l->tier[t].alloc) l->tier[t].ops->close(l->tier[t].alloc);
        free(l->tier[t].alloc);
    }
    *l = (sw_ledger){0};
}

sw_status sw_ledger_add(sw_ledger *l, const sw_block *block, bool is_static, sw_error *err) {
    if (block->id >= l->entries.n) {
        size_t n = (size_t)block->id + 1;
        if (!sw_vec_reserve(&l->entries, n)) return sw_fail(err, SW_MEMORY, "out of memory");
        memset(l->entries.v + l->entries.n, 0, (n - l->entries.n) * sizeof *l->entries.v);
        l->entries.n = n;
    }
    sw_entry *e = &l->entries.v[block->id];
    if (e->alive)
        return sw_fail(err, SW_INPUT, "block %u (%s) is allocated twice", block->id, block->name);
    e->block = *block;
    e->alive = true;
    e->is_static = is_static;
    e->version = 0;
    e->locked_event = 0;
    return SW_OK;
}

sw_replica *sw_entry_replica(const sw_entry *e, int tier) {
    for (int i = 0; i < e->n_replicas; i++)
        if (e->replicas[i].tier == tier) return &e->replicas[i];
    return NULL;
}

static void note_use(sw_tier_ledger *t) {
    sw_alloc_stats s;
    t->ops->stats(t->alloc, &s);
    if (s.used_bytes <= t->peak_bytes) return;
    t->peak_bytes = s.used_bytes;
    t->hole_at_peak = s.largest_free_bytes;
}

static void note_failure(sw_tier_ledger *t, uint64_t bytes) {
    sw_alloc_stats s;
    t->ops->stats(t->alloc, &s);
    uint64_t room = s.capacity_bytes - s.used_bytes;
    if (room < bytes || room == 0) return;
    t->n_failed++;
    double f = 1 - (double)s.largest_free_bytes / (double)room;
    if (f > t->fragmentation) t->fragmentation = f;
}

sw_status sw_ledger_take(sw_ledger *l, sw_entry *e, int tier, sw_replica **out, uint32_t *effects,
                         sw_error *err) {
    sw_tier_ledger *t = &l->tier[tier];
    if (e->n_replicas == e->cap_replicas) {
        uint8_t cap = e->cap_replicas ? (uint8_t)(e->cap_replicas * 2) : 2;
        sw_replica *v = realloc(e->replicas, cap * sizeof *v);
        if (!v) return sw_fail(err, SW_MEMORY, "out of memory");
        e->replicas = v;
        e->cap_replicas = cap;
    }
    uint64_t addr = 0;
    *effects = 0;
    sw_status st = t->ops->take(t->alloc, e->block.bytes, &addr, effects);
    if (st == SW_SPACE) note_failure(t, e->block.bytes);
    if (st == SW_MEMORY) return sw_fail(err, SW_MEMORY, "out of memory");
    if (st != SW_OK) return st;
    sw_replica *r = &e->replicas[e->n_replicas++];
    *r = (sw_replica){.tier = (int16_t)tier, .version = e->version, .addr = addr};
    if (!freed_claim(t, l->floor, addr, addr + e->block.bytes, &r->writers))
        return sw_fail(err, SW_MEMORY, "out of memory");
    note_use(t);
    *out = r;
    return SW_OK;
}

sw_status sw_ledger_give(sw_ledger *l, sw_entry *e, int tier, uint32_t *effects, sw_error *err) {
    sw_tier_ledger *t = &l->tier[tier];
    sw_replica *r = sw_entry_replica(e, tier);
    *effects = 0;
    sw_freed f = {.lo = r->addr, .hi = r->addr + e->block.bytes};
    bool ok = sw_refs_merge(&f.refs, l->floor, &r->writers) &&
              sw_refs_merge(&f.refs, l->floor, &r->readers);
    t->ops->give(t->alloc, r->addr, effects);
    replica_clear(r);
    *r = e->replicas[--e->n_replicas];
    if (!f.refs.n) return ok ? SW_OK : sw_fail(err, SW_MEMORY, "out of memory");
    if (t->freed.n >= 64 && (t->freed.n & 63) == 0) freed_prune(t, l->floor);
    ok = ok && freed_insert(t, freed_find(t, f.lo), f);
    return ok ? SW_OK : sw_fail(err, SW_MEMORY, "out of memory");
}

sw_status sw_ledger_reserve(sw_ledger *l, int tier, uint64_t bytes, uint64_t *addr) {
    sw_tier_ledger *t = &l->tier[tier];
    uint32_t effects = 0;
    SW_TRY(t->ops->take(t->alloc, bytes, addr, &effects));
    note_use(t);
    return SW_OK;
}

uint64_t sw_ledger_room(const sw_ledger *l, int tier) {
    sw_alloc_stats s;
    l->tier[tier].ops->stats(l->tier[tier].alloc, &s);
    return s.capacity_bytes - s.used_bytes;
}

uint64_t sw_ledger_hole(const sw_ledger *l, int tier) {
    sw_alloc_stats s;
    l->tier[tier].ops->stats(l->tier[tier].alloc, &s);
    return s.largest_free_bytes;
}
