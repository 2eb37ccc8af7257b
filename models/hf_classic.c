/* Older decoders, and the encoders of diffusion models: GPT-2, GPT-J, GPT-NeoX, OPT, Bloom, Falcon,
 * Qwen 1, Phi-2, StarCoder 2, BERT, CLIP's text model. Sources: modeling_*.py of Hugging Face
 * transformers; Bloom, Falcon and Qwen also against the index files of bloom-176b, falcon-180b-chat
 * and qwen-72b (tests/unit/models/index.c). */
#include "models/hf.h"

#define E_ SW_ROLE_EMBED
#define N_ SW_ROLE_NORM
#define A_ SW_ROLE_ATTN
#define M_ SW_ROLE_MLP
#define O_ SW_ROLE_OUTPUT

static const hf_row head_gpt2[] = {{"^wte", "token_embd", E_, K_MAT, D_VOCAB, D_H, 0, 0},
                                   {"^wpe", "position_embd", E_, K_MAT, D_POS, D_H, 0, 0},
                                   {"^ln_f", "output_norm", O_, K_LN, D_H, D_1, 0, 0},
                                   {0}};
static const hf_row attn_gpt2[] = {{"ln_1", "attn_norm", N_, K_LN, D_H, D_1, 0, 0},
                                   {"attn.c_attn", "attn_qkv", A_, K_LINT, D_QKV, D_H, 0, F_YES},
                                   {"attn.c_proj", "attn_output", A_, K_LINT, D_H, D_O, 0, F_YES},
                                   {0}};
static const hf_row mlp_gpt2[] = {{"ln_2", "ffn_norm", N_, K_LN, D_H, D_1, 0, 0},
                                  {"mlp.c_fc", "ffn_up", M_, K_LINT, D_FF, D_H, 0, F_YES},
                                  {"mlp.c_proj", "ffn_down", M_, K_LINT, D_H, D_FF, 0, F_YES},
                                  {0}};

static const hf_row head_gptj[] = {{"^wte", "token_embd", E_, K_MAT, D_VOCAB, D_H, 0, 0},
                                   {"^ln_f", "output_norm", O_, K_LN, D_H, D_1, 0, 0},
                                   {"lm_head", "output", O_, K_MAT, D_VOCAB, D_H, F_UNTIED, F_YES},
                                   {0}};
static const hf_row attn_gptj[] = {{"ln_1", "attn_norm", N_, K_LN, D_H, D_1, 0, 0},
                                   {"attn.q_proj", "attn_q", A_, K_LIN, D_Q, D_H, 0, 0},
                                   {"attn.k_proj", "attn_k", A_, K_LIN, D_K, D_H, 0, 0},
                                   {"attn.v_proj", "attn_v", A_, K_LIN, D_V, D_H, 0, 0},
                                   {"attn.out_proj", "attn_output", A_, K_LIN, D_H, D_O, 0, 0},
                                   {0}};
static const hf_row mlp_gptj[] = {{"mlp.fc_in", "ffn_up", M_, K_LIN, D_FF, D_H, 0, F_YES},
                                  {"mlp.fc_out", "ffn_down", M_, K_LIN, D_H, D_FF, 0, F_YES},
                                  {0}};

static const hf_row head_neox[] = {{"^embed_in", "token_embd", E_, K_MAT, D_VOCAB, D_H, 0, 0},
                                   {"^final_layer_norm", "output_norm", O_, K_LN, D_H, D_1, 0, 0},
                                   {"embed_out", "output", O_, K_MAT, D_VOCAB, D_H, F_UNTIED, 0},
                                   {0}};
static const hf_row attn_neox[] = {
    {"input_layernorm", "attn_norm", N_, K_LN, D_H, D_1, 0, 0},
    {"attention.query_key_value", "attn_qkv", A_, K_LIN, D_QKV, D_H, 0, F_YES},
    {"attention.dense", "attn_output", A_, K_LIN, D_H, D_O, 0, F_YES},
    {0}};
