/* best_fit: the smallest hole that is large enough, the lowest address among equals; neighbours
 * merge at once.
 *
 * Extents, used and free, form a list in address order. Free ones are also in a treap ordered by
 * (bytes, address), one treap a class of sizes (16 classes an octave, so that most are tiny), and a
 * bit a class says which are not empty. Used ones are in a hash table by address. Every operation
 * is O(log holes) on average. Deterministic: treap priorities are a hash of the node's number. The
 * granule is CUDA's: cudaMalloc aligns to 256 bytes. */
#include "sim/alloc.h"
#include "sim/base/vec.h"

#define NIL UINT32_MAX

enum { CLASSES = 61 * 16, WORDS = (CLASSES + 63) / 64 };

typedef struct extent {
    uint64_t addr, bytes, asked; /* asked > 0: in use */
    uint32_t prev, next;         /* in address order */
    uint32_t left, right;        /* treap, when free; left also chains spare extents */
} extent;

typedef struct ctx {
    uint64_t granule;
    SW_VEC(extent) pool;
    uint32_t spare, first;
    uint32_t root[CLASSES];
    uint64_t some[WORDS]; /* classes with a hole */
    uint32_t *slots;      /* hash of used extents by address */
    size_t n_slots;
    unsigned shift; /* 64 - log2(n_slots) */
    sw_alloc_stats stats;
} ctx;

static const sw_param params[] = {
    {"granule", SW_PARAM_BYTES, "256 B", 1, 1 << 30, NULL, offsetof(ctx, granule),
     "sizes are rounded up to a multiple of this"},
};

/* --- holes: a treap a class of sizes -----------------------------------------------------------
 */

/* The class of a size: below 16 the size, then the exponent and four bits of the mantissa. Ascends
 * with the size. */
static unsigned class_of(uint64_t bytes) {
    if (bytes < 16) return (unsigned)bytes;
    unsigned e = 59 - (unsigned)__builtin_clzll(bytes);
    return e * 16 + (unsigned)(bytes >> e);
}

/* The first class from k on that has a hole; CLASSES if none. */
static unsigned next_class(const ctx *c, unsigned k) {
    if (k >= CLASSES) return CLASSES;
    uint64_t word = c->some[k / 64] & (UINT64_MAX << k % 64);
    for (unsigned w = k / 64;; word = c->some[w]) {
        if (word) return w * 64 + (unsigned)__builtin_ctzll(word);
        if (++w == WORDS) return CLASSES;
    }
}

static uint32_t priority(uint32_t i) {
    uint64_t x = i * 0x9e3779b97f4a7c15u;
    return (uint32_t)((x ^ (x >> 29)) * 0xbf58476d1ce4e5b9u >> 32);
}

static bool less(const ctx *c, uint32_t a, uint32_t b) {
    const extent *x = &c->pool.v[a], *y = &c->pool.v[b];
    return x->bytes != y->bytes ? x->bytes < y->bytes : x->addr < y->addr;
}

static void hole_insert(ctx *c, uint32_t i) {
    extent *v = c->pool.v;
    unsigned k = class_of(v[i].bytes);
    uint32_t *at = &c->root[k];
    c->some[k / 64] |= UINT64_C(1) << k % 64;
    while (*at != NIL && priority(*at) >= priority(i))
        at = less(c, i, *at) ? &v[*at].left : &v[*at].right;
    uint32_t rest = *at, *lo = &v[i].left, *hi = &v[i].right; /* split what hangs here around i */
    *at = i;
    while (rest != NIL) {
        if (less(c, rest, i))
            *lo = rest, lo = &v[rest].right, rest = *lo;
        else
            *hi = rest, hi = &v[rest].left, rest = *hi;
    }
    *lo = *hi = NIL;
}

static void hole_remove(ctx *c, uint32_t i) {
    extent *v = c->pool.v;
    unsigned k = class_of(v[i].bytes);
    uint32_t *at = &c->root[k];
    while (*at != i) at = less(c, i, *at) ? &v[*at].left : &v[*at].right;
    uint32_t a = v[i].left, b = v[i].right; /* merge its children in its place */
    while (a != NIL && b != NIL) {
        if (priority(a) >= priority(b))
            *at = a, at = &v[a].right, a = *at;
        else
            *at = b, at = &v[b].left, b = *at;
    }
    *at = a != NIL ? a : b;
    if (c->root[k] == NIL) c->some[k / 64] &= ~(UINT64_C(1) << k % 64);
}

/* The first hole in the order of (bytes, address) that holds `bytes`: in the size's own class, else
 * the first of the next class that has any. */
