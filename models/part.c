/* Opening parts and reading their figures (models/part.h). */
#include "models/part.h"
#include "models/part_keys.h"
#include "models/shelf.h"
#include <stdio.h>
#include <string.h>

static const char *const kinds[SW_PART_KINDS] = {"gpu", "cpu",     "link",   "disk",
                                                 "soc", "machine", "runtime"};

const char *sw_part_kind_name(sw_part_kind kind) {
    return kinds[kind];
}

static sw_status push(sw_part *p, const sw_node *layer, sw_error *err) {
    if (p->n == SW_PART_LAYERS)
        return sw_fail_at(err, SW_INPUT, layer->mark, "use", "more than %d parts in a chain",
                          SW_PART_LAYERS);
    SW_TRY(sw_part_check(p->kind, layer, "", err));
    p->layers[p->n++] = layer;
    return SW_OK;
}

/* The kind of a device file whose root is given. */
static sw_status kind_of(const sw_node *root, sw_part_kind *out, sw_error *err) {
    const sw_node *node;
    const char *text;
    SW_TRY(sw_node_need(root, "kind", &node, err));
    SW_TRY(sw_node_str(node, "kind", &text, err));
    for (int k = 0; k < SW_PART_RUNTIME; k++)
        if (!strcmp(text, kinds[k])) {
            *out = (sw_part_kind)k;
            return SW_OK;
        }
    return sw_fail_at(err, SW_INPUT, node->mark, "kind",
                      "\"%s\" is none of gpu, cpu, link, disk, soc, machine", text);
}

/* Adds the file that `name` names and the chain of its `use`. */
static sw_status push_file(sw_part *p, const sw_node *name, const char *key, sw_error *err) {
    for (;;) {
        const sw_node *root;
        const char *id;
        SW_TRY(sw_shelf_find(p->shelf, p->kind, name, key, &root, &id, err));
        for (int i = 0; i < p->n; i++)
            if (p->layers[i] == root)
                return sw_fail_at(err, SW_INPUT, name->mark, key, "\"%s\" uses itself", id);
        if (p->kind != SW_PART_RUNTIME) {
            sw_part_kind found;
            SW_TRY(kind_of(root, &found, err));
            if (found != p->kind)
                return sw_fail_at(err, SW_INPUT, name->mark, key, "\"%s\" is a %s; a %s is due", id,
                                  kinds[found], kinds[p->kind]);
        }
        SW_TRY(push(p, root, err));
        if (!*p->id) p->id = id;
        if (!(name = sw_node_get(root, "use"))) return SW_OK;
        key = "use";
    }
}

sw_status sw_part_open(sw_shelf *s, sw_part_kind kind, const char *key, const sw_node *const *nodes,
                       int n, sw_part *out, sw_error *err) {
    sw_part p = {.kind = kind, .key = key, .id = "", .at = n ? nodes[0] : NULL, .shelf = s};
    for (int i = 0; i < n; i++) {
        const sw_node *use = nodes[i];
        if (use->kind == SW_NODE_LIST)
            return sw_fail_at(err, SW_INPUT, use->mark, key, "a name or a map is due");
        if (use->kind == SW_NODE_MAP) {
            SW_TRY(push(&p, use, err));
            if (!(use = sw_node_get(use, "use"))) continue;
        }
        SW_TRY(push_file(&p, use, key, err));
        break;
    }
    if (kind != SW_PART_RUNTIME) {
        const sw_node *root;
        SW_TRY(sw_shelf_defaults(s, &root, err));
        if ((root = sw_node_get(root, kinds[kind]))) SW_TRY(push(&p, root, err));
    }
    *out = p;
    return SW_OK;
}

sw_status sw_part_kind_of(sw_shelf *s, const sw_node *name, const char *key, sw_part_kind *out,
                          sw_error *err) {
    const sw_node *root;
    const char *id;
    SW_TRY(sw_shelf_find(s, SW_PART_MACHINE, name, key, &root, &id, err));
    return kind_of(root, out, err);
}

static const sw_node *at_path(const sw_node *map, const char *path) {
    while (map) {
        const char *dot = strchr(path, '.');
        char key[64];
        if (!dot) return sw_node_get(map, path);
        snprintf(key, sizeof key, "%.*s", (int)(dot - path), path);
        map = sw_node_get(map, key);
        path = dot + 1;
    }
    return NULL;
}

const sw_node *sw_part_node(const sw_part *p, const char *path) {
    for (int i = 0; i < p->n; i++) {
        const sw_node *node = at_path(p->layers[i], path);
        if (node) return node;
    }
    return NULL;
}

