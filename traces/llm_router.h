/* A router without a network: which experts a token chooses, seeded, with adjustable skew and
 * locality.
 *
 * Popularity of experts follows Zipf's law with exponent `skew`, over a random order of its own for
 * each layer. With probability `locality` a token keeps one of the experts that the token before it
 * (of the same sequence) chose. Real routers differ between models and texts (LRU hit rates from 30
 * % to 67 % are reported): both are inputs, not constants. */
#ifndef SW_LLM_ROUTER_H
#define SW_LLM_ROUTER_H

#include "sim/base/rng.h"
#include "sim/trace.h"

typedef struct sw_llm_router {
    sw_rng rng;
    double locality;
    uint32_t n_experts, top_k, n_layers, n_seqs;
    double *cumulative; /* by rank */
    uint16_t *rank_of;  /* [layer][rank] -> expert */
    uint16_t *last;     /* [layer][sequence][k]: the previous token's choice */
    uint8_t *chosen;    /* scratch, by expert */
} sw_llm_router;

/** n_experts at most 65,535. */
sw_status sw_llm_router_open(sw_llm_router *r, uint64_t seed, uint32_t n_layers, uint32_t n_seqs,
                             uint32_t n_experts, uint32_t top_k, double skew, double locality,
                             sw_error *err);
/** The union of what `tokens` tokens of each of the sequences [first, first+n) choose in a layer,
 * ascending, into out (room for n_experts); returns how many. Draws token by token until all have
 * come, at most 131,072 tokens (or one a sequence): what has not come by then counts as not
 * chosen. */
uint32_t sw_llm_router_choose(sw_llm_router *r, uint32_t layer, uint32_t first, uint32_t n,
                              uint64_t tokens, uint16_t *out);
void sw_llm_router_close(sw_llm_router *r);

#endif