static uint32_t smallest_of(const ctx *c, uint64_t bytes) {
    for (unsigned k = class_of(bytes); (k = next_class(c, k)) < CLASSES; k++) {
        uint32_t best = NIL;
        for (uint32_t i = c->root[k]; i != NIL;) {
            const extent *e = &c->pool.v[i];
            if (e->bytes >= bytes)
                best = i, i = e->left;
            else
                i = e->right;
        }
        if (best != NIL) return best;
    }
    return NIL;
}

/* --- used extents by address -------------------------------------------------------------------
 */

static size_t slot_home(const ctx *c, uint64_t addr) {
    return (size_t)(addr * 0x9e3779b97f4a7c15u >> c->shift);
}

static void used_insert(ctx *c, uint32_t i) {
    size_t s = slot_home(c, c->pool.v[i].addr);
    while (c->slots[s] != NIL) s = (s + 1) & (c->n_slots - 1);
    c->slots[s] = i;
}

static size_t used_find(const ctx *c, uint64_t addr) {
    size_t s = slot_home(c, addr);
    while (c->slots[s] != NIL && c->pool.v[c->slots[s]].addr != addr)
        s = (s + 1) & (c->n_slots - 1);
    return s;
}

static void used_remove(ctx *c, size_t s) { /* backward shift */
    size_t mask = c->n_slots - 1;
    for (size_t t = (s + 1) & mask; c->slots[t] != NIL; t = (t + 1) & mask) {
        size_t home = slot_home(c, c->pool.v[c->slots[t]].addr);
        if (((t - home) & mask) >= ((t - s) & mask)) c->slots[s] = c->slots[t], s = t;
    }
    c->slots[s] = NIL;
}

static bool used_reserve(ctx *c, uint64_t live) {
    if (live * 2 < c->n_slots) return true;
    size_t old_n = c->n_slots, n = old_n ? old_n * 2 : 256;
    uint32_t *old = c->slots, *slots = malloc(n * sizeof *slots);
    if (!slots) return false;
    for (size_t i = 0; i < n; i++) slots[i] = NIL;
    c->slots = slots;
    c->n_slots = n;
    c->shift = 64 - (unsigned)__builtin_ctzll(n);
    for (size_t i = 0; i < old_n; i++)
        if (old[i] != NIL) used_insert(c, old[i]);
    free(old);
    return true;
}

/* --- the allocator -----------------------------------------------------------------------------
 */

static uint32_t extent_new(ctx *c) {
    if (c->spare != NIL) {
        uint32_t i = c->spare;
        c->spare = c->pool.v[i].left;
        return i;
    }
    if (!sw_vec_reserve(&c->pool, c->pool.n + 1)) return NIL;
    return (uint32_t)c->pool.n++;
}

static void extent_drop(ctx *c, uint32_t i) {
    c->pool.v[i].left = c->spare;
    c->spare = i;
}

static sw_status best_fit_open(void *al, uint64_t capacity, sw_error *err) {
    ctx *c = al;
    c->spare = NIL;
    for (unsigned k = 0; k < CLASSES; k++) c->root[k] = NIL;
    capacity -= capacity % c->granule;
    c->stats = (sw_alloc_stats){.capacity_bytes = capacity};
    if (!used_reserve(c, 0) || (c->first = extent_new(c)) == NIL)
        return sw_fail(err, SW_MEMORY, "out of memory");
    c->pool.v[c->first] =
        (extent){.bytes = capacity, .prev = NIL, .next = NIL, .left = NIL, .right = NIL};
    if (capacity) hole_insert(c, c->first);
    return SW_OK;
}

static sw_status best_fit_take(void *al, uint64_t asked, uint64_t *addr, uint32_t *effects) {
    ctx *c = al;
    *effects = 0;
    uint64_t bytes = asked > UINT64_MAX - c->granule
                         ? UINT64_MAX
                         : (asked + c->granule - 1) / c->granule * c->granule;
    uint32_t i = bytes > c->stats.capacity_bytes ? NIL : smallest_of(c, bytes);
    if (i == NIL) {
        c->stats.n_fails++;
        return SW_SPACE;
    }
    if (!used_reserve(c, c->stats.n_live + 1)) return SW_MEMORY;
    if (c->pool.v[i].bytes > bytes) { /* the rest stays a hole */
        uint32_t r = extent_new(c);
        if (r == NIL) return SW_MEMORY;
        extent *e = &c->pool.v[i], *rest = &c->pool.v[r];
        hole_remove(c, i);
        *rest = (extent){
            .addr = e->addr + bytes, .bytes = e->bytes - bytes, .prev = i, .next = e->next};
        if (e->next != NIL) c->pool.v[e->next].prev = r;
        e->next = r;
        e->bytes = bytes;
        hole_insert(c, r);
    } else {
        hole_remove(c, i);
    }
    c->pool.v[i].asked = asked;
    used_insert(c, i);
    *addr = c->pool.v[i].addr;
    sw_alloc_stats *s = &c->stats;
    s->used_bytes += bytes;
    s->asked_bytes += asked;
    s->n_live++;
    s->n_takes++;
    if (s->used_bytes > s->peak_used_bytes) s->peak_used_bytes = s->used_bytes;
    return SW_OK;
}

