/* Gemma 4: windows and full layers with heads of their own, a mixture of experts beside the dense
 * feed-forward, layers that read an earlier layer's KV, and embeddings per layer (E2B, E4B).
 * Source: modular_gemma4.py and configuration_gemma4.py of Hugging Face transformers. */
#include "models/hf.h"

#define A_ SW_ROLE_ATTN
#define N_ SW_ROLE_NORM
#define X_ SW_ROLE_EXPERT
#define R_ SW_ROLE_ROUTER

static const hf_row head[] = {
    {"^embed_tokens", "", SW_ROLE_EMBED, K_MAT, D_VOCAB, D_H, 0, 0},
    {"^embed_tokens_per_layer", "", SW_ROLE_EMBED, K_MAT, D_PLV, D_PLES, F_PLE, 0},
    {"^per_layer_model_projection", "", SW_ROLE_OUTPUT, K_MAT, D_PLES, D_H, F_PLE, 0},
    {"^per_layer_projection_norm", "", SW_ROLE_OUTPUT, K_VEC, D_PLE, D_1, F_PLE, 0},
    {"^norm", "", SW_ROLE_OUTPUT, K_VEC, D_H, D_1, 0, 0},
    {"lm_head", "", SW_ROLE_OUTPUT, K_MAT, D_VOCAB, D_H, F_UNTIED, 0},
    {0}};
static const hf_row norms[] = {
    {"input_layernorm", "", N_, K_VEC, D_H, D_1, 0, 0},
    {"post_attention_layernorm", "", N_, K_VEC, D_H, D_1, 0, 0},
    {"pre_feedforward_layernorm", "", N_, K_VEC, D_H, D_1, 0, 0},
    {"post_feedforward_layernorm", "", N_, K_VEC, D_H, D_1, 0, 0},
    {"layer_scalar", "", N_, K_RAW, D_1, D_1, 0, 0},
    {"per_layer_input_gate", "", SW_ROLE_MLP, K_LIN, D_PLE, D_H, F_PLE, 0},
    {"per_layer_projection", "", SW_ROLE_MLP, K_LIN, D_H, D_PLE, F_PLE, 0},
    {"post_per_layer_input_norm", "", N_, K_VEC, D_H, D_1, F_PLE, 0},
    {0}};
static const hf_row attn[] = {
    {"self_attn.q_proj", "", A_, K_LIN, D_Q, D_H, 0, F_QBIAS},
    {"self_attn.q_norm", "", N_, K_VEC, D_HD, D_1, 0, 0},
    {"self_attn.k_proj", "", A_, K_LIN, D_K, D_H, F_KVOWN, F_QBIAS},
    {"self_attn.v_proj", "", A_, K_LIN, D_V, D_H, F_KVOWN | F_VPROJ, F_QBIAS},
    {"self_attn.k_norm", "", N_, K_VEC, D_HD, D_1, F_KVOWN, 0},
    {"self_attn.o_proj", "", A_, K_LIN, D_H, D_O, 0, F_QBIAS},
    {0}};
static const hf_row moe[] = {{"mlp.gate_proj", "", SW_ROLE_MLP, K_LIN, D_FF, D_H, 0, 0},
                             {"mlp.up_proj", "", SW_ROLE_MLP, K_LIN, D_FF, D_H, 0, 0},
                             {"mlp.down_proj", "", SW_ROLE_MLP, K_LIN, D_H, D_FF, 0, 0},
                             {"router.proj", "", R_, K_MAT, D_E, D_H, 0, 0},
                             {"router.scale", "", R_, K_RAW, D_H, D_1, 0, 0},
                             {"router.per_expert_scale", "", R_, K_RAW, D_E, D_1, 0, 0},
                             {"experts.gate_up_proj", "", X_, K_EXP, D_EFF2, D_H, 0, 0},
                             {"experts.down_proj", "", X_, K_EXP, D_H, D_EFF, 0, 0},
                             {"pre_feedforward_layernorm_2", "", N_, K_VEC, D_H, D_1, 0, 0},
                             {"post_feedforward_layernorm_1", "", N_, K_VEC, D_H, D_1, 0, 0},
                             {"post_feedforward_layernorm_2", "", N_, K_VEC, D_H, D_1, 0, 0},
                             {0}};

static sw_status read_first(hf_cfg *c, sw_error *err) {
    SW_TRY(sw_jobj_int(c->text, "hidden_size_per_layer_input", 0, 1 << 20, &c->per_layer, err));
    SW_TRY(
        sw_jobj_int(c->text, "vocab_size_per_layer_input", 0, 1 << 28, &c->per_layer_vocab, err));
    if (c->per_layer) c->flags |= F_PLE;
    return SW_OK;
}

/* Full layers have their own heads; the last layers read the KV of the last own layer of their
 * kind. */
static sw_status read_layers(hf_cfg *c, sw_error *err) {
    int64_t shared = 0, hd = c->head_dim, kv = c->kv_heads, last[2] = {-1, -1};
    bool same = false, moe_block = false, wide = false;
    SW_TRY(sw_hf_read_window(c, err));
    SW_TRY(sw_jobj_int(c->text, "num_kv_shared_layers", 0, c->layers - 1, &shared, err));
    SW_TRY(sw_jobj_int(c->text, "global_head_dim", 1, 1 << 16, &hd, err));
    SW_TRY(sw_jobj_bool(c->text, "attention_k_eq_v", &same, err));
    SW_TRY(sw_jobj_bool(c->text, "enable_moe_block", &moe_block, err));
    SW_TRY(sw_jobj_bool(c->text, "use_double_wide_mlp", &wide, err));
    if (same) SW_TRY(sw_jobj_int(c->text, "num_global_key_value_heads", 1, 1 << 16, &kv, err));
    if (moe_block) SW_TRY(sw_hf_read_moe(c, err));
    for (int64_t i = 0; i < c->layers; i++) {
        struct hf_lay *l = &c->lay[i];
        bool own = i < c->layers - shared;
        l->flags = F_VPROJ;
        if (!l->sliding)
            l->head_dim = l->v_dim = hd, l->kv_heads = kv, l->flags = same ? 0 : F_VPROJ;
        if (own)
            last[l->sliding] = i, l->flags |= F_KVOWN;
        else if (last[l->sliding] < 0)
            return sw_jobj_fail(c->text, "num_kv_shared_layers", err,
                                "layer %d has no layer to share with", (int)i);
        l->kv_from = own ? 0 : last[l->sliding] + 1;
        if (!own && wide) l->ff = 2 * c->ff;
        l->moe = moe_block;
    }
    return SW_OK;
}

static void shape(const hf_cfg *c, uint32_t layer, hf_plan *p) {
    p->dim[D_PLE] = (uint64_t)c->per_layer;
    p->dim[D_PLES] = (uint64_t)(c->per_layer * c->layers);
    p->dim[D_PLV] = (uint64_t)c->per_layer_vocab;
    p->geo.kv_shared_with = (int32_t)c->lay[layer].kv_from - 1;
    p->geo.ff_dim = p->dim[D_FF];
}

const hf_arch hf_gemma4[] = {{.model_type = "gemma4_text",
                              .prefix = "model.",
                              .layer = "layers.%u.",
                              .head = head,
                              .norms = norms,
                              .attn = attn,
                              .dense = hf_mlp,
                              .moe = moe,
                              .flags = F_TIED,
                              .read_first = read_first,
                              .read = read_layers,
                              .shape = shape},
                             {0}};
