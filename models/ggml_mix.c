/* llama.cpp's file types: which format llama-quantize gives to each tensor of a model.
 *
 * The rules below say in a table what llama_tensor_get_type decides (llama.cpp,
 * src/llama-quant.cpp, 2026): the first rule whose file type, kind of tensor and condition hold
 * gives the format, else the file type's own holds. Then: 70B models never go under Q5_K for
 * attn_v, eight-expert models keep attn_k and attn_v at Q8_0, and a row that is no whole number of
 * blocks falls back to a format with smaller ones. One-dimensional tensors, norms, routers and
 * convolutions stay as they are (F32). Importance matrices are taken to be given for the file types
 * that cannot do without one (IQ1, IQ2, IQ3_XXS, Q2_K_S), and not for the others. */
#include "models/hf.h"
#include "sim/base/vec.h"
#include <strings.h>

/* clang-format off */
#define FILE_TYPES(X)                                                                              \
    X(Q8_0, Q8_0) X(Q4_0, Q4_0) X(Q4_1, Q4_1) X(Q5_0, Q5_0) X(Q5_1, Q5_1) X(Q2_K, Q2_K)            \
    X(Q2_K_S, Q2_K) X(Q3_K_S, Q3_K) X(Q3_K_M, Q3_K) X(Q3_K_L, Q3_K) X(Q4_K_S, Q4_K)                \
    X(Q4_K_M, Q4_K) X(Q5_K_S, Q5_K) X(Q5_K_M, Q5_K) X(Q6_K, Q6_K) X(IQ1_S, IQ1_S)                  \
    X(IQ1_M, IQ1_M) X(IQ2_XXS, IQ2_XXS) X(IQ2_XS, IQ2_XS) X(IQ2_S, IQ2_XS) X(IQ2_M, IQ2_S)         \
    X(IQ3_XXS, IQ3_XXS) X(IQ3_XS, IQ3_S) X(IQ3_S, IQ3_S) X(IQ3_M, IQ3_S) X(IQ4_NL, IQ4_NL)         \
    X(IQ4_XS, IQ4_XS) X(TQ1_0, TQ1_0) X(TQ2_0, TQ2_0) X(MXFP4_MOE, MXFP4)
/* clang-format on */

enum {
#define X(name, type) N_##name,
    FILE_TYPES(X)
#undef X
        N_COUNT
};
#define B(name) (1u << N_##name)

static const struct {
    const char *name;
    sw_dtype type;
} file_types[] = {
#define X(name, type) {#name, SW_##type},
    FILE_TYPES(X)
#undef X
};

/* Kinds of tensors, by name; tested in this order. */
enum {
    C_OUTPUT,
    C_EMBED,
    C_QKV,
    C_KVB,
    C_V,
    C_K,
    C_Q,
    C_O,
    C_UP,
    C_GATE,
    C_DOWN,
    C_OTHER,
    C_COUNT
};
static const struct {
    const char *part;
    bool whole;
} parts[] = {[C_OUTPUT] = {"output.weight", true}, [C_EMBED] = {"token_embd.weight", true},
             [C_QKV] = {"attn_qkv.weight", false}, [C_KVB] = {"attn_kv_b.weight", false},
             [C_V] = {"attn_v.weight", false},     [C_K] = {"attn_k.weight", false},
             [C_Q] = {"attn_q.weight", false},     [C_O] = {"attn_output.weight", false},
             [C_UP] = {"ffn_up", false},           [C_GATE] = {"ffn_gate", false},
             [C_DOWN] = {"ffn_down", false}};

/* Conditions. */
enum {
    ALWAYS,
    GQA4, /* at least four query heads a kv head */
    GQA4_OR_E4,
    EXPERTS8, /* exactly eight experts */
    PLAIN,    /* not eight, and not Falcon */
    FALCON,
    EIGHTH, /* in the first eighth of the layers */
    SIXTEENTH,
    FIRST2,
    FIRST4,
    MORE, /* first and last eighth, and every third between */
    EIGHTH_OR_MORE8,
    EIGHTH_NOT_FALCON,
    FALCON_16TH,
    FALCON_MORE,
    FALCON_LESS,
    MIDDLE /* neither the first nor the last eighth */
};

typedef struct rule {
    uint32_t files;
    uint8_t kind, when;
    sw_dtype type;
} rule;

