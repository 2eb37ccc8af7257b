/* Mixtures of experts: Mixtral, Qwen, OLMoE, DeepSeek (MLA), Kimi, GLM, gpt-oss, MiniMax, Llama 4,
 * MiMo. Sources: modeling_*.py of Hugging Face transformers or of the model's own repository. */
#include "models/hf.h"
#include "sim/base/vec.h"

static const hf_row moe_gpt_oss[] = {
    {"mlp.router", "ffn_gate_inp", SW_ROLE_ROUTER, K_MAT, D_E, D_H, 0, F_YES},
    {"mlp.experts.gate_up_proj", "ffn_gate_exps|ffn_up_exps", SW_ROLE_EXPERT, K_EXP, D_EFF2, D_H, 0,
     0},
    {"mlp.experts.gate_up_proj_bias", "ffn_gate_exps.bias|ffn_up_exps.bias", SW_ROLE_EXPERT, K_EXPB,
     D_EFF2, D_1, 0, 0},
    {"mlp.experts.down_proj", "ffn_down_exps", SW_ROLE_EXPERT, K_EXP, D_H, D_EFF, 0, 0},
    {"mlp.experts.down_proj_bias", "ffn_down_exps.bias", SW_ROLE_EXPERT, K_EXPB, D_H, D_1, 0, 0},
    {0}};

/* Qwen3-VL: all experts in one tensor, [experts, in, out]. */
static const hf_row moe_qwen3_vl[] = {
    {"mlp.gate", "ffn_gate_inp", SW_ROLE_ROUTER, K_MAT, D_E, D_H, 0, 0},
    {"mlp.experts.gate_up_proj", "ffn_gate_exps|ffn_up_exps", SW_ROLE_EXPERT, K_EXP, D_EFF2, D_H, 0,
     0},
    {"mlp.experts.down_proj", "ffn_down_exps", SW_ROLE_EXPERT, K_EXP, D_H, D_EFF, 0, 0},
    {0}};

static const hf_row mlp_llama4[] = {
    {"feed_forward.gate_proj", "ffn_gate", SW_ROLE_MLP, K_LIN, D_FF, D_H, 0, 0},
    {"feed_forward.up_proj", "ffn_up", SW_ROLE_MLP, K_LIN, D_FF, D_H, 0, 0},
    {"feed_forward.down_proj", "ffn_down", SW_ROLE_MLP, K_LIN, D_H, D_FF, 0, 0},
    {0}};

static const hf_row moe_llama4[] = {
    {"feed_forward.router", "ffn_gate_inp", SW_ROLE_ROUTER, K_MAT, D_E, D_H, 0, 0},
    {"feed_forward.experts.gate_up_proj", "ffn_gate_exps|ffn_up_exps", SW_ROLE_EXPERT, K_EXP,
     D_EFF2, D_H, 0, 0},
    {"feed_forward.experts.down_proj", "ffn_down_exps", SW_ROLE_EXPERT, K_EXP, D_H, D_EFF, 0, 0},
    {"feed_forward.shared_expert.gate_proj", "ffn_gate_shexp", SW_ROLE_SHARED, K_LIN, D_SFF, D_H, 0,
     0},
    {"feed_forward.shared_expert.up_proj", "ffn_up_shexp", SW_ROLE_SHARED, K_LIN, D_SFF, D_H, 0, 0},
    {"feed_forward.shared_expert.down_proj", "ffn_down_shexp", SW_ROLE_SHARED, K_LIN, D_H, D_SFF, 0,
     0},
    {0}};

static sw_status read_moe(hf_cfg *c, sw_error *err) {
    SW_TRY(sw_hf_read_moe(c, err));
    return sw_hf_read_window(c, err);
}

static sw_status read_gpt_oss(hf_cfg *c, sw_error *err) {
    if (c->flags & F_QBIAS) c->flags |= F_OBIAS;
    return read_moe(c, err);
}

static sw_status read_glm4(hf_cfg *c, sw_error *err) {
    bool norm = false;
    SW_TRY(sw_jobj_bool(c->text, "use_qk_norm", &norm, err));
    if (norm) c->flags |= F_QKNORM;
    return read_moe(c, err);
}

