/* mru: as demand, but the most recently used block goes (Denning's observation on cyclic scans: LRU
 * evicts just what comes next, MRU what comes last). Keeps the head of the model in VRAM. The wrong
 * choice when accesses have recency. */
#include "sim/policy_kit.h"

static uint32_t mru_victim(void *po, sw_plan *p, int tier, uint64_t bytes) {
    (void)bytes;
    return sw_recency_victim(&((sw_demand *)po)->recent, p, tier, true);
}

const sw_policy_ops sw_policy_mru = {
    .plugin = {.name = "mru",
               .summary = "copy on access, evict the most recently used, no overlap: keeps the "
                          "head of a cyclic scan",
               .doc = "As demand, but the most recently used block goes. On a cyclic scan of N "
                      "equal blocks through room for C this hits "
                      "C-1 of N-1, which is what the offline optimum does; on anything with "
                      "recency (experts, hot and cold) it "
                      "is worse than LRU.",
               .flags = SW_POLICY_DEMAND,
               .ctx_bytes = sizeof(sw_demand),
               .params = sw_demand_params,
               .n_params = SW_DEMAND_PARAMS},
    .open = sw_demand_open,
    .on_access = sw_demand_access,
    .victim = mru_victim,
    .close = sw_demand_close,
};
