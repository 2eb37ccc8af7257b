/* How the llm generator cuts a model into blocks: which bytes of which block each op of a layer
 * reads.
 *
 * part      what one op of a layer reads: its attention weights, its router, its shared experts,
 * its feed-forward granule   layer: one block holds a layer's parts one behind the other; tensor:
 * each tensor is a block Each routed expert of a layer is a block of its own in both. Tied models
 * have one loose block that is gathered from as the embedding and read whole as the head. Ids: in
 * the order of use, from 0; unused tensors are no blocks. */
#ifndef SW_LLM_LAYOUT_H
#define SW_LLM_LAYOUT_H

#include "sim/base/vec.h"
#include "sim/trace.h"

typedef enum sw_llm_part {
    SW_LLM_ATTN,
    SW_LLM_ROUTER,
    SW_LLM_SHARED,
    SW_LLM_MLP,
    SW_LLM_PARTS
} sw_llm_part;

typedef struct sw_llm_range { /* uses[from … from+n) of the layout */
    uint32_t from, n;
    uint8_t math; /* sw_math of the part's largest tensor */
} sw_llm_range;

typedef struct sw_llm_layer {
    sw_llm_range part[SW_LLM_PARTS];
    uint32_t first_expert; /* block of expert 0; the others follow */
    uint8_t expert_math;
} sw_llm_layer;

typedef struct sw_llm_layout {
    SW_VEC(sw_block) blocks;
    SW_VEC(sw_ev_use) uses; /* READ, touched = bytes */
    sw_llm_layer *layers;
    sw_llm_range embed, head;
    uint64_t embed_row_bytes; /* one token's row */
} sw_llm_layout;

/** Fails SW_MEMORY, or SW_INPUT when the model has more blocks than ids. */
sw_status sw_llm_layout_open(sw_llm_layout *l, const sw_model *model, bool by_tensor,
                             sw_error *err);
void sw_llm_layout_close(sw_llm_layout *l);

#endif
