/* Fuzzes config.json: any text gives a model or one line. The first byte picks a `quant`. */
#include "models/hf.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const quants[] = {NULL,        "q4_k_m", "fp8",    "awq",
                                         "mxfp4_moe", "iq2_xs", "gptq-4", "nvfp4"};
    sw_model *m = NULL;
    sw_error err = {0};
    json_t *doc = NULL;
    if (size < 2) return 0;
    char *text = malloc(size);
    if (!text) return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    sw_status s = sw_config_parse(text, size - 1, "config.json", &doc, &err);
    if (s == SW_OK)
        s = sw_model_from_json(doc, "config.json", "fuzz", quants[data[0] % 8], &m, &err);
    if (s != SW_OK && (!*err.text || strchr(err.text, '\n'))) abort();
    if (s == SW_OK) sw_model_free(m);
    json_decref(doc);
    free(text);
    return 0;
}
