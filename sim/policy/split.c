/* split: some layers stay in VRAM, the CPU computes the rest where it lies. What llama.cpp does
 * with -ngl N: no weight crosses the link after loading, only activations do, but the CPU's share
 * runs at DRAM bandwidth, strictly after and before the GPU's. A layer's KV cache lies with its
 * layer. `experts: cpu` keeps routed experts in RAM and fills VRAM with the rest first (--cpu-moe).
 * Wrong when the CPU's memory is slower than the link, and for long prompts, where the CPU lacks
 * arithmetic. */
#include "sim/policy_kit.h"

enum { SIDE_LAST, SIDE_FIRST };
enum { EXPERTS_WITH_LAYER, EXPERTS_CPU, EXPERTS_FILL };

typedef struct ctx {
    int64_t gpu_layers;
    int side, experts;
    int gpu, cpu;
    uint32_t n_layers;
    bool *on_gpu; /* by layer */
    sw_recency ram;
} ctx;

static const sw_param params[] = {
    {"gpu_layers", SW_PARAM_INT, "-1", -1, 100000, NULL, offsetof(ctx, gpu_layers),
     "layers in VRAM, the output head aside; -1: as many as fit"},
    {"side", SW_PARAM_CHOICE, "last", 0, 0, "last|first", offsetof(ctx, side),
     "which layers go to VRAM: the last ones (llama.cpp) or the first"},
    {"experts", SW_PARAM_CHOICE, "with_layer", 0, 0, "with_layer|cpu|fill", offsetof(ctx, experts),
     "routed experts: with their layer, all in RAM, or in RAM until all else is in VRAM and then "
     "layer by layer"},
};

static uint64_t layer_experts(const sw_scan *s, uint32_t layer) {
    uint64_t sum = 0;
    for (uint32_t b = 0; b < s->n_blocks; b++)
        if (s->is_static[b] && s->blocks[b].kind == SW_BLOCK_EXPERT &&
            s->blocks[b].layer == (int32_t)layer)
            sum += s->blocks[b].bytes;
    return sum;
}

static sw_status place_layer(sw_plan *p, const sw_scan *s, uint32_t layer, bool experts, bool rest,
                             int tier, sw_error *err) {
    for (uint32_t b = 0; b < s->n_blocks; b++) {
        const sw_block *k = &s->blocks[b];
        bool expert = k->kind == SW_BLOCK_EXPERT;
        if (s->is_static[b] && k->layer == (int32_t)layer && (expert ? experts : rest))
            SW_TRY(sw_plan_place(p, b, tier, err));
    }
    return SW_OK;
}

/* Fills VRAM: first what has no layer but is streamed (the head), then layers from the chosen side.
 */
static sw_status fill(ctx *c, sw_plan *p, sw_error *err) {
    const sw_scan *s = sw_plan_scan(p);
    int tier = sw_plan_topology(p)->units[c->gpu].tier;
    uint64_t room = sw_plan_room(p, tier), act = s->peak_act_bytes;
    room = room > act ? room - act : 0;
    uint32_t head = SW_NONE, n_loose = 0;
    for (uint32_t b = 0; b < s->n_blocks; b++)
        if (s->is_static[b] && s->blocks[b].layer < 0) head = b, n_loose++;
    if (head != SW_NONE && n_loose > 1 && s->blocks[head].bytes <= room && c->gpu_layers != 0) {
        SW_TRY(sw_plan_place(p, head, tier, err));
        room -= s->blocks[head].bytes;
    }
    bool with = c->experts == EXPERTS_WITH_LAYER;
    int64_t left = c->gpu_layers < 0 ? (int64_t)s->n_layers : c->gpu_layers;
    for (uint32_t i = 0; i < s->n_layers && left > 0; i++, left--) {
        uint32_t layer = c->side == SIDE_LAST ? s->n_layers - 1 - i : i;
        uint64_t need = s->layer_static_bytes[layer] + s->layer_dynamic_bytes[layer];
        if (!with) need -= layer_experts(s, layer);
        if (need > room) {
            if (c->gpu_layers < 0) break;
            return sw_kit_missing(p, tier, need, sw_plan_capacity(p, tier) - room, err);
        }
        SW_TRY(place_layer(p, s, layer, with, true, tier, err));
        c->on_gpu[layer] = true;
        room -= need;
    }
    for (uint32_t i = 0; c->experts == EXPERTS_FILL && i < s->n_layers; i++) {
        uint64_t need = layer_experts(s, i);
        if (!c->on_gpu[i] || need > room) break;
        SW_TRY(place_layer(p, s, i, true, false, tier, err));
        room -= need;
    }
    return SW_OK;
}

