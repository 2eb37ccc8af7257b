/* Dense decoders of Llama's build: Llama, Mistral, Qwen 2 and 3, Gemma, Phi-3, GLM-4, OLMo 2,
 * Granite … Sources: modeling_*.py of Hugging Face transformers, one a model_type. */
#include "models/hf.h"

static const hf_row norms_gemma2[] = {
    {"input_layernorm", "attn_norm", SW_ROLE_NORM, K_VEC, D_H, D_1, 0, 0},
    {"post_attention_layernorm", "post_attention_norm", SW_ROLE_NORM, K_VEC, D_H, D_1, 0, 0},
    {"pre_feedforward_layernorm", "ffn_norm", SW_ROLE_NORM, K_VEC, D_H, D_1, 0, 0},
    {"post_feedforward_layernorm", "post_ffw_norm", SW_ROLE_NORM, K_VEC, D_H, D_1, 0, 0},
    {0}};

static const hf_row norms_olmo2[] = {
    {"post_attention_layernorm", "post_attention_norm", SW_ROLE_NORM, K_VEC, D_H, D_1, 0, 0},
    {"post_feedforward_layernorm", "post_ffw_norm", SW_ROLE_NORM, K_VEC, D_H, D_1, 0, 0},
    {0}};

static const hf_row norms_glm4[] = {
    {"input_layernorm", "attn_norm", SW_ROLE_NORM, K_VEC, D_H, D_1, 0, 0},
    {"post_self_attn_layernorm", "post_attention_norm", SW_ROLE_NORM, K_VEC, D_H, D_1, 0, 0},
    {"post_attention_layernorm", "ffn_norm", SW_ROLE_NORM, K_VEC, D_H, D_1, 0, 0},
    {"post_mlp_layernorm", "post_ffw_norm", SW_ROLE_NORM, K_VEC, D_H, D_1, 0, 0},
    {0}};

/* Phi-3: q, k and v in one product, gate and up in another. */
static const hf_row attn_phi3[] = {
    {"self_attn.qkv_proj", "attn_qkv", SW_ROLE_ATTN, K_LIN, D_QKV, D_H, 0, 0},
    {"self_attn.o_proj", "attn_output", SW_ROLE_ATTN, K_LIN, D_H, D_O, 0, 0},
    {0}};

static const hf_row mlp_fused[] = {
    {"mlp.gate_up_proj", "ffn_up", SW_ROLE_MLP, K_LIN, D_FF2, D_H, 0, 0},
    {"mlp.down_proj", "ffn_down", SW_ROLE_MLP, K_LIN, D_H, D_FF, 0, 0},
    {0}};

/* attention_bias puts a bias on the output product too. */
static sw_status read_llama(hf_cfg *c, sw_error *err) {
    sw_jobj rope;
    const char *type = "";
    if (c->flags & F_QBIAS) c->flags |= F_OBIAS;
    SW_TRY(sw_jobj_sub(c->text, "rope_scaling", &rope, err));
    if (rope.obj) SW_TRY(sw_jobj_str(rope, "rope_type", &type, err));
    if (strcmp(type, "llama3") == 0) c->flags |= F_FREQS;
    return SW_OK;
}

static void shape_llama(const hf_cfg *c, uint32_t layer, hf_plan *p) {
    (void)c, (void)layer;
    p->dim[D_POS] = p->dim[D_HD] / 2; /* rope_freqs */
}

static sw_status read_gemma(hf_cfg *c, sw_error *err) {
    if (c->head_dim == 0) c->head_dim = 256;
    (void)err;
    return SW_OK;
}

/* Gemma 3's multimodal configurations leave out what equals Gemma3TextConfig's defaults. */
static sw_status read_gemma3(hf_cfg *c, sw_error *err) {
    if (c->heads == 0) c->heads = 8;
    if (c->kv_heads == 0) c->kv_heads = 4;
    if (c->vocab == 0) c->vocab = 262208;
    return read_gemma(c, err);
}

static sw_status read_window_llama(hf_cfg *c, sw_error *err) {
    SW_TRY(read_llama(c, err));
    return sw_hf_read_window(c, err);
}

/* Nemotron NAS (DeciLM): each block says its own kv heads and width, or that it has none. */
static int64_t nas_width(double mult, int64_t hidden) {
    int64_t n = (int64_t)(2 * mult * (double)hidden / 3);
    return (n + 255) / 256 * 256;
}

