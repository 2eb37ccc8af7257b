/* A neural network as Spillway sees it: tensors with exact sizes, and layers with what their
 * kernels cost.
 *
 * Built by models/ (config.json, safetensors, GGUF, network files), then const. The model owns all
 * its arrays and strings; free with sw_model_free. */
#ifndef SW_MODEL_H
#define SW_MODEL_H

#include "sim/base/yaml.h"
#include "sim/dtype.h"

typedef enum sw_role {
    SW_ROLE_EMBED, /* token embedding: rows are gathered, not streamed */
    SW_ROLE_NORM,  /* norms, biases, scales of a layer that every token reads */
    SW_ROLE_ATTN, /* q, k, v, o and their like; MLA projections; linear-attention and SSM weights */
    SW_ROLE_MLP,  /* dense feed-forward */
    SW_ROLE_ROUTER, /* gate of a mixture of experts */
    SW_ROLE_EXPERT, /* routed expert */
    SW_ROLE_SHARED, /* shared expert */
    SW_ROLE_OUTPUT, /* final norm and lm_head (also a tied embedding used as the head: see `tied`)
                     */
    SW_ROLE_UNUSED, /* in the file, not read by text generation: vision tower, MTP head, rope tables
                     */
    SW_ROLE_COUNT
} sw_role;

typedef struct sw_tensor {
    const char *name;
    sw_dtype type;
    sw_role role;
    int32_t layer;      /* 0-based; -1: not in a layer */
    int32_t expert;     /* routed expert 0-based; -1: none, or all experts merged in one tensor */
    uint32_t n_experts; /* > 1: the tensor holds that many equal experts, in order (GGUF *_exps) */
    uint32_t n_dims;
    uint64_t dims[4];      /* innermost first, as GGUF counts (safetensors' shape reversed) */
    uint64_t elems, bytes; /* bytes as it lies in the file, exact */
} sw_tensor;

typedef enum sw_attn_kind {
    SW_ATTN_FULL,   /* K and V of all earlier tokens */
    SW_ATTN_WINDOW, /* K and V of the last `window` tokens */
    SW_ATTN_MLA,    /* one latent of kv_latent + rope elements a token, shared by all heads */
    SW_ATTN_STATE,  /* constant-size state (Mamba, linear attention, gated delta net) */
    SW_ATTN_NONE    /* a layer without token mixing (Nemotron-H MLP layers) */
} sw_attn_kind;

typedef enum sw_ffn_kind { SW_FFN_NONE, SW_FFN_DENSE, SW_FFN_MOE } sw_ffn_kind;

typedef struct sw_layer {
    sw_attn_kind attn;
    sw_ffn_kind ffn;
    uint32_t heads, kv_heads;      /* query heads, key/value heads */
    uint32_t head_dim, v_head_dim; /* elements of one K (and Q) head and one V head */
    uint32_t kv_latent, rope_dim;  /* MLA: latent and rope elements cached a token */
    uint32_t kv_index_dim;  /* sparse attention: elements of the indexer's key cached a token */
    uint64_t window;        /* WINDOW: tokens */
    uint64_t state_elems;   /* STATE: elements of recurrent state a sequence (see state_bytes) */
    uint64_t state_bytes;   /* STATE: bytes of it as the reference implementation stores it */
    int32_t kv_shared_with; /* layer whose KV this one reads instead of its own; -1: own */
    /* KV elements that one token adds to the cache in this layer (0 for STATE, NONE, shared). */
    uint64_t kv_elems_per_token;
    /* Weight elements read per token position outside routed experts, by kind; the multiply-adds of
     * the layer's matrix products are 2 * elements * tokens. */
    uint64_t attn_params, mlp_params, shared_params, router_params, expert_params; /* one expert */
    uint64_t attn_bytes, mlp_bytes, shared_bytes, router_bytes, expert_bytes; /* same, in bytes */
    uint64_t ff_dim, expert_ff_dim; /* intermediate width: activation memory */
    uint32_t n_experts, top_k;      /* MOE: routed experts, chosen a token */
    uint32_t n_kernels_attn,
        n_kernels_ffn; /* kernels that a fused runtime launches: launch overhead */
} sw_layer;

typedef struct sw_model {
    char name[96], arch[64], quant[32]; /* quant "as stored" when read from a file of weights */
    uint32_t n_layers;
    sw_layer *layers;
    uint64_t n_tensors;
    sw_tensor *tensors; /* in file order where there is a file, else in the architecture's order */
    uint64_t hidden, vocab, max_context;
    bool tied; /* the head is the embedding: its bytes are read as OUTPUT each step */
    uint64_t params,
        bytes; /* sums over tensors (elements; packed formats count unpacked weights) */
    uint64_t active_params; /* read for one token, embedding rows aside */
    uint64_t embed_bytes, output_bytes, unused_bytes;
    uint64_t output_params;
    bool bytes_exact; /* from a file's own header: sizes are the file's to the byte */
    char source[256]; /* the file, or the network file's source */
} sw_model;

/** Builds the model that a scenario's `model:` map describes. Keys, one of the first four:
 *    network: NAME (models/networks/NAME.yaml) | config: FILE (HF config.json) | gguf: FILE |
 *    safetensors: FILE (a header or an index.json, needs config: too unless beside it)
 *    quant: NAME   (config and network only: f32 f16 bf16 fp8 int8 awq gptq-4 mxfp4 q8_0 q4_k_m …)
 *  dir   where relative file names start (the scenario's folder); data_dir: where models/ lies.
 *  Fails SW_INPUT, one line with position (the scenario's, or the file's offset or key). */
sw_status sw_model_open(const sw_node *map, const char *dir, const char *data_dir, sw_model **out,
                        sw_error *err);
void sw_model_free(sw_model *model);

/** Recomputes every sum and per-layer figure of `model` from its tensors and layer geometry
 * (readers call it last). Fails SW_INPUT when the tensors contradict the geometry. */
sw_status sw_model_finish(sw_model *model, sw_error *err);

#endif