#define IQ_LOW (B(IQ1_S) | B(IQ1_M) | B(IQ2_XXS) | B(IQ2_XS) | B(IQ2_S) | B(IQ2_M))
#define IQ2_UP (B(IQ2_S) | B(IQ2_M))
#define IQ4    (B(IQ4_NL) | B(IQ4_XS))
/* File types for which attn_output gets Q5_K in an eight-expert model. */
#define O_EXPERTS8                                                                                 \
    (B(Q2_K) | B(IQ3_XS) | B(IQ3_XXS) | B(Q3_K_S) | B(Q3_K_M) | IQ4 | B(Q4_K_S) | B(Q4_K_M) |      \
     B(IQ3_S) | B(IQ3_M))
/* A rule that ends the search without changing the type. */
#define KEEP SW_DTYPE_COUNT

static const rule rules[] = {
    {B(MXFP4_MOE), C_OUTPUT, ALWAYS, SW_Q8_0},
    {~0u, C_OUTPUT, FALCON, SW_Q8_0},
    {IQ_LOW | B(IQ3_XXS), C_OUTPUT, ALWAYS, SW_Q5_K},
    {B(Q8_0), C_OUTPUT, ALWAYS, KEEP},
    {~0u, C_OUTPUT, ALWAYS, SW_Q6_K},
    {B(IQ2_XXS) | B(IQ2_XS) | B(IQ1_S) | B(IQ1_M), C_EMBED, ALWAYS, SW_Q2_K},
    {IQ2_UP | B(IQ3_XXS), C_EMBED, ALWAYS, SW_IQ3_S},
    {B(TQ1_0) | B(TQ2_0), C_EMBED, ALWAYS, SW_Q4_K},
    /* attn_v (also the fused attn_qkv and attn_kv_b) */
    {IQ_LOW, C_V, GQA4_OR_E4, SW_Q4_K},
    {IQ2_UP, C_V, ALWAYS, SW_IQ3_S},
    {IQ_LOW, C_V, ALWAYS, SW_Q2_K},
    {B(Q2_K) | B(Q2_K_S) | B(IQ3_XXS) | B(IQ3_XS) | B(IQ3_S), C_V, GQA4, SW_Q4_K},
    {B(Q2_K), C_V, ALWAYS, SW_Q3_K},
    {B(IQ3_M), C_V, ALWAYS, SW_Q4_K},
    {B(Q3_K_M), C_V, FIRST2, SW_Q5_K},
    {B(Q3_K_M), C_V, ALWAYS, SW_Q4_K},
    {B(Q3_K_L), C_V, ALWAYS, SW_Q5_K},
    {IQ4, C_V, GQA4, SW_Q5_K},
    {B(Q4_K_M) | B(Q5_K_M), C_V, MORE, SW_Q6_K},
    {B(Q4_K_S), C_V, FIRST4, SW_Q5_K},
    {IQ_LOW, C_K, EXPERTS8, SW_Q4_K},
    {IQ_LOW, C_K, ALWAYS, KEEP},
    {~0u, C_K, EXPERTS8, SW_Q8_0},
    {B(IQ3_XS), C_K, ALWAYS, SW_IQ3_XXS},
    {B(IQ3_XXS), C_K, ALWAYS, SW_IQ2_S},
    {B(IQ3_XS), C_Q, ALWAYS, SW_IQ3_XXS},
    {B(IQ3_XXS), C_Q, ALWAYS, SW_IQ2_S},
    {IQ2_UP, C_DOWN, EIGHTH, SW_IQ3_S},
    {IQ_LOW, C_DOWN, EIGHTH, SW_Q2_K},
    {B(Q2_K), C_DOWN, ALWAYS, SW_Q3_K},
    {B(Q2_K_S), C_DOWN, EIGHTH, SW_Q4_K},
    {B(Q3_K_M), C_DOWN, SIXTEENTH, SW_Q5_K},
    {B(Q3_K_M), C_DOWN, FALCON_LESS, KEEP},
    {B(Q3_K_M), C_DOWN, ALWAYS, SW_Q4_K},
    {B(IQ3_M), C_DOWN, EIGHTH_OR_MORE8, SW_Q4_K},
    {B(Q3_K_L), C_DOWN, FALCON, SW_Q4_K},
    {B(Q3_K_L), C_DOWN, ALWAYS, SW_Q5_K},
    {B(Q4_K_M), C_DOWN, FALCON_16TH, SW_Q6_K},
    {B(Q4_K_M), C_DOWN, FALCON_MORE, SW_Q5_K},
    {B(Q4_K_M), C_DOWN, FALCON, KEEP},
    {B(Q4_K_M) | B(Q5_K_M), C_DOWN, MORE, SW_Q6_K},
    {IQ4, C_DOWN, EIGHTH, SW_Q5_K},
    {B(Q4_K_S), C_DOWN, EIGHTH_NOT_FALCON, SW_Q5_K},
    {IQ_LOW, C_O, EXPERTS8, SW_Q5_K},
    {B(IQ1_S) | B(IQ1_M), C_O, ALWAYS, SW_IQ2_XXS},
    {IQ2_UP, C_O, ALWAYS, SW_IQ3_S},
    {O_EXPERTS8, C_O, EXPERTS8, SW_Q5_K},
    {B(Q2_K), C_O, PLAIN, SW_Q3_K},
    {B(IQ3_XXS), C_O, PLAIN, SW_IQ3_S},
    {B(Q3_K_M) | B(IQ3_M), C_O, PLAIN, SW_Q4_K},
    {B(Q3_K_L), C_O, PLAIN, SW_Q5_K},
    {B(Q3_K_L), C_O, FALCON, SW_Q4_K},
    {B(IQ3_XS), C_GATE, MIDDLE, SW_IQ3_XXS},
    {B(IQ3_XS), C_UP, MIDDLE, SW_IQ3_XXS},
};

