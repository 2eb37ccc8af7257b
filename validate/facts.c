/* Facts by hash (see facts.h): open addressing, linear probing, at most half full. */
#include "validate/facts.h"
#include "sim/base/vec.h"

static uint64_t key_of(uint32_t block, int tier) {
    return ((uint64_t)block << 8 | (uint64_t)tier) + 1;
}

static sw_fact *slot(sw_fact *v, size_t cap, uint64_t key) {
    size_t at = (size_t)((key * 0x9e3779b97f4a7c15u) >> 20) & (cap - 1);
    while (v[at].key && v[at].key != key) at = (at + 1) & (cap - 1);
    return &v[at];
}

bool sw_facts_reserve(sw_facts *f) {
    if (f->cap && (f->n + 8) * 2 < f->cap) return true;
    size_t cap = f->cap ? f->cap * 2 : 256;
    sw_fact *v = sw_zalloc(cap, sizeof *v);
    if (!v) return false;
    for (size_t i = 0; i < f->cap; i++)
        if (f->v[i].key) *slot(v, cap, f->v[i].key) = f->v[i];
    free(f->v);
    f->v = v;
    f->cap = cap;
    return true;
}

sw_fact *sw_facts_get(sw_facts *f, uint32_t block, int tier) {
    sw_fact *x = slot(f->v, f->cap, key_of(block, tier));
    if (!x->key) {
        *x = (sw_fact){.key = key_of(block, tier)};
        f->n++;
    }
    return x;
}

sw_fact *sw_facts_find(const sw_facts *f, uint32_t block, int tier) {
    sw_fact *x = slot(f->v, f->cap, key_of(block, tier));
    return x->key ? x : NULL;
}

void sw_facts_free(sw_facts *f) {
    free(f->v);
    *f = (sw_facts){0};
}
