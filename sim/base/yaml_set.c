/* Overrides of a YAML tree (see sw_yaml_set). The nodes on the path are copied and the new root put
 * in place last: a failure changes nothing, and a value that an alias shares changes in one place
 * only. */
#include "sim/base/vec.h"
#include "sim/base/yaml_parts.h"

enum { PART = 128 };

typedef struct setter {
    sw_yaml *doc;
    sw_mark at;
    const char *path; /* the whole, for messages */
    sw_node *value;
    sw_error *err;
} setter;

static sw_status no_memory(setter *s) {
    return sw_fail(s->err, SW_MEMORY, "out of memory");
}

static sw_status malformed(setter *s) {
    return sw_fail_at(s->err, SW_INPUT, s->at, s->path, "a malformed path");
}

/* The number of parts of the path; fails unless each is of 1 to PART - 1 bytes. */
static sw_status count(setter *s, int *parts) {
    *parts = 0;
    for (const char *p = s->path;; p++) {
        size_t n = strcspn(p, ".");
        if (n == 0 || n >= PART) return malformed(s);
        if (++*parts > SW_YAML_DEPTH)
            return sw_fail_at(s->err, SW_INPUT, s->at, s->path, "nested deeper than %d",
                              SW_YAML_DEPTH);
        p += n;
        if (!*p) return SW_OK;
    }
}

/* A copy of a list or map with room for `more` pairs. */
static sw_node *copy(sw_yaml *doc, const sw_node *from, size_t more) {
    sw_node *n = sw_yaml_take(doc, sizeof *n);
    if (!n) return NULL;
    *n = *from;
    n->items = sw_yaml_take(doc, (from->n + more) * sizeof *n->items);
    if (!n->items) return NULL;
    if (from->n) memcpy(n->items, from->items, from->n * sizeof *n->items);
    if (from->kind != SW_NODE_MAP) return n;
    n->keys = sw_yaml_take(doc, (from->n + more) * sizeof *n->keys);
    n->key_marks = sw_yaml_take(doc, (from->n + more) * sizeof *n->key_marks);
    if (!n->keys || !n->key_marks) return NULL;
    if (from->n) memcpy(n->keys, from->keys, from->n * sizeof *n->keys);
    if (from->n) memcpy(n->key_marks, from->key_marks, from->n * sizeof *n->key_marks);
    return n;
}

/* What a plain scalar stands for: plug-ins are named, parts are used. `p` is the path behind its
 * key. */
static const char *short_for(const char *path, const char *p) {
    static const char *const plugins[] = {"policy.", "allocator.", "pager.", "backend."};
    for (size_t i = 0; i < sizeof plugins / sizeof *plugins; i++)
        if (p == path + strlen(plugins[i]) && !strncmp(path, plugins[i], strlen(plugins[i])))
            return "name";
    return "use";
}

/* `policy: NAME` becomes {name: NAME}, `runtime: NAME` {use: NAME}, and `policy:` an empty map. */
static sw_node *map_of(sw_yaml *doc, const sw_node *scalar, const char *key) {
    sw_node empty = {.kind = SW_NODE_MAP, .mark = scalar->mark};
    sw_node *map = copy(doc, &empty, 1);
    if (!map || !*scalar->text) return map;
    sw_node *inner = sw_yaml_take(doc, sizeof *inner);
    if (!inner) return NULL;
    *inner = *scalar;
    map->items[0] = inner;
    map->keys[0] = key;
    map->key_marks[0] = scalar->mark;
    map->n = 1;
    return map;
}

static sw_status index_of(setter *s, const sw_node *list, const char *part, size_t *out) {
    size_t digits = strspn(part, "0123456789");
    unsigned long i = strtoul(part, NULL, 10);
    if (!digits || part[digits] || digits > 9 || i >= list->n)
        return sw_fail_at(s->err, SW_INPUT, s->at, part, "no such item in a list of %zu", list->n);
    *out = i;
    return SW_OK;
}

/* The place of `part` in `node`; a map gets it if it has none. */
static sw_status slot(setter *s, sw_node *node, const char *part, size_t *out) {
    if (node->kind == SW_NODE_LIST) return index_of(s, node, part, out);
    for (*out = 0; *out < node->n; ++*out)
        if (!strcmp(node->keys[*out], part)) return SW_OK;
    node->items[*out] = NULL;
    node->keys[*out] = sw_yaml_keep(s->doc, part, strlen(part));
    node->key_marks[*out] = s->at;
    node->n++;
    return node->keys[*out] ? SW_OK : no_memory(s);
}

/* What `old` (NULL: nothing yet) becomes once the value stands at the path p below it. */
static sw_status replaced(setter *s, const sw_node *old, const char *p, sw_node **out) {
    char part[PART];
    size_t n = strcspn(p, "."), i = 0;
    memcpy(part, p, n);
    part[n] = 0;
    sw_node none = {.kind = SW_NODE_MAP, .mark = s->at};
    if (!old) old = &none;
    if (old->kind == SW_NODE_SCALAR) {
        if (old->quoted || p == s->path)
            return sw_fail_at(s->err, SW_INPUT, s->at, s->path,
                              "runs through a value that is no map");
        if (!(old = map_of(s->doc, old, short_for(s->path, p)))) return no_memory(s);
    }
    sw_node *now = copy(s->doc, old, 1);
    if (!now) return no_memory(s);
    SW_TRY(slot(s, now, part, &i));
    const sw_node *below = now->items[i];
    now->items[i] = s->value;
    if (p[n]) SW_TRY(replaced(s, below, p + n + 1, &now->items[i]));
    *out = now;
    return SW_OK;
}

sw_status sw_yaml_set(sw_yaml *doc, const char *path, const char *text, const char *origin,
                      sw_error *err) {
    const char *name = sw_yaml_keep(doc, origin, strlen(origin));
    setter s = {doc, {name, 0, 0}, path, NULL, err};
    int parts;
    sw_node *root;
    if (!name) return no_memory(&s);
    if (!*path) return sw_fail_at(err, SW_INPUT, s.at, NULL, "an empty path");
    SW_TRY(count(&s, &parts));
    SW_TRY(sw_yaml_read(doc, text, strlen(text), origin, parts, &s.value, err));
    s.value->mark = s.at;
    SW_TRY(replaced(&s, doc->root, path, &root));
    doc->root = root;
    return SW_OK;
}
