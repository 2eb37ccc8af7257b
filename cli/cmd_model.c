/* spillway model: what a model weighs, layer by layer and format by format. */
#include "cli/args.h"
#include "sim/base/stream.h"
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

static sw_status write_json(const sw_model *m, const char *path, sw_error *err) {
    json_t *o = sw_model_json(m);
    char *text = sw_json_text(o);
    json_decref(o);
    if (!text) return sw_fail(err, SW_MEMORY, "out of memory");
    sw_writer *w;
    sw_status st = sw_writer_open(path, &w, err);
    if (!st) {
        sw_writer_put(w, text, strlen(text));
        st = sw_writer_commit(w, err);
    }
    free(text);
    return st;
}

static sw_status run(const sw_command *cmd, int argc, char **argv, sw_error *err) {
    model_opts o = {0};
    sw_model *m;
    int n;
    SW_TRY(sw_args_read(cmd, argc, argv, &o, &n, err));
    SW_TRY(sw_output_ok("json", o.json, err));
    SW_TRY(load(argv[1], &o, &m, err));
    sw_style s = sw_style_for(stdout, o.plain);
    bool silent = o.quiet || (o.json && !strcmp(o.json, "-"));
    sw_status st = silent ? SW_OK : sw_model_text(m, &s, stdout, err);
    fflush(stdout);
    if (!st && o.json) st = write_json(m, o.json, err);
    sw_model_free(m);
    return st;
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
