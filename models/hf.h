/* Hugging Face configurations: what models/hf_*.c share.
 *
 * An architecture is a row of `hf_arch`: tables of tensor templates (hf_row) and a function that
 * reads the keys that only it has. A template's shape is two words (hf_dim), whose values each
 * layer sets; so a layer of an odd width (Nemotron NAS, Gemma's global heads) is the same template
 * with other values. */
#ifndef SW_MODELS_HF_H
#define SW_MODELS_HF_H

#include "models/build.h"
#include "sim/base/json.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The words that shapes are made of. */
typedef enum hf_dim {
    D_1,
    D_H,  /* hidden size */
    D_H2, /* twice that */
    D_VOCAB,
    D_POS,   /* learned positions */
    D_TYPES, /* BERT's token types */
    D_EMB,   /* width of the embedding where it differs from hidden (OPT-350m) */
    D_Q,     /* query heads x head_dim */
    D_QG,    /* twice that: query and output gate */
    D_K,     /* kv heads x head_dim */
    D_V,     /* kv heads x v_head_dim */
    D_O,     /* query heads x v_head_dim */
    D_QKV,   /* Q + K + V in one product */
    D_HD,
    D_HEADS,
    D_FF,
    D_FF2,
    D_E,   /* routed experts */
    D_EFF, /* an expert's width */
    D_EFF2,
    D_EIN, /* what an expert reads: hidden, or the latent of a latent mixture */
    D_SFF, /* width of all shared experts together */
    D_QL,  /* MLA: query latent */
    D_QB,  /* heads x (nope + rope) */
    D_KVL, /* kv latent */
    D_KVA, /* kv latent + rope */
    D_KVB, /* heads x (nope + v) */
    D_NOPE,
    D_VD,
    D_IQ, /* indexer: heads x dim */
    D_IH,
    D_ID,
    D_SIN,    /* state-space layer: rows of its input product */
    D_SINNER, /* its inner width */
    D_SCONV,  /* channels of its convolution */
    D_SKERN,  /* taps of it */
    D_SHEADS,
    D_SHD,  /* elements of a value head (gated delta net's norm) */
    D_SZ,   /* gated delta net: rows of z */
    D_PLE,  /* Gemma 4: width of a layer's own embedding */
    D_PLES, /* of all layers */
    D_PLV,  /* its vocabulary */
    D_COUNT
} hf_dim;

/* Conditions on templates; a layer's flags are the architecture's, the configuration's and its own.
 */
enum {
    F_YES = 1u << 0,
    F_TIED = 1u << 1,
    F_UNTIED = 1u << 2,
    F_QBIAS = 1u << 3, /* q, k, v */
    F_OBIAS = 1u << 4,
    F_MBIAS = 1u << 5,  /* feed-forward */
    F_QKNORM = 1u << 6, /* one norm a head */
    F_QKWIDE = 1u << 7, /* one norm over all heads */
    F_SINKS = 1u << 8,
    F_QLORA = 1u << 9,
    F_QFULL = 1u << 10,
    F_INDEX = 1u << 11, /* sparse attention with its own indexer */
    F_RBIAS = 1u << 12, /* a correction bias of the router */
    F_SHARED = 1u << 13,
    F_SGATE = 1u << 14, /* a gate on the shared expert */
    F_LATENT = 1u << 15,
    F_CBIAS = 1u << 16, /* state-space layer: bias of the convolution */
    F_SBIAS = 1u << 17, /* and of its products */
    F_ONELN = 1u << 18, /* Falcon: one norm for both halves */
    F_TWOLN = 1u << 19,
    F_FREQS = 1u << 20, /* GGUF holds rope_freqs */
    F_VPROJ = 1u << 21, /* v has its own product */
    F_PROJ = 1u << 22,  /* OPT-350m: embedding narrower than hidden */
    F_FNORM = 1u << 23, /* a final norm */
    F_KVOWN = 1u << 25, /* K and V of its own */
    F_PLE = 1u << 26,   /* embeddings per layer */
    F_MTPEMB = 1u << 24 /* prediction layers with an embedding and a head of their own */
};

