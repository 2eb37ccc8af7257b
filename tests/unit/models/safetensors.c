/* Does a safetensors header give sizes to the byte, and is every broken one refused in one line? */
#include "models/safetensors.h"
#include "models.h"

#define FILE_    scratch("model.safetensors")
#define CONFIG   scratch("config.json")
#define INDEX    scratch("model.safetensors.index.json")
#define SHARD(n) scratch("model-0000" #n "-of-00002.safetensors")

static const char config[] =
    "{\"model_type\": \"llama\", \"hidden_size\": 8, \"intermediate_size\": 16,"
    "\"num_hidden_layers\": 1, \"num_attention_heads\": 2, \"vocab_size\": 10,"
    "\"tie_word_embeddings\": true, \"torch_dtype\": \"bfloat16\"}";

/* name, shape; all BF16 unless the test says otherwise. */
static const struct {
    const char *name;
    int rows, cols;
} tensors[] = {
    {"model.embed_tokens.weight", 10, 8},
    {"model.norm.weight", 8, 0},
    {"model.layers.0.input_layernorm.weight", 8, 0},
    {"model.layers.0.post_attention_layernorm.weight", 8, 0},
    {"model.layers.0.self_attn.q_proj.weight", 8, 8},
    {"model.layers.0.self_attn.k_proj.weight", 8, 8},
    {"model.layers.0.self_attn.v_proj.weight", 8, 8},
    {"model.layers.0.self_attn.o_proj.weight", 8, 8},
    {"model.layers.0.mlp.gate_proj.weight", 16, 8},
    {"model.layers.0.mlp.up_proj.weight", 16, 8},
    {"model.layers.0.mlp.down_proj.weight", 8, 16},
};
enum { N = sizeof tensors / sizeof *tensors };

/* The header's JSON of tensors first to last, and one more entry; returns the bytes of data. */
static int header(char *out, size_t size, int first, int last, const char *more) {
    int at = snprintf(out, size, "{\"__metadata__\":{\"format\":\"pt\"}"), offset = 0;
    for (int i = first; i < last; i++) {
        int bytes = tensors[i].rows * (tensors[i].cols ? tensors[i].cols : 1) * 2;
        char cols[16] = "";
        if (tensors[i].cols) snprintf(cols, sizeof cols, ",%d", tensors[i].cols);
        at += snprintf(out + at, size - (size_t)at,
                       ",\"%s\":{\"dtype\":\"BF16\",\"shape\":[%d%s],"
                       "\"data_offsets\":[%d,%d]}",
                       tensors[i].name, tensors[i].rows, cols, offset, offset + bytes);
        offset += bytes;
    }
    snprintf(out + at, size - (size_t)at, "%s}", more);
    return offset;
}

static void write_safetensors(const char *path, const char *json, size_t data) {
    static uint8_t buf[1 << 16];
    uint64_t n = strlen(json);
    memcpy(buf, &n, 8);
    memcpy(buf + 8, json, n);
    memset(buf + 8 + n, 0, data);
    write_file(path, buf, 8 + n + data);
}

static void setup(void) {
    write_file(CONFIG, config, sizeof config - 1);
}

static sw_model *open_st(const char *path, sw_error *err) {
    sw_model *m = NULL;
    *err = (sw_error){0};
    return sw_model_from_safetensors(path, NULL, &m, err) == SW_OK ? m : NULL;
}

static void refuse(const char *json, const char *part) {
    sw_error err;
    write_safetensors(FILE_, json, 0);
    CHECK(open_st(FILE_, &err) == NULL);
    check_line(&err, part);
}

static void whole_and_header(void) {
    char json[8192];
    sw_error err;
    setup();
    int data = header(json, sizeof json, 0, N, "");
    for (int cut = 0; cut < 2; cut++) {
        write_safetensors(FILE_, json, cut ? 0 : (size_t)data);
        sw_model *m = open_st(FILE_, &err);
        CU_ASSERT_PTR_NOT_NULL_FATAL(m);
        CHECK_INT(m->bytes, (uint64_t)data);
        CHECK_INT(m->n_tensors, N);
        CHECK(m->bytes_exact && m->tied);
        CHECK(!strstr(m->source, "header only") == !cut);
        CHECK_INT(m->layers[0].mlp_bytes, 3 * 8 * 16 * 2);
        sw_model_free(m);
    }
}