static const hf_row mlp_neox[] = {
    {"post_attention_layernorm", "ffn_norm", N_, K_LN, D_H, D_1, 0, 0},
    {"mlp.dense_h_to_4h", "ffn_up", M_, K_LIN, D_FF, D_H, 0, F_YES},
    {"mlp.dense_4h_to_h", "ffn_down", M_, K_LIN, D_H, D_FF, 0, F_YES},
    {0}};

static const hf_row head_bloom[] = {
    {"^word_embeddings", "token_embd", E_, K_MAT, D_VOCAB, D_H, 0, 0},
    {"^word_embeddings_layernorm", "token_embd_norm", O_, K_LN, D_H, D_1, 0, 0},
    {"^ln_f", "output_norm", O_, K_LN, D_H, D_1, 0, 0},
    {0}};
static const hf_row attn_bloom[] = {
    {"input_layernorm", "attn_norm", N_, K_LN, D_H, D_1, 0, 0},
    {"self_attention.query_key_value", "attn_qkv", A_, K_LIN, D_QKV, D_H, 0, F_YES},
    {"self_attention.dense", "attn_output", A_, K_LIN, D_H, D_O, 0, F_YES},
    {0}};

static const hf_row head_falcon[] = {
    {"^word_embeddings", "token_embd", E_, K_MAT, D_VOCAB, D_H, 0, 0},
    {"^ln_f", "output_norm", O_, K_LN, D_H, D_1, 0, 0},
    {"lm_head", "output", O_, K_MAT, D_VOCAB, D_H, F_UNTIED, 0},
    {0}};
static const hf_row attn_falcon[] = {
    {"input_layernorm", "attn_norm", N_, K_LN, D_H, D_1, F_ONELN, 0},
    {"ln_attn", "attn_norm_2", N_, K_LN, D_H, D_1, F_TWOLN, 0},
    {"ln_mlp", "attn_norm", N_, K_LN, D_H, D_1, F_TWOLN, 0},
    {"self_attention.query_key_value", "attn_qkv", A_, K_LIN, D_QKV, D_H, 0, F_QBIAS},
    {"self_attention.dense", "attn_output", A_, K_LIN, D_H, D_O, 0, F_QBIAS},
    {0}};
static const hf_row mlp_falcon[] = {
    {"mlp.dense_h_to_4h", "ffn_up", M_, K_LIN, D_FF, D_H, 0, F_QBIAS},
    {"mlp.dense_4h_to_h", "ffn_down", M_, K_LIN, D_H, D_FF, 0, F_QBIAS},
    {0}};

static const hf_row head_qwen[] = {{"^wte", "token_embd", E_, K_MAT, D_VOCAB, D_H, 0, 0},
                                   {"^ln_f", "output_norm", O_, K_VEC, D_H, D_1, 0, 0},
                                   {"lm_head", "output", O_, K_MAT, D_VOCAB, D_H, F_UNTIED, 0},
                                   {0}};
static const hf_row attn_qwen[] = {{"ln_1", "attn_norm", N_, K_VEC, D_H, D_1, 0, 0},
                                   {"attn.c_attn", "attn_qkv", A_, K_LIN, D_QKV, D_H, 0, F_YES},
                                   {"attn.c_proj", "attn_output", A_, K_LIN, D_H, D_O, 0, 0},
                                   {0}};
static const hf_row mlp_qwen[] = {{"ln_2", "ffn_norm", N_, K_VEC, D_H, D_1, 0, 0},
                                  {"mlp.w1", "ffn_up", M_, K_LIN, D_FF, D_H, 0, 0},
                                  {"mlp.w2", "ffn_gate", M_, K_LIN, D_FF, D_H, 0, 0},
                                  {"mlp.c_proj", "ffn_down", M_, K_LIN, D_H, D_FF, 0, 0},
                                  {0}};

