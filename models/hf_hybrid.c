/* Hybrids of attention and constant-size state: Nemotron-H (Mamba 2) and Qwen 3.5 / Qwen3-Next
 * (gated delta net).
 *
 * state_elems and state_bytes: the recurrent state (F32 in the reference kernels) and the
 * convolution's window (the model's type) of one sequence. Sources: modeling_nemotron_h.py,
 * modeling_qwen3_next.py and modeling_qwen3_5.py of Hugging Face transformers; Nemotron's
 * prediction head (mtp.*, 270 and 1040 tensors) and Qwen's (mtp.fc …) as their repositories'
 * indexes list them. */
#include "models/hf.h"
#include "sim/base/vec.h"

#define A_ SW_ROLE_ATTN
#define N_ SW_ROLE_NORM
#define S_ SW_ROLE_SHARED
#define X_ SW_ROLE_EXPERT
#define R_ SW_ROLE_ROUTER
#define U_ SW_ROLE_UNUSED

/* ---- Nemotron-H: every layer is one block: M state, * attention, E experts, - feed-forward. */

static const hf_row head_nemotron[] = {
    {"^embeddings", "token_embd", SW_ROLE_EMBED, K_MAT, D_VOCAB, D_H, 0, 0},
    {"^norm_f", "output_norm", SW_ROLE_OUTPUT, K_VEC, D_H, D_1, 0, 0},
    {"lm_head", "output", SW_ROLE_OUTPUT, K_MAT, D_VOCAB, D_H, F_UNTIED, 0},
    {0}};
static const hf_row norm_nemotron[] = {{"norm", "attn_norm", N_, K_VEC, D_H, D_1, 0, 0}, {0}};
static const hf_row block_mamba[] = {
    {"mixer.in_proj", "ssm_in", A_, K_LIN, D_SIN, D_H, 0, F_SBIAS},
    {"mixer.conv1d", "ssm_conv1d", A_, K_CONV, D_SCONV, D_SKERN, 0, F_CBIAS},
    {"mixer.A_log", "ssm_a", A_, K_RAW, D_SHEADS, D_1, 0, 0},
    {"mixer.D", "ssm_d", A_, K_RAW, D_SHEADS, D_1, 0, 0},
    {"mixer.dt_bias", "ssm_dt.bias", A_, K_RAW, D_SHEADS, D_1, 0, 0},
    {"mixer.norm", "ssm_norm", N_, K_VEC, D_SINNER, D_1, 0, 0},
    {"mixer.out_proj", "ssm_out", A_, K_LIN, D_H, D_SINNER, 0, F_SBIAS},
    {0}};
static const hf_row block_attn[] = {
    {"mixer.q_proj", "attn_q", A_, K_LIN, D_Q, D_H, 0, F_QBIAS},
    {"mixer.k_proj", "attn_k", A_, K_LIN, D_K, D_H, 0, F_QBIAS},
    {"mixer.v_proj", "attn_v", A_, K_LIN, D_V, D_H, 0, F_QBIAS},
    {"mixer.o_proj", "attn_output", A_, K_LIN, D_H, D_O, 0, F_QBIAS},
    {0}};
static const hf_row block_mlp[] = {
    {"mixer.up_proj", "ffn_up", SW_ROLE_MLP, K_LIN, D_FF, D_H, 0, F_MBIAS},
    {"mixer.down_proj", "ffn_down", SW_ROLE_MLP, K_LIN, D_H, D_FF, 0, F_MBIAS},
    {0}};
