/* mru: as demand, but the most recently used block goes (Denning's observation on cyclic scans: LRU
 * evicts just what comes next, MRU what comes last). Keeps the head of the model in VRAM. The wrong
 * choice when accesses have recency. */
#include "sim/policy_kit.h"

typedef struct ctx {
    bool sync;
    sw_recency recent;
    int unit;
} ctx;

static const sw_param params[] = {
    {"sync", SW_PARAM_BOOL, "true", 0, 0, NULL, offsetof(ctx, sync),
     "the host waits for each copy and each op, so that nothing overlaps"},
};

static sw_status mru_open(void *po, sw_plan *p, sw_error *err) {
    ctx *c = po;
    c->unit = sw_topology_primary_unit(sw_plan_topology(p));
    return sw_recency_open(&c->recent, sw_plan_scan(p)->n_blocks)
               ? SW_OK
               : sw_fail(err, SW_MEMORY, "out of memory");
}

static sw_status mru_access(void *po, sw_plan *p, const sw_event *ev, sw_error *err) {
    ctx *c = po;
    bool done;
    SW_TRY(sw_kit_gather(p, ev, &done, err));
    return done ? SW_OK : sw_kit_demand(p, ev, c->unit, &c->recent, c->sync, err);
}

static uint32_t mru_victim(void *po, sw_plan *p, int tier, uint64_t bytes) {
    (void)bytes;
    return sw_recency_victim(&((ctx *)po)->recent, p, tier, true);
}

static void mru_close(void *po) {
    sw_recency_close(&((ctx *)po)->recent);
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
               .ctx_bytes = sizeof(ctx),
               .params = params,
               .n_params = sizeof params / sizeof *params},
    .open = mru_open,
    .on_access = mru_access,
    .victim = mru_victim,
    .close = mru_close,
};
