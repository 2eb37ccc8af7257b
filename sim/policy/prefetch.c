/* prefetch: a pipeline. The model's layers are known in order, so while layer i computes, layer i+1
 * is on its way into the other slot; with `depth` d, the next d. Layers that fit beside the slots
 * are pinned for good, spread evenly, so that a streamed layer has several layers' time to arrive.
 * The token boundary is no boundary: behind the last layer comes the first. Hides the transfer
 * whole when a streamed layer's copy is shorter than what computes meanwhile; when the link is the
 * bottleneck, time is streamed bytes over link rate, whatever the depth.
 * Routed experts cannot be known before the router has run: they live in an LRU cache in what is
 * left. */
#include "sim/policy_kit.h"

typedef struct ctx {
    int64_t depth, pinned;
    bool spread;
    int unit, tier;
    uint32_t n_order;
    uint32_t *order;   /* weight blocks in the order of use, experts and gathers aside */
    uint32_t *place;   /* block -> place in order, SW_NONE */
    bool *is_pinned;   /* by place */
    sw_recency stream; /* the streamed blocks in VRAM or on their way: as a set */
    sw_recency experts;
    uint32_t now, reach; /* place in use; how far ahead the block lies for which room is sought */
} ctx;

static const sw_param params[] = {
    {"depth", SW_PARAM_INT, "1", 1, 64, NULL, offsetof(ctx, depth),
     "blocks that may be on their way or waiting ahead of the one in use"},
    {"pinned", SW_PARAM_INT, "-1", -1, 1000000, NULL, offsetof(ctx, pinned),
     "blocks kept in VRAM for good; -1: as many as leave room for the slots, KV cache and "
     "activations"},
    {"spread", SW_PARAM_BOOL, "true", 0, 0, NULL, offsetof(ctx, spread),
     "pin evenly over the model; false: the first ones"},
};

static uint64_t bytes_at(const ctx *c, const sw_scan *s, uint32_t place) {
    return s->blocks[c->order[place]].bytes;
}

/* Marks n of the places as pinned and returns their bytes. */
static uint64_t choose(ctx *c, const sw_scan *s, uint32_t n) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < c->n_order; i++) {
        bool pin =
            c->spread ? (uint64_t)(i + 1) * n / c->n_order > (uint64_t)i * n / c->n_order : i < n;
        c->is_pinned[i] = pin;
        if (pin) sum += bytes_at(c, s, i);
    }
    return sum;
}

/* What the streamed blocks need: the largest, once for the one in use and once for each ahead. */
static uint64_t slots(const ctx *c, const sw_scan *s) {
    uint64_t largest = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n_order; i++)
        if (!c->is_pinned[i]) {
            n++;
            if (bytes_at(c, s, i) > largest) largest = bytes_at(c, s, i);
        }
    uint64_t want = (uint64_t)c->depth + 1;
    return largest * (n < want ? n : want);
}

/* An op's experts must fit together, or at least one of them, beside everything else. */
static uint64_t expert_room(const sw_scan *s) {
    uint64_t largest = 0, count = 0;
    for (uint32_t b = 0; b < s->n_blocks; b++)
        if (s->is_static[b] && s->blocks[b].kind == SW_BLOCK_EXPERT) {
            count++;
            if (s->blocks[b].bytes > largest) largest = s->blocks[b].bytes;
        }
    return largest * (count < 8 ? count : 8);
}

static sw_status pin_some(ctx *c, sw_plan *p, sw_error *err) {
    const sw_scan *s = sw_plan_scan(p);
    uint64_t room = sw_plan_room(p, c->tier), other = sw_plan_later_bytes(p) + expert_room(s);
    uint32_t n = c->n_order;
    if (c->pinned >= 0) {
        n = (uint64_t)c->pinned < n ? (uint32_t)c->pinned : n;
        uint64_t weights = choose(c, s, n) + slots(c, s);
        if (weights + other > room) return sw_kit_missing(p, c->tier, weights, other, err);
    } else {
        uint32_t lo = 0, hi = c->n_order; /* the most that fit */
        while (lo < hi) {
            n = (lo + hi + 1) / 2;
            if (choose(c, s, n) + slots(c, s) + other <= room)
                lo = n;
            else
                hi = n - 1;
        }
        n = lo;
        uint64_t weights = choose(c, s, n) + slots(c, s);
        if (weights + other > room) return sw_kit_missing(p, c->tier, weights, other, err);
    }
    for (uint32_t i = 0; i < c->n_order; i++) {
        if (!c->is_pinned[i]) continue;
        SW_TRY(sw_plan_place(p, c->order[i], c->tier, err));
        sw_plan_pin(p, c->order[i], c->tier, true);
    }
    return SW_OK;
}

/* Everything fits? Then nothing streams. The order is that of the declarations: the model's own. A
 * loose block that comes first (the embedding) is gathered from, not streamed, unless it is the
 * head as well. */