static sw_status read_nas_block(hf_cfg *c, sw_jobj blocks, int64_t i, const json_t *block,
                                sw_error *err) {
    sw_jobj b = blocks, attn, ffn;
    bool no_attn = false, no_ffn = false, linear = false;
    int64_t group = 0;
    double mult = 0;
    b.obj = block;
    snprintf(b.path, sizeof b.path, "block_configs[%d].", (int)i);
    if (!json_is_object(block)) return sw_jobj_fail(b, "attention", err, "expected an object");
    SW_TRY(sw_jobj_sub(b, "attention", &attn, err));
    SW_TRY(sw_jobj_sub(b, "ffn", &ffn, err));
    if (!attn.obj || !ffn.obj)
        return sw_jobj_fail(b, "attention", err, "attention or ffn is missing");
    SW_TRY(sw_jobj_bool(attn, "no_op", &no_attn, err));
    SW_TRY(sw_jobj_bool(ffn, "no_op", &no_ffn, err));
    SW_TRY(sw_jobj_bool(attn, "replace_with_linear", &linear, err));
    SW_TRY(sw_jobj_bool(ffn, "replace_with_linear", &linear, err));
    if (linear) return sw_jobj_fail(b, "replace_with_linear", err, "is not supported");
    SW_TRY(sw_jobj_int(attn, "n_heads_in_group", 1, 1 << 16, &group, err));
    SW_TRY(sw_jobj_num(ffn, "ffn_mult", &mult, err));
    if (!no_attn && (group == 0 || c->heads % group))
        return sw_jobj_fail(attn, "n_heads_in_group", err, "%d does not divide %d heads",
                            (int)group, (int)c->heads);
    if (!no_ffn && !(mult > 0 && mult < 1000))
        return sw_jobj_fail(ffn, "ffn_mult", err, "missing or absurd");
    c->lay[i].kv_heads = no_attn ? 0 : c->heads / group;
    c->lay[i].ff = no_ffn ? 0 : nas_width(mult, c->hidden);
    c->lay[i].block = (char)(1 + no_attn + 2 * no_ffn);
    return SW_OK;
}

static sw_status read_nas(hf_cfg *c, sw_error *err) {
    const json_t *list = json_object_get(c->text.obj, "block_configs");
    if (!json_is_array(list) || json_array_size(list) != (size_t)c->layers)
        return sw_jobj_fail(c->text, "block_configs", err,
                            "expected an item for each of the %d layers", (int)c->layers);
    for (int64_t i = 0; i < c->layers; i++)
        SW_TRY(read_nas_block(c, c->text, i, json_array_get(list, (size_t)i), err));
    return read_llama(c, err);
}

static const hf_row norms_none[] = {{0}};
static const hf_row norm_attn[] = {
    {"input_layernorm", "attn_norm", SW_ROLE_NORM, K_VEC, D_H, D_1, 0, 0}, {0}};
static const hf_row norm_ffn[] = {
    {"post_attention_layernorm", "ffn_norm", SW_ROLE_NORM, K_VEC, D_H, D_1, 0, 0}, {0}};

static void shape_nas(const hf_cfg *c, uint32_t layer, hf_plan *p) {
    int what = c->lay[layer].block - 1;
    shape_llama(c, layer, p);
    p->norms = what == 3 ? norms_none : what == 2 ? norm_attn : what == 1 ? norm_ffn : p->norms;
    if (what & 1) p->attn = NULL, p->geo.attn = SW_ATTN_NONE, p->geo.heads = p->geo.kv_heads = 0;
    if (what & 2) p->ffn = NULL, p->geo.ffn = SW_FFN_NONE, p->geo.ff_dim = 0;
}

#define DENSE(type, gguf_name, norm_rows, attn_rows, mlp_rows, bits, ...)                          \
    {                                                                                              \
        .model_type = type, .gguf = gguf_name, .prefix = "model.", .layer = "layers.%u.",          \
        .head = hf_head, .norms = norm_rows, .attn = attn_rows, .dense = mlp_rows, .flags = bits,  \
        __VA_ARGS__                                                                                \
    }

const hf_arch hf_llama[] = {
    DENSE("llama", "llama", hf_norms, hf_gqa, hf_mlp, 0, .read = read_llama, .shape = shape_llama),
    DENSE("mistral", "llama", hf_norms, hf_gqa, hf_mlp, 0, .read = sw_hf_read_window,
          .shape = shape_llama),
    DENSE("granite", "granite", hf_norms, hf_gqa, hf_mlp, 0, .read = read_llama,
          .shape = shape_llama),
    DENSE("smollm3", "smollm3", hf_norms, hf_gqa, hf_mlp, F_TIED, .read = read_window_llama,
          .shape = shape_llama),
    DENSE("nemotron-nas", "deci", hf_norms, hf_gqa, hf_mlp, 0, .read = read_nas,
          .shape = shape_nas),
    DENSE("qwen2", "qwen2", hf_norms, hf_gqa, hf_mlp, F_QBIAS, .read = sw_hf_read_window),
    DENSE("qwen3", "qwen3", hf_norms, hf_gqa, hf_mlp, F_QKNORM, .read = read_window_llama),
    DENSE("qwen3_vl_text", "qwen3vl", hf_norms, hf_gqa, hf_mlp, F_QKNORM,
          .read = read_window_llama),
    DENSE("gemma", "gemma", hf_norms, hf_gqa, hf_mlp, F_TIED, .read_first = read_gemma),
    DENSE("gemma2", "gemma2", norms_gemma2, hf_gqa, hf_mlp, F_TIED, .read_first = read_gemma,
          .read = sw_hf_read_window, .window_every = 2),
    DENSE("gemma3", "gemma3", norms_gemma2, hf_gqa, hf_mlp, F_TIED | F_QKNORM,
          .read_first = read_gemma3, .read = sw_hf_read_window, .window_every = 6),
    DENSE("gemma3_text", "gemma3", norms_gemma2, hf_gqa, hf_mlp, F_TIED | F_QKNORM,
          .read_first = read_gemma3, .read = sw_hf_read_window, .window_every = 6),
    DENSE("phi3", "phi3", hf_norms, attn_phi3, mlp_fused, 0, .read = sw_hf_read_window),
    DENSE("glm4", "glm4", norms_glm4, hf_gqa, mlp_fused, 0, ),
    DENSE("olmo2", "olmo2", norms_olmo2, hf_gqa, hf_mlp, F_QKWIDE, ),
    {0}};
