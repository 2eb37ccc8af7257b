/* Does each family's configuration give the layers that its papers describe, and is what is unknown
 * or absurd refused in one line with the file and the key? */
#include "models.h"
#include "models/hf_filter.h"

static sw_model *open_config(const char *name) {
    char flow[256];
    snprintf(flow, sizeof flow, "{config: %s}", name);
    sw_model *m = open_map(flow, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    return m;
}

static uint32_t count(const sw_model *m, sw_attn_kind kind) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_layers; i++) n += m->layers[i].attn == kind;
    return n;
}

static uint32_t count_moe(const sw_model *m) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_layers; i++) n += m->layers[i].ffn == SW_FFN_MOE;
    return n;
}

static void windows(void) {
    static const struct {
        const char *network;
        uint32_t full, window;
        uint64_t tokens;
    } rows[] = {{"gpt-oss-120b", 18, 18, 128}, {"gemma-2-9b", 21, 21, 4096},
                {"gemma-3-27b", 10, 52, 1024}, {"mistral-7b-v0.1", 0, 32, 4096},
                {"mistral-7b", 32, 0, 0},      {"llama-4-scout", 12, 36, 8192},
                {"qwen2.5-7b", 28, 0, 0},      {"phi-4", 40, 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sw_model *m = open_network(rows[i].network, "");
        CU_ASSERT_PTR_NOT_NULL_FATAL(m);
        CHECK_INT(count(m, SW_ATTN_FULL), rows[i].full);
        CHECK_INT(count(m, SW_ATTN_WINDOW), rows[i].window);
        for (uint32_t l = 0; l < m->n_layers; l++)
            if (m->layers[l].attn == SW_ATTN_WINDOW) CHECK_INT(m->layers[l].window, rows[i].tokens);
        sw_model_free(m);
    }
}

static void latent_attention(void) {
    sw_model *m = open_config("deepseek-ai_DeepSeek-V3.json");
    CHECK_INT(count(m, SW_ATTN_MLA), 61);
    CHECK_INT(count_moe(m), 58);
    CHECK_INT(m->layers[2].ffn, SW_FFN_DENSE);
    CHECK_INT(m->layers[0].kv_elems_per_token,
              576); /* llama.cpp: 2196 MiB for 32768 tokens in f16 */
    CHECK_INT(m->layers[0].kv_elems_per_token * 61 * 32768 * 2, (uint64_t)2196 << 20);
    sw_model_free(m);
    m = open_config("zai-org_GLM-5.2.json"); /* every fourth layer has an indexer of its own */
    uint32_t with = 0;
    for (uint32_t i = 0; i < m->n_layers; i++) with += m->layers[i].kv_index_dim != 0;
    CHECK_INT(with, 21);
    sw_model_free(m);
}

static void states(void) {
    sw_model *m = open_config("nvidia_NVIDIA-Nemotron-3-Nano-30B-A3B-BF16.json");
    CHECK_INT(count(m, SW_ATTN_STATE), 23);
    CHECK_INT(count(m, SW_ATTN_FULL), 6);
    CHECK_INT(count_moe(m), 23);
    CHECK_INT(m->layers[0].state_elems, 64 * 64 * 128 + 4 * (64 * 64 + 2 * 8 * 128));
    CHECK_INT(m->layers[0].kv_elems_per_token, 0);
    sw_model_free(m);
    m = open_config("Qwen_Qwen3.5-122B-A10B.json");
    CHECK_INT(count(m, SW_ATTN_STATE), 36);
    CHECK_INT(count(m, SW_ATTN_FULL), 12);
    CHECK_INT(m->layers[0].state_elems, 64 * 128 * 128 + 4 * (2 * 16 * 128 + 64 * 128));
    CHECK(strstr(m->source, "vision tower not counted") != NULL);
    sw_model_free(m);
}

static void odd_layers(void) {
    sw_model *m = open_config("XiaomiMiMo_MiMo-V2-Flash.json");
    CHECK_INT(m->layers[0].kv_elems_per_token, 4 * (192 + 128));
    CHECK_INT(m->layers[1].kv_elems_per_token, 8 * (192 + 128));
    CHECK_INT(m->layers[1].window, 128);
    sw_model_free(m);
    m = open_network("llama-4-maverick", "");
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CHECK_INT(count_moe(m), 24);
    sw_model_free(m);
}

/* Gemma 4: 25 windows of 8 heads of 256, 5 full layers of 2 heads of 512 whose values are their
 * keys. */
static void gemma4(void) {
    sw_model *m = open_config("google_gemma-4-26B-A4B.json");
    CHECK_INT(count(m, SW_ATTN_WINDOW), 25);
    CHECK_INT(m->layers[0].kv_elems_per_token, 2 * 8 * 256);
    CHECK_INT(m->layers[5].kv_elems_per_token, 2 * 2 * 512);
    CHECK(m->layers[0].mlp_params && m->layers[0].n_experts == 128);
    sw_model_free(m);
}

static void unsupported(void) {
    static const char *const names[] = {"deepseek-ai_DeepSeek-V4-Flash.json",
                                        "MiniMaxAI_MiniMax-M3.json",
                                        "stepfun-ai_Step-3.7-Flash.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char flow[256];
        sw_error err;
        snprintf(flow, sizeof flow, "{config: %s}", names[i]);
        CHECK(open_map(flow, &err) == NULL);
        check_line(&err, "is not supported; give a GGUF or a safetensors header");
    }
}

static hf_scheme scheme_of(const char *pattern, const char *module) {
    hf_filter *f = sw_hf_filter_new();
    hf_scheme s = S_FP8_BLOCK;
    CHECK_INT(sw_hf_filter_add(f, pattern, S_NONE, NULL), SW_OK);
    sw_hf_filter_ready(f);
    CHECK_INT(sw_hf_filter(f, module, &s, NULL), SW_OK);
    sw_hf_filter_free(f);
    return s;
}

/* Lists of modules left out of quantization: which names they mean, and that none takes long. */
static void module_patterns(void) {
    static const struct {
        const char *pattern, *module;
        bool hit;
    } rows[] = {
        {"lm_head", "lm_head", true},
        {"model.layers.1", "model.layers.1.mlp.up_proj", true},
        {"model.layers.1", "model.layers.10.mlp.up_proj", false},
        {"gate", "model.layers.0.mlp.gate", true},
        {"gate", "model.layers.0.mlp.gate_proj", false},
        {"model.layers.*.self_attn", "model.layers.3.self_attn", true},
        {"model.layers.1.self_attn*", "model.layers.1.self_attn.q_proj", true},
        {"mtp*", "model.mtp", false},
        {"re:.*self_attn.*", "model.layers.1.self_attn.q_proj", true},
        {"re:.*mlp\\.(gate|up|gate_up|down)_proj.*", "model.layers.0.mlp.gate_up_proj", true},
        {"re:.*mlp\\.(gate|up|gate_up|down)_proj.*", "model.layers.1.mlp.experts.0.up_proj", false},
        {"re:^lm.head$", "lm_head", true},
        {"re:^lm.head$", "lm_head.x", false},
        {"re:model", "model.norm", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool hit = scheme_of(rows[i].pattern, rows[i].module) == S_NONE;
        CHECK(hit == rows[i].hit);
        if (hit != rows[i].hit) printf("\n  %s on %s\n", rows[i].pattern, rows[i].module);
    }
    char stars[400] = "", as[400];
    for (int i = 0; i < 120; i++) strcat(stars, "*a");
    memset(as, 'a', sizeof as - 1), as[sizeof as - 1] = 0;
    strcat(stars, "*b");
    CHECK(scheme_of(stars, as) != S_NONE);
    hf_filter *f = sw_hf_filter_new();
    sw_error err = {0};
    CHECK_INT(sw_hf_filter_add(f, "re:(a+)+$", S_NONE, &err), SW_INPUT);
    check_line(&err, "not understood");
    sw_hf_filter_free(f);
}

#define LLAMA                                                                                      \
    "\"model_type\":\"llama\",\"hidden_size\":64,\"num_attention_heads\":4,\"intermediate_size\":" \
    "128,"                                                                                         \
    "\"vocab_size\":100,"
#define MIXTRAL                                                                                    \
    "\"model_type\":\"mixtral\",\"hidden_size\":64,\"num_attention_heads\":4,\"intermediate_"      \
    "size\":128,"                                                                                  \
    "\"vocab_size\":100,\"num_hidden_layers\":2,"

static void absurd(void) {
    static const struct {
        const char *json, *part;
    } rows[] = {
        {"{}", "model_type"},
        {"[]", "object"},
        {"{\"model_type\":7}", "model_type"},
        {"{" LLAMA "\"x\":1}", "num_hidden_layers: missing"},
        {"{" LLAMA "\"num_hidden_layers\":1000000000000000000}", "num_hidden_layers"},
        {"{" LLAMA "\"num_hidden_layers\":-1}", "num_hidden_layers"},
        {"{" LLAMA "\"num_hidden_layers\":\"many\"}", "num_hidden_layers"},
        {"{" LLAMA "\"num_hidden_layers\":2,\"num_key_value_heads\":3}", "kv heads"},
        {"{" LLAMA "\"num_hidden_layers\":2,\"torch_dtype\":\"int3\"}", "int3"},
        {"{" LLAMA "\"num_hidden_layers\":2,\"quantization_config\":{\"quant_method\":\"magic\"}}",
         "magic"},
        {"{" LLAMA "\"num_hidden_layers\":2,\"quantization_config\":3}", "quantization_config"},
        {"{" MIXTRAL "\"num_local_experts\":8}", "num_experts_per_tok"},
        {"{" MIXTRAL "\"num_local_experts\":8,\"num_experts_per_tok\":9}", "9 chosen out of 8"},
        {"{" MIXTRAL "\"num_local_experts\":70000,\"num_experts_per_tok\":2}", "num_local_experts"},
        {"{\"model_type\":\"qwen3_moe\",\"hidden_size\":268435456,\"num_attention_heads\":1048576,"
         "\"head_dim\":1048576,\"vocab_size\":268435456,\"num_hidden_layers\":9000,\"num_experts\":"
         "65536,"
         "\"num_experts_per_tok\":1,\"intermediate_size\":1}",
         "too many tensors"},
        {"{\"model_type\":\"llama\",\"hidden_size\":268435456,\"num_attention_heads\":1048576,"
         "\"head_dim\":1048576,\"vocab_size\":268435456,\"num_hidden_layers\":100,\"intermediate_"
         "size\":1}",
         "too large"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sw_error err = {0};
        sw_model *m = NULL;
        write_file(scratch("config.json"), rows[i].json, strlen(rows[i].json));
        CHECK(sw_model_from_config(scratch("config.json"), NULL, &m, &err) == SW_INPUT);
        CHECK(m == NULL);
        check_line(&err, rows[i].part);
        check_line(&err, scratch("config.json"));
    }
    unlink(scratch("config.json"));
}

SW_TESTS("models: configurations", {"windows", windows}, {"latent attention", latent_attention},
         {"states", states}, {"layers of their own kind", odd_layers}, {"Gemma 4", gemma4},
         {"architectures not supported", unsupported}, {"patterns of modules", module_patterns},
         {"absurd configurations", absurd})
