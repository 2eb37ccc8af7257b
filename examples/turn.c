/* turn: a block comes to the GPU when an op asks for it; blocks go in turn, by their numbers. Needs no
 * memory of what was used. The wrong choice when some blocks are used more often than others. */
#include "sim/policy.h"

typedef struct ctx {
    uint32_t last; /* the block that went last */
} ctx;

static sw_status turn_access(void *po, sw_plan *plan, const sw_event *ev, sw_error *err) {
    (void)po;
    int gpu = sw_topology_primary_unit(sw_plan_topology(plan));
    int vram = sw_topology_fast_tier(sw_plan_topology(plan));
    for (uint32_t i = 0; i < ev->n_uses; i++)
        SW_TRY(sw_plan_fetch(plan, ev->uses[i].block, vram, err)); /* nothing if it is there */
    return sw_plan_run(plan, ev, gpu, err);
}

static uint32_t turn_victim(void *po, sw_plan *plan, int tier, uint64_t bytes) {
    ctx *c = po;
    (void)bytes; /* called again until they fit */
    uint32_t n = sw_plan_scan(plan)->n_blocks;
    for (uint32_t i = 1; i <= n; i++)
        if (sw_plan_evictable(plan, (c->last + i) % n, tier)) return c->last = (c->last + i) % n;
    return SW_NONE;
}

const sw_policy_ops sw_policy_turn = {
    .plugin = {.name = "turn",
               .summary = "fetch on access, evict in turn",
               .ctx_bytes = sizeof(ctx)},
    .on_access = turn_access,
    .victim = turn_victim,
};
