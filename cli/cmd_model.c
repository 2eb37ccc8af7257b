/* spillway model: what a model weighs, layer by layer and format by format. */
#include "cli/args.h"
#include "cli/out.h"
#include "sim/report/model_text.h"
#include "sim/scenario.h"
#include <string.h>

typedef struct model_opts {
    const char *quant, *config, *json;
    bool quiet, plain;
} model_opts;

static const sw_opt opts[] = {
    {"quant", 0, SW_OPT_TEXT, "NAME", offsetof(model_opts, quant),
     "for a network or a configuration: f16, fp8, q4_k_m … (default: as published)"},
    {"config", 0, SW_OPT_TEXT, "FILE", offsetof(model_opts, config),
     "the config.json of a safetensors file that has none beside it"},
    {"json", 0, SW_OPT_TEXT, "FILE", offsetof(model_opts, json),
     "write the figures; \"-\" is standard output"},
    {"quiet", 'q', SW_OPT_FLAG, NULL, offsetof(model_opts, quiet), "print nothing but errors"},
    {"plain", 0, SW_OPT_FLAG, NULL, offsetof(model_opts, plain), "ASCII only, no colour"}};

static bool ends(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

/* The key of a scenario's `model:` map under which a word goes. */
static const char *key_of(const char *word) {
    if (ends(word, ".gguf")) return "gguf";
    if (ends(word, ".safetensors") || ends(word, ".index.json")) return "safetensors";
    if (ends(word, ".json")) return "config";
    return "network";
}

static sw_status load(const char *word, const model_opts *o, sw_model **out, sw_error *err) {
    const char *keys[3] = {key_of(word)}, *texts[3] = {word};
    sw_node nodes[3], *items[3] = {&nodes[0], &nodes[1], &nodes[2]};
    sw_mark marks[3] = {{0}};
    char data[512];
    size_t n = 1;
    if (o->quant) keys[n] = "quant", texts[n++] = o->quant;
    if (o->config) keys[n] = "config", texts[n++] = o->config;
    for (size_t i = 0; i < n; i++)
        nodes[i] = (sw_node){.kind = SW_NODE_SCALAR, .quoted = true, .text = texts[i]};
    sw_node map = {.kind = SW_NODE_MAP, .n = n, .items = items, .keys = keys, .key_marks = marks};
    sw_data_dir(NULL, data, sizeof data);
    sw_status st = sw_model_open(&map, "", data, out, err);
    size_t k = strlen(keys[0]); /* the word has no key here: the message begins with the file */
    if (st && err && !strncmp(err->text, keys[0], k) && err->text[k] == ':' &&
        strcmp(keys[0], "network"))
        memmove(err->text, err->text + k + 2, strlen(err->text + k + 2) + 1);
    return st;
}

static sw_status show(const char *word, const model_opts *o, sw_error *err) {
    sw_model *m;
    SW_TRY(load(word, o, &m, err));
    sw_style s = sw_style_for(stdout, o->plain);
    bool silent = o->quiet || (o->json && !strcmp(o->json, "-"));
    sw_status st = silent ? SW_OK : sw_model_text(m, &s, stdout, err);
    fflush(stdout);
    if (!st && o->json) st = sw_json_write(sw_model_json(m), o->json, err);
    sw_model_free(m);
    return st;
}

sw_status sw_model_show(const char *file, const char *json, bool quiet, bool plain, sw_error *err) {
    model_opts o = {.json = json, .quiet = quiet, .plain = plain};
    return show(file, &o, err);
}

static sw_status run(const sw_command *cmd, int argc, char **argv, sw_error *err) {
    model_opts o = {0};
    int n;
    SW_TRY(sw_args_read(cmd, argc, argv, &o, &n, err));
    SW_TRY(sw_output_ok("json", o.json, err));
    return show(argv[1], &o, err);
}

const sw_command sw_cmd_model = {
    .name = "model",
    .summary = "what a model weighs: bytes by role and format, its layers, KV cache by context",
    .usage = "FILE|NAME [options]",
    .doc =
        "FILE is a .gguf (its header is enough), a .safetensors or its .index.json, or a Hugging "
        "Face config.json; NAME one of spillway list networks.",
    .example = "  spillway model llama-3-70b --quant q4_k_m\n  spillway model model.gguf\n",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
