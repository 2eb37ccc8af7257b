/* Holding a layer of a part against the table of its kind (models/part_keys.h). */
#include "models/part_keys.h"
#include <stdio.h>
#include <string.h>

const sw_node *sw_figure_value(const sw_node *node) {
    return node->kind == SW_NODE_MAP ? sw_node_get(node, "value") : node;
}

static sw_status check_figure(const sw_node *node, const char *path, sw_error *err) {
    static const char *const keys[] = {"value", "kind", "source", "note"};
    static const char *const sorts[] = {"nominal", "measured", "fitted",
                                        "derived", "estimate", "default"};
    if (node->kind != SW_NODE_MAP) return SW_OK;
    SW_TRY(sw_node_keys(node, path, keys, 4, err));
    const sw_node *sub;
    SW_TRY(sw_node_need(node, "value", &sub, err));
    if (!(sub = sw_node_get(node, "kind"))) return SW_OK;
    const char *sort;
    SW_TRY(sw_node_str(sub, "kind", &sort, err));
    for (size_t i = 0; i < 6; i++)
        if (!strcmp(sort, sorts[i])) return SW_OK;
    return sw_fail_at(err, SW_INPUT, sub->mark, "kind",
                      "\"%s\" is none of nominal, measured, fitted, derived, estimate, default",
                      sort);
}

/* The value under a row's key has the row's unit and range. */
static sw_status check_value(const sw_key *row, const sw_node *node, sw_error *err) {
    double x;
    uint64_t bytes;
    int64_t count;
    const char *text;
    bool flag;
    if (row->type == SW_KEY_ANY || row->type == SW_KEY_PART) return SW_OK;
    SW_TRY(check_figure(node, row->path, err));
    const sw_node *value = sw_figure_value(node);
    switch (row->type) {
    case SW_KEY_FIGURE: {
        double max = row->max > 0 ? row->max : 1e24;
        SW_TRY(sw_node_quantity(value, row->path, row->dim, row->zero_ok, &x, err));
        if (x <= max) return SW_OK;
        return sw_fail_at(err, SW_INPUT, value->mark, row->path, "%s is more than %g", value->text,
                          max);
    }
    case SW_KEY_BYTES:
        SW_TRY(sw_node_bytes(value, row->path, &bytes, err));
        if (bytes > 0 || row->zero_ok) return SW_OK;
        return sw_fail_at(err, SW_INPUT, value->mark, row->path, "must be above zero");
    case SW_KEY_COUNT:
        return sw_node_int(value, row->path, row->zero_ok ? 0 : 1, (int64_t)row->max, &count, err);
    case SW_KEY_BOOL:
        return sw_node_bool(value, row->path, &flag, err);
    default:
        return sw_node_str(value, row->path, &text, err);
    }
}

static sw_status unknown_key(sw_part_kind kind, const sw_key *rows, size_t n, const char *prefix,
                             const sw_node *map, size_t at, sw_error *err) {
    const char *names[128];
    char buf[128][32];
    size_t n_names = 0, skip = strlen(prefix);
    for (size_t i = 0; i < n && n_names < 128; i++) {
        if (strncmp(rows[i].path, prefix, skip)) continue;
        snprintf(buf[n_names], sizeof buf[0], "%.*s", (int)strcspn(rows[i].path + skip, "."),
                 rows[i].path + skip);
        names[n_names] = buf[n_names];
        n_names++;
    }
    char key[96];
    snprintf(key, sizeof key, "%s%s", prefix, map->keys[at]);
    const char *near = sw_nearest(map->keys[at], names, n_names);
    if (near)
        return sw_fail_at(err, SW_INPUT, map->key_marks[at], key,
                          "a %s has no such key; did you mean \"%s\"?", sw_part_kind_name(kind),
                          near);
    return sw_fail_at(err, SW_INPUT, map->key_marks[at], key, "a %s has no such key",
                      sw_part_kind_name(kind));
}

/* Every key of a layer, and of the maps in it, against the kind's table. */
sw_status sw_part_check(sw_part_kind kind, const sw_node *map, const char *prefix, sw_error *err) {
    size_t n, skip = strlen(prefix);
    const sw_key *rows = sw_part_keys(kind, &n);
    for (size_t i = 0; i < map->n; i++) {
        const sw_key *leaf = NULL;
        size_t k_n = strlen(map->keys[i]);
        bool branch = false;
        bool dotted = strchr(map->keys[i], '.') != NULL; /* a path is no key */
        for (size_t r = 0; r < n && !dotted; r++) {
            const char *rest = rows[r].path + skip;
            if (strncmp(rows[r].path, prefix, skip) || strncmp(rest, map->keys[i], k_n)) continue;
            if (rest[k_n] == '\0') leaf = &rows[r];
            if (rest[k_n] == '.') branch = true;
        }
        if (leaf) {
            SW_TRY(check_value(leaf, map->items[i], err));
        } else if (branch) {
            char sub[96];
            if (map->items[i]->kind != SW_NODE_MAP)
                return sw_fail_at(err, SW_INPUT, map->items[i]->mark, map->keys[i], "a map is due");
            snprintf(sub, sizeof sub, "%s%s.", prefix, map->keys[i]);
            SW_TRY(sw_part_check(kind, map->items[i], sub, err));
        } else {
            return unknown_key(kind, rows, n, prefix, map, i, err);
        }
    }
    return SW_OK;
}
