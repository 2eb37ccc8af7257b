/* Question: does every allocator keep the laws of sim/alloc.h, for any sequence of takes and gives?
 *
 * The witness is a map with one owner per granule, which always tells the truth: extents lie inside
 * the capacity, are aligned, never overlap; a take fails exactly when the allocator's largest hole
 * is too small, and then changes nothing; figures equal those counted from the map; what is free in
 * the map bounds the holes; giving everything back leaves one hole of the whole capacity. best_fit
 * and bump must also choose the very address that a linear search over the map chooses. Allocators
 * with planted mistakes must be caught. */
#include "sim/alloc.h"
#include "check.h"
#include "sim/base/rng.h"
#include "sim/base/vec.h"

enum { SLOTS = 1 << 12, BLOCKS = 1 << 12 };

typedef struct block {
    uint64_t addr, asked, bytes;
} block;

typedef struct witness {
    const sw_alloc_ops *ops;
    void *ctx;
    uint64_t granule, capacity;
    uint16_t owner[SLOTS]; /* 0: free */
    size_t slots, top;     /* top: first slot never used since all was free */
    block live[BLOCKS];
    size_t n;
    sw_alloc_stats want;
    const char *fault; /* the first law that broke; NULL */
} witness;

static void law(witness *w, bool holds, const char *text) {
    if (!holds && !w->fault) w->fault = text;
}

/* The longest free run, or where the smallest run of at least `need` slots starts (SIZE_MAX). */
static size_t longest_run(const witness *w, size_t need, size_t *best_at) {
    size_t longest = 0, best = SIZE_MAX;
    for (size_t i = 0; i < w->slots;) {
        size_t j = i;
        while (j < w->slots && w->owner[j] == w->owner[i]) j++;
        if (!w->owner[i] && j - i > longest) longest = j - i;
        if (!w->owner[i] && j - i >= need && j - i < best) best = j - i, *best_at = i;
        i = j;
    }
    if (best == SIZE_MAX) *best_at = SIZE_MAX;
    return longest;
}

static void look(witness *w) {
    sw_alloc_stats s;
    size_t at;
    w->ops->stats(w->ctx, &s);
    law(w, w->ops->valid(w->ctx), "valid() says no");
    law(w, s.capacity_bytes == w->capacity, "capacity");
    law(w, s.used_bytes == w->want.used_bytes, "used_bytes");
    law(w, s.asked_bytes == w->want.asked_bytes, "asked_bytes");
    law(w, s.peak_used_bytes == w->want.peak_used_bytes, "peak_used_bytes");
    law(w, s.n_live == w->n, "n_live");
    law(w, s.n_takes == w->want.n_takes && s.n_fails == w->want.n_fails, "n_takes, n_fails");
    law(w, s.largest_free_bytes <= longest_run(w, 1, &at) * w->granule, "a hole that is none");
    law(w, w->n || s.largest_free_bytes == w->capacity, "empty, but not one hole");
}

/* Has a rule of its own where it puts things: only its own figures bind it. */
static bool is_free(const witness *w) {
    return strcmp(w->ops->plugin.name, "bump") && strcmp(w->ops->plugin.name, "best_fit");
}

static size_t where(const witness *w, size_t slots) {
    size_t at = SIZE_MAX;
    if (!strcmp(w->ops->plugin.name, "bump")) return w->top + slots <= w->slots ? w->top : SIZE_MAX;
    longest_run(w, slots, &at);
    return at;
}

static bool take(witness *w, uint64_t asked) {
    uint64_t addr = 12345, g = w->granule;
    uint64_t slots = asked / g + (asked % g > 0);
    uint32_t effects = 0;
    sw_alloc_stats before;
    w->ops->stats(w->ctx, &before);
    sw_status st = w->ops->take(w->ctx, asked, &addr, &effects);
    law(w, (st == SW_OK) == (asked <= before.largest_free_bytes), "fails, or not, against stats");
    if (st != SW_OK) {
        w->want.n_fails++;
        law(w, st == SW_SPACE && addr == 12345, "a failed take writes something");
        law(w, is_free(w) || where(w, slots) == SIZE_MAX, "fails although the map has a place");
        look(w);
        return false;
    }
    law(w, addr % g == 0 && slots <= w->slots && addr / g <= w->slots - slots, "outside");
    law(w, is_free(w) || addr / g == where(w, slots), "not the address that its rule says");
    if (w->fault) return false;
    for (size_t i = addr / g; i < addr / g + slots; i++) {
        law(w, !w->owner[i], "overlaps");
        w->owner[i] = (uint16_t)(w->n + 1);
    }
    w->live[w->n++] = (block){addr, asked, slots * g};
    if (addr / g + slots > w->top) w->top = addr / g + slots;
    w->want.used_bytes += slots * g;
    w->want.asked_bytes += asked;
    w->want.n_takes++;
    if (w->want.used_bytes > w->want.peak_used_bytes) w->want.peak_used_bytes = w->want.used_bytes;
    look(w);
    return true;
}

