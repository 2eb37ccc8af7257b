/* managed: every weight in a paged range, the rest in VRAM; what moves is the pager's affair.
 * The model of a program that allocates its weights with cudaMallocManaged and does nothing else.
 * Wrong where the program prefetches or advises. */
#include "sim/policy_kit.h"

typedef struct ctx {
    int unit;
} ctx;

static sw_status managed_open(void *po, sw_plan *p, sw_error *err) {
    ctx *c = po;
    const sw_scan *s = sw_plan_scan(p);
    const sw_topology *t = sw_plan_topology(p);
    c->unit = sw_topology_primary_unit(t);
    int near = t->units[c->unit].tier, home = sw_topology_tier(t, SW_TIER_RAM);
    if (home < 0 || home == near) /* one memory: nothing to page */
        return SW_OK;
    uint64_t room = sw_plan_room(p, near), later = sw_plan_later_bytes(p);
    later += later / 64 + (2 << 20); /* allocators round up */
    if (room <= later) return sw_kit_missing(p, near, 0, later, err);
    SW_TRY(sw_plan_pager(p, home, near, room - later, err));
    for (uint32_t b = 0; b < s->n_blocks; b++)
        if (s->is_static[b]) SW_TRY(sw_plan_page(p, b, err));
    return SW_OK;
}

static sw_status managed_access(void *po, sw_plan *p, const sw_event *ev, sw_error *err) {
    return sw_plan_run(p, ev, ((ctx *)po)->unit, err);
}

const sw_policy_ops sw_policy_managed = {
    .plugin = {.name = "managed",
               .summary = "weights in unified memory: the driver pages them in as they are touched",
               .doc = "Weights live in a paged range (home: RAM); a pager (key `pager` of the "
                      "scenario, default uvm) brings what a kernel touches into what VRAM has "
                      "left. KV cache and activations lie in VRAM. On a machine with one memory "
                      "nothing is paged.",
               .ctx_bytes = sizeof(ctx)},
    .open = managed_open,
    .on_access = managed_access,
};