/* Llama 4: intermediate_size is an expert's, intermediate_size_mlp a dense layer's; every fourth
 * layer has no rope and attends to everything, the others within chunks. */
static sw_status read_llama4(hf_cfg *c, sw_error *err) {
    c->eff = c->sff = c->ff;
    SW_TRY(sw_hf_int(c->text, "intermediate_size_mlp", 1, 1 << 28, &c->ff, err));
    int64_t shared = c->eff;
    SW_TRY(sw_hf_read_moe(c, err));
    c->sff = shared;
    SW_TRY(sw_hf_int(c->text, "attention_chunk_size", 0, (int64_t)1 << 40, &c->window, err));
    for (int64_t i = 0; i < c->layers; i++) c->lay[i].sliding = c->window && (i + 1) % 4 != 0;
    return SW_OK;
}

/* GLM-5.2: layers whose indexer is "shared" reuse an earlier layer's choice and have none of their
 * own. */
static sw_status read_indexers(hf_cfg *c, sw_error *err) {
    const json_t *list = json_object_get(c->text.obj, "indexer_types");
    if (!list || json_is_null(list) || !(c->flags & F_INDEX)) return SW_OK;
    for (int64_t i = 0; i < c->layers; i++) {
        const char *type = json_string_value(json_array_get(list, (size_t)i));
        bool shared = type && strcmp(type, "shared") == 0;
        if (!shared && !(type && strcmp(type, "full") == 0))
            return sw_jobj_fail(c->text, "indexer_types", err, "item %d is neither full nor shared",
                                (int)i);
        if (shared) c->lay[i].no_flags = F_INDEX;
    }
    return SW_OK;
}

static sw_status read_mla(hf_cfg *c, sw_error *err) {
    if (c->kv_lora == 0 || c->nope == 0 || c->rope == 0)
        return sw_jobj_fail(c->text, "kv_lora_rank", err,
                            "this, qk_nope_head_dim or qk_rope_head_dim is missing");
    c->flags |= c->q_lora ? F_QLORA : F_QFULL;
    if (c->flags & F_QBIAS) c->flags |= F_OBIAS;
    if ((c->flags & F_INDEX) && (c->index_heads == 0 || c->index_dim == 0))
        return sw_jobj_fail(c->text, "index_n_heads", err, "this or index_head_dim is missing");
    SW_TRY(read_indexers(c, err));
    return sw_hf_read_moe(c, err);
}

/* DeepSeek V2 has no correction bias of the router, V3 has (topk_method noaux_tc). */
static sw_status read_deepseek(hf_cfg *c, sw_error *err) {
    const char *method = "";
    SW_TRY(sw_jobj_str(c->text, "topk_method", &method, err));
    if (strcmp(method, "noaux_tc") == 0) c->flags |= F_RBIAS;
    return read_mla(c, err);
}

/* MiMo V2: hybrid_layer_pattern 1 is a window with heads of its own, and sinks. */
static sw_status mimo_layers(hf_cfg *c, int64_t *list, sw_error *err) {
    int64_t kv = c->kv_heads, hd = c->head_dim, vd = c->v_dim, heads = c->heads;
    bool found, sinks = false, full = false;
    SW_TRY(sw_hf_list(c, "hybrid_layer_pattern", list, &found, err));
    if (!found) return sw_jobj_fail(c->text, "hybrid_layer_pattern", err, "missing");
    SW_TRY(sw_hf_int(c->text, "sliding_window|sliding_window_size", 1, (int64_t)1 << 40, &c->window,
                     err));
    SW_TRY(sw_hf_int(c->text, "swa_num_attention_heads", 1, 1 << 20, &heads, err));
    SW_TRY(sw_hf_int(c->text, "swa_num_key_value_heads", 1, 1 << 20, &kv, err));
    SW_TRY(sw_hf_int(c->text, "swa_head_dim", 1, 1 << 20, &hd, err));
    SW_TRY(sw_hf_int(c->text, "swa_v_head_dim", 1, 1 << 20, &vd, err));
    SW_TRY(sw_jobj_bool(c->text, "add_swa_attention_sink_bias", &sinks, err));
    SW_TRY(sw_jobj_bool(c->text, "add_full_attention_sink_bias", &full, err));
    for (int64_t i = 0; i < c->layers; i++) {
        struct hf_lay *l = &c->lay[i];
        l->sliding = list[i] != 0;
        if (l->sliding) l->heads = heads, l->kv_heads = kv, l->head_dim = hd, l->v_dim = vd;
        l->flags = (l->sliding ? sinks : full) ? F_SINKS : 0;
    }
    return SW_OK;
}