static const hf_row block_moe[] = {
    {"mixer.gate", "ffn_gate_inp", R_, K_MAT, D_E, D_H, 0, 0},
    {"mixer.gate.e_score_correction_bias", "exp_probs_b.bias", R_, K_RAW32, D_E, D_1, 0, 0},
    {"mixer.fc1_latent_proj", "ffn_latent_down", S_, K_LIN, D_EIN, D_H, F_LATENT, F_MBIAS},
    {"mixer.fc2_latent_proj", "ffn_latent_up", S_, K_LIN, D_H, D_EIN, F_LATENT, F_MBIAS},
    {"mixer.experts.%.up_proj", "ffn_up_exps", X_, K_LIN, D_EFF, D_EIN, 0, 0},
    {"mixer.experts.%.down_proj", "ffn_down_exps", X_, K_LIN, D_EIN, D_EFF, 0, 0},
    {"mixer.shared_experts.up_proj", "ffn_up_shexp", S_, K_LIN, D_SFF, D_H, F_SHARED, F_MBIAS},
    {"mixer.shared_experts.down_proj", "ffn_down_shexp", S_, K_LIN, D_H, D_SFF, F_SHARED, F_MBIAS},
    {0}};
static const hf_row mtp_nemotron_first[] = {{"eh_proj", "", U_, K_MAT, D_H, D_H2, 0, 0},
                                            {"enorm", "", U_, K_VEC, D_H, D_1, 0, 0},
                                            {"hnorm", "", U_, K_VEC, D_H, D_1, 0, 0},
                                            {0}};
static const hf_row mtp_nemotron_last[] = {{"final_layernorm", "", U_, K_VEC, D_H, D_1, 0, 0}, {0}};

/* A block's letter from either spelling. */
static char block_letter(const char *word) {
    static const struct {
        const char *word;
        char letter;
    } words[] = {{"mamba", 'M'}, {"attention", '*'}, {"moe", 'E'}, {"mlp", '-'}};
    for (size_t i = 0; i < 4; i++)
        if (strcmp(words[i].word, word) == 0) return words[i].letter;
    return 0;
}

/* Before the defaults: the number of layers may be given by the list alone. */
static sw_status first_nemotron(hf_cfg *c, sw_error *err) {
    static const struct {
        const char *key;
        size_t at;
        bool need;
    } needs[] = {{"conv_kernel", offsetof(hf_cfg, conv_kernel), true},
                 {"ssm_state_size", offsetof(hf_cfg, state), true},
                 {"n_groups", offsetof(hf_cfg, groups), true},
                 {"mamba_num_heads", offsetof(hf_cfg, s_heads), true},
                 {"mamba_head_dim", offsetof(hf_cfg, s_head_dim), true},
                 {"moe_latent_size", offsetof(hf_cfg, latent), false}};
    const char *pattern = NULL;
    bool conv = true, bias = false;
    SW_TRY(sw_jobj_str(c->text, "hybrid_override_pattern", &pattern, err));
    const json_t *list = json_object_get(c->text.obj, "layers_block_type");
    int64_t n = pattern ? (int64_t)strlen(pattern) : (int64_t)json_array_size(list);
    if (n == 0) return sw_jobj_fail(c->text, "hybrid_override_pattern", err, "missing");
    if (n > SW_MAX_LAYERS) return sw_jobj_fail(c->text, "hybrid_override_pattern", err, "too long");
    if (c->layers && c->layers != n)
        return sw_jobj_fail(c->text, "num_hidden_layers", err, "%d, but %d blocks are listed",
                            (int)c->layers, (int)n);
    c->layers = n;
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        int64_t *at = (int64_t *)((char *)c + needs[i].at);
        SW_TRY(sw_jobj_int(c->text, needs[i].key, 1, 1 << 28, at, err));
        if (needs[i].need && *at == 0) return sw_jobj_fail(c->text, needs[i].key, err, "missing");
    }
    SW_TRY(sw_jobj_bool(c->text, "use_conv_bias", &conv, err));
    SW_TRY(sw_jobj_bool(c->text, "use_bias", &bias, err));
    c->flags |= (conv ? F_CBIAS : 0) | (bias ? F_SBIAS : 0) | (c->latent ? F_LATENT : 0);
    return SW_OK;
}

