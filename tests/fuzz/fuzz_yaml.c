/* Fuzzes the YAML tree and its typed getters: any text gives a tree whose nodes keep the promises
 * of yaml.h, or one line. What follows a NUL byte is an override, PATH=VALUE. */
#include "sim/base/yaml.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void line(sw_status st, const sw_error *err) {
    if (st == SW_OK ? *err->text != 0 : !*err->text || strchr(err->text, '\n')) abort();
}

static void scalar(const sw_node *n) {
    static const sw_dim dims[] = {SW_DIM_NONE,  SW_DIM_BYTES, SW_DIM_RATE,  SW_DIM_SECONDS,
                                  SW_DIM_FLOPS, SW_DIM_IOPS,  SW_DIM_WATTS, SW_DIM_USD};
    const char *text = NULL;
    bool flag;
    int64_t i = 0;
    uint64_t bytes = 0;
    double x = 0;
    sw_error err = {0};
    line(sw_node_str(n, "key", &text, &err), &err);
    err = (sw_error){0};
    line(sw_node_bool(n, "key", &flag, &err), &err);
    err = (sw_error){0};
    sw_status st = sw_node_int(n, "key", -5, 1000, &i, &err);
    line(st, &err);
    if (i < -5 || i > 1000 || (st == SW_OK && n->quoted)) abort();
    err = (sw_error){0};
    st = sw_node_num(n, "key", -1, 1e6, &x, &err);
    line(st, &err);
    if (!(x >= -1 && x <= 1e6)) abort();
    err = (sw_error){0};
    line(sw_node_bytes(n, "key", &bytes, &err), &err);
    if (bytes > INT64_MAX) abort();
    for (size_t d = 0; d < sizeof dims / sizeof *dims; d++) {
        err = (sw_error){0};
        x = 1;
        st = sw_node_quantity(n, "key", dims[d], d % 2, &x, &err);
        line(st, &err);
        if (!isfinite(x) || x < 0 || (x == 0 && d % 2 == 0)) abort();
    }
}

/* Visits at most `left` nodes; returns how many are left. */
static int walk(const sw_node *n, int depth, int left) {
    static const char *const known[] = {"name", "value", "depth"};
    sw_error err = {0};
    if (!n || depth > DEPTH || !n->mark.file) abort();
    if (left <= 0) return 0;
    scalar(n);
    if (n->kind == SW_NODE_SCALAR) {
        if (!n->text) abort();
        return left - 1;
    }
    line(sw_node_keys(n, "map", known, 3, &err), &err);
    for (size_t i = 0; i < n->n && left > 0; i++) {
        if (n->kind == SW_NODE_MAP && i < 100 && sw_node_get(n, n->keys[i]) != n->items[i]) abort();
        left = walk(n->items[i], depth + 1, left - 1);
    }
    return left;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *cut = size ? memchr(data, 0, size) : NULL;
    size_t n = cut ? (size_t)(cut - data) : size;
    sw_yaml *doc = NULL;
    sw_error err = {0};
    sw_status st = sw_yaml_parse((const char *)data, n, "fuzz.yaml", &doc, &err);
    line(st, &err);
    if (st != SW_OK) return doc ? abort(), 1 : 0;
    walk(sw_yaml_root(doc), 0, 5000);
    char *path = cut ? strndup((const char *)cut + 1, size - n - 1) : NULL;
    char *text = path ? strchr(path, '=') : NULL;
    if (text) {
        *text++ = 0;
        line(sw_yaml_set(doc, path, text, "--set", &err), &err);
        walk(sw_yaml_root(doc), 0, 5000);
    }
    free(path);
    sw_yaml_free(doc);
    return 0;
}
