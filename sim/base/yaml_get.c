/* Typed getters over a YAML tree (see yaml.h). */
#include "sim/base/yaml.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const sw_node *sw_node_get(const sw_node *map, const char *key) {
    if (!map || map->kind != SW_NODE_MAP) return NULL;
    for (size_t i = 0; i < map->n; i++)
        if (!strcmp(map->keys[i], key)) return map->items[i];
    return NULL;
}

sw_status sw_node_need(const sw_node *map, const char *key, const sw_node **out, sw_error *err) {
    const sw_node *n = sw_node_get(map, key);
    if (!n) return sw_fail_at(err, SW_INPUT, map ? map->mark : (sw_mark){0}, key, "is missing");
    *out = n;
    return SW_OK;
}

sw_status sw_node_keys(const sw_node *map, const char *what, const char *const *allowed, size_t n,
                       sw_error *err) {
    if (!map) return SW_OK;
    if (map->kind != SW_NODE_MAP)
        return sw_fail_at(err, SW_INPUT, map->mark, what, "expected a map of keys");
    for (size_t i = 0; i < map->n; i++) {
        size_t k = 0;
        while (k < n && strcmp(allowed[k], map->keys[i])) k++;
        if (k < n) continue;
        const char *near = sw_nearest(map->keys[i], allowed, n);
        return sw_fail_at(err, SW_INPUT, map->key_marks[i], what, "unknown key \"%.60s\"%s%s%s",
                          map->keys[i], near ? "; did you mean \"" : "", near ? near : "",
                          near ? "\"?" : "");
    }
    return SW_OK;
}

static const char *kind_name(const sw_node *n) {
    return n->kind == SW_NODE_MAP ? "a map" : n->kind == SW_NODE_LIST ? "a list" : "text";
}

sw_status sw_node_str(const sw_node *node, const char *key, const char **out, sw_error *err) {
    if (node->kind != SW_NODE_SCALAR)
        return sw_fail_at(err, SW_INPUT, node->mark, key, "expected text, found %s",
                          kind_name(node));
    if (!*node->text && !node->quoted)
        return sw_fail_at(err, SW_INPUT, node->mark, key, "is empty");
    *out = node->text;
    return SW_OK;
}

sw_status sw_node_bool(const sw_node *node, const char *key, bool *out, sw_error *err) {
    const char *t = node->kind == SW_NODE_SCALAR && !node->quoted ? node->text : "";
    bool yes = !strcmp(t, "true") || !strcmp(t, "yes") || !strcmp(t, "on");
    bool no = !strcmp(t, "false") || !strcmp(t, "no") || !strcmp(t, "off");
    if (!yes && !no) return sw_fail_at(err, SW_INPUT, node->mark, key, "expected true or false");
    *out = yes;
    return SW_OK;
}

sw_status sw_node_int(const sw_node *node, const char *key, int64_t min, int64_t max, int64_t *out,
                      sw_error *err) {
    const char *t = node->kind == SW_NODE_SCALAR ? node->text : "";
    const char *d = t + (*t == '-');
    size_t n = strspn(d, "0123456789");
    if (!n || d[n] || node->quoted)
        return sw_fail_at(err, SW_INPUT, node->mark, key, "expected a whole number%s%.40s%s",
                          *t ? ", found \"" : "", t, *t ? "\"" : "");
    bool neg = *t == '-';
    size_t zeros = strspn(d, "0");
    bool big = n - zeros > 19;
    unsigned long long x = big ? 0 : strtoull(d, NULL, 10);
    big = big || x > (unsigned long long)INT64_MAX + neg;
    int64_t v = neg ? (int64_t)(0 - x) : (int64_t)x;
    if ((big && !neg) || (!big && v > max))
        return sw_fail_at(err, SW_INPUT, node->mark, key, "%.40s is above the maximum %lld", t,
                          (long long)max);
    if (big || v < min)
        return sw_fail_at(err, SW_INPUT, node->mark, key, "%.40s is below the minimum %lld", t,
                          (long long)min);
    *out = v;
    return SW_OK;
}

sw_status sw_node_num(const sw_node *node, const char *key, double min, double max, double *out,
                      sw_error *err) {
    if (node->kind != SW_NODE_SCALAR)
        return sw_fail_at(err, SW_INPUT, node->mark, key, "expected a number, found %s",
                          kind_name(node));
    if (node->quoted)
        return sw_fail_at(err, SW_INPUT, node->mark, key,
                          "expected a number, found \"%.40s\" in quotes", node->text);
    sw_error why = {0};
    double x;
    if (sw_quantity_parse(node->text, SW_DIM_NONE, &x, &why))
        return sw_fail_at(err, SW_INPUT, node->mark, key, "%s", why.text);
    if (x < min)
        return sw_fail_at(err, SW_INPUT, node->mark, key, "%.40s is below the minimum %g",
                          node->text, min);
    if (x > max)
        return sw_fail_at(err, SW_INPUT, node->mark, key, "%.40s is above the maximum %g",
                          node->text, max);
    *out = x;
    return SW_OK;
}

/* The scalar of a quantity: the node itself, or the `value` of a catalogue figure. */
static sw_status figure(const sw_node *node, const char *key, const sw_node **out, sw_error *err) {
    static const char *const keys[] = {"value", "kind", "source", "note"};
    *out = node;
    if (node->kind == SW_NODE_MAP) {
        SW_TRY(sw_node_keys(node, key, keys, 4, err));
        SW_TRY(sw_node_need(node, "value", out, err));
    }
    if ((*out)->kind != SW_NODE_SCALAR)
        return sw_fail_at(err, SW_INPUT, (*out)->mark, key, "expected a quantity, found %s",
                          kind_name(*out));
    return SW_OK;
}

sw_status sw_node_quantity(const sw_node *node, const char *key, sw_dim dim, bool zero_ok,
                           double *out, sw_error *err) {
    sw_error why = {0};
    double x;
    SW_TRY(figure(node, key, &node, err));
    if (sw_quantity_parse(node->text, dim, &x, &why))
        return sw_fail_at(err, SW_INPUT, node->mark, key, "%s", why.text);
    if (x < 0 || (x == 0 && !zero_ok))
        return sw_fail_at(err, SW_INPUT, node->mark, key, "\"%.40s\" must be %s zero", node->text,
                          zero_ok ? "at least" : "above");
    *out = x;
    return SW_OK;
}

sw_status sw_node_bytes(const sw_node *node, const char *key, uint64_t *out, sw_error *err) {
    sw_error why = {0};
    SW_TRY(figure(node, key, &node, err));
    if (sw_bytes_parse(node->text, out, &why))
        return sw_fail_at(err, SW_INPUT, node->mark, key, "%s", why.text);
    return SW_OK;
}