static sw_status read_nemotron(hf_cfg *c, sw_error *err) {
    const char *pattern = NULL;
    SW_TRY(sw_jobj_str(c->text, "hybrid_override_pattern", &pattern, err));
    const json_t *list = json_object_get(c->text.obj, "layers_block_type");
    bool moe = false;
    for (int64_t i = 0; i < c->layers; i++) {
        const char *word = pattern ? NULL : json_string_value(json_array_get(list, (size_t)i));
        char letter = pattern ? pattern[i] : word ? block_letter(word) : 0;
        if (!letter || !strchr("M*E-", letter))
            return sw_jobj_fail(c->text, pattern ? "hybrid_override_pattern" : "layers_block_type",
                                err, "block %d is not known", (int)i);
        c->lay[i].block = letter;
        moe |= letter == 'E';
    }
    if (!moe) return SW_OK;
    SW_TRY(sw_hf_read_moe(c, err));
    for (int64_t i = 0; i < c->layers; i++) c->lay[i].moe = c->lay[i].block == 'E';
    return SW_OK;
}

static void state_figures(const hf_cfg *c, sw_layer *g, uint64_t recurrent, uint64_t window) {
    g->attn = SW_ATTN_STATE;
    g->heads = g->kv_heads = g->head_dim = g->v_head_dim = 0;
    g->state_elems = recurrent + window;
    g->state_bytes = 4 * recurrent + window * sw_dtype_block_bytes(c->type);
}

static void mamba_dims(const hf_cfg *c, hf_plan *p) {
    uint64_t inner = (uint64_t)(c->s_heads * c->s_head_dim);
    uint64_t conv = inner + 2 * (uint64_t)(c->groups * c->state);
    p->dim[D_SINNER] = inner, p->dim[D_SCONV] = conv, p->dim[D_SKERN] = (uint64_t)c->conv_kernel;
    p->dim[D_SHEADS] = (uint64_t)c->s_heads, p->dim[D_SIN] = inner + conv + (uint64_t)c->s_heads;
}

static void shape_nemotron(const hf_cfg *c, uint32_t layer, hf_plan *p) {
    /* The prediction head: one attention block, then one of experts. */
    char block = layer < c->layers ? c->lay[layer].block : (layer - c->layers) % 2 ? 'E' : '*';
    p->attn = p->ffn = NULL;
    mamba_dims(c, p);
    p->geo.attn = SW_ATTN_NONE, p->geo.ffn = SW_FFN_NONE, p->geo.ff_dim = 0;
    switch (block) {
    case 'M':
        p->attn = block_mamba;
        state_figures(c, &p->geo, (uint64_t)(c->s_heads * c->s_head_dim * c->state),
                      p->dim[D_SCONV] * p->dim[D_SKERN]);
        return;
    case '*':
        p->attn = block_attn, p->geo.attn = SW_ATTN_FULL;
        if (layer >= c->layers) p->extra = mtp_nemotron_first;
        return;
    case 'E':
        p->ffn = block_moe, p->geo.ffn = SW_FFN_MOE;
        if (layer >= c->layers) p->extra = mtp_nemotron_last;
        break;
    default:
        p->ffn = block_mlp, p->geo.ffn = SW_FFN_DENSE, p->geo.ff_dim = p->dim[D_FF];
        break;
    }
    p->geo.heads = p->geo.kv_heads = p->geo.head_dim = p->geo.v_head_dim = 0;
}

/* ---- Qwen 3.5: three layers of gated delta net, then one of gated attention. */

static const hf_row attn_gated[] = {
    {"self_attn.q_proj", "attn_q", A_, K_LIN, D_QG, D_H, 0, F_QBIAS},
    {"self_attn.k_proj", "attn_k", A_, K_LIN, D_K, D_H, 0, F_QBIAS},
    {"self_attn.v_proj", "attn_v", A_, K_LIN, D_V, D_H, 0, F_QBIAS},
    {"self_attn.o_proj", "attn_output", A_, K_LIN, D_H, D_O, 0, F_QBIAS},
    {"self_attn.q_norm", "attn_q_norm", N_, K_VEC, D_HD, D_1, 0, 0},
    {"self_attn.k_norm", "attn_k_norm", N_, K_VEC, D_HD, D_1, 0, 0},
    {0}};
