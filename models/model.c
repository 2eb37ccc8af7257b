/* A scenario's `model:` map to a model: picks the reader (sim/model.h). */
#include "models/build.h"
#include "sim/base/vec.h"
#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

/* Joins a relative file name to the scenario's folder; malloc'd. */
static char *join(const char *dir, const char *name) {
    char *path = NULL;
    if (*name == '/' || !dir || !*dir) return sw_strdup(name);
    return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Names a network that does not exist, with the nearest that does. */
static sw_status no_network(const sw_node *node, const char *name, const char *folder,
                            sw_error *err) {
    enum { MAX = 512 };
    char *names[MAX];
    size_t n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && n < MAX && (e = readdir(d));) {
        size_t len = strlen(e->d_name);
        if (len < 6 || strcmp(e->d_name + len - 5, ".yaml") != 0) continue;
        names[n] = sw_strdup(e->d_name);
        if (names[n]) names[n++][len - 5] = 0;
    }
    if (d) closedir(d);
    const char *near = sw_nearest(name, (const char *const *)names, n);
    sw_status s = sw_fail_at(err, SW_INPUT, node->mark, "network", "no network `%s` in %s%s%s",
                             name, folder, near ? "; did you mean " : "", near ? near : "");
    while (n) free(names[--n]);
    return s;
}

static sw_status open_network(const sw_node *node, const char *data_dir, const char *quant,
                              sw_model **out, sw_error *err) {
    const char *name;
    SW_TRY(sw_node_str(node, "network", &name, err));
    if (!*name || strchr(name, '/') || *name == '.')
        return sw_fail_at(err, SW_INPUT, node->mark, "network", "`%s` is no name of a network",
                          name);
    char *folder = join(data_dir, "models/networks"), *path = NULL;
    if (!folder || asprintf(&path, "%s/%s.yaml", folder, name) < 0) {
        free(folder);
        return sw_fail(err, SW_MEMORY, "no memory for a path");
    }
    sw_status s = access(path, R_OK) ? no_network(node, name, folder, err)
                                     : sw_model_from_network(path, quant, out, err);
    if (s == SW_OK && !*(*out)->name) snprintf((*out)->name, sizeof(*out)->name, "%s", name);
    free(folder);
    free(path);
    return s;
}

static sw_status open_file(const sw_node *map, const char *key, const char *dir, const char *quant,
                           sw_model **out, sw_error *err) {
    const char *name, *config_name = NULL;
    SW_TRY(sw_node_str(sw_node_get(map, key), key, &name, err));
    const sw_node *config = sw_node_get(map, "config");
    if (config) SW_TRY(sw_node_str(config, "config", &config_name, err));
    char *path = join(dir, name), *beside = config_name ? join(dir, config_name) : NULL;
    sw_status s = SW_MEMORY;
    if (path && (beside || !config_name)) {
        if (strcmp(key, "gguf") == 0)
            s = sw_model_from_gguf(path, out, err);
        else if (strcmp(key, "safetensors") == 0)
            s = sw_model_from_safetensors(path, beside, out, err);
        else
            s = sw_model_from_config(path, quant, out, err);
        if (s == SW_OK && !*(*out)->name)
            snprintf((*out)->name, sizeof(*out)->name, "%.95s", base_name(path));
    } else {
        s = sw_fail(err, SW_MEMORY, "no memory for a path");
    }
    free(path);
    free(beside);
    return s;
}

/* A failure inside a file keeps its own position; the scenario's stands in front. */
static sw_status from(const sw_node *node, const char *key, sw_status s, sw_error *err) {
    if (s == SW_OK || !err) return s;
    sw_error inner = *err, here;
    sw_fail_at(&here, s, node->mark, NULL, " ");
    size_t n = strlen(here.text) - 1;
    if (n > 1 && !strncmp(inner.text, here.text, n)) return s; /* it says where already */
    return sw_fail_at(err, s, node->mark, key, "%s", inner.text);
}

sw_status sw_model_open(const sw_node *map, const char *dir, const char *data_dir, sw_model **out,
                        sw_error *err) {
    static const char *const allowed[] = {"network", "config", "gguf", "safetensors", "quant"};
    static const char *const kinds[] = {"network", "gguf", "safetensors", "config"};
    const char *quant = NULL, *kind = NULL;
    SW_TRY(sw_node_keys(map, "model", allowed, 5, err));
    for (size_t i = 0; map && i < 4; i++) {
        const sw_node *node = sw_node_get(map, kinds[i]);
        if (!node || (kind && strcmp(kind, "safetensors") == 0 && strcmp(kinds[i], "config") == 0))
            continue;
        if (kind)
            return sw_fail_at(err, SW_INPUT, node->mark, kinds[i],
                              "the model is given by `%s` already", kind);
        kind = kinds[i];
    }
    if (!kind) {
        sw_mark mark = map ? map->mark : (sw_mark){0};
        return sw_fail_at(err, SW_INPUT, mark, "model",
                          "one of network, config, gguf, safetensors is needed");
    }
    const sw_node *q = sw_node_get(map, "quant"), *node = sw_node_get(map, kind);
    if (q) SW_TRY(sw_node_str(q, "quant", &quant, err));
    if (q && strcmp(kind, "network") != 0 && strcmp(kind, "config") != 0)
        return sw_fail_at(err, SW_INPUT, q->mark, "quant",
                          "a file of weights has its own formats; "
                          "`quant` goes with network or config");
    sw_status s = strcmp(kind, "network") == 0 ? open_network(node, data_dir, quant, out, err)
                                               : open_file(map, kind, dir, quant, out, err);
    return from(node, kind, s, err);
}
