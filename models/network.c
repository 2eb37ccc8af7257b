/* Network files: models/networks/NAME.yaml, a model's configuration in YAML with its source.
 *
 *   network: Llama 3 70B
 *   source: https://huggingface.co/meta-llama/Meta-Llama-3-70B/blob/main/config.json
 *   config: {model_type: llama, hidden_size: 8192, …}   # keys of config.json
 *
 * The map is converted to JSON and takes the same path as a config.json. */
#include "models/hf.h"
#include "sim/base/vec.h"
#include <errno.h>

static sw_status convert(const sw_node *node, const char *key, json_t **out, sw_error *err);

static json_t *scalar(const sw_node *node) {
    char *end;
    if (node->quoted) return json_string(node->text);
    if (strcmp(node->text, "true") == 0) return json_true();
    if (strcmp(node->text, "false") == 0) return json_false();
    if (strcmp(node->text, "null") == 0 || strcmp(node->text, "~") == 0 || !*node->text)
        return json_null();
    errno = 0;
    long long i = strtoll(node->text, &end, 10);
    if (*end == 0 && errno == 0) return json_integer(i);
    bool number = strspn(node->text, "+-.0123456789eE") == strlen(node->text);
    double x = strtod(node->text, &end);
    if (number && *end == 0 && x - x == 0) return json_real(x);
    return json_string(node->text);
}

static sw_status convert_items(const sw_node *node, json_t *into, sw_error *err) {
    for (size_t i = 0; i < node->n; i++) {
        json_t *item = NULL;
        const char *key = node->kind == SW_NODE_MAP ? node->keys[i] : NULL;
        SW_TRY(convert(node->items[i], key, &item, err));
        int bad = key ? json_object_set_new(into, key, item) : json_array_append_new(into, item);
        if (bad)
            return sw_fail_at(err, SW_INPUT, node->items[i]->mark, key,
                              "cannot be written as JSON");
    }
    return SW_OK;
}

static sw_status convert(const sw_node *node, const char *key, json_t **out, sw_error *err) {
    json_t *value = node->kind == SW_NODE_SCALAR ? scalar(node)
                    : node->kind == SW_NODE_LIST ? json_array()
                                                 : json_object();
    if (!value) return sw_fail_at(err, SW_INPUT, node->mark, key, "cannot be written as JSON");
    sw_status s = node->kind == SW_NODE_SCALAR ? SW_OK : convert_items(node, value, err);
    if (s == SW_OK)
        *out = value;
    else
        json_decref(value);
    return s;
}

static sw_status read_network(const sw_node *root, const char *path, const char *quant,
                              sw_model **out, sw_error *err) {
    static const char *const allowed[] = {"network", "source", "config", "note"};
    const sw_node *node, *config;
    const char *title, *source;
    SW_TRY(sw_node_keys(root, "network file", allowed, 4, err));
    SW_TRY(sw_node_need(root, "network", &node, err));
    SW_TRY(sw_node_str(node, "network", &title, err));
    SW_TRY(sw_node_need(root, "source", &node, err));
    SW_TRY(sw_node_str(node, "source", &source, err));
    SW_TRY(sw_node_need(root, "config", &config, err));
    if (config->kind != SW_NODE_MAP)
        return sw_fail_at(err, SW_INPUT, config->mark, "config", "expected a map");
    json_t *doc = NULL;
    SW_TRY(convert(config, "config", &doc, err));
    sw_status s = sw_model_from_json(doc, path, source, quant, out, err);
    json_decref(doc);
    if (s == SW_OK) snprintf((*out)->name, sizeof(*out)->name, "%s", title);
    return s;
}

sw_status sw_model_from_network(const char *path, const char *quant, sw_model **out,
                                sw_error *err) {
    sw_yaml *doc = NULL;
    SW_TRY(sw_yaml_load(path, &doc, err));
    sw_status s = read_network(sw_yaml_root(doc), path, quant, out, err);
    sw_yaml_free(doc);
    return s;
}
