/* Templates of the tensors that most decoders share: grouped-query attention, MLA, gated
 * feed-forward, mixtures of experts, and the prediction heads (MTP) that text generation leaves
 * unread. Names: modeling_*.py of Hugging Face transformers; GGUF names: gguf-py's
 * tensor_mapping.py. */
#include "models/hf.h"

/* '^' stands for the model's prefix; names without it take the head's prefix (lm_head). */
const hf_row hf_head[] = {
    {"^embed_tokens", "token_embd", SW_ROLE_EMBED, K_MAT, D_VOCAB, D_H, 0, 0},
    {"", "rope_freqs.weight", SW_ROLE_UNUSED, K_RAW32, D_POS, D_1, F_FREQS, 0},
    {"^norm", "output_norm", SW_ROLE_OUTPUT, K_VEC, D_H, D_1, 0, 0},
    {"lm_head", "output", SW_ROLE_OUTPUT, K_MAT, D_VOCAB, D_H, F_UNTIED, 0},
    {0}};

const hf_row hf_norms[] = {
    {"input_layernorm", "attn_norm", SW_ROLE_NORM, K_VEC, D_H, D_1, 0, 0},
    {"post_attention_layernorm", "ffn_norm", SW_ROLE_NORM, K_VEC, D_H, D_1, 0, 0},
    {0}};

const hf_row hf_gqa[] = {
    {"self_attn.q_proj", "attn_q", SW_ROLE_ATTN, K_LIN, D_Q, D_H, 0, F_QBIAS},
    {"self_attn.k_proj", "attn_k", SW_ROLE_ATTN, K_LIN, D_K, D_H, 0, F_QBIAS},
    {"self_attn.v_proj", "attn_v", SW_ROLE_ATTN, K_LIN, D_V, D_H, 0, F_QBIAS},
    {"self_attn.o_proj", "attn_output", SW_ROLE_ATTN, K_LIN, D_H, D_O, 0, F_OBIAS},
    {"self_attn.q_norm", "attn_q_norm", SW_ROLE_NORM, K_VEC, D_HD, D_1, F_QKNORM, 0},
    {"self_attn.k_norm", "attn_k_norm", SW_ROLE_NORM, K_VEC, D_HD, D_1, F_QKNORM, 0},
    {"self_attn.q_norm", "attn_q_norm", SW_ROLE_NORM, K_VEC, D_Q, D_1, F_QKWIDE, 0},
    {"self_attn.k_norm", "attn_k_norm", SW_ROLE_NORM, K_VEC, D_K, D_1, F_QKWIDE, 0},
    {"self_attn.sinks", "attn_sinks.weight", SW_ROLE_ATTN, K_RAW, D_HEADS, D_1, F_SINKS, 0},
    {0}};

const hf_row hf_mla[] = {
    {"self_attn.q_proj", "attn_q", SW_ROLE_ATTN, K_LIN, D_QB, D_H, F_QFULL, 0},
    {"self_attn.q_a_proj", "attn_q_a", SW_ROLE_ATTN, K_LIN, D_QL, D_H, F_QLORA, F_QBIAS},
    {"self_attn.q_a_layernorm", "attn_q_a_norm", SW_ROLE_NORM, K_VEC, D_QL, D_1, F_QLORA, 0},
    {"self_attn.q_b_proj", "attn_q_b", SW_ROLE_ATTN, K_LIN, D_QB, D_QL, F_QLORA, 0},
    {"self_attn.kv_a_proj_with_mqa", "attn_kv_a_mqa", SW_ROLE_ATTN, K_LIN, D_KVA, D_H, 0, F_QBIAS},
    {"self_attn.kv_a_layernorm", "attn_kv_a_norm", SW_ROLE_NORM, K_VEC, D_KVL, D_1, 0, 0},
    {"self_attn.kv_b_proj", "", SW_ROLE_ATTN, K_LIN, D_KVB, D_KVL, 0, 0},
    {"", "attn_k_b", SW_ROLE_ATTN, K_HEADS, D_KVL, D_NOPE, 0, 0},
    {"", "attn_v_b", SW_ROLE_ATTN, K_HEADS, D_VD, D_KVL, 0, 0},
    {"self_attn.o_proj", "attn_output", SW_ROLE_ATTN, K_LIN, D_H, D_O, 0, F_OBIAS},
    {"self_attn.indexer.wq_b", "indexer.attn_q_b", SW_ROLE_ATTN, K_LIN, D_IQ, D_QL, F_INDEX, 0},
    {"self_attn.indexer.wk", "indexer.attn_k", SW_ROLE_ATTN, K_LIN, D_ID, D_H, F_INDEX, 0},
    {"self_attn.indexer.k_norm", "indexer.k_norm", SW_ROLE_NORM, K_LN, D_ID, D_1, F_INDEX, 0},
    {"self_attn.indexer.weights_proj", "indexer.proj", SW_ROLE_ATTN, K_MAT, D_IH, D_H, F_INDEX, 0},
    {0}};