typedef enum hf_kind {
    K_END,
    K_LIN,   /* NAME.weight [rows, cols]: what quantizers quantize; NAME.bias [rows] under `bias` */
    K_LINT,  /* the same stored as [cols, rows] (GPT-2's Conv1D) */
    K_MAT,   /* the same, never quantized in a checkpoint: embeddings, routers, heads */
    K_VEC,   /* NAME.weight [rows] */
    K_LN,    /* NAME.weight and NAME.bias [rows] */
    K_RAW,   /* NAME [rows] or [rows, cols], no suffix */
    K_RAW32, /* the same, F32 whatever the model's type */
    K_CONV,  /* NAME.weight [rows, 1, cols], NAME.bias [rows] under `bias` */
    K_EXP,   /* NAME [experts, rows, cols], no suffix: all routed experts in one tensor */
    K_EXPB,  /* NAME [experts, rows] */
    K_HEADS  /* NAME.weight [heads, rows, cols], GGUF only */
} hf_kind;

/* name: after the layer's prefix; '%' is the expert's number; "" none in a checkpoint.
 * gguf: after "blk.N."; "" none in a GGUF; "a|b": the rows split into two equal tensors. */
typedef struct hf_row {
    const char *name, *gguf;
    sw_role role;
    hf_kind kind;
    hf_dim rows, cols;
    uint32_t need, bias; /* flags: emitted if all are set; has a bias if set */
} hf_row;

/* What one layer consists of. */
typedef struct hf_plan {
    const hf_row *attn, *ffn, *norms, *extra; /* extra: a prediction layer's own */
    uint32_t flags;
    uint64_t dim[D_COUNT];
    sw_layer geo;
} hf_plan;

/* Formats in which a checkpoint stores its products. */
typedef enum hf_scheme {
    S_NONE,
    S_FP8_BLOCK,   /* weight, weight_scale_inv per block */
    S_FP8_TENSOR,  /* weight, weight_scale, input_scale (modelopt) */
    S_FP8_CHANNEL, /* weight, weight_scale per row */
    S_INT8,        /* weight, weight_scale per row */
    S_NVFP4,       /* weight U8, weight_scale per 16, weight_scale_2, input_scale */
    S_NVFP4_W,     /* the same without input_scale (weight only) */
    S_AWQ,         /* qweight, qzeros, scales */
    S_GPTQ,        /* the same and g_idx */
    S_PACKED,      /* weight_packed, weight_scale, weight_shape (compressed-tensors) */
    S_MXFP4        /* blocks and scales per 32 */
} hf_scheme;

typedef struct hf_store {
    hf_scheme scheme;  /* of products; S_NONE: as the model's type */
    bool experts_only; /* only routed experts */
    bool filtered;     /* ask the filter */
    bool listed_only;  /* plain unless the filter names it */
    uint64_t group, block_rows, block_cols;
    char label[32];
    struct hf_filter *filter;
} hf_store;

typedef struct hf_arch hf_arch;

typedef struct hf_cfg {
    sw_jobj root, text; /* text: text_config, or root */
    const hf_arch *arch;
    const char *prefix, *head, *note; /* prefixes of names; what the source string adds */
    int64_t layers, hidden, heads, kv_heads, head_dim, v_dim, ff, vocab, ctx;
    int64_t experts, top_k, eff, sff, n_shared, first_dense, mtp, window;
    int64_t q_lora, kv_lora, nope, rope, index_heads, index_dim;
    int64_t conv_kernel, state, groups, s_heads, s_head_dim, latent;
    int64_t per_layer, per_layer_vocab; /* Gemma 4: embeddings per layer */
    int64_t emb, types;                 /* width of a narrower embedding; BERT's token types */
    bool tied;
    uint32_t flags;
    sw_dtype type;
    hf_store store;
    struct hf_lay {
        bool sliding, moe;
        char block; /* hybrid: M state, * attention, E experts, - feed-forward, 0 both halves */
        int64_t ff, kv_heads, head_dim, v_dim, window, heads; /* 0: the model's */
        int64_t kv_from; /* 1 + the layer whose KV it reads; 0: its own */
        uint32_t flags, no_flags;
    } * lay;
} hf_cfg;