static void give(witness *w, size_t i) {
    block b = w->live[i];
    uint32_t effects = 0;
    w->ops->give(w->ctx, b.addr, &effects);
    memset(&w->owner[b.addr / w->granule], 0, b.bytes / w->granule * sizeof *w->owner);
    memmove(&w->live[i], &w->live[i + 1], (w->n - i - 1) * sizeof *w->live);
    if (!--w->n) w->top = 0;
    w->want.used_bytes -= b.bytes;
    w->want.asked_bytes -= b.asked;
    look(w);
}

static void open_witness(witness *w, const sw_alloc_ops *ops, uint64_t granule, uint64_t capacity) {
    char text[64];
    sw_yaml *map = NULL;
    sw_error err = {0};
    *w = (witness){.ops = ops, .granule = granule, .capacity = capacity - capacity % granule};
    w->slots = w->capacity / granule;
    w->want.capacity_bytes = w->capacity;
    snprintf(text, sizeof text, "{granule: %llu B}", (unsigned long long)granule);
    CHECK(sw_yaml_parse(text, strlen(text), "test", &map, &err) == SW_OK);
    CHECK(sw_plugin_new(&ops->plugin, "allocator", sw_yaml_root(map), &w->ctx, &err) == SW_OK);
    CHECK(ops->open(w->ctx, capacity, &err) == SW_OK);
    sw_yaml_free(map);
    look(w);
}

/* Gives all back, in random order; says what broke, if anything did. */
static const char *close_witness(witness *w, sw_rng *r) {
    while (w->n && !w->fault) give(w, sw_rng_below(r, w->n));
    if (w->capacity && !w->fault) law(w, take(w, w->capacity), "the whole capacity");
    w->ops->close(w->ctx);
    free(w->ctx);
    return w->fault;
}

/* --- sequences: each leaves blocks behind ------------------------------------------------------
 */

static void churn(witness *w, sw_rng *r) { /* any size, nearly full for most of the time */
    uint64_t most = 1 + sw_rng_below(r, w->capacity);
    for (int i = 0; i < 600 && !w->fault; i++) {
        if (sw_rng_below(r, 100) < 55)
            take(w, 1 + sw_rng_below(r, most));
        else if (w->n)
            give(w, sw_rng_below(r, w->n));
    }
}

static void comb(witness *w, sw_rng *r) { /* every other one given: half is free, no two adjoin */
    uint64_t size = w->granule * (1 + sw_rng_below(r, 3));
    while (!w->fault && take(w, size)) {
    }
    for (size_t i = 0; i < w->n && !w->fault; i++) give(w, i);
    take(w, size + 1);
    take(w, size);
}

static void stairs(witness *w, sw_rng *r) { /* given in the order of sizes, each hole too small */
    for (uint64_t k = 1; !w->fault && take(w, k * w->granule); k++) {
    }
    while (w->n > 1 && !w->fault) {
        block first = w->live[0];
        give(w, 0);
        take(w, first.bytes + w->granule);
        if (sw_rng_below(r, 4) == 0) take(w, first.bytes);
    }
}

static void stack_and_queue(witness *w, sw_rng *r) {
    bool stack = sw_rng_below(r, 2);
    for (int i = 0; i < 400 && !w->fault; i++)
        if (!take(w, w->granule * (1 + sw_rng_below(r, 9))) && w->n)
            for (size_t k = 1 + sw_rng_below(r, w->n); k && !w->fault; k--)
                give(w, stack ? w->n - 1 : 0);
}

static void two_sizes(witness *w, sw_rng *r) { /* small ones that outlive the large ones between */
    for (int i = 0; i < 300 && !w->fault; i++) {
        take(w, w->granule);
        if (!take(w, w->granule * 17))
            for (size_t k = w->n; k-- && !w->fault;)
                if (w->live[k].bytes > w->granule && sw_rng_below(r, 2)) give(w, k);
    }
}

typedef void sequence(witness *, sw_rng *);
static sequence *const sequences[] = {churn, comb, stairs, stack_and_queue, two_sizes};

static const char *try_all(const sw_alloc_ops *ops, uint64_t rounds) {
    static const uint64_t granules[] = {1, 16, 96, 256, 4096};
    static witness w;
    sw_rng r = sw_rng_seed(7);
    for (uint64_t i = 0; i < rounds; i++) {
        uint64_t granule = granules[sw_rng_below(&r, 5)];
        uint64_t slots = 1 + sw_rng_below(&r, i % 8 ? 400 : SLOTS - 1);
        open_witness(&w, ops, granule, slots * granule + sw_rng_below(&r, granule));
        sequences[i % 5](&w, &r);
        const char *fault = close_witness(&w, &r);
        if (fault) return fault;
    }
    return NULL;
}