static const hf_row head_opt[] = {{"^embed_tokens", "", E_, K_MAT, D_VOCAB, D_EMB, 0, 0},
                                  {"^embed_positions", "", E_, K_MAT, D_POS, D_H, 0, 0},
                                  {"^project_in", "", O_, K_MAT, D_H, D_EMB, F_PROJ, 0},
                                  {"^project_out", "", O_, K_MAT, D_EMB, D_H, F_PROJ, 0},
                                  {"^final_layer_norm", "", O_, K_LN, D_H, D_1, F_FNORM, 0},
                                  {0}};
static const hf_row attn_opt[] = {{"self_attn_layer_norm", "", N_, K_LN, D_H, D_1, 0, 0},
                                  {"self_attn.q_proj", "", A_, K_LIN, D_Q, D_H, 0, F_YES},
                                  {"self_attn.k_proj", "", A_, K_LIN, D_K, D_H, 0, F_YES},
                                  {"self_attn.v_proj", "", A_, K_LIN, D_V, D_H, 0, F_YES},
                                  {"self_attn.out_proj", "", A_, K_LIN, D_H, D_O, 0, F_YES},
                                  {0}};
static const hf_row mlp_opt[] = {{"final_layer_norm", "", N_, K_LN, D_H, D_1, 0, 0},
                                 {"fc1", "", M_, K_LIN, D_FF, D_H, 0, F_YES},
                                 {"fc2", "", M_, K_LIN, D_H, D_FF, 0, F_YES},
                                 {0}};

static const hf_row head_phi[] = {{"^embed_tokens", "", E_, K_MAT, D_VOCAB, D_H, 0, 0},
                                  {"^final_layernorm", "", O_, K_LN, D_H, D_1, 0, 0},
                                  {"lm_head", "", O_, K_MAT, D_VOCAB, D_H, F_UNTIED, F_YES},
                                  {0}};
static const hf_row attn_phi[] = {{"input_layernorm", "", N_, K_LN, D_H, D_1, 0, 0},
                                  {"self_attn.q_proj", "", A_, K_LIN, D_Q, D_H, 0, F_YES},
                                  {"self_attn.k_proj", "", A_, K_LIN, D_K, D_H, 0, F_YES},
                                  {"self_attn.v_proj", "", A_, K_LIN, D_V, D_H, 0, F_YES},
                                  {"self_attn.dense", "", A_, K_LIN, D_H, D_O, 0, F_YES},
                                  {0}};
static const hf_row mlp_phi[] = {{"mlp.fc1", "", M_, K_LIN, D_FF, D_H, 0, F_YES},
                                 {"mlp.fc2", "", M_, K_LIN, D_H, D_FF, 0, F_YES},
                                 {0}};

static const hf_row head_starcoder2[] = {
    {"^embed_tokens", "token_embd", E_, K_MAT, D_VOCAB, D_H, 0, 0},
    {"^norm", "output_norm", O_, K_LN, D_H, D_1, 0, 0},
    {"lm_head", "output", O_, K_MAT, D_VOCAB, D_H, F_UNTIED, 0},
    {0}};
static const hf_row norms_starcoder2[] = {
    {"input_layernorm", "attn_norm", N_, K_LN, D_H, D_1, 0, 0},
    {"post_attention_layernorm", "ffn_norm", N_, K_LN, D_H, D_1, 0, 0},
    {0}};
static const hf_row mlp_starcoder2[] = {{"mlp.c_fc", "ffn_up", M_, K_LIN, D_FF, D_H, 0, F_YES},
                                        {"mlp.c_proj", "ffn_down", M_, K_LIN, D_H, D_FF, 0, F_YES},
                                        {0}};

