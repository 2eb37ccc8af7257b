/* demand: the naive cliff. A weight is copied to the GPU when an op asks for it, the host waits,
 * the op runs, the host waits again; when VRAM is full the least recently used block goes. A model
 * is a cyclic scan, and LRU on a cyclic scan that is larger than the cache never hits: one layer
 * too many, and every layer crosses the link on every token. This is what hooks around each module
 * do (see also: accelerate), and the wrong choice whenever anything is known of the order. */
#include "sim/policy_kit.h"

static uint32_t demand_victim(void *po, sw_plan *p, int tier, uint64_t bytes) {
    (void)bytes;
    return sw_recency_victim(&((sw_demand *)po)->recent, p, tier, false);
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
               .ctx_bytes = sizeof(sw_demand),
               .params = sw_demand_params,
               .n_params = SW_DEMAND_PARAMS},
    .open = sw_demand_open,
    .on_access = sw_demand_access,
    .victim = demand_victim,
    .close = sw_demand_close,
};
