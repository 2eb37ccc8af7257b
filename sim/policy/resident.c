/* resident: everything in VRAM, or not at all. The baseline that offloading is measured against.
 * With several GPUs whole layers are dealt out in order, each GPU in proportion to its memory
 * (llama.cpp's --split-mode layer); each op runs where its weights lie. */
#include "sim/policy_kit.h"

typedef struct ctx {
    int unit;      /* of embeddings and whatever has no layer, at the start */
    int last_unit; /* of the output head */
    uint32_t n_layers;
    int *unit_of_layer;
    int units[SW_UNITS_MAX];
    int n_units;
} ctx;

/* The units with a fast tier of their own, in order. */
static void fast_units(ctx *c, const sw_topology *t) {
    sw_tier_kind kind = t->tiers[sw_topology_fast_tier(t)].kind;
    for (int i = 0; i < t->n_tiers; i++)
        if (t->tiers[i].kind == kind && t->tiers[i].unit >= 0)
            c->units[c->n_units++] = t->tiers[i].unit;
    c->unit = c->units[0];
    c->last_unit = c->units[c->n_units - 1];
}

static int unit_of(const ctx *c, const sw_block *b) {
    if (b->layer >= 0 && (uint32_t)b->layer < c->n_layers) return c->unit_of_layer[b->layer];
    return c->unit;
}

/* Layers to units, in proportion to capacity, weighed by weights and KV cache. */
static void deal(ctx *c, const sw_plan *p) {
    const sw_scan *s = sw_plan_scan(p);
    const sw_topology *t = sw_plan_topology(p);
    double total = 0, cap = 0, seen = 0;
    for (uint32_t i = 0; i < s->n_layers; i++)
        total += (double)(s->layer_static_bytes[i] + s->layer_dynamic_bytes[i]);
    for (int u = 0; u < c->n_units; u++)
        cap += (double)t->tiers[t->units[c->units[u]].tier].capacity_bytes;
    int u = 0;
    double limit = (double)t->tiers[t->units[c->units[0]].tier].capacity_bytes / cap * total;
    for (uint32_t i = 0; i < s->n_layers; i++) {
        double layer = (double)(s->layer_static_bytes[i] + s->layer_dynamic_bytes[i]);
        while (u + 1 < c->n_units && seen + layer / 2 > limit) {
            u++;
            limit += (double)t->tiers[t->units[c->units[u]].tier].capacity_bytes / cap * total;
        }
        c->unit_of_layer[i] = c->units[u];
        seen += layer;
    }
}

static sw_status resident_open(void *po, sw_plan *p, sw_error *err) {
    ctx *c = po;
    const sw_scan *s = sw_plan_scan(p);
    const sw_topology *t = sw_plan_topology(p);
    fast_units(c, t);
    c->n_layers = s->n_layers;
    c->unit_of_layer = sw_zalloc(s->n_layers + 1, sizeof *c->unit_of_layer);
    if (!c->unit_of_layer) return sw_fail(err, SW_MEMORY, "out of memory");
    deal(c, p);
    int tier = t->units[c->unit].tier;
    if (c->n_units == 1 && s->static_bytes + s->peak_dynamic_bytes > sw_plan_room(p, tier))
        return sw_kit_missing(p, tier, s->static_bytes, s->peak_dynamic_bytes, err);
    uint32_t last = SW_NONE; /* the head sits behind the last layer */
    for (uint32_t b = 0; b < s->n_blocks; b++)
        if (s->is_static[b] && s->blocks[b].layer < 0) last = b;
    for (uint32_t b = 0; b < s->n_blocks; b++) {
        if (!s->is_static[b]) continue;
        int unit = b == last ? c->last_unit : unit_of(c, &s->blocks[b]);
        SW_TRY(sw_plan_place(p, b, t->units[unit].tier, err));
    }
    return SW_OK;
}

static int resident_alloc(void *po, sw_plan *p, const sw_block *b) {
    return sw_plan_topology(p)->units[unit_of(po, b)].tier;
}

static sw_status resident_access(void *po, sw_plan *p, const sw_event *ev, sw_error *err) {
    const ctx *c = po;
    int unit = c->unit;
    for (uint32_t i = 0; i < ev->n_uses; i++) { /* where its weights are, else where its KV is */
        const sw_block *b = sw_plan_block(p, ev->uses[i].block);
        if (!b || b->kind == SW_BLOCK_ACT) continue;
        for (int u = 0; u < c->n_units; u++)
            if (sw_plan_resident(p, b->id, sw_plan_topology(p)->units[c->units[u]].tier))
                unit = c->units[u];
        break;
    }
    return sw_plan_run(p, ev, unit, err);
}

static void resident_close(void *po) {
    free(((ctx *)po)->unit_of_layer);
}

const sw_policy_ops sw_policy_resident = {
    .plugin = {.name = "resident",
               .summary = "all in VRAM, or it does not fit: the baseline",
               .doc = "Weights, KV cache and activations all lie in VRAM (several GPUs: whole "
                      "layers, in proportion to "
                      "memory). Exits 4 and says what is missing when they do not fit.",
               .ctx_bytes = sizeof(ctx)},
    .open = resident_open,
    .on_access = resident_access,
    .on_alloc = resident_alloc,
    .close = resident_close,
};
