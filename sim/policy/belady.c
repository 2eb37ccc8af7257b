/* belady: offline. Evicts the block whose next use lies farthest ahead (L. Belady, 1966):
 * fetch-optimal among policies that fetch on demand when blocks are equal in size. It says nothing
 * about time: a prefetcher that moves more bytes can be faster. */
#include "sim/policy_kit.h"

typedef struct ctx {
    bool sync;
    sw_recency resident; /* only as a set: order does not matter */
    int unit;
} ctx;

static const sw_param params[] = {
    {"sync", SW_PARAM_BOOL, "true", 0, 0, NULL, offsetof(ctx, sync),
     "the host waits for each copy and each op, so that nothing overlaps"},
};

static sw_status belady_open(void *po, sw_plan *p, sw_error *err) {
    ctx *c = po;
    c->unit = sw_topology_primary_unit(sw_plan_topology(p));
    return sw_recency_open(&c->resident, sw_plan_scan(p)->n_blocks)
               ? SW_OK
               : sw_fail(err, SW_MEMORY, "out of memory");
}

static sw_status belady_access(void *po, sw_plan *p, const sw_event *ev, sw_error *err) {
    ctx *c = po;
    bool done;
    SW_TRY(sw_kit_gather(p, ev, &done, err));
    return done ? SW_OK : sw_kit_demand(p, ev, c->unit, &c->resident, c->sync, err);
}

static uint32_t belady_victim(void *po, sw_plan *p, int tier, uint64_t bytes) {
    ctx *c = po;
    uint32_t best = SW_NONE;
    uint64_t farthest = 0;
    (void)bytes;
    for (uint32_t b = c->resident.head, next; b != SW_NONE; b = next) {
        next = c->resident.next[b];
        if (!sw_plan_resident(p, b, tier)) {
            sw_recency_drop(&c->resident, b);
            continue;
        }
        uint64_t use = sw_plan_evictable(p, b, tier) ? sw_plan_next_use(p, b) : 0;
        if (use > farthest) farthest = use, best = b;
    }
    return best;
}

static void belady_close(void *po) {
    sw_recency_close(&((ctx *)po)->resident);
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
               .ctx_bytes = sizeof(ctx),
               .params = params,
               .n_params = sizeof params / sizeof *params},
    .open = belady_open,
    .on_access = belady_access,
    .victim = belady_victim,
    .close = belady_close,
};