typedef struct mix {
    int file;
    bool falcon, is_70b, tied;
    int64_t n_layer, gqa, experts, n_v; /* n_v: tensors of attn_v's kind in the model */
    int64_t i_v, i_kind[C_COUNT];       /* how many were seen */
} mix;

static bool more_bits(int64_t i, int64_t n) {
    return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2;
}

static bool holds(const mix *q, uint8_t when, uint8_t kind, int64_t i) {
    int64_t n = kind == C_V ? q->n_v : q->n_layer;
    switch (when) {
    case GQA4:
        return q->gqa >= 4;
    case GQA4_OR_E4:
        return q->gqa >= 4 || q->experts >= 4;
    case EXPERTS8:
        return q->experts == 8 && !(kind == C_O && q->falcon);
    case PLAIN:
        return q->experts != 8 && !q->falcon;
    case FALCON:
        return q->falcon;
    case EIGHTH:
        return i < n / 8;
    case SIXTEENTH:
        return i < n / 16;
    case FIRST2:
        return i < 2;
    case FIRST4:
        return i < 4;
    case MORE:
        return more_bits(i, n);
    case EIGHTH_OR_MORE8:
        return i < n / 8 || (q->experts == 8 && more_bits(i, n));
    case EIGHTH_NOT_FALCON:
        return !q->falcon && i < n / 8;
    case FALCON_16TH:
        return q->falcon && i < n / 16;
    case FALCON_MORE:
        return q->falcon && more_bits(i, n);
    case FALCON_LESS:
        return q->falcon && !more_bits(i, n);
    case MIDDLE:
        return i >= n / 8 && i < 7 * n / 8;
    default:
        return true;
    }
}

static uint8_t kind_of(const char *name) {
    for (uint8_t k = 0; k < C_OTHER; k++)
        if (parts[k].whole ? strcmp(name, parts[k].part) == 0 : strstr(name, parts[k].part) != NULL)
            return k;
    return C_OTHER;
}

static bool is_v(uint8_t kind) {
    return kind == C_V || kind == C_QKV || kind == C_KVB;
}

/* Left alone by llama-quantize: names, besides everything with one dimension. */
static bool quantizable(const sw_tensor *t) {
    static const char *const never[] = {
        "_norm.weight", "ffn_gate_inp.weight",   "ssm_conv1d",           "position_embd",
        "token_types",  "indexer.k_proj.weight", "indexer.q_proj.weight"};
    size_t n = strlen(t->name);
    if (t->n_dims < 2 || n < 6 || strcmp(t->name + n - 6, "weight") != 0) return false;
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (strstr(t->name, never[i])) return false;
    return true;
}