const char *sw_part_file(const sw_part *p, const sw_node *node) {
    const sw_shelf *s = p->shelf;
    for (size_t i = 0; i < s->files.n; i++)
        if (!strcmp(s->files.v[i].path, node->mark.file)) return s->files.v[i].id;
    return "";
}

int sw_part_nodes(const sw_part *p, const char *key, const sw_node **out, int max) {
    int n = 0;
    for (int i = 0; i < p->n && n < max; i++) {
        const sw_node *node = sw_node_get(p->layers[i], key);
        if (node && strcmp(sw_part_file(p, node), "_defaults")) out[n++] = node;
    }
    if (n == 0 && max > 0 && p->n > 0) {
        const sw_node *node = sw_node_get(p->layers[p->n - 1], key);
        if (node) out[n++] = node;
    }
    return n;
}

static json_t *text_or_null(const sw_node *map, const char *key) {
    const sw_node *node = map->kind == SW_NODE_MAP ? sw_node_get(map, key) : NULL;
    return node && node->text ? json_string(node->text) : json_null();
}

void sw_part_note(const sw_part *p, const char *path, const sw_node *node) {
    json_t *list = p->shelf->figures, *old;
    size_t i;
    if (!list || !node) return;
    const char *file = sw_part_file(p, node);
    json_array_foreach(list, i, old) {
        if (!strcmp(json_string_value(json_object_get(old, "part")), p->key) &&
            !strcmp(json_string_value(json_object_get(old, "key")), path) &&
            !strcmp(json_string_value(json_object_get(old, "file")), file))
            return;
    }
    json_t *o = json_object();
    json_object_set_new(o, "part", json_string(p->key));
    json_object_set_new(o, "key", json_string(path));
    json_object_set_new(o, "value", json_string(sw_figure_value(node)->text));
    json_object_set_new(o, "file", json_string(file));
    json_object_set_new(o, "kind", text_or_null(node, "kind"));
    json_object_set_new(o, "source", text_or_null(node, "source"));
    json_array_append_new(list, o);
}

/* The row of a path, which the callers take from the tables. */
static const sw_key *row_of(const sw_part *p, const char *path) {
    size_t n;
    const sw_key *rows = sw_part_keys(p->kind, &n);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(rows[i].path, path)) return &rows[i];
    return NULL;
}

bool sw_part_find(const sw_part *p, const char *path, double *out) {
    const sw_node *node = sw_part_node(p, path);
    const sw_key *row = row_of(p, path);
    int64_t count;
    if (!node || !row) return false;
    if (row->type == SW_KEY_COUNT) {
        if (sw_node_int(sw_figure_value(node), path, 0, INT64_MAX, &count, NULL)) return false;
        *out = (double)count;
    } else if (sw_node_quantity(sw_figure_value(node), path, row->dim, row->zero_ok, out, NULL)) {
        return false;
    }
    sw_part_note(p, path, node);
    return true;
}

sw_status sw_part_need(const sw_part *p, const char *path, double *out, sw_error *err) {
    if (sw_part_find(p, path, out)) return SW_OK;
    sw_mark mark = p->n ? p->layers[0]->mark : (sw_mark){0};
    return sw_fail_at(err, SW_INPUT, mark, path, "missing: a %s needs it", kinds[p->kind]);
}

bool sw_part_find_bytes(const sw_part *p, const char *path, uint64_t *out) {
    const sw_node *node = sw_part_node(p, path);
    if (!node || sw_node_bytes(sw_figure_value(node), path, out, NULL)) return false;
    sw_part_note(p, path, node);
    return true;
}

const char *sw_part_text(const sw_part *p, const char *path, const char *def) {
    const sw_node *node = sw_part_node(p, path);
    const char *text = def;
    if (node) sw_node_str(sw_figure_value(node), path, &text, NULL);
    return text;
}

bool sw_part_bool(const sw_part *p, const char *path, bool def) {
    const sw_node *node = sw_part_node(p, path);
    bool flag = def;
    if (node) sw_node_bool(sw_figure_value(node), path, &flag, NULL);
    return flag;
}

sw_status sw_part_default(const sw_part *p, const char *section, const char *name,
                          const sw_node **out, sw_error *err) {
    const sw_node *root;
    SW_TRY(sw_shelf_defaults(p->shelf, &root, err));
    *out = sw_node_get(sw_node_get(root, section), name);
    return SW_OK;
}

const char *sw_part_name(const sw_part *p) {
    const char *name = sw_part_text(p, "name", NULL);
    return name ? name : *p->id ? p->id : kinds[p->kind];
}
