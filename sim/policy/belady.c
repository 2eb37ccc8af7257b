/* belady: offline. Evicts the block whose next use lies farthest ahead (L. Belady, 1966):
 * fetch-optimal among policies that fetch on demand when blocks are equal in size. It says nothing
 * about time: a prefetcher that moves more bytes can be faster. */
#include "sim/policy_kit.h"

static uint32_t belady_victim(void *po, sw_plan *p, int tier, uint64_t bytes) {
    sw_recency *set = &((sw_demand *)po)->recent; /* as a set: its order does not matter */
    uint32_t best = SW_NONE;
    uint64_t farthest = 0;
    (void)bytes;
    for (uint32_t b = set->head, next; b != SW_NONE; b = next) {
        next = set->next[b];
        if (!sw_plan_resident(p, b, tier)) {
            sw_recency_drop(set, b);
            continue;
        }
        uint64_t use = sw_plan_evictable(p, b, tier) ? sw_plan_next_use(p, b) : 0;
        if (use > farthest) farthest = use, best = b;
    }
    return best;
}

const sw_policy_ops sw_policy_belady = {
    .plugin = {.name = "belady",
               .summary = "copy on access, evict what is used last in the future (offline): the "
                          "fewest fetches of a demand policy",
               .doc = "Belady's rule (1966): evict the block whose next use lies farthest ahead. "
                      "When blocks are equal in size no policy "
                      "that fetches on demand fetches less; with unequal blocks, or against "
                      "prefetching, it promises nothing. "
                      "Reads the whole trace beforehand.",
               .flags = SW_POLICY_DEMAND | SW_POLICY_OFFLINE,
               .ctx_bytes = sizeof(sw_demand),
               .params = sw_demand_params,
               .n_params = SW_DEMAND_PARAMS},
    .open = sw_demand_open,
    .on_access = sw_demand_access,
    .victim = belady_victim,
    .close = sw_demand_close,
};
