/* demand: the naive cliff. A weight is copied to the GPU when an op asks for it, the host waits,
 * the op runs, the host waits again; when VRAM is full the least recently used block goes. A model
 * is a cyclic scan, and LRU on a cyclic scan that is larger than the cache never hits: one layer
 * too many, and every layer crosses the link on every token. This is what hooks around each module
 * do (see also: accelerate), and the wrong choice whenever anything is known of the order. */
#include "sim/policy_kit.h"

typedef struct ctx {
    bool sync;
    sw_recency lru;
    int unit;
} ctx;

static const sw_param params[] = {
    {"sync", SW_PARAM_BOOL, "true", 0, 0, NULL, offsetof(ctx, sync),
     "the host waits for each copy and each op, so that nothing overlaps"},
};

static sw_status demand_open(void *po, sw_plan *p, sw_error *err) {
    ctx *c = po;
    c->unit = sw_topology_primary_unit(sw_plan_topology(p));
    return sw_recency_open(&c->lru, sw_plan_scan(p)->n_blocks)
               ? SW_OK
               : sw_fail(err, SW_MEMORY, "out of memory");
}

static sw_status demand_access(void *po, sw_plan *p, const sw_event *ev, sw_error *err) {
    ctx *c = po;
    bool done;
    SW_TRY(sw_kit_gather(p, ev, &done, err));
    return done ? SW_OK : sw_kit_demand(p, ev, c->unit, &c->lru, c->sync, err);
}

static uint32_t demand_victim(void *po, sw_plan *p, int tier, uint64_t bytes) {
    (void)bytes;
    return sw_recency_victim(&((ctx *)po)->lru, p, tier, false);
}

static void demand_close(void *po) {
    sw_recency_close(&((ctx *)po)->lru);
}

const sw_policy_ops sw_policy_demand = {
    .plugin = {.name = "demand",
               .summary =
                   "copy on access, evict the least recently used, no overlap: the naive cliff",
               .doc = "Copies each weight to VRAM when an op asks for it and waits, before and "
                      "after. LRU never hits on "
                      "a cyclic scan larger than VRAM, so one layer too many makes every layer "
                      "cross the link on every "
                      "token. The wrong choice whenever the order of accesses is known.",
               .flags = SW_POLICY_DEMAND,
               .ctx_bytes = sizeof(ctx),
               .params = params,
               .n_params = sizeof params / sizeof *params},
    .open = demand_open,
    .on_access = demand_access,
    .victim = demand_victim,
    .close = demand_close,
};
