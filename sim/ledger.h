/* The ledger: which replica of which block lies where, in plan order. The one mutable truth.
 *
 * replica  one copy of a block in a tier: address, version, and the ops that a newcomer must wait
 * for refs     a set of ops, the newest one on each queue (older ones are implied by queue order)
 * freed    an extent that was given back while ops may still use it: whoever takes those bytes next
 * waits for them
 *
 * Ids at or below `floor` have ended before anything planned now can start (the window, backend.h):
 * they are dropped. */
#ifndef SW_LEDGER_H
#define SW_LEDGER_H

#include "sim/alloc.h"
#include "sim/base/vec.h"
#include "sim/trace.h"

typedef struct sw_ref {
    uint64_t id;
    uint16_t queue;
} sw_ref;

enum { SW_REFS_INLINE = 3 };
typedef struct sw_refs {
    uint32_t n, cap; /* cap 0: inline */
    union {
        sw_ref in[SW_REFS_INLINE];
        sw_ref *heap;
    } u;
} sw_refs;

typedef struct sw_replica {
    int16_t tier;
    bool pinned, written; /* written: holds defined bytes */
    bool paged;           /* a pager keeps parts of it elsewhere: the ledger is a model here */
    uint32_t version;
    uint64_t addr;
    sw_refs writers; /* the newest writer, or the guard: what had to end before the extent could be
                        reused */
    sw_refs readers; /* since the newest writer */
} sw_replica;

typedef struct sw_entry {
    sw_block block;
    bool alive, is_static;
    uint8_t n_replicas, cap_replicas;
    uint32_t version;      /* of the current content */
    uint64_t locked_event; /* evictions refused while this event is at hand */
    uint64_t step_touched; /* bytes of it that the fast units touched in step `step_stamp` */
    uint32_t step_stamp;
    sw_replica *replicas;
} sw_entry;

typedef struct sw_freed {
    uint64_t lo, hi;
    sw_refs refs;
} sw_freed;

typedef struct sw_tier_ledger {
    const sw_alloc_ops *ops;
    void *alloc;
    SW_VEC(sw_freed) freed; /* disjoint, ascending */
    uint64_t peak_bytes, static_bytes, hole_at_peak, n_failed;
    double fragmentation;
} sw_tier_ledger;

typedef struct sw_ledger {
    SW_VEC(sw_entry) entries; /* by block id */
    sw_tier_ledger tier[SW_TIERS_MAX];
    uint32_t n_tiers;
    uint64_t floor;
} sw_ledger;

bool sw_refs_add(sw_refs *r, uint64_t floor, uint16_t queue, uint64_t id);
bool sw_refs_merge(sw_refs *into, uint64_t floor, const sw_refs *from);
void sw_refs_clear(sw_refs *r);
static inline const sw_ref *sw_refs_items(const sw_refs *r) {
    return r->cap ? r->u.heap : r->u.in;
}

/** One allocator a tier, with options `map`. Fails as the allocator does. */
sw_status sw_ledger_open(sw_ledger *l, const sw_topology *topo, const sw_alloc_ops *ops,
                         const sw_node *map, sw_error *err);
void sw_ledger_close(sw_ledger *l);

/** The entry of a block id, NULL if it was never added. */
static inline sw_entry *sw_ledger_entry(const sw_ledger *l, uint32_t block) {
    return block < l->entries.n ? &l->entries.v[block] : NULL;
}
/** Makes the block alive without a replica. Fails SW_INPUT if it is alive. */
sw_status sw_ledger_add(sw_ledger *l, const sw_block *block, bool is_static, sw_error *err);
/** The replica in a tier, NULL if none. Pointers die with the next change of the entry's replicas.
 */
sw_replica *sw_entry_replica(const sw_entry *e, int tier);
static inline bool sw_replica_current(const sw_entry *e, const sw_replica *r) {
    return r && r->version == e->version;
}

/** Takes memory in the tier for a replica of the block; its writers start as the guard of the
 * extent. SW_SPACE (err not written): no hole; counted. */
sw_status sw_ledger_take(sw_ledger *l, sw_entry *e, int tier, sw_replica **out, uint32_t *effects,
                         sw_error *err);
/** Gives the replica's memory back; its ops become the guard of the extent. */
sw_status sw_ledger_give(sw_ledger *l, sw_entry *e, int tier, uint32_t *effects, sw_error *err);

/** Takes an extent that belongs to no block, for the whole run. SW_SPACE: no hole. */
sw_status sw_ledger_reserve(sw_ledger *l, int tier, uint64_t bytes, uint64_t *addr);

/** Free bytes and the largest hole of a tier. */
uint64_t sw_ledger_room(const sw_ledger *l, int tier);
uint64_t sw_ledger_hole(const sw_ledger *l, int tier);

#endif