/* A format with smaller blocks where the row is no whole number of blocks; F16 where none fits. */
static sw_dtype fit(sw_dtype type, uint64_t row) {
    static const struct {
        sw_dtype from, to;
    } smaller[] = {{SW_Q4_K, SW_Q5_0}, {SW_Q5_K, SW_Q5_1},  {SW_Q6_K, SW_Q8_0}, {SW_Q2_K, SW_Q4_0},
                   {SW_Q3_K, SW_Q4_0}, {SW_TQ1_0, SW_Q4_0}, {SW_TQ2_0, SW_Q4_0}};
    if (row % sw_dtype_block_elems(type) == 0) return type;
    sw_dtype to = sw_dtype_block_elems(type) == 256 ? SW_IQ4_NL : SW_F16;
    for (size_t i = 0; i < sizeof smaller / sizeof *smaller; i++)
        if (smaller[i].from == type) to = smaller[i].to;
    return row % sw_dtype_block_elems(to) ? SW_F16 : to;
}

static sw_dtype choose(mix *q, const sw_tensor *t) {
    uint8_t kind = kind_of(t->name), asked = is_v(kind) ? C_V : kind;
    sw_dtype type = file_types[q->file].type;
    uint32_t bit = 1u << q->file;
    if (kind == C_EMBED && q->tied) asked = C_OUTPUT;
    if (q->file == N_MXFP4_MOE && asked != C_OUTPUT) return t->n_experts > 1 ? SW_MXFP4 : SW_Q8_0;
    if (asked == C_OUTPUT && t->dims[0] % sw_dtype_block_elems(type))
        return fit(SW_Q8_0, t->dims[0]);
    int64_t i = asked == C_V ? q->i_v++ : q->i_kind[kind]++;
    if (asked != C_V && q->experts > 1 && t->layer >= 0) i = t->layer;
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++) {
        const rule *x = &rules[r];
        if (x->kind != asked || !(x->files & bit) || !holds(q, x->when, asked, i)) continue;
        if (x->type != KEEP) type = x->type;
        break;
    }
    bool low = (IQ_LOW & bit) != 0;
    if (asked == C_V && !low) {
        if (q->is_70b && (type == SW_Q3_K || type == SW_Q4_K)) type = SW_Q5_K;
        if (q->experts == 8) type = SW_Q8_0;
    }
    return fit(type, t->dims[0]);
}

static int find_file_type(const char *quant) {
    for (int i = 0; i < N_COUNT; i++)
        if (strcasecmp(file_types[i].name, quant) == 0) return i;
    return -1;
}

bool sw_mix_known(const char *quant) {
    return find_file_type(quant) >= 0;
}

static int in_order(const void *a, const void *b) {
    const sw_tensor *x = *(sw_tensor *const *)a, *y = *(sw_tensor *const *)b;
    return x->layer != y->layer ? (x->layer > y->layer) - (x->layer < y->layer)
                                : strcmp(x->name, y->name);
}

sw_status sw_mix_apply(sw_model *m, const hf_cfg *c, const char *quant, sw_error *err) {
    mix q = {.file = find_file_type(quant),
             .tied = m->tied,
             .n_layer = c->layers,
             .experts = c->experts};
    q.falcon = strcmp(c->arch->gguf, "falcon") == 0;
    q.gqa = c->kv_heads ? c->heads / c->kv_heads : 1;
    bool llama = strcmp(c->arch->gguf, "llama") == 0 || strcmp(c->arch->gguf, "qwen2") == 0 ||
                 strcmp(c->arch->gguf, "deci") == 0;
    q.is_70b = llama && c->layers == 80 && c->heads != c->kv_heads;
    sw_tensor **order = sw_zalloc(m->n_tensors + 1, sizeof *order);
    if (!order) return sw_fail(err, SW_MEMORY, "no memory for an order of tensors");
    for (uint64_t i = 0; i < m->n_tensors; i++) {
        order[i] = &m->tensors[i];
        q.n_v += is_v(kind_of(order[i]->name));
    }
    qsort(order, m->n_tensors, sizeof *order, in_order);
    sw_status s = SW_OK;
    for (uint64_t i = 0; s == SW_OK && i < m->n_tensors; i++) {
        if (!quantizable(order[i])) continue;
        order[i]->type = choose(&q, order[i]);
        s = sw_build_resize(order[i], err);
    }
    free(order);
    return s;
}