static void packed_weights(void) {
    char json[8192], more[512];
    sw_error err;
    setup();
    int data = header(json, sizeof json, 0, N - 1, "");
    /* down_proj as AWQ stores it: 16 x 8 weights in I32 words of eight, one group */
    snprintf(more, sizeof more,
             ",\"model.layers.0.mlp.down_proj.qweight\":{\"dtype\":\"I32\",\"shape\":[16,1],\"data_"
             "offsets\":[%d,%d]}"
             ",\"model.layers.0.mlp.down_proj.scales\":{\"dtype\":\"F16\",\"shape\":[1,8],\"data_"
             "offsets\":[%d,%d]}",
             data, data + 64, data + 64, data + 80);
    header(json, sizeof json, 0, N - 1, more);
    write_safetensors(FILE_, json, 0);
    sw_model *m = open_st(FILE_, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CHECK_INT(m->bytes, (uint64_t)data + 80);
    CHECK_INT(m->layers[0].mlp_params, 3 * 8 * 16); /* scales hold no weights */
    CHECK_INT(m->layers[0].mlp_bytes, 2 * 8 * 16 * 2 + 80);
    sw_model_free(m);
}

static void index_with_and_without_shards(void) {
    char json[8192], index[8192];
    sw_error err;
    setup();
    int at =
        snprintf(index, sizeof index, "{\"metadata\":{\"total_size\":%d},\"weight_map\":{", 1936);
    for (int i = 0; i < N; i++)
        at += snprintf(index + at, sizeof index - (size_t)at,
                       "%s\"%s\":\"model-0000%d-of-00002.safetensors\"", i ? "," : "",
                       tensors[i].name, i < 5 ? 1 : 2);
    at += snprintf(index + at, sizeof index - (size_t)at, "}}");
    write_file(INDEX, index, (size_t)at);
    sw_model *m = open_st(INDEX, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CHECK(!m->bytes_exact && strstr(m->source, "sizes from the configuration"));
    uint64_t bytes = m->bytes;
    sw_model_free(m);
    header(json, sizeof json, 0, 5, ""), write_safetensors(SHARD(1), json, 0);
    header(json, sizeof json, 5, N, ""), write_safetensors(SHARD(2), json, 0);
    m = open_st(INDEX, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CHECK(m->bytes_exact);
    CHECK_INT(m->bytes, bytes);
    sw_model_free(m);
    CHECK(open_st(SHARD(1), &err) == NULL);
    check_line(&err, "index.json");
}

static void broken(void) {
    char json[8192];
    sw_error err;
    setup();
#define ONE(shape, offsets)                                                                        \
    "{\"model.norm.weight\":{\"dtype\":\"BF16\",\"shape\":" shape ",\"data_offsets\":" offsets "}" \
    "}"
    refuse("[]", "no object");
    refuse("{", FILE_);
    refuse(ONE("[8]", "[0,15]"), "disagree");
    refuse(ONE("[8]", "[2,18]"), "a hole");
    refuse(ONE("[8]", "[16,0]"), "rising");
    refuse(ONE("[-1]", "[0,16]"), "no size");
    refuse(ONE("[4611686018427387904,4611686018427387904]", "[0,16]"), "too large");
    refuse(ONE("[1,1,1,1,1,1,1,1,1]", "[0,2]"), "up to 8");
    refuse("{\"a\":{\"dtype\":\"Q9\",\"shape\":[1],\"data_offsets\":[0,1]}}", "dtype");
    refuse("{\"a\":3}", "expected");
    refuse("{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
           "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}",
           "overlaps");
    header(json, sizeof json, 0, N - 1, "");
    refuse(json, "down_proj.weight: in the configuration, but not here");
    uint64_t lengths[] = {0, 1, 1000000000000000000u, 5000};
    for (size_t i = 0; i < 4; i++) {
        write_file(FILE_, &lengths[i], 8);
        CHECK(open_st(FILE_, &err) == NULL);
        check_line(&err, "byte");
    }
    write_file(FILE_, "abc", 3);
    CHECK(open_st(FILE_, &err) == NULL);
    check_line(&err, "byte 3");
    unlink(FILE_);
    unlink(CONFIG);
    unlink(INDEX);
    unlink(SHARD(1));
    unlink(SHARD(2));
}

SW_TESTS("models: safetensors", {"a whole file and a header", whole_and_header},
         {"packed weights", packed_weights},
         {"an index with and without its files", index_with_and_without_shards},
         {"broken headers", broken})
