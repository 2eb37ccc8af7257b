/* A router without a network (see llm_router.h). */
#include "traces/llm_router.h"
#include "sim/base/vec.h"
#include <math.h>

sw_status sw_llm_router_open(sw_llm_router *r, uint64_t seed, uint32_t n_layers, uint32_t n_seqs,
                             uint32_t n_experts, uint32_t top_k, double skew, double locality,
                             sw_error *err) {
    *r = (sw_llm_router){.rng = sw_rng_seed(seed ^ 0x726f75746572u),
                         .locality = locality,
                         .n_experts = n_experts,
                         .top_k = top_k,
                         .n_layers = n_layers,
                         .n_seqs = n_seqs};
    r->cumulative = malloc((size_t)n_experts * sizeof *r->cumulative);
    r->rank_of = malloc((size_t)n_layers * n_experts * sizeof *r->rank_of);
    r->last = sw_zalloc((size_t)n_layers * n_seqs * top_k, sizeof *r->last);
    r->chosen = malloc(n_experts);
    if (!r->cumulative || !r->rank_of || !r->last || !r->chosen)
        return sw_fail(err, SW_MEMORY, "out of memory");
    double sum = 0;
    for (uint32_t i = 0; i < n_experts; i++) r->cumulative[i] = sum += pow(i + 1.0, -skew);
    for (uint32_t l = 0; l < n_layers; l++) {
        uint16_t *rank = r->rank_of + (size_t)l * n_experts;
        for (uint32_t i = 0; i < n_experts; i++) rank[i] = (uint16_t)i;
        for (uint32_t i = n_experts - 1; i > 0; i--) { /* Fisher and Yates */
            uint32_t j = (uint32_t)sw_rng_below(&r->rng, i + 1u);
            uint16_t t = rank[i];
            rank[i] = rank[j], rank[j] = t;
        }
    }
    for (size_t i = 0; i < (size_t)n_layers * n_seqs * top_k; i++)
        r->last[i] = UINT16_MAX; /* no token yet */
    return SW_OK;
}

static uint16_t draw(sw_llm_router *r, uint32_t layer) {
    double x = sw_rng_unit(&r->rng) * r->cumulative[r->n_experts - 1];
    uint32_t lo = 0, hi = r->n_experts - 1;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (r->cumulative[mid] <= x)
            lo = mid + 1;
        else
            hi = mid;
    }
    return r->rank_of[(size_t)layer * r->n_experts + lo];
}

/* One token's top_k different experts, into `now`; `before` is the previous token's choice. */
static void token(sw_llm_router *r, uint32_t layer, const uint16_t *before, uint16_t *now) {
    for (uint32_t k = 0; k < r->top_k; k++) {
        bool keep = before[k] != UINT16_MAX && sw_rng_unit(&r->rng) < r->locality;
        uint16_t e = keep ? before[k] : draw(r, layer);
        for (uint32_t tries = 0, i = 0; i < k; i++) {
            if (now[i] != e) continue;
            e = tries++ < 64 ? draw(r, layer)
                             : (uint16_t)((e + 1u) % r->n_experts); /* strong skew: take the next */
            i = UINT32_MAX;
        }
        now[k] = e;
    }
}

uint32_t sw_llm_router_choose(sw_llm_router *r, uint32_t layer, uint32_t first, uint32_t n,
                              uint64_t tokens, uint16_t *out) {
    enum { K_MAX = 256, DRAWN_MAX = 1 << 17 };
    uint16_t now[K_MAX];
    uint32_t count = 0;
    memset(r->chosen, 0, r->n_experts);
    uint64_t most = DRAWN_MAX / n > 1 ? DRAWN_MAX / n : 1;
    if (tokens > most) tokens = most;
    for (uint32_t s = first; s < first + n; s++) {
        uint16_t *last = r->last + ((size_t)layer * r->n_seqs + s) * r->top_k;
        for (uint64_t t = 0; t < tokens && (count < r->n_experts || t + 1 == tokens);
             t++) { /* once all are in, only the last matters */
            token(r, layer, last, now);
            memcpy(last, now, r->top_k * sizeof *last);
            for (uint32_t k = 0; k < r->top_k; k++)
                if (!r->chosen[now[k]]) r->chosen[now[k]] = 1, count++;
            if (count == r->n_experts && t + 2 < tokens) t = tokens - 2;
        }
    }
    count = 0;
    for (uint32_t e = 0; e < r->n_experts; e++)
        if (r->chosen[e]) out[count++] = (uint16_t)e;
    return count;
}

void sw_llm_router_close(sw_llm_router *r) {
    free(r->cumulative);
    free(r->rank_of);
    free(r->last);
    free(r->chosen);
    *r = (sw_llm_router){0};
}
