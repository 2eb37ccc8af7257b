/* Does the GGUF reader take sizes to the byte from a header, and refuse every broken one in one
 * line? The files are written here, by the small writer below. */
#include "models/gguf.h"
#include "models.h"

enum {
    T_F32 = 0,
    T_F16 = 1,
    T_Q4_0 = 2,
    T_Q4_K = 12,
    V_U32 = 4,
    V_F32 = 6,
    V_BOOL = 7,
    V_STRING = 8,
    V_ARRAY = 9
};

typedef struct writer {
    uint8_t data[1 << 16];
    size_t n;
    uint64_t offset; /* of the next tensor */
} writer;

static void put(writer *w, const void *data, size_t n) {
    memcpy(w->data + w->n, data, n), w->n += n;
}
static void put32(writer *w, uint32_t x) {
    put(w, &x, 4);
}
static void put64(writer *w, uint64_t x) {
    put(w, &x, 8);
}
static void text(writer *w, const char *s) {
    put64(w, strlen(s)), put(w, s, strlen(s));
}
static void head(writer *w, uint32_t version, uint64_t tensors, uint64_t values) {
    w->n = 0, w->offset = 0;
    put(w, "GGUF", 4), put32(w, version), put64(w, tensors), put64(w, values);
}
static void key32(writer *w, const char *key, uint32_t x) {
    text(w, key), put32(w, V_U32), put32(w, x);
}
static void key_text(writer *w, const char *key, const char *x) {
    text(w, key), put32(w, V_STRING), text(w, x);
}

/* A tensor at the next aligned offset; bytes: what it takes. */
static void tensor(writer *w, const char *name, uint32_t type, uint64_t d0, uint64_t d1,
                   uint64_t d2, uint64_t bytes) {
    uint32_t n = d2 ? 3 : d1 ? 2 : 1;
    text(w, name), put32(w, n), put64(w, d0);
    if (n > 1) put64(w, d1);
    if (n > 2) put64(w, d2);
    put32(w, type), put64(w, w->offset);
    w->offset += (bytes + 31) / 32 * 32;
}

/* A model of two layers: one dense, one of four experts. `data`: with its tensors' bytes. */
static void small_model(writer *w, bool data) {
    head(w, 3, 18, 11);
    key_text(w, "general.architecture", "llama");
    key_text(w, "general.name", "small");
    key32(w, "llama.block_count", 2);
    key32(w, "llama.embedding_length", 256);
    key32(w, "llama.context_length", 4096);
    key32(w, "llama.feed_forward_length", 512);
    key32(w, "llama.attention.head_count", 4);
    text(w, "llama.attention.head_count_kv"), put32(w, V_ARRAY), put32(w, V_U32), put64(w, 2),
        put32(w, 2), put32(w, 1);
    key32(w, "llama.expert_count", 4);
    key32(w, "llama.expert_used_count", 2);
    text(w, "tokenizer.ggml.tokens"), put32(w, V_ARRAY), put32(w, V_STRING), put64(w, 2),
        text(w, "a"), text(w, "bc");
    tensor(w, "token_embd.weight", T_F16, 256, 1000, 0, 512000);
    tensor(w, "output_norm.weight", T_F32, 256, 0, 0, 1024);
    for (int l = 0; l < 2; l++) {
        char name[64];
#define NAME(s) (snprintf(name, sizeof name, "blk.%d." s ".weight", l), name)
        tensor(w, NAME("attn_norm"), T_F32, 256, 0, 0, 1024);
        tensor(w, NAME("attn_q"), T_Q4_K, 256, 256, 0, 36864);
        tensor(w, NAME("attn_k"), T_Q4_K, 256, l ? 64 : 128, 0, l ? 9216 : 18432);
        tensor(w, NAME("attn_v"), T_Q4_K, 256, l ? 64 : 128, 0, l ? 9216 : 18432);
        tensor(w, NAME("attn_output"), T_Q4_K, 256, 256, 0, 36864);
    }
    tensor(w, "blk.0.ffn_gate.weight", T_Q4_0, 256, 512, 0, 73728);
    tensor(w, "blk.0.ffn_up.weight", T_Q4_0, 256, 512, 0, 73728);
    tensor(w, "blk.0.ffn_down.weight", T_Q4_0, 512, 256, 0, 73728);
    tensor(w, "blk.1.ffn_gate_inp.weight", T_F32, 256, 4, 0, 4096);
    tensor(w, "blk.1.ffn_up_exps.weight", T_Q4_0, 256, 512, 4, 294912);
    tensor(w, "blk.1.ffn_down_exps.weight", T_Q4_0, 512, 256, 4, 294912);
    if (data) w->n = (w->n + 31) / 32 * 32; /* the caller adds w->offset bytes */
}