static void laws(void) {
    for (size_t a = 0; a < sw_alloc_table_n; a++) {
        const char *fault = try_all((const sw_alloc_ops *)(const void *)sw_alloc_table[a], 300);
        if (fault) printf("\n    %s: %s\n", sw_alloc_table[a]->name, fault);
        CHECK(fault == NULL);
    }
}

static void edges(void) {
    static const uint64_t capacities[] = {0, 1, 255, 256, 257, 511, 512};
    static witness w;
    sw_rng r = sw_rng_seed(1);
    for (size_t a = 0; a < sw_alloc_table_n; a++) {
        const sw_alloc_ops *ops = (const sw_alloc_ops *)(const void *)sw_alloc_table[a];
        for (size_t i = 0; i < sizeof capacities / sizeof *capacities; i++) {
            open_witness(&w, ops, 256, capacities[i]);
            CHECK(!take(&w, UINT64_MAX) && !take(&w, UINT64_MAX - 255));
            CHECK(!take(&w, w.capacity + 1));
            CHECK(take(&w, 1) == (w.capacity >= 256));
            CHECK(take(&w, 257) == false);
            CHECK(take(&w, 1) == (w.capacity >= 512));
            CHECK(close_witness(&w, &r) == NULL);
        }
    }
}

/* Sizes that no map can hold: the top of the address space. */
static void huge(void) {
    for (size_t a = 0; a < sw_alloc_table_n; a++) {
        const sw_alloc_ops *ops = (const sw_alloc_ops *)(const void *)sw_alloc_table[a];
        void *ctx;
        uint64_t addr = 0, half = UINT64_MAX / 2 + 1;
        uint32_t effects;
        sw_alloc_stats s;
        CHECK(sw_plugin_new(&ops->plugin, "allocator", NULL, &ctx, NULL) == SW_OK);
        CHECK(ops->open(ctx, UINT64_MAX, NULL) == SW_OK);
        CHECK(ops->take(ctx, half, &addr, &effects) == SW_OK && addr == 0);
        CHECK(ops->take(ctx, half, &addr, &effects) == SW_SPACE);
        CHECK(ops->take(ctx, half - 256, &addr, &effects) == SW_OK && addr == half);
        CHECK(ops->take(ctx, 1, &addr, &effects) == SW_SPACE);
        ops->stats(ctx, &s);
        CHECK(s.used_bytes == UINT64_MAX - 255 && s.largest_free_bytes == 0);
        CHECK(ops->valid(ctx));
        ops->close(ctx);
        free(ctx);
    }
}

/* --- planted mistakes: best_fit with one thing wrong -------------------------------------------
 */

extern const sw_alloc_ops sw_alloc_best_fit;
static int planted, calls;

static sw_status bad_take(void *al, uint64_t bytes, uint64_t *addr, uint32_t *effects) {
    bool now = ++calls % 20 == 0;
    if (planted == 1 && now) return SW_SPACE; /* refuses now and then */
    sw_status st = sw_alloc_best_fit.take(al, bytes, addr, effects);
    if (planted == 2 && now && st == SW_OK && *addr) --*addr; /* not aligned, overlaps */
    if (planted == 3 && st != SW_OK) *addr = 0;               /* writes on failure */
    return st;
}
static void bad_give(void *al, uint64_t addr, uint32_t *effects) {
    if (planted == 4 && ++calls % 20 == 0) return; /* leaks */
    sw_alloc_best_fit.give(al, addr, effects);
}
static void bad_stats(const void *al, sw_alloc_stats *out) {
    sw_alloc_best_fit.stats(al, out);
    if (planted == 5) out->used_bytes = out->asked_bytes;
    if (planted == 6) out->largest_free_bytes = out->capacity_bytes - out->used_bytes;
    if (planted == 7) out->peak_used_bytes = out->used_bytes;
}

static void mistakes_are_caught(void) {
    for (planted = 1; planted <= 7; planted++) {
        sw_alloc_ops bad = sw_alloc_best_fit;
        bad.take = bad_take, bad.give = bad_give, bad.stats = bad_stats;
        calls = 0;
        const char *fault = try_all(&bad, 40);
        if (!fault) printf("\n    mistake %d was not noticed\n", planted);
        CHECK(fault != NULL);
    }
    planted = 0;
    sw_alloc_ops first = sw_alloc_best_fit; /* the rule of another */
    first.plugin.name = "bump";
    CHECK(try_all(&first, 40) != NULL);
}

SW_TESTS("allocators", {"laws", laws}, {"edges", edges}, {"huge", huge},
         {"planted mistakes are caught", mistakes_are_caught})
