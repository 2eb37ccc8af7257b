/* The llm generator's parts: its options and state, its KV cache, its ops.
 *
 * group   the sequences of one micro-batch
 * piece   the part of a layer's KV cache that is one block
 * static  one piece a layer and micro-batch at full size (also: windows, which are rings, and
 *         recurrent state)
 * paged   a piece for each kv_block_tokens positions, allocated as the context grows; ids go by
 *         position first, so that they are dense in the order in which they appear */
#ifndef SW_LLM_H
#define SW_LLM_H

#include "traces/llm_layout.h"
#include "traces/llm_router.h"

enum { SW_LLM_KV_STATIC, SW_LLM_KV_PAGED };

typedef struct sw_llm_kv { /* by layer */
    uint32_t source;       /* layer whose KV this one reads */
    uint32_t slot;         /* its place among the paged layers, or among the others that have any */
    bool paged;
    uint64_t per_token; /* bytes a token and sequence; 0: none of its own */
    uint64_t capacity;  /* tokens kept: the window, or all */
    uint64_t state;     /* bytes a sequence of recurrent state */
} sw_llm_kv;

typedef struct sw_llm_names {
    const char *proj, *attn, *router, *expert, *shared, *mlp, *embed, *head, *sample, *kv, *token,
        *hidden, *work, *logits, *prefill, *decode;
} sw_llm_names;

typedef struct sw_llm {
    int64_t batch, prompt, generate, prefill_chunk, start_context, kv_block_tokens, micro_batches;
    int granularity, kv_layout, act;
    char kv_type[64];
    double skew, locality;

    const sw_model *m;
    sw_llm_names name;
    sw_llm_layout layout;
    sw_llm_router router;
    uint16_t *chosen; /* scratch for experts; NULL: a model without */
    sw_llm_kv *kv;
    uint32_t *fixed, *paged; /* layers by slot */
    uint32_t n_fixed, n_paged, fixed_first, paged_first;
    uint32_t token, hidden, work, logits; /* block ids */
    uint64_t act_bytes;                   /* of one activation */
    uint64_t work_per_token;              /* bytes */
    uint64_t total;                       /* tokens of a sequence at the end */
    uint64_t group;

    uint64_t context; /* tokens of a sequence already in the cache */
    uint64_t n;       /* tokens of a sequence in this step */
    uint32_t step, declared, layer, micro, part;
    uint64_t kv_at;          /* KV blocks of this step allocated so far */
    bool sampled, last_part; /* a token was sampled before; this step ends the prompt or decodes */
    int stage;
    uint64_t seq, router_seq;
    SW_VEC(sw_ev_use) uses;
} sw_llm;

/* --- llm_kv.c ------------------------------------------------------------------------------ */

/** Lays out KV and state, giving block ids from `first`; *end is one past the last. Fails SW_INPUT
 * when there are too many blocks, or bytes. */
sw_status sw_llm_kv_open(sw_llm *c, sw_dtype type, uint32_t first, uint32_t *end, sw_error *err);
/** The next KV block that must exist before this step, as ALLOC; false when all do. */
bool sw_llm_kv_alloc(sw_llm *c, sw_event *ev);
/** The most uses that sw_llm_kv_use adds for the layer at hand. */
size_t sw_llm_kv_most(const sw_llm *c);
/** Adds what the attention of the layer and micro-batch at hand reads and writes. */
void sw_llm_kv_use(sw_llm *c);

/* --- llm_ops.c ----------------------------------------------------------------------------- */

/** Appends a use; room must be reserved. */
void sw_llm_use(sw_llm *c, uint32_t block, uint8_t mode, uint64_t offset, uint64_t bytes,
                uint64_t touched);
/** The next op of the layer and micro-batch at hand, from c->part on. SW_END: no more. */
sw_status sw_llm_layer_op(sw_llm *c, sw_event *ev, sw_error *err);
sw_status sw_llm_embed_op(sw_llm *c, sw_event *ev, sw_error *err);
sw_status sw_llm_head_op(sw_llm *c, sw_event *ev, sw_error *err);
sw_status sw_llm_sample_op(sw_llm *c, sw_event *ev, sw_error *err);

#endif