static sw_status split_open(void *po, sw_plan *p, sw_error *err) {
    ctx *c = po;
    const sw_scan *s = sw_plan_scan(p);
    const sw_topology *t = sw_plan_topology(p);
    c->gpu = sw_topology_primary_unit(t);
    c->cpu = sw_topology_unit(t, SW_UNIT_CPU);
    c->n_layers = s->n_layers;
    c->on_gpu = sw_zalloc(s->n_layers + 1, sizeof *c->on_gpu);
    if (!c->on_gpu || !sw_recency_open(&c->ram, s->n_blocks))
        return sw_fail(err, SW_MEMORY, "out of memory");
    if (c->cpu < 0)
        return sw_fail(err, SW_FIT,
                       "does not fit: split needs a CPU to compute on, and this machine has none");
    SW_TRY(fill(c, p, err));
    bool shared = t->units[c->cpu].tier == t->units[c->gpu].tier;
    for (uint32_t b = 0; shared && b < s->n_blocks;
         b++) { /* unified: what is left lies there too, as far as it fits */
        uint64_t room = sw_plan_room(p, t->units[c->cpu].tier), later = sw_plan_later_bytes(p);
        if (s->is_static[b] && room > later && s->blocks[b].bytes <= room - later)
            SW_TRY(sw_plan_place(p, b, t->units[c->cpu].tier, err));
    }
    return SW_OK;
}

static int split_alloc(void *po, sw_plan *p, const sw_block *b) {
    const ctx *c = po;
    bool gpu = b->layer < 0 || (uint32_t)b->layer >= c->n_layers || b->kind == SW_BLOCK_ACT ||
               c->on_gpu[b->layer];
    return sw_plan_topology(p)->units[gpu ? c->gpu : c->cpu].tier;
}

static sw_status split_access(void *po, sw_plan *p, const sw_event *ev, sw_error *err) {
    ctx *c = po;
    const sw_topology *t = sw_plan_topology(p);
    int unit = c->gpu, vram = t->units[c->gpu].tier, ram = t->units[c->cpu].tier;
    for (uint32_t i = 0; i < ev->n_uses; i++) { /* any weight or KV outside VRAM: the CPU does it */
        const sw_block *b = sw_plan_block(p, ev->uses[i].block);
        if (b && b->kind != SW_BLOCK_ACT && !sw_plan_resident(p, b->id, vram)) unit = c->cpu;
    }
    for (uint32_t i = 0; i < ev->n_uses && unit == c->cpu; i++) {
        uint32_t b = ev->uses[i].block;
        if (!sw_kit_is_weight(p, b)) continue;
        SW_TRY(sw_plan_fetch(p, b, ram, err)); /* from NVMe, where RAM is too small */
        sw_recency_touch(&c->ram, b);
    }
    return sw_plan_run(p, ev, unit, err);
}

static uint32_t split_victim(void *po, sw_plan *p, int tier, uint64_t bytes) {
    ctx *c = po;
    (void)bytes;
    if (tier != sw_plan_topology(p)->units[c->cpu].tier) return SW_NONE;
    return sw_recency_victim(&c->ram, p, tier, false);
}

static void split_close(void *po) {
    ctx *c = po;
    free(c->on_gpu);
    sw_recency_close(&c->ram);
}

const sw_policy_ops sw_policy_split = {
    .plugin = {.name = "split",
               .summary =
                   "some layers in VRAM, the CPU computes the rest where it lies (llama.cpp -ngl)",
               .doc = "Fills VRAM with the output head and whole layers (weights and KV cache); "
                      "the CPU computes the other "
                      "layers from RAM, one after the other with the GPU. Only activations cross "
                      "the link. The wrong "
                      "choice when DRAM is slower than the link, or for long prompts.",
               .ctx_bytes = sizeof(ctx),
               .params = params,
               .n_params = sizeof params / sizeof *params},
    .open = split_open,
    .on_access = split_access,
    .on_alloc = split_alloc,
    .victim = split_victim,
    .close = split_close,
};
