/* Reuse distances by a Fenwick tree (see reuse.h). */
#include "traces/reuse.h"

static void add(sw_reuse *r, uint64_t place, uint64_t bytes) { /* modulo 2^64: also takes away */
    for (uint64_t i = place; i <= r->cap; i += i & -i) r->tree[i] += bytes;
}

static uint64_t sum_to(const sw_reuse *r, uint64_t place) {
    uint64_t s = 0;
    for (uint64_t i = place; i; i -= i & -i) s += r->tree[i];
    return s;
}

/* Moves the living to the first places, in their order, with as many free behind them. */
static bool renumber(sw_reuse *r) {
    uint64_t cap = r->cap, n = 0;
    if (r->n * 2 >= cap) {
        cap = cap ? cap * 4 : 1024;
        uint64_t *tree = realloc(r->tree, (cap + 1) * sizeof *tree);
        if (!tree) return false;
        r->tree = tree;
        uint32_t *block = realloc(r->block, (cap + 1) * sizeof *block);
        if (!block) return false;
        r->block = block;
    }
    for (uint64_t i = 1; i < r->next; i++) {
        uint32_t b = r->block[i];
        if (r->place.v[b] != i) continue;
        r->place.v[b] = ++n;
        r->block[n] = b;
    }
    r->cap = cap;
    r->next = n + 1;
    for (uint64_t i = 1; i <= cap; i++) r->tree[i] = i <= n ? r->bytes.v[r->block[i]] : 0;
    for (uint64_t i = 1; i <= cap; i++) /* each node gives its sum to its parent */
        if (i + (i & -i) <= cap) r->tree[i + (i & -i)] += r->tree[i];
    return true;
}

bool sw_reuse_use(sw_reuse *r, uint32_t block, uint64_t bytes, uint64_t *distance) {
    while (r->place.n <= block)
        if (!sw_vec_push(&r->bytes, 0) || !sw_vec_push(&r->place, 0)) return false;
    if (r->next > r->cap || r->cap == 0) {
        if (r->next == 0) r->next = 1;
        if (!renumber(r)) return false;
    }
    *distance = 0;
    uint64_t at = r->place.v[block];
    if (at) {
        *distance = r->total - sum_to(r, at) + bytes;
        sw_reuse_drop(r, block);
    }
    r->bytes.v[block] = bytes;
    r->place.v[block] = r->next;
    r->block[r->next] = block;
    add(r, r->next++, bytes);
    r->total += bytes;
    r->n++;
    return true;
}

void sw_reuse_drop(sw_reuse *r, uint32_t block) {
    if (block >= r->place.n || !r->place.v[block]) return;
    add(r, r->place.v[block], -r->bytes.v[block]);
    r->total -= r->bytes.v[block];
    r->place.v[block] = 0;
    r->n--;
}

void sw_reuse_free(sw_reuse *r) {
    sw_vec_free(&r->place);
    sw_vec_free(&r->bytes);
    free(r->tree);
    free(r->block);
    *r = (sw_reuse){0};
}