#define PATH scratch("model.gguf")

static sw_status read_bytes(const writer *w, size_t n, sw_model **out, sw_error *err) {
    write_file(PATH, w->data, n);
    sw_status s = sw_model_from_gguf(PATH, out, err);
    unlink(PATH);
    return s;
}

static void refuse(const writer *w, const char *part) {
    sw_model *m = NULL;
    sw_error err = {0};
    CHECK(read_bytes(w, w->n, &m, &err) == SW_INPUT);
    CHECK(m == NULL);
    check_line(&err, PATH);
    check_line(&err, part);
}

static writer w;

static void sizes(void) {
    sw_model *m = NULL;
    sw_error err = {0};
    small_model(&w, true);
    FILE *f = fopen(PATH, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fwrite(w.data, 1, w.n, f);
    CHECK_INT(ftruncate(fileno(f), (off_t)(w.n + w.offset)), 0);
    fclose(f);
    gguf_file g;
    CU_ASSERT_EQUAL_FATAL(sw_gguf_read(PATH, &g, &err), SW_OK);
    CHECK_INT(g.data_offset, w.n);
    CHECK_INT((g.data_bytes + 31) / 32 * 32, w.offset); /* the tensors fill the file's data */
    sw_gguf_close(&g);
    CU_ASSERT_EQUAL_FATAL(sw_model_from_gguf(PATH, &m, &err), SW_OK);
    unlink(PATH);
    CHECK_STR(m->name, "small");
    CHECK(m->bytes_exact && m->tied && !strstr(m->source, "header only"));
    CHECK_INT(m->bytes, w.offset); /* all sizes here are multiples of the alignment */
    CHECK_INT(m->vocab, 1000);
    CHECK_INT(m->layers[0].kv_elems_per_token, 2 * 2 * 64);
    CHECK_INT(m->layers[1].kv_elems_per_token, 2 * 1 * 64);
    CHECK_INT(m->layers[0].mlp_bytes, 3 * 73728);
    CHECK_INT(m->layers[1].expert_bytes, 2 * 73728);
    CHECK_INT(m->layers[1].n_experts, 4);
    CHECK_INT(m->layers[1].top_k, 2);
    CHECK_INT(m->layers[1].router_params, 1024);
    sw_model_free(m);
}

static void header_alone(void) {
    sw_model *m = NULL;
    sw_error err = {0};
    small_model(&w, false);
    CU_ASSERT_EQUAL_FATAL(read_bytes(&w, w.n, &m, &err), SW_OK);
    CHECK(strstr(m->source, "header only") != NULL);
    CHECK_INT(m->bytes, w.offset);
    sw_model_free(m);
}

static void cut_at_every_byte(void) {
    small_model(&w, false);
    for (size_t n = 0; n < w.n; n++) {
        sw_model *m = NULL;
        sw_error err = {0};
        CHECK(read_bytes(&w, n, &m, &err) == SW_INPUT);
        check_line(&err, "byte");
    }
}

/* Any byte may be anything: never a crash, and if it is refused, then in one line. */
static void any_byte_changed(void) {
    small_model(&w, false);
    for (size_t i = 0; i < w.n; i++) {
        for (int k = 0; k < 3; k++) {
            sw_model *m = NULL;
            sw_error err = {0};
            uint8_t old = w.data[i];
            w.data[i] = k == 0 ? 0xff : k == 1 ? 0 : old ^ 0x80;
            if (read_bytes(&w, w.n, &m, &err) == SW_OK)
                sw_model_free(m);
            else
                check_line(&err, PATH);
            w.data[i] = old;
        }
    }
}

static void wrong_heads(void) {
    head(&w, 3, 0, 0), memcpy(w.data, "GGML", 4), refuse(&w, "not a GGUF");
    head(&w, 3, 0, 0), memcpy(w.data, "FUGG", 4), refuse(&w, "version 1");
    head(&w, 0x03000000, 0, 0), refuse(&w, "big-endian");
    head(&w, 4, 0, 0), refuse(&w, "version 4");
    head(&w, 3, 1000000000000000000u, 0), refuse(&w, "tensors");
    head(&w, 3, 0, 1000000000000000000u), refuse(&w, "key-values");
    head(&w, 3, 0, 0), refuse(&w, "general.architecture");
    head(&w, 3, 1, 0), text(&w, "x"), put32(&w, 5), refuse(&w, "5 dimensions");
    head(&w, 3, 0, 1), put64(&w, 1000000000000000000u), refuse(&w, "a key of");
    head(&w, 3, 0, 1), text(&w, "k"), put32(&w, V_ARRAY), put32(&w, V_U32),
        put64(&w, 1000000000000000000u);
    refuse(&w, "items");
    head(&w, 3, 0, 1), text(&w, "k"), put32(&w, V_ARRAY), put32(&w, V_ARRAY), put64(&w, 1);
    refuse(&w, "array");
    head(&w, 3, 0, 1), text(&w, "k"), put32(&w, 99), refuse(&w, "not known");
}

static void with_tensor(uint32_t type, uint64_t d0, uint64_t d1, uint64_t offset) {
    head(&w, 3, 1, 0);
    text(&w, "t"), put32(&w, 2), put64(&w, d0), put64(&w, d1), put32(&w, type), put64(&w, offset);
}

static void wrong_tensors(void) {
    with_tensor(T_F32, 1000000000000000000u, 1000000000000000000u, 0), refuse(&w, "too large");
    with_tensor(T_F32, 1ull << 62, 8, 0), refuse(&w, "too large");
    with_tensor(T_F32, 256, 1, 1ull << 63), refuse(&w, "2^63");
    with_tensor(T_F32, 256, 1, 7), refuse(&w, "not aligned");
    with_tensor(T_Q4_K, 100, 1, 0), refuse(&w, "blocks of 256");
    with_tensor(31, 256, 1, 0), refuse(&w, "type 31");
    with_tensor(1000, 256, 1, 0), refuse(&w, "type 1000");
    head(&w, 3, 2, 0), w.offset = 0;
    tensor(&w, "a", T_F32, 256, 0, 0, 1024), w.offset = 512,
                                             tensor(&w, "b", T_F32, 256, 0, 0, 1024);
    refuse(&w, "overlap");
    head(&w, 3, 2, 0);
    tensor(&w, "a", T_F32, 256, 0, 0, 1024), tensor(&w, "a", T_F32, 256, 0, 0, 1024),
        refuse(&w, "twice");
    head(&w, 3, 0, 1), key32(&w, "general.alignment", 33), refuse(&w, "alignment");
    head(&w, 3, 0, 1), key32(&w, "general.alignment", 0), refuse(&w, "alignment");
}

static void wrong_models(void) {
    float nan_value = NAN;
    head(&w, 3, 0, 2), key_text(&w, "general.architecture", "llama"),
        key32(&w, "llama.block_count", 4000000000u);
    refuse(&w, "block_count");
    head(&w, 3, 0, 2), key_text(&w, "general.architecture", "llama");
    text(&w, "llama.block_count"), put32(&w, V_F32), put(&w, &nan_value, 4),
        refuse(&w, "block_count");
    head(&w, 3, 0, 3), key_text(&w, "general.architecture", "llama"),
        key32(&w, "llama.block_count", 2);
    key32(&w, "llama.embedding_length", 64), refuse(&w, "layer 0 has no tensors (a vocabulary");
    head(&w, 3, 1, 4), key_text(&w, "general.architecture", "llama"),
        key32(&w, "llama.block_count", 1);
    key32(&w, "llama.embedding_length", 256), key32(&w, "llama.attention.head_count", 3);
    tensor(&w, "blk.5.attn_q.weight", T_F32, 256, 256, 0, 262144),
        refuse(&w, "the model has 1 layers");
    small_model(&w, false);
    for (size_t i = 0; i + 23 < w.n; i++) /* twice as many experts chosen as there are */
        if (!memcmp(w.data + i, "expert_used_count", 17)) w.data[i + 21] = 8;
    refuse(&w, "chosen");
}

/* The vocabularies of llama.cpp's repository are real files without weights. */
static void real_files(void) {
    static const char *const names[] = {"ggml-vocab-llama.gguf", "ggml-vocab-phi-3.gguf",
                                        "ggml-vocab-bert-bge.gguf"};
    for (size_t i = 0; i < 3; i++) {
        char path[512];
        sw_error err = {0};
        gguf_file g;
        snprintf(path, sizeof path, "%s/../shared/data/inputs/gguf/%s", SPILLWAY_SOURCE_DIR,
                 names[i]);
        if (access(path, R_OK)) {
            printf("skipped %s (not at hand) ", names[i]);
            continue;
        }
        CU_ASSERT_EQUAL_FATAL(sw_gguf_read(path, &g, &err), SW_OK);
        CHECK_INT(g.model->n_tensors, 0);
        const gguf_value *arch = sw_gguf_value(&g, "general.architecture");
        CHECK(arch && arch->text && *arch->text);
        sw_gguf_close(&g);
    }
}

SW_TESTS("models: GGUF", {"sizes to the byte", sizes}, {"a header alone", header_alone},
         {"cut at every byte", cut_at_every_byte}, {"any byte changed", any_byte_changed},
         {"wrong heads", wrong_heads}, {"wrong tensors", wrong_tensors},
         {"wrong models", wrong_models}, {"real files", real_files})