static const hf_row head_bert[] = {
    {"^embeddings.word_embeddings", "", E_, K_MAT, D_VOCAB, D_H, 0, 0},
    {"^embeddings.position_embeddings", "", E_, K_MAT, D_POS, D_H, 0, 0},
    {"^embeddings.token_type_embeddings", "", E_, K_MAT, D_TYPES, D_H, 0, 0},
    {"^embeddings.LayerNorm", "", O_, K_LN, D_H, D_1, 0, 0},
    {"^pooler.dense", "", O_, K_MAT, D_H, D_H, 0, F_YES},
    {0}};
static const hf_row attn_bert[] = {{"attention.self.query", "", A_, K_LIN, D_Q, D_H, 0, F_YES},
                                   {"attention.self.key", "", A_, K_LIN, D_K, D_H, 0, F_YES},
                                   {"attention.self.value", "", A_, K_LIN, D_V, D_H, 0, F_YES},
                                   {"attention.output.dense", "", A_, K_LIN, D_H, D_O, 0, F_YES},
                                   {"attention.output.LayerNorm", "", N_, K_LN, D_H, D_1, 0, 0},
                                   {0}};
static const hf_row mlp_bert[] = {{"intermediate.dense", "", M_, K_LIN, D_FF, D_H, 0, F_YES},
                                  {"output.dense", "", M_, K_LIN, D_H, D_FF, 0, F_YES},
                                  {"output.LayerNorm", "", N_, K_LN, D_H, D_1, 0, 0},
                                  {0}};

static const hf_row head_clip[] = {
    {"^embeddings.token_embedding", "", E_, K_MAT, D_VOCAB, D_H, 0, 0},
    {"^embeddings.position_embedding", "", E_, K_MAT, D_POS, D_H, 0, 0},
    {"^final_layer_norm", "", O_, K_LN, D_H, D_1, 0, 0},
    {"text_projection", "", O_, K_MAT, D_EMB, D_H, F_PROJ, 0},
    {0}};
static const hf_row attn_clip[] = {{"layer_norm1", "", N_, K_LN, D_H, D_1, 0, 0},
                                   {"self_attn.q_proj", "", A_, K_LIN, D_Q, D_H, 0, F_YES},
                                   {"self_attn.k_proj", "", A_, K_LIN, D_K, D_H, 0, F_YES},
                                   {"self_attn.v_proj", "", A_, K_LIN, D_V, D_H, 0, F_YES},
                                   {"self_attn.out_proj", "", A_, K_LIN, D_H, D_O, 0, F_YES},
                                   {0}};
static const hf_row norm_clip[] = {{"layer_norm2", "", N_, K_LN, D_H, D_1, 0, 0}, {0}};

static sw_status default_ff(hf_cfg *c, sw_error *err) {
    (void)err;
    if (c->ff == 0) c->ff = 4 * c->hidden;
    return SW_OK;
}

/* Falcon: one kv head with multi_query, num_kv_heads with the new architecture, else as many as
 * heads. */
static sw_status read_falcon(hf_cfg *c, sw_error *err) {
    bool modern = false, multi = true, bias = false;
    SW_TRY(sw_jobj_bool(c->text, "new_decoder_architecture", &modern, err));
    SW_TRY(sw_jobj_bool(c->text, "multi_query", &multi, err));
    SW_TRY(sw_jobj_bool(c->text, "bias", &bias, err));
    if (!modern) c->kv_heads = multi ? 1 : c->heads;
    c->flags |= modern ? F_TWOLN : F_ONELN;
    if (bias) c->flags |= F_QBIAS;
    return default_ff(c, err);
}

/* Qwen 1: intermediate_size counts both halves of the gated product. */
static sw_status read_qwen(hf_cfg *c, sw_error *err) {
    if (c->ff == 0 || c->ff % 2)
        return sw_jobj_fail(c->text, "intermediate_size", err, "missing or odd");
    c->ff /= 2;
    return SW_OK;
}