const hf_row hf_mlp[] = {{"mlp.gate_proj", "ffn_gate", SW_ROLE_MLP, K_LIN, D_FF, D_H, 0, F_MBIAS},
                         {"mlp.up_proj", "ffn_up", SW_ROLE_MLP, K_LIN, D_FF, D_H, 0, F_MBIAS},
                         {"mlp.down_proj", "ffn_down", SW_ROLE_MLP, K_LIN, D_H, D_FF, 0, F_MBIAS},
                         {0}};

/* Qwen, OLMoE, DeepSeek and GLM differ in the shared experts' name only. */
const hf_row hf_moe[] = {
    {"mlp.gate", "ffn_gate_inp", SW_ROLE_ROUTER, K_MAT, D_E, D_H, 0, 0},
    {"mlp.gate.e_score_correction_bias", "exp_probs_b.bias", SW_ROLE_ROUTER, K_RAW32, D_E, D_1,
     F_RBIAS, 0},
    {"mlp.experts.%.gate_proj", "ffn_gate_exps", SW_ROLE_EXPERT, K_LIN, D_EFF, D_H, 0, 0},
    {"mlp.experts.%.up_proj", "ffn_up_exps", SW_ROLE_EXPERT, K_LIN, D_EFF, D_H, 0, 0},
    {"mlp.experts.%.down_proj", "ffn_down_exps", SW_ROLE_EXPERT, K_LIN, D_H, D_EFF, 0, 0},
    {"mlp.shared_experts.gate_proj", "ffn_gate_shexp", SW_ROLE_SHARED, K_LIN, D_SFF, D_H, F_SHARED,
     0},
    {"mlp.shared_experts.up_proj", "ffn_up_shexp", SW_ROLE_SHARED, K_LIN, D_SFF, D_H, F_SHARED, 0},
    {"mlp.shared_experts.down_proj", "ffn_down_shexp", SW_ROLE_SHARED, K_LIN, D_H, D_SFF, F_SHARED,
     0},
    {"mlp.shared_expert.gate_proj", "ffn_gate_shexp", SW_ROLE_SHARED, K_LIN, D_SFF, D_H, F_SGATE,
     0},
    {"mlp.shared_expert.up_proj", "ffn_up_shexp", SW_ROLE_SHARED, K_LIN, D_SFF, D_H, F_SGATE, 0},
    {"mlp.shared_expert.down_proj", "ffn_down_shexp", SW_ROLE_SHARED, K_LIN, D_H, D_SFF, F_SGATE,
     0},
    {"mlp.shared_expert_gate", "ffn_gate_inp_shexp", SW_ROLE_SHARED, K_MAT, D_1, D_H, F_SGATE, 0},
    {0}};

const hf_row hf_moe_mixtral[] = {
    {"block_sparse_moe.gate", "ffn_gate_inp", SW_ROLE_ROUTER, K_MAT, D_E, D_H, 0, 0},
    {"block_sparse_moe.e_score_correction_bias", "exp_probs_b.bias", SW_ROLE_ROUTER, K_RAW32, D_E,
     D_1, F_RBIAS, 0},
    {"block_sparse_moe.experts.%.w1", "ffn_gate_exps", SW_ROLE_EXPERT, K_LIN, D_EFF, D_H, 0, 0},
    {"block_sparse_moe.experts.%.w2", "ffn_down_exps", SW_ROLE_EXPERT, K_LIN, D_H, D_EFF, 0, 0},
    {"block_sparse_moe.experts.%.w3", "ffn_up_exps", SW_ROLE_EXPERT, K_LIN, D_EFF, D_H, 0, 0},
    {0}};

/* DeepSeek V3's prediction layer, after the layer's own tensors. */
const hf_row hf_mtp[] = {{"embed_tokens", "", SW_ROLE_UNUSED, K_MAT, D_VOCAB, D_H, F_MTPEMB, 0},
                         {"enorm", "", SW_ROLE_UNUSED, K_VEC, D_H, D_1, 0, 0},
                         {"hnorm", "", SW_ROLE_UNUSED, K_VEC, D_H, D_1, 0, 0},
                         {"eh_proj", "", SW_ROLE_UNUSED, K_MAT, D_H, D_H2, 0, 0},
                         {"shared_head.norm", "", SW_ROLE_UNUSED, K_VEC, D_H, D_1, 0, 0},
                         {"shared_head.head", "", SW_ROLE_UNUSED, K_MAT, D_VOCAB, D_H, F_MTPEMB, 0},
                         {0}};