static const hf_row attn_delta[] = {
    {"linear_attn.in_proj_qkv", "attn_qkv", A_, K_LIN, D_SCONV, D_H, 0, 0},
    {"linear_attn.in_proj_z", "attn_gate", A_, K_LIN, D_SINNER, D_H, 0, 0},
    {"linear_attn.in_proj_b", "ssm_beta", A_, K_LIN, D_SHEADS, D_H, 0, 0},
    {"linear_attn.in_proj_a", "ssm_alpha", A_, K_LIN, D_SHEADS, D_H, 0, 0},
    {"linear_attn.conv1d", "ssm_conv1d", A_, K_CONV, D_SCONV, D_SKERN, 0, 0},
    {"linear_attn.A_log", "ssm_a", A_, K_RAW, D_SHEADS, D_1, 0, 0},
    {"linear_attn.dt_bias", "ssm_dt.bias", A_, K_RAW, D_SHEADS, D_1, 0, 0},
    {"linear_attn.norm", "ssm_norm", N_, K_VEC, D_SHD, D_1, 0, 0},
    {"linear_attn.out_proj", "ssm_out", A_, K_LIN, D_H, D_SINNER, 0, 0},
    {0}};
/* Qwen3-Next: the same weights in two products. */
static const hf_row attn_delta_next[] = {
    {"linear_attn.in_proj_qkvz", "", A_, K_LIN, D_SZ, D_H, 0, 0},
    {"linear_attn.in_proj_ba", "", A_, K_LIN, D_SIN, D_H, 0, 0},
    {"linear_attn.conv1d", "", A_, K_CONV, D_SCONV, D_SKERN, 0, 0},
    {"linear_attn.A_log", "", A_, K_RAW, D_SHEADS, D_1, 0, 0},
    {"linear_attn.dt_bias", "", A_, K_RAW, D_SHEADS, D_1, 0, 0},
    {"linear_attn.norm", "", N_, K_VEC, D_SHD, D_1, 0, 0},
    {"linear_attn.out_proj", "", A_, K_LIN, D_H, D_SINNER, 0, 0},
    {0}};
static const hf_row moe_qwen35[] = {
    {"mlp.gate", "ffn_gate_inp", R_, K_MAT, D_E, D_H, 0, 0},
    {"mlp.experts.gate_up_proj", "ffn_gate_exps|ffn_up_exps", X_, K_EXP, D_EFF2, D_H, 0, 0},
    {"mlp.experts.down_proj", "ffn_down_exps", X_, K_EXP, D_H, D_EFF, 0, 0},
    {"mlp.shared_expert.gate_proj", "ffn_gate_shexp", S_, K_LIN, D_SFF, D_H, F_SGATE, 0},
    {"mlp.shared_expert.up_proj", "ffn_up_shexp", S_, K_LIN, D_SFF, D_H, F_SGATE, 0},
    {"mlp.shared_expert.down_proj", "ffn_down_shexp", S_, K_LIN, D_H, D_SFF, F_SGATE, 0},
    {"mlp.shared_expert_gate", "ffn_gate_inp_shexp", S_, K_MAT, D_1, D_H, F_SGATE, 0},
    {0}};
static const hf_row mtp_qwen[] = {{"^^mtp.fc", "", U_, K_MAT, D_H, D_H2, 0, 0},
                                  {"^^mtp.norm", "", U_, K_VEC, D_H, D_1, 0, 0},
                                  {"^^mtp.pre_fc_norm_embedding", "", U_, K_VEC, D_H, D_1, 0, 0},
                                  {"^^mtp.pre_fc_norm_hidden", "", U_, K_VEC, D_H, D_1, 0, 0},
                                  {0}};

