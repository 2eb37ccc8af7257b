/* How a checkpoint stores its products: quantization_config, or the scenario's `quant`, to tensors.
 *
 * scheme      tensors for a product of [rows, cols]                                       written
 * by fp8 block   weight F8, weight_scale_inv F32 [rows/128, cols/128] DeepSeek, Qwen, GLM fp8
 * tensor  weight F8, weight_scale F32 [], input_scale F32 []                          modelopt fp8
 * channel weight F8, weight_scale [rows, 1] compressed-tensors int8        weight I8, weight_scale
 * [rows, 1]                                           compressed-tensors nvfp4       weight U8
 * [rows, cols/2], weight_scale F8 [rows, cols/16], weight_scale_2, input_scale F32 [] modelopt awq
 * qweight I32 [cols, rows/8], qzeros I32 [cols/g, rows/8], scales F16         AutoAWQ gptq qweight
 * I32 [cols/8, rows], qzeros, scales F16, g_idx I32 [cols]            GPTQModel packed
 * weight_packed I32 [rows, cols/8], weight_scale [rows, cols/g], weight_shape I32 [2]
 * compressed-tensors mxfp4       X_blocks U8 [experts, rows, cols/32, 16], X_scales U8 [experts,
 * rows, cols/32]  gpt-oss Side tensors hold no weights of the network (elems 0), so params does not
 * depend on the format. */
#include "models/hf.h"
#include "models/hf_filter.h"
#include "sim/base/vec.h"
#include <strings.h>

typedef struct side {
    const char *suffix;
    sw_dtype type;
    uint64_t d0, d1; /* innermost first; 0: absent */
    bool weights;
} side;

static uint64_t up(uint64_t a, uint64_t b) {
    return b ? a / b + (a % b != 0) : 0;
}

static sw_status add_side(sw_model *m, const char *module, const sw_tensor *t, const side *s,
                          sw_error *err) {
    char name[SW_MAX_NAME];
    if (snprintf(name, sizeof name, "%s%s", module, s->suffix) >= SW_MAX_NAME)
        return sw_fail(err, SW_INPUT, "tensor name %.60s… is too long", module);
    sw_tensor x = *t;
    x.name = name, x.type = s->type;
    x.dims[0] = s->d0, x.dims[1] = s->d1;
    x.n_dims = s->d0 == 0 ? 0 : s->d1 == 0 ? 1 : 2;
    if (t->n_dims == 3) { /* all experts in one tensor */
        uint32_t n = x.n_dims;
        x.dims[n] = t->dims[2], x.n_dims = n + 1;
    }
    return sw_build_tensor(m, &x, s->weights, err);
}

enum { MAX_SIDES = 4 };

/* The sides of a [rows, cols] product in scheme s; returns how many. */
static int sides_of(const hf_store *q, hf_scheme s, sw_dtype type, uint64_t rows, uint64_t cols,
                    side out[MAX_SIDES]) {
    uint64_t g = q->group && q->group < cols ? q->group : cols;
    sw_dtype half = type == SW_F32 ? SW_F32 : type;
    side fp8 = {".weight", SW_F8_E4M3, cols, rows, true};
    side one = {".weight_scale", SW_F32, 0, 0, false};
    side input = {".input_scale", SW_F32, 0, 0, false};
    switch (s) {
    case S_FP8_BLOCK:
        out[0] = fp8;
        out[1] = (side){".weight_scale_inv", SW_F32, up(cols, q->block_cols),
                        up(rows, q->block_rows), false};
        return 2;
    case S_FP8_TENSOR:
        out[0] = fp8, out[1] = one, out[2] = input;
        return 3;
    case S_FP8_CHANNEL:
        out[0] = fp8, out[1] = (side){".weight_scale", half, 1, rows, false};
        return 2;
    case S_INT8:
        out[0] = (side){".weight", SW_I8, cols, rows, true};
        out[1] = (side){".weight_scale", half, 1, rows, false};
        return 2;
    case S_NVFP4:
    case S_NVFP4_W:
        out[0] = (side){".weight", SW_F4, cols, rows, true};
        out[1] = (side){".weight_scale", SW_F8_E4M3, up(cols, 16), rows, false};
        out[2] = (side){".weight_scale_2", SW_F32, 0, 0, false};
        out[3] = input;
        return s == S_NVFP4 ? 4 : 3;
    case S_AWQ:
    case S_GPTQ:
        out[0] = (side){".qweight", SW_I4, rows, cols, true};
        out[1] = (side){".qzeros", SW_I4, rows, up(cols, g), false};
        out[2] = (side){".scales", SW_F16, rows, up(cols, g), false};
        out[3] = (side){".g_idx", SW_I32, cols, 0, false};
        return s == S_GPTQ ? 4 : 3;
    case S_PACKED:
        out[0] = (side){".weight_packed", SW_I4, cols, rows, true};
        out[1] = (side){".weight_scale", half, up(cols, g), rows, false};
        out[2] = (side){".weight_shape", SW_I32, 2, 0, false};
        return 3;
    case S_MXFP4:
        out[0] = (side){"_blocks", SW_F4, cols, rows, true};
        out[1] = (side){"_scales", SW_U8, up(cols, 32), rows, false};
        return 2;
    default:
        return 0;
    }
}

/* A quantized checkpoint holds experts that its bf16 original merges one by one:
 * X.experts.gate_up_proj becomes X.experts.N.gate_proj and X.experts.N.up_proj. */
