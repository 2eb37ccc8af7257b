/* Do llama.cpp's mixes give the sizes of real GGUF files?
 *
 * Llama 3.1 8B: bits per weight of every file type, tools/quantize/README.md (whole files; all
 * agree to the last printed digit, as tokenizers are 0.008 % of a file and left out there). Others:
 * the "model size" line of llama.cpp's logs, tensors only, in GiB to two digits (tests note where
 * the file is older than the rules). */
#include "models.h"

static void bits_of_llama_8b(void) {
    static const struct {
        const char *quant;
        double bits;
    } rows[] = {{"iq1_s", 2.0042},  {"iq1_m", 2.1460},  {"iq2_xxs", 2.3824}, {"iq2_xs", 2.5882},
                {"iq2_s", 2.7403},  {"iq2_m", 2.9294},  {"iq3_xxs", 3.2548}, {"iq3_xs", 3.4977},
                {"iq3_s", 3.6606},  {"iq3_m", 3.7628},  {"iq4_xs", 4.4597},  {"iq4_nl", 4.6818},
                {"q2_k_s", 2.9697}, {"q2_k", 3.1593},   {"q3_k_s", 3.6429},  {"q3_k_l", 4.2979},
                {"q4_k_s", 4.6672}, {"q4_k_m", 4.8944}, {"q5_k_s", 5.5704},  {"q5_k_m", 5.7036},
                {"q6_k", 6.5633},   {"q8_0", 8.5008}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sw_model *m = open_network("llama-3.1-8b", rows[i].quant);
        CU_ASSERT_PTR_NOT_NULL_FATAL(m);
        double bits = 8.0 * (double)m->bytes / (double)m->params;
        CHECK(fabs(bits - rows[i].bits) < 0.00006);
        if (fabs(bits - rows[i].bits) >= 0.00006)
            printf("\n  %s: %.4f, expected %.4f\n", rows[i].quant, bits, rows[i].bits);
        sw_model_free(m);
    }
}

static void sizes_in_gib(void) {
    static const struct {
        const char *network, *quant;
        double gib;
    } rows[] = {{"llama-2-7b", "q4_0", 3.56},        {"llama-2-7b", "q8_0", 6.67},
                {"llama-2-13b", "q4_0", 6.86},       {"llama-3-8b", "q4_k_m", 4.58},
                {"llama-3-70b", "q4_k_m", 39.59},    {"llama-3-70b", "q2_k", 24.55},
                {"llama-3-70b", "iq1_s", 14.28},     {"llama-3-70b", "q3_k_m", 31.90},
                {"llama-3-70b", "q5_k_m", 46.51},    {"llama-3-70b", "q6_k", 53.90},
                {"qwen3-30b-a3b", "q8_0", 30.25},    {"qwen3-30b-a3b", "q4_k_m", 17.28},
                {"gemma-3-27b", "q4_k_m", 15.40},    {"mixtral-8x7b", "q4_k_m", 26.49},
                {"gpt-oss-20b", "mxfp4_moe", 11.27}, {"gpt-oss-120b", "mxfp4_moe", 59.02},
                {"deepseek-v3", "q4_k_m", 376.71},   {"deepseek-v2-lite", "q4_k_m", 9.65},
                {"qwen2.5-72b", "q4_k_m", 44.15},    {"phi-4", "q4_k_m", 8.43}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sw_model *m = open_network(rows[i].network, rows[i].quant);
        CU_ASSERT_PTR_NOT_NULL_FATAL(m);
        double gib = (double)m->bytes / 0x1p30;
        CHECK(fabs(gib - rows[i].gib) < 0.0101);
        if (fabs(gib - rows[i].gib) >= 0.0101)
            printf("\n  %s %s: %.3f GiB, expected %.2f\n", rows[i].network, rows[i].quant, gib,
                   rows[i].gib);
        sw_model_free(m);
    }
}

/* llama.cpp's log of Llama 3 8B Q4_K_M: 281.81 MiB of token embedding on the CPU, 4403.49 MiB on
 * the GPU. */
static void buffers_of_a_log(void) {
    sw_model *m = open_network("llama-3-8b", "q4_k_m");
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CHECK(fabs((double)m->embed_bytes / 0x1p20 - 281.81) < 0.005);
    CHECK(fabs((double)(m->bytes - m->embed_bytes) / 0x1p20 - 4403.49) < 0.005);
    CHECK_INT(m->layers[0].kv_elems_per_token * 2 * 8192 * 32,
              (uint64_t)1024 << 20); /* KV f16: 1024 MiB */
    sw_model_free(m);
}

static void checkpoints_of_other_formats(void) {
    static const struct {
        const char *network, *quant;
        uint64_t bytes;
    } rows[] = {
        {"llama-3-8b", "f32", 32121044992},
        {"llama-3-8b", "bf16", 16060522496},
        {"qwen3-30b-a3b", "fp8", 31174545408}, /* as Qwen3-30B-A3B-FP8's configuration gives it */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sw_model *m = open_network(rows[i].network, rows[i].quant);
        CU_ASSERT_PTR_NOT_NULL_FATAL(m);
        CHECK_INT(m->bytes, rows[i].bytes);
        sw_model_free(m);
    }
    sw_model *awq = open_network("llama-3-8b", "awq");
    CU_ASSERT_PTR_NOT_NULL_FATAL(awq);
    CHECK_INT(awq->params, 8030261248);
    CHECK_REL((double)awq->bytes, 5.73e9, 0.01); /* repositories hold 5.73 GB */
    sw_model_free(awq);
}

static void refusals(void) {
    sw_error err;
    CHECK(open_map("{network: llama-3-8b, quant: q4_k_x}", &err) == NULL);
    check_line(&err, "quant");
    CHECK(open_map("{network: opt-6.7b, quant: q4_k_m}", &err) == NULL);
    check_line(&err, "not offered");
    CHECK(open_map("{network: llama-3-80b}", &err) == NULL);
    check_line(&err, "did you mean");
    CHECK(open_map("{network: ../../x}", &err) == NULL);
    check_line(&err, "test.yaml:1");
    CHECK(open_map("{quant: q8_0}", &err) == NULL);
    check_line(&err, "network");
}

SW_TESTS("models: llama.cpp's mixes", {"Llama 3.1 8B, bits per weight", bits_of_llama_8b},
         {"sizes of other models", sizes_in_gib}, {"buffers of a log", buffers_of_a_log},
         {"formats of checkpoints", checkpoints_of_other_formats}, {"refusals", refusals})