/* Appends the free extent `b` to its free left neighbour `a`. */
static void merge(ctx *c, uint32_t a, uint32_t b) {
    extent *x = &c->pool.v[a], *y = &c->pool.v[b];
    x->bytes += y->bytes;
    x->next = y->next;
    if (y->next != NIL) c->pool.v[y->next].prev = a;
    extent_drop(c, b);
}

static void best_fit_give(void *al, uint64_t addr, uint32_t *effects) {
    ctx *c = al;
    *effects = 0;
    size_t s = used_find(c, addr);
    uint32_t i = c->slots[s];
    if (i == NIL) return;
    used_remove(c, s);
    extent *e = &c->pool.v[i];
    c->stats.used_bytes -= e->bytes;
    c->stats.asked_bytes -= e->asked;
    c->stats.n_live--;
    e->asked = 0;
    uint32_t next = e->next, prev = e->prev;
    if (next != NIL && !c->pool.v[next].asked) hole_remove(c, next), merge(c, i, next);
    if (prev != NIL && !c->pool.v[prev].asked) {
        hole_remove(c, prev);
        merge(c, prev, i);
        i = prev;
    }
    hole_insert(c, i);
}

static void best_fit_stats(const void *al, sw_alloc_stats *out) {
    const ctx *c = al;
    *out = c->stats;
    for (unsigned w = WORDS; w--;)
        if (c->some[w]) {
            unsigned k = w * 64 + 63 - (unsigned)__builtin_clzll(c->some[w]);
            for (uint32_t i = c->root[k]; i != NIL; i = c->pool.v[i].right)
                out->largest_free_bytes = c->pool.v[i].bytes;
            return;
        }
}

static bool treap_valid(const ctx *c, unsigned k, uint32_t i, uint64_t *holes) {
    if (i == NIL) return true;
    const extent *e = &c->pool.v[i];
    bool ok = !e->asked && class_of(e->bytes) == k &&
              (e->left == NIL || (less(c, e->left, i) && priority(e->left) <= priority(i))) &&
              (e->right == NIL || (less(c, i, e->right) && priority(e->right) <= priority(i)));
    (*holes)++;
    return ok && treap_valid(c, k, e->left, holes) && treap_valid(c, k, e->right, holes);
}

static bool best_fit_valid(const void *al) {
    const ctx *c = al;
    uint64_t at = 0, used = 0, live = 0, holes = 0, in_treap = 0;
    bool was_free = false;
    uint32_t prev = NIL;
    for (uint32_t i = c->first; i != NIL; prev = i, i = c->pool.v[i].next) {
        const extent *e = &c->pool.v[i];
        if (e->addr != at || e->prev != prev || (!e->bytes && c->stats.capacity_bytes))
            return false;
        if (!e->asked && was_free) return false;
        was_free = !e->asked;
        if (e->asked)
            used += e->bytes, live++;
        else if (e->bytes)
            holes++;
        if (e->asked && c->slots[used_find(c, e->addr)] != i) return false;
        at += e->bytes;
    }
    for (unsigned k = 0; k < CLASSES; k++) {
        bool some = c->some[k / 64] >> k % 64 & 1;
        if (some != (c->root[k] != NIL) || !treap_valid(c, k, c->root[k], &in_treap)) return false;
    }
    return at == c->stats.capacity_bytes && used == c->stats.used_bytes &&
           live == c->stats.n_live && in_treap == holes;
}

static void best_fit_close(void *al) {
    ctx *c = al;
    sw_vec_free(&c->pool);
    free(c->slots);
    c->slots = NULL;
}

const sw_alloc_ops sw_alloc_best_fit = {
    .plugin = {.name = "best_fit",
               .summary = "smallest hole that fits, lowest address first, neighbours merge",
               .doc = "The classic best fit over one arena. Keeps external fragmentation low for "
                      "blocks of few sizes. Has no "
                      "cost of its own: a runtime that takes one arena at the start.",
               .ctx_bytes = sizeof(ctx),
               .params = params,
               .n_params = sizeof params / sizeof *params},
    .open = best_fit_open,
    .take = best_fit_take,
    .give = best_fit_give,
    .stats = best_fit_stats,
    .valid = best_fit_valid,
    .close = best_fit_close,
};