static sw_status store_split(const hf_cfg *c, sw_model *m, const char *module, const sw_tensor *t,
                             hf_scheme s, sw_error *err) {
    const char *last = strrchr(module, '.');
    if (!last) return sw_fail(err, SW_INPUT, "tensor %s cannot be split into experts", module);
    bool both = strcmp(last, ".gate_up_proj") == 0;
    for (uint64_t e = 0; e < t->dims[2]; e++) {
        for (int half = 0; half < (both ? 2 : 1); half++) {
            char name[SW_MAX_NAME];
            const char *part = both ? (half ? ".up_proj" : ".gate_proj") : last;
            if (snprintf(name, sizeof name, "%.*s.%d%s", (int)(last - module), module, (int)e,
                         part) >= SW_MAX_NAME)
                return sw_fail(err, SW_INPUT, "tensor name %.60s… is too long", module);
            sw_tensor x = *t;
            x.n_dims = 2, x.n_experts = 1, x.dims[2] = 0;
            x.expert = t->role == SW_ROLE_EXPERT ? (int32_t)e : -1;
            x.dims[1] /= both ? 2 : 1;
            side list[MAX_SIDES];
            int n = sides_of(&c->store, s, c->type, x.dims[1], x.dims[0], list);
            for (int i = 0; i < n; i++) SW_TRY(add_side(m, name, &x, &list[i], err));
        }
    }
    return SW_OK;
}

sw_status sw_hf_store(const hf_cfg *c, sw_model *m, const char *module, const sw_tensor *t,
                      sw_error *err) {
    const hf_store *q = &c->store;
    hf_scheme s = q->scheme;
    bool merged = t->n_dims == 3;
    if (s != S_NONE && q->experts_only && t->role != SW_ROLE_EXPERT) s = S_NONE;
    if (s != S_NONE && q->listed_only) s = S_NONE;
    if (q->filtered) SW_TRY(sw_hf_filter(q->filter, module, &s, err));
    if (merged && s != S_NONE && s != S_MXFP4) return store_split(c, m, module, t, s, err);
    side list[MAX_SIDES];
    int n = sides_of(q, s, c->type, t->dims[1], t->dims[0], list);
    if (n == 0) {
        side plain = {merged ? "" : ".weight", c->type, t->dims[0], t->dims[1], true};
        return add_side(m, module, t, &plain, err);
    }
    for (int i = 0; i < n; i++) SW_TRY(add_side(m, module, t, &list[i], err));
    return SW_OK;
}

typedef struct wish {
    const char *name;
    hf_scheme scheme;
    sw_dtype type; /* of everything else; SW_DTYPE_COUNT: the configuration's */
    bool experts_only;
    uint64_t group;
} wish;

/* quant: names that give a checkpoint in Hugging Face's layout. */
static const wish wishes[] = {
    {"f32", S_NONE, SW_F32, false, 0},
    {"f16", S_NONE, SW_F16, false, 0},
    {"bf16", S_NONE, SW_BF16, false, 0},
    {"fp8", S_FP8_BLOCK, SW_DTYPE_COUNT, false, 0},
    {"int8", S_INT8, SW_DTYPE_COUNT, false, 0},
    {"nvfp4", S_NVFP4, SW_DTYPE_COUNT, false, 16},
    {"awq", S_AWQ, SW_F16, false, 128},
    {"gptq-4", S_GPTQ, SW_F16, false, 128},
    {"mxfp4", S_MXFP4, SW_DTYPE_COUNT, true, 32},
};

static sw_status unknown_quant(const char *quant, sw_error *err) {
    const char *names[sizeof wishes / sizeof *wishes];
    size_t n = sizeof wishes / sizeof *wishes;
    for (size_t i = 0; i < n; i++) names[i] = wishes[i].name;
    const char *near = sw_nearest(quant, names, n);
    return sw_fail(err, SW_INPUT,
                   "quant: `%s` is not known%s%s; f32 f16 bf16 fp8 int8 nvfp4 awq gptq-4 "
                   "mxfp4, or a format of llama.cpp's (q4_k_m, q8_0 …)",
                   quant, near ? "; did you mean " : "", near ? near : "");
}

static sw_status open_wish(hf_cfg *c, const char *quant, sw_error *err) {
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        const wish *w = &wishes[i];
        if (strcasecmp(quant, w->name) != 0) continue;
        c->store = (hf_store){.scheme = w->scheme,
                              .experts_only = w->experts_only && c->experts > 0,
                              .group = w->group,
                              .block_rows = 128,
                              .block_cols = 128};
        snprintf(c->store.label, sizeof c->store.label, "%s", w->name);
        if (w->type != SW_DTYPE_COUNT) c->type = w->type;
        return SW_OK;
    }
    return unknown_quant(quant, err);
}

sw_status sw_hf_store_open(hf_cfg *c, const char *quant, sw_error *err) {
    if (quant && sw_mix_known(quant)) {
        snprintf(c->store.label, sizeof c->store.label, "%s", quant);
        return SW_OK;
    }
    if (quant) return open_wish(c, quant, err);
    snprintf(c->store.label, sizeof c->store.label, "%s", sw_dtype_name(c->type));
    return sw_hf_store_config(c, err);
}

void sw_hf_store_close(hf_cfg *c) {
    sw_hf_filter_free(c->store.filter);
    c->store.filter = NULL;
}
