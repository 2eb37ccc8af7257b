/* What several policies need: recency of blocks in a tier, gathers, demand access. Not a plug-in.
 */
#ifndef SW_POLICY_KIT_H
#define SW_POLICY_KIT_H

#include "sim/base/vec.h"
#include "sim/policy.h"

/* Blocks in order of their last touch: a doubly linked list over block ids, O(1) a touch. */
typedef struct sw_recency {
    uint32_t *prev, *next; /* by id; the list's ends are in head and tail */
    bool *in;
    uint32_t head, tail, cap; /* head: oldest */
} sw_recency;

bool sw_recency_open(sw_recency *r, uint32_t n_blocks);
void sw_recency_touch(sw_recency *r, uint32_t block); /* becomes the newest */
void sw_recency_drop(sw_recency *r, uint32_t block);
void sw_recency_close(sw_recency *r);
/** The oldest (or newest) block of the list that may be evicted from the tier, SW_NONE if none.
 * Blocks that are not in the tier any more are dropped on the way. */
uint32_t sw_recency_victim(sw_recency *r, const sw_plan *p, int tier, bool newest);

/** Row gathers (embedding lookups) touch a few rows of a big block: if the block is not in the fast
 * tier, the CPU does them where the block lies. *done says whether the event was run. */
sw_status sw_kit_gather(sw_plan *p, const sw_event *ev, bool *done, sw_error *err);

/* The policies that fetch on demand differ in their victim only: this is the rest of them. Their
 * context is an sw_demand, their slots are these, their options the table. */
typedef struct sw_demand {
    bool sync;         /* the host waits for each fetch and for the op: no overlap at all */
    sw_recency recent; /* the weights in the fast tier */
    int unit;
} sw_demand;

enum { SW_DEMAND_PARAMS = 1 };
extern const sw_param sw_demand_params[SW_DEMAND_PARAMS];
sw_status sw_demand_open(void *po, sw_plan *p, sw_error *err);
sw_status sw_demand_access(void *po, sw_plan *p, const sw_event *ev, sw_error *err);
void sw_demand_close(void *po);

/** Fetches every weight of the event to the unit's tier (touching `r`) and runs it there. With
 * `sync` the host waits for each fetch and for the op: no overlap at all. An expert op whose
 * experts do not fit together runs in parts. Fails SW_SPACE when even one block does not fit. */
sw_status sw_kit_demand(sw_plan *p, const sw_event *ev, int unit, sw_recency *r, bool sync,
                        sw_error *err);

/** SW_FIT with the bytes that are missing in the tier: "does not fit: 17.6 GiB missing in vram0
 * (…)". */
sw_status sw_kit_missing(const sw_plan *p, int tier, uint64_t weights, uint64_t other,
                         sw_error *err);

/** Is the block one that exists from the start (a weight)? */
bool sw_kit_is_weight(const sw_plan *p, uint32_t block);

#endif