static sw_status read_mimo(hf_cfg *c, sw_error *err) {
    int64_t *list = sw_zalloc((size_t)c->layers, sizeof *list);
    if (!list) return sw_fail(err, SW_MEMORY, "no memory for %d layers", (int)c->layers);
    sw_status s = mimo_layers(c, list, err);
    free(list);
    return s == SW_OK ? sw_hf_read_moe(c, err) : s;
}

#define MOE(type, gguf_name, attn_rows, dense_rows, moe_rows, bits, reader, ...)                   \
    {                                                                                              \
        .model_type = type, .gguf = gguf_name, .prefix = "model.", .layer = "layers.%u.",          \
        .head = hf_head, .norms = hf_norms, .attn = attn_rows, .dense = dense_rows,                \
        .moe = moe_rows, .flags = bits, .read = reader, __VA_ARGS__                                \
    }

const hf_arch hf_experts[] = {
    MOE("mixtral", "llama", hf_gqa, hf_mlp, hf_moe_mixtral, 0, read_moe, ),
    MOE("minimax_m2", "minimax-m2", hf_gqa, hf_mlp, hf_moe_mixtral, F_QKWIDE | F_RBIAS, read_moe, ),
    MOE("qwen2_moe", "qwen2moe", hf_gqa, hf_mlp, hf_moe, F_QBIAS | F_SGATE, read_moe, ),
    MOE("qwen3_moe", "qwen3moe", hf_gqa, hf_mlp, hf_moe, F_QKNORM, read_moe, ),
    MOE("qwen3_vl_moe_text", "qwen3vlmoe", hf_gqa, hf_mlp, moe_qwen3_vl, F_QKNORM, read_moe, ),
    MOE("olmoe", "olmoe", hf_gqa, hf_mlp, hf_moe, F_QKWIDE, read_moe, ),
    MOE("gpt_oss", "gpt-oss", hf_gqa, hf_mlp, moe_gpt_oss, F_QBIAS | F_SINKS, read_gpt_oss, ),
    MOE("llama4_text", "llama4", hf_gqa, mlp_llama4, moe_llama4, 0, read_llama4, ),
    MOE("deepseek_v2", "deepseek2", hf_mla, hf_mlp, hf_moe, F_SHARED, read_deepseek, ),
    MOE("deepseek_v3", "deepseek2", hf_mla, hf_mlp, hf_moe, F_SHARED | F_MTPEMB, read_deepseek,
        .mtp = hf_mtp),
    MOE("kimi_k2", "deepseek2", hf_mla, hf_mlp, hf_moe, F_SHARED | F_MTPEMB, read_deepseek,
        .mtp = hf_mtp),
    MOE("deepseek_v32", "deepseek32", hf_mla, hf_mlp, hf_moe, F_SHARED | F_INDEX | F_MTPEMB,
        read_deepseek, .mtp = hf_mtp),
    MOE("glm_moe_dsa", NULL, hf_mla, hf_mlp, hf_moe, F_SHARED | F_INDEX, read_deepseek,
        .mtp = hf_mtp),
    MOE("glm4_moe", "glm4moe", hf_gqa, hf_mlp, hf_moe, F_SHARED | F_RBIAS | F_MTPEMB, read_glm4,
        .mtp = hf_mtp),
    MOE("mimo_v2_flash", NULL, hf_gqa, hf_mlp, hf_moe, F_RBIAS, read_mimo, ),
    {0}};