static sw_status read_opt(hf_cfg *c, sw_error *err) {
    bool before = true;
    int64_t width = c->hidden;
    SW_TRY(sw_hf_int(c->text, "word_embed_proj_dim", 1, 1 << 28, &width, err));
    SW_TRY(sw_jobj_bool(c->text, "do_layer_norm_before", &before, err));
    c->emb = width;
    c->flags |= (width != c->hidden ? F_PROJ : 0) | (before ? F_FNORM : 0);
    return default_ff(c, err);
}

static void shape_opt(const hf_cfg *c, uint32_t layer, hf_plan *p) {
    (void)layer;
    p->dim[D_POS] = (uint64_t)c->ctx + 2;
}

static sw_status read_starcoder2(hf_cfg *c, sw_error *err) {
    bool bias = true;
    SW_TRY(sw_jobj_bool(c->text, "use_bias", &bias, err));
    if (!bias) return sw_jobj_fail(c->text, "use_bias", err, "only true is supported");
    return SW_OK;
}

static sw_status read_bert(hf_cfg *c, sw_error *err) {
    return sw_hf_int(c->text, "type_vocab_size", 1, 1 << 20, &c->types, err);
}

static sw_status read_clip(hf_cfg *c, sw_error *err) {
    const json_t *arch = json_array_get(json_object_get(c->root.obj, "architectures"), 0);
    c->emb = c->hidden;
    SW_TRY(sw_hf_int(c->text, "projection_dim", 1, 1 << 28, &c->emb, err));
    const char *name = json_string_value(arch);
    if (name && strstr(name, "WithProjection")) c->flags |= F_PROJ;
    return SW_OK;
}

#define OLD(type, gguf_name, prefix_, layer_, head_, norms_, attn_, mlp_, bits, ...)               \
    {                                                                                              \
        .model_type = type, .gguf = gguf_name, .prefix = prefix_, .layer = layer_, .head = head_,  \
        .norms = norms_, .attn = attn_, .dense = mlp_, .flags = bits, __VA_ARGS__                  \
    }
#define T_ F_TIED

const hf_arch hf_classic[] = {
    OLD("gpt2", "gpt2", "", "h.%u.", head_gpt2, NULL, attn_gpt2, mlp_gpt2, T_,
        .read_first = default_ff),
    OLD("gptj", "gptj", "transformer.", "h.%u.", head_gptj, NULL, attn_gptj, mlp_gptj, 0,
        .read_first = default_ff),
    OLD("gpt_neox", "gptneox", "gpt_neox.", "layers.%u.", head_neox, NULL, attn_neox, mlp_neox, 0,
        .read_first = default_ff),
    OLD("bloom", "bloom", "", "h.%u.", head_bloom, NULL, attn_bloom, mlp_neox, T_,
        .read_first = default_ff),
    OLD("falcon", "falcon", "transformer.", "h.%u.", head_falcon, NULL, attn_falcon, mlp_falcon, 0,
        .read_first = read_falcon),
    OLD("qwen", "qwen", "transformer.", "h.%u.", head_qwen, NULL, attn_qwen, mlp_qwen, 0,
        .read_first = read_qwen),
    OLD("opt", NULL, "model.decoder.", "layers.%u.", head_opt, NULL, attn_opt, mlp_opt, T_,
        .read_first = read_opt, .shape = shape_opt),
    OLD("phi", NULL, "model.", "layers.%u.", head_phi, NULL, attn_phi, mlp_phi, 0,
        .read_first = default_ff),
    OLD("starcoder2", "starcoder2", "model.", "layers.%u.", head_starcoder2, norms_starcoder2,
        hf_gqa, mlp_starcoder2, T_ | F_QBIAS | F_OBIAS, .read_first = read_starcoder2,
        .read = sw_hf_read_window),
    OLD("bert", NULL, "bert.", "encoder.layer.%u.", head_bert, NULL, attn_bert, mlp_bert, 0,
        .read_first = read_bert),
    OLD("clip_text_model", NULL, "text_model.", "encoder.layers.%u.", head_clip, norm_clip,
        attn_clip, mlp_phi, 0, .read_first = read_clip),
    {0}};