static sw_status prefetch_open(void *po, sw_plan *p, sw_error *err) {
    ctx *c = po;
    const sw_scan *s = sw_plan_scan(p);
    c->unit = sw_topology_primary_unit(sw_plan_topology(p));
    c->tier = sw_plan_topology(p)->units[c->unit].tier;
    c->order = malloc((s->n_blocks + 1) * sizeof *c->order);
    c->place = malloc((s->n_blocks + 1) * sizeof *c->place);
    c->is_pinned = sw_zalloc(s->n_blocks + 1, sizeof *c->is_pinned);
    if (!c->order || !c->place || !c->is_pinned || !sw_recency_open(&c->stream, s->n_blocks) ||
        !sw_recency_open(&c->experts, s->n_blocks))
        return sw_fail(err, SW_MEMORY, "out of memory");
    uint32_t n_loose = 0;
    for (uint32_t b = 0; b < s->n_blocks; b++) n_loose += s->is_static[b] && s->blocks[b].layer < 0;
    for (uint32_t b = 0; b < s->n_blocks; b++) {
        c->place[b] = SW_NONE;
        if (!s->is_static[b] || s->blocks[b].kind == SW_BLOCK_EXPERT) continue;
        if (s->blocks[b].layer < 0 && n_loose > 1 && c->n_order == 0 && s->n_layers) {
            n_loose = 0; /* the embedding */
            continue;
        }
        c->place[b] = c->n_order;
        c->order[c->n_order++] = b;
    }
    return pin_some(c, p, err);
}

/* Starts the copies of the next `depth` streamed blocks behind `place`, as far as used ones can
 * make room. */
static sw_status look_ahead(ctx *c, sw_plan *p, uint32_t place, sw_error *err) {
    int64_t ahead = c->depth;
    for (uint32_t k = 1; k < c->n_order && ahead > 0; k++) {
        uint32_t at = (place + k) % c->n_order, b = c->order[at];
        if (c->is_pinned[at]) continue;
        ahead--;
        if (sw_plan_resident(p, b, c->tier)) continue;
        c->reach = k;
        sw_status st = sw_plan_fetch(p, b, c->tier, err);
        if (st == SW_SPACE) return SW_OK; /* the slots are all ahead of us already */
        SW_TRY(st);
        sw_recency_touch(&c->stream, b);
    }
    return SW_OK;
}

static sw_status prefetch_access(void *po, sw_plan *p, const sw_event *ev, sw_error *err) {
    ctx *c = po;
    bool done;
    uint32_t place = SW_NONE;
    SW_TRY(sw_kit_gather(p, ev, &done, err));
    if (done) return SW_OK;
    if (ev->work.cls == SW_CLASS_EXPERT)
        return sw_kit_demand(p, ev, c->unit, &c->experts, false, err);
    for (uint32_t i = 0; i < ev->n_uses; i++) {
        uint32_t b = ev->uses[i].block;
        if (!sw_kit_is_weight(p, b)) continue;
        if (c->place[b] != SW_NONE) c->now = c->place[b], c->reach = 0;
        if (!sw_plan_resident(p, b, c->tier)) {
            SW_TRY(sw_plan_fetch(p, b, c->tier, err));
            sw_plan_count(p, "prefetch_late", 1);
        }
        if (c->place[b] == SW_NONE) {
            sw_recency_touch(&c->experts, b);
            continue;
        }
        if (!c->is_pinned[c->place[b]]) sw_recency_touch(&c->stream, b);
        place = c->place[b];
    }
    SW_TRY(sw_plan_run(p, ev, c->unit, err));
    return place == SW_NONE ? SW_OK : look_ahead(c, p, place, err);
}

/* The streamed block whose turn is farthest ahead goes first (the one just used), but none whose
 * turn comes before that of the block which wants its room. Then experts. */
static uint32_t prefetch_victim(void *po, sw_plan *p, int tier, uint64_t bytes) {
    ctx *c = po;
    uint32_t best = SW_NONE, farthest = c->reach;
    (void)bytes;
    for (uint32_t b = c->stream.head, next; b != SW_NONE; b = next) {
        next = c->stream.next[b];
        if (!sw_plan_resident(p, b, tier)) {
            sw_recency_drop(&c->stream, b);
            continue;
        }
        uint32_t ahead = (c->place[b] + c->n_order - c->now) % c->n_order;
        if (!ahead) ahead = c->n_order; /* in use: not before a whole round */
        if (ahead > farthest && sw_plan_evictable(p, b, tier)) farthest = ahead, best = b;
    }
    return best != SW_NONE ? best : sw_recency_victim(&c->experts, p, tier, false);
}

static void prefetch_close(void *po) {
    ctx *c = po;
    free(c->order);
    free(c->place);
    free(c->is_pinned);
    sw_recency_close(&c->stream);
    sw_recency_close(&c->experts);
}

const sw_policy_ops sw_policy_prefetch = {
    .plugin = {.name = "prefetch",
               .summary =
                   "double-buffered pipeline: the next layers are copied while this one computes",
               .doc = "Pins what fits, evenly spread, and streams the rest through depth + 1 "
                      "slots: while a block computes the "
                      "next ones are on their way. Routed experts, which nobody knows beforehand, "
                      "are fetched on demand into "
                      "an LRU cache. The wrong choice when the link is so slow that the CPU would "
                      "have been faster (see split).",
               .ctx_bytes = sizeof(ctx),
               .params = params,
               .n_params = sizeof params / sizeof *params},
    .open = prefetch_open,
    .on_access = prefetch_access,
    .victim = prefetch_victim,
    .close = prefetch_close,
};
