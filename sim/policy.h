/* A policy decides where blocks lie and where ops run. It plans; it never waits and never touches a
 * backend.
 *
 * What it may ask and say is below. Intents take effect in plan order, at once, in the ledger; the
 * plan turns them into ops and adds the hazards, so a policy cannot race: an op never reads bytes
 * that have not arrived, an address is never reused before its last user has ended.
 * docs/policies.md has a 30-line worked example. */
#ifndef SW_POLICY_H
#define SW_POLICY_H

#include "sim/scan.h"

typedef struct sw_plan sw_plan;

#define SW_POLICY_OFFLINE 1u /* looks ahead (sw_plan_next_use); refused on a closed-loop source */
/* has on_done or reads a clock: decision logs may differ between backends */
#define SW_POLICY_REACTIVE 2u
/* evictions copy back even when another current replica exists (a driver without dirty bits) */
#define SW_POLICY_COPY_ALWAYS 4u
#define SW_POLICY_DEMAND      8u /* fetches only on access: belady's bound applies to it */

#define SW_NONE UINT32_MAX

typedef struct sw_policy_ops {
    sw_plugin plugin;
    /* Once, before the first event: place blocks (sw_plan_place), size pinned sets. Fails SW_FIT
     * with what is missing. */
    sw_status (*open)(void *po, sw_plan *plan, sw_error *err);
    /* For each ACCESS event: fetch, evict, run. Must run the event (whole, or all its uses in
     * parts). The blocks of the event are locked against eviction meanwhile. */
    sw_status (*on_access)(void *po, sw_plan *plan, const sw_event *ev, sw_error *err);
    /* Optional. The tier for a block that is about to be allocated. Default: the fast tier. */
    int (*on_alloc)(void *po, sw_plan *plan, const sw_block *block);
    /* Optional. A block to evict so that `bytes` fit into `tier`: one that sw_plan_evictable
     * allows, or SW_NONE. Called by the plan again and again until the bytes fit. Without it
     * nothing is evicted. */
    uint32_t (*victim)(void *po, sw_plan *plan, int tier, uint64_t bytes);
    /* Optional, REACTIVE only: an op has ended. */
    void (*on_done)(void *po, sw_plan *plan, const sw_done *done);
    /* Optional. For PREDICT and STEP events (others never come here). */
    sw_status (*on_hint)(void *po, sw_plan *plan, const sw_event *ev, sw_error *err);
    void (*close)(void *po);
} sw_policy_ops;

extern const sw_plugin *const sw_policy_table[];
extern const size_t sw_policy_table_n;

/* --- questions: O(1) unless said -------------------------------------------------------------- */
const sw_topology *sw_plan_topology(const sw_plan *p);
const sw_scan *
sw_plan_scan(const sw_plan *p); /* what exists and the peaks; use_at is NULL unless OFFLINE */
const sw_block *sw_plan_block(const sw_plan *p, uint32_t block); /* NULL: not alive */
/** A current replica of the block is in the tier, or on its way there. */
bool sw_plan_resident(const sw_plan *p, uint32_t block, int tier);
/** The tier of the current replica that `unit` would read: its local tier first, then the fastest
 * port; -1 if it can reach none. */
int sw_plan_where(const sw_plan *p, uint32_t block, int unit);
/** Resident, not pinned, not locked by the event at hand. */
bool sw_plan_evictable(const sw_plan *p, uint32_t block, int tier);
uint64_t sw_plan_room(const sw_plan *p, int tier); /* free bytes, not necessarily in one piece */
uint64_t sw_plan_capacity(const sw_plan *p, int tier);
/** Bytes that blocks allocated later will need at the peak and that are not allocated yet (KV,
 * activations): what a policy should leave free when it fills a tier for good. */
uint64_t sw_plan_later_bytes(const sw_plan *p);
/** seq of the next ACCESS of the block at or after the event at hand (the event itself not
 * counted); UINT64_MAX: never. OFFLINE only (asserts). O(1) amortised. */
uint64_t sw_plan_next_use(sw_plan *p, uint32_t block);
/** seq of the event at hand. */
uint64_t sw_plan_now(const sw_plan *p);

/* --- intents ---------------------------------------------------------------------------------- */
/** open only: the block lies in the tier when the run begins, at no cost. Weights keep their home
 * (RAM, else NVMe) as well. Fails SW_FIT when it has no room. */
sw_status sw_plan_place(sw_plan *p, uint32_t block, int tier, sw_error *err);
/** open only: a pager (the scenario's) for a paged range with home in one tier and a pool of
 *  `pool_bytes` in another, which is taken at once. One a run. Fails SW_FIT when it has no room. */
sw_status sw_plan_pager(sw_plan *p, int home, int near, uint64_t pool_bytes, sw_error *err);
/** open only: the block lies in the paged range. Nothing else can move it, and a kernel of the near
 *  tier's unit finds it in the near tier. */
sw_status sw_plan_page(sw_plan *p, uint32_t block, sw_error *err);
/** Copies the block to the tier from its best current replica; nothing if it is there. Makes room
 * with `victim`. Fails SW_SPACE (err not written) when no room can be made: nothing fetched
 * (victims may be gone). */
sw_status sw_plan_fetch(sw_plan *p, uint32_t block, int tier, sw_error *err);
/** As fetch, but never evicts. */
sw_status sw_plan_prefetch(sw_plan *p, uint32_t block, int tier, sw_error *err);
/** Takes the replica away: the only current one is copied to RAM, else NVMe, first; any other is
 * dropped. */
sw_status sw_plan_evict(sw_plan *p, uint32_t block, int tier, sw_error *err);
/** Lets a block of the event at hand be evicted already: its part has been run
 *  (sw_plan_run_part). */
void sw_plan_unlock(sw_plan *p, uint32_t block);
void sw_plan_pin(sw_plan *p, uint32_t block, int tier, bool pinned);
/** Runs the event at hand on the unit; each block is read where sw_plan_where says and written
 * there. */
sw_status sw_plan_run(sw_plan *p, const sw_event *ev, int unit, sw_error *err);
/** Runs the uses [first, first+n) of the event with `share` of its work; a join orders what follows
 * after all parts. */
sw_status sw_plan_run_part(sw_plan *p, const sw_event *ev, uint32_t first, uint32_t n, double share,
                           int unit, sw_error *err);
/** The host thread waits for every op planned so far on the unit's queues and the copy queues (unit
 * < 0: on all). */
sw_status sw_plan_sync(sw_plan *p, int unit, sw_error *err);
/** One collective over the units in `mask`, `bytes` a participant (ring all-reduce): 2 (n-1)/n *
 * bytes over each link. */
sw_status sw_plan_all_reduce(sw_plan *p, uint32_t unit_mask, uint64_t bytes, double alpha_s,
                             sw_error *err);
/** Counts something under a policy's own name ("prefetch_late"); interned text. */
void sw_plan_count(sw_plan *p, const char *name, double add);

#endif
