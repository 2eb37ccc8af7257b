/* bump: addresses only go up; nothing is reused until everything has been given back.
 *
 * What an arena does that is reset between steps, and the floor that other allocators are held
 * against: it never searches, and it wastes all that dies. Live extents lie in one array in address
 * order (which is the order of the takes), dead ones among them until they are half of it; so take
 * is O(1), give O(log live), and memory follows the live extents, not the length of the run.
 *
 * The granule is CUDA's: cudaMalloc aligns to 256 bytes. */
#include "sim/alloc.h"
#include "sim/base/vec.h"

typedef struct extent {
    uint64_t addr, asked; /* asked 0: given back */
} extent;

typedef struct ctx {
    uint64_t granule, top; /* top: the next address */
    SW_VEC(extent) extents;
    sw_alloc_stats stats;
} ctx;

static const sw_param params[] = {
    {"granule", SW_PARAM_BYTES, "256 B", 1, 1 << 30, NULL, offsetof(ctx, granule),
     "sizes are rounded up to a multiple of this"},
};

/* Never wraps: callers have compared `asked` with the capacity, a multiple of the granule. */
static uint64_t rounded(const ctx *c, uint64_t asked) {
    return (asked + c->granule - 1) / c->granule * c->granule;
}

static sw_status bump_open(void *al, uint64_t capacity, sw_error *err) {
    ctx *c = al;
    (void)err;
    c->stats = (sw_alloc_stats){.capacity_bytes = capacity - capacity % c->granule};
    return SW_OK;
}

static sw_status bump_take(void *al, uint64_t asked, uint64_t *addr, uint32_t *effects) {
    ctx *c = al;
    sw_alloc_stats *s = &c->stats;
    *effects = 0;
    if (asked > s->capacity_bytes - c->top) {
        s->n_fails++;
        return SW_SPACE;
    }
    if (!sw_vec_push(&c->extents, ((extent){c->top, asked}))) return SW_MEMORY;
    *addr = c->top;
    c->top += rounded(c, asked);
    s->used_bytes += rounded(c, asked);
    s->asked_bytes += asked;
    s->n_live++;
    s->n_takes++;
    if (s->used_bytes > s->peak_used_bytes) s->peak_used_bytes = s->used_bytes;
    return SW_OK;
}

static void forget_dead(ctx *c) {
    size_t n = 0;
    for (size_t i = 0; i < c->extents.n; i++)
        if (c->extents.v[i].asked) c->extents.v[n++] = c->extents.v[i];
    c->extents.n = n;
}

static void bump_give(void *al, uint64_t addr, uint32_t *effects) {
    ctx *c = al;
    extent *v = c->extents.v;
    size_t at = 0;
    *effects = 0;
    for (size_t n = c->extents.n; n > 1;) { /* the last extent with v[at].addr <= addr */
        size_t half = n / 2;
        if (v[at + half].addr <= addr) at += half;
        n -= half;
    }
    if (at >= c->extents.n || v[at].addr != addr || !v[at].asked) return;
    c->stats.used_bytes -= rounded(c, v[at].asked);
    c->stats.asked_bytes -= v[at].asked;
    v[at].asked = 0;
    if (--c->stats.n_live == 0) c->top = 0;
    if (c->stats.n_live * 2 <= c->extents.n) forget_dead(c);
}

static void bump_stats(const void *al, sw_alloc_stats *out) {
    const ctx *c = al;
    *out = c->stats;
    out->largest_free_bytes = c->stats.capacity_bytes - c->top;
}

static bool bump_valid(const void *al) {
    const ctx *c = al;
    uint64_t at = 0, used = 0, asked = 0, live = 0;
    for (size_t i = 0; i < c->extents.n; i++) {
        const extent *e = &c->extents.v[i];
        if (e->addr < at || e->addr % c->granule) return false;
        at = e->addr + (e->asked ? rounded(c, e->asked) : 1);
        used += rounded(c, e->asked);
        asked += e->asked;
        live += e->asked > 0;
    }
    return at <= c->top && c->top <= c->stats.capacity_bytes && used == c->stats.used_bytes &&
           asked == c->stats.asked_bytes && live == c->stats.n_live && (live || !c->top);
}

static void bump_close(void *al) {
    ctx *c = al;
    sw_vec_free(&c->extents);
}

const sw_alloc_ops sw_alloc_bump = {
    .plugin = {.name = "bump",
               .summary = "addresses only go up until everything has been given back",
               .doc = "An arena that is reset as a whole. Has no cost and no search, and reuses "
                      "nothing while one block is alive: right for static placements and for "
                      "arenas that empty between steps, wrong for policies that evict, which soon "
                      "run out of addresses. Held against best_fit it shows what reuse is worth.",
               .ctx_bytes = sizeof(ctx),
               .params = params,
               .n_params = sizeof params / sizeof *params},
    .open = bump_open,
    .take = bump_take,
    .give = bump_give,
    .stats = bump_stats,
    .valid = bump_valid,
    .close = bump_close,
};
