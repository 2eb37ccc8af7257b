/* keep_first: a policy in thirty lines. The first layers that fit stay in VRAM for good; every
 * other weight is read over the link in place, and never copied (what vLLM's cpu_offload_gb does).
 * Wrong when a weight is read more than once a step. */
#include "sim/policy_kit.h"

typedef struct ctx {
    double fill;
} ctx;

static const sw_param params[] = {
    {"fill", SW_PARAM_NUM, "0.95", 0, 1, NULL, offsetof(ctx, fill),
     "share of the free VRAM to fill"},
};

static sw_status keep_first_open(void *po, sw_plan *p, sw_error *err) {
    const ctx *c = po;
    const sw_scan *s = sw_plan_scan(p); /* what exists, and the peaks */
    int vram = sw_topology_fast_tier(sw_plan_topology(p));
    double left = c->fill * (double)sw_plan_room(p, vram) - (double)sw_plan_later_bytes(p);
    for (uint32_t b = 0; b < s->n_blocks && left > 0; b++)
        if (s->is_static[b] && (double)s->blocks[b].bytes <= left) {
            SW_TRY(sw_plan_place(p, b, vram, err));
            left -= (double)s->blocks[b].bytes;
        }
    return SW_OK;
}

static sw_status keep_first_access(void *po, sw_plan *p, const sw_event *ev, sw_error *err) {
    (void)po; /* each block is read where it lies */
    return sw_plan_run(p, ev, sw_topology_primary_unit(sw_plan_topology(p)), err);
}

const sw_policy_ops sw_policy_keep_first = {
    .plugin = {.name = "keep_first",
               .summary = "the first layers in VRAM, the rest read over the link in place",
               .ctx_bytes = sizeof(ctx),
               .params = params,
               .n_params = sizeof params / sizeof *params},
    .open = keep_first_open,
    .on_access = keep_first_access,
};