static sw_status first_qwen35(hf_cfg *c, sw_error *err) {
    SW_TRY(sw_jobj_int_need(c->text, "linear_conv_kernel_dim", 1, 1024, &c->conv_kernel, err));
    SW_TRY(sw_jobj_int_need(c->text, "linear_key_head_dim", 1, 1 << 16, &c->state, err));
    SW_TRY(sw_jobj_int_need(c->text, "linear_num_key_heads", 1, 1 << 16, &c->groups, err));
    SW_TRY(sw_jobj_int_need(c->text, "linear_num_value_heads", 1, 1 << 16, &c->s_heads, err));
    SW_TRY(sw_jobj_int_need(c->text, "linear_value_head_dim", 1, 1 << 16, &c->s_head_dim, err));
    SW_TRY(sw_jobj_int(c->text, "mtp_num_hidden_layers", 0, 1, &c->mtp, err));
    bool own = false, gate = true;
    SW_TRY(sw_jobj_bool(c->text, "mtp_use_dedicated_embeddings", &own, err));
    SW_TRY(sw_jobj_bool(c->text, "attn_output_gate", &gate, err));
    if (own || !gate)
        return sw_jobj_fail(c->text, own ? "mtp_use_dedicated_embeddings" : "attn_output_gate", err,
                            "only the usual value is supported");
    return SW_OK;
}

static sw_status read_qwen35(hf_cfg *c, sw_error *err) {
    int64_t every = 4;
    SW_TRY(sw_hf_read_window(c, err));
    if (!json_object_get(c->text.obj, "layer_types")) {
        SW_TRY(sw_jobj_int(c->text, "full_attention_interval", 1, SW_MAX_LAYERS, &every, err));
        for (int64_t i = 0; i < c->layers; i++) c->lay[i].block = (i + 1) % every ? 'L' : 0;
    }
    return c->experts ? sw_hf_read_moe(c, err) : SW_OK;
}

static void shape_qwen35(const hf_cfg *c, uint32_t layer, hf_plan *p) {
    uint64_t key = (uint64_t)(c->groups * c->state), value = (uint64_t)(c->s_heads * c->s_head_dim);
    p->dim[D_SINNER] = value, p->dim[D_SCONV] = 2 * key + value;
    p->dim[D_SKERN] = (uint64_t)c->conv_kernel, p->dim[D_SHEADS] = (uint64_t)c->s_heads;
    p->dim[D_SHD] = (uint64_t)c->s_head_dim;
    p->dim[D_SZ] = 2 * key + 2 * value, p->dim[D_SIN] = 2 * (uint64_t)c->s_heads;
    if (layer >= c->layers) p->extra = mtp_qwen;
    if (layer >= c->layers || c->lay[layer].block != 'L') return;
    p->attn = c->arch->attn2;
    state_figures(c, &p->geo, (uint64_t)(c->s_heads * c->s_head_dim * c->state),
                  p->dim[D_SCONV] * p->dim[D_SKERN]);
}

#define QWEN35(type, gguf_name, delta, moe_rows)                                                   \
    {                                                                                              \
        .model_type = type, .gguf = gguf_name, .prefix = "model.", .layer = "layers.%u.",          \
        .head = hf_head, .norms = hf_norms, .attn = attn_gated, .attn2 = delta, .dense = hf_mlp,   \
        .moe = moe_rows, .mtp_prefix = "mtp.layers.%u.", .flags = F_SGATE,                         \
        .read_first = first_qwen35, .read = read_qwen35, .shape = shape_qwen35                     \
    }

const hf_arch hf_hybrid[] = {{.model_type = "nemotron_h",
                              .prefix = "backbone.",
                              .layer = "layers.%u.",
                              .head = head_nemotron,
                              .norms = norm_nemotron,
                              .mtp_prefix = "mtp.layers.%u.",
                              .mtp_layers = 2,
                              .flags = F_SHARED,
                              .read_first = first_nemotron,
                              .read = read_nemotron,
                              .shape = shape_nemotron},
                             QWEN35("qwen3_5_text", NULL, attn_delta, moe_qwen35),
                             QWEN35("qwen3_5_moe_text", NULL, attn_delta, moe_qwen35),
                             QWEN35("qwen3_next", NULL, attn_delta_next, hf_moe),
                             {0}};