struct hf_arch {
    const char *model_type, *gguf; /* gguf NULL: llama.cpp's formats are not offered */
    const char *prefix, *layer;    /* "model.", "layers.%u." */
    const hf_row *head, *norms, *attn, *attn2, *dense, *moe; /* attn2: a second kind of layer */
    const hf_row *mtp; /* prediction layers, numbered after the others: what they have besides */
    const char *mtp_prefix; /* or layers under this name, numbered from 0 */
    uint32_t mtp_layers;    /* layers a prediction head has; 0: one */
    uint32_t flags;
    int64_t
        window_every; /* without layer_types: every such layer is full; 0: all have the window */
    sw_status (*read)(hf_cfg *c, sw_error *err); /* layers and keys of its own; may be NULL */
    void (*shape)(const hf_cfg *c, uint32_t layer,
                  hf_plan *plan); /* adjusts the plan; may be NULL */
    sw_status (*read_first)(hf_cfg *c,
                            sw_error *err); /* before defaults are filled in; may be NULL */
};

/** The row for a model_type, or NULL. */
const hf_arch *sw_hf_arch(const char *model_type);
/** Reads an int at the first key of "a|b|c" that is there; absent leaves *out. */
sw_status sw_hf_int(sw_jobj o, const char *keys, int64_t min, int64_t max, int64_t *out,
                    sw_error *err);
/** Reads a list as long as there are layers: numbers or booleans into out[i] (missing key: *found
 * false). */
sw_status sw_hf_list(const hf_cfg *c, const char *key, int64_t *out, bool *found, sw_error *err);
/** The plan of a layer: defaults, then the architecture's shape function. */
void sw_hf_plan(const hf_cfg *c, uint32_t layer, hf_plan *plan);
/** Emits every tensor and layer of c into m; gguf: llama.cpp's names and shapes instead. */
sw_status sw_hf_emit(const hf_cfg *c, bool gguf, sw_model *m, sw_error *err);
/** Emits one product in its stored form. module: its full name without ".weight". */
sw_status sw_hf_store(const hf_cfg *c, sw_model *m, const char *module, const sw_tensor *t,
                      sw_error *err);
/** Reads quantization_config; quant: the scenario's wish, or NULL. Opens c->store. */
sw_status sw_hf_store_open(hf_cfg *c, const char *quant, sw_error *err);
void sw_hf_store_close(hf_cfg *c);
/** Shared readers. */
sw_status sw_hf_read_window(hf_cfg *c, sw_error *err);
sw_status sw_hf_read_moe(hf_cfg *c, sw_error *err);
/** A model from an open JSON document; `source` says where it came from. */
sw_status sw_model_from_json(const json_t *doc, const char *file, const char *source,
                             const char *quant, sw_model **out, sw_error *err);

/** Reads a config.json, plain or as text (which it changes); *out is a new reference. */
sw_status sw_config_load(const char *path, json_t **out, sw_error *err);
sw_status sw_config_parse(char *text, size_t bytes, const char *name, json_t **out, sw_error *err);

/** llama.cpp's mixes: true if `quant` is one. sw_mix_apply sets the type of every tensor of m. */
bool sw_mix_known(const char *quant);
sw_status sw_mix_apply(sw_model *m, const hf_cfg *c, const char *quant, sw_error *err);

/* Template tables used by more than one family (hf_rows.c). */
extern const hf_row hf_head[], hf_head_ln[], hf_norms[], hf_gqa[], hf_mla[], hf_mlp[], hf_moe[],
    hf_moe_mixtral[], hf_mtp[];
/* The families (hf_*.c), each ending in a row without a model_type. */
extern const hf_arch hf_llama[], hf_experts[], hf_classic[], hf_hybrid[], hf_gemma4[];

#endif
