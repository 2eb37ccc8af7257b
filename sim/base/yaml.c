/* YAML as a tree (see yaml.h), built from libyaml's events. The document is an arena: nodes and
 * strings die together. An alias shares the node of its anchor; what it stands for is counted, so
 * that a bomb of aliases stops at the limit. */
#include "sim/base/stream.h"
#include "sim/base/vec.h"
#include "sim/base/yaml_parts.h"
#include <math.h>
#include <stdio.h>
#include <yaml.h>

enum {
    MAX_NODES = 1000000,
    MAX_ANCHORS = 1000, /* each alias looks through them */
    MAX_TAG_LINES = 64, /* libyaml holds each against all before it */
    MAX_MIB = 64,
    MAX_BYTES = MAX_MIB << 20,
    MAX_SCALAR = 1 << 20
};

typedef struct block {
    struct block *next;
    size_t used, cap;
    char data[];
} block;

typedef struct anchor {
    const char *name;
    uint64_t hash; /* of the name */
    sw_node *node; /* NULL while it is being read */
    size_t nodes;
    int height; /* levels below it */
} anchor;

typedef struct builder {
    sw_yaml *doc;
    yaml_parser_t parser;
    const char *text, *name;
    size_t nodes;
    int deepest; /* level reached in the node being read, aliases expanded */
    SW_VEC(anchor) anchors;
    sw_error *err;
} builder;

void *sw_yaml_take(sw_yaml *doc, size_t bytes) {
    bytes = (bytes + 15) & ~(size_t)15;
    if (!doc->blocks || doc->blocks->used + bytes > doc->blocks->cap) {
        size_t cap = bytes > 8192 ? bytes : 8192;
        block *b = malloc(sizeof *b + cap);
        if (!b) return NULL;
        *b = (block){.next = doc->blocks, .cap = cap};
        doc->blocks = b;
    }
    void *p = doc->blocks->data + doc->blocks->used;
    doc->blocks->used += bytes;
    return p;
}

const char *sw_yaml_keep(sw_yaml *doc, const char *text, size_t n) {
    char *p = sw_yaml_take(doc, n + 1);
    if (!p) return NULL;
    memcpy(p, text, n);
    p[n] = 0;
    return p;
}

static sw_mark mark_of(const builder *b, yaml_mark_t m) {
    return (sw_mark){b->name, (int)m.line + 1, (int)m.column + 1};
}

static sw_status fail(builder *b, yaml_mark_t m, const char *text) {
    return sw_fail_at(b->err, SW_INPUT, mark_of(b, m), NULL, "%s", text);
}

/* The place of a byte; columns count characters, as libyaml's do. */
static yaml_mark_t mark_at(const char *text, size_t offset) {
    yaml_mark_t m = {.index = offset};
    for (size_t i = 0; i < offset; i++) {
        if (text[i] == '\n')
            m.line++, m.column = 0;
        else if (((unsigned char)text[i] & 0xc0) != 0x80)
            m.column++;
    }
    return m;
}

static sw_status next(builder *b, yaml_event_t *ev) {
    if (yaml_parser_parse(&b->parser, ev)) return SW_OK;
    const yaml_parser_t *p = &b->parser;
    const char *why = p->problem ? p->problem : "not YAML";
    if (p->error == YAML_MEMORY_ERROR) return sw_fail(b->err, SW_MEMORY, "out of memory");
    if (p->error == YAML_READER_ERROR) return fail(b, mark_at(b->text, p->problem_offset), why);
    if (strstr(why, "cannot start any token") && *p->buffer.pointer == '\t')
        why = "a tab where a value or a key is due; indent with spaces";
    return fail(b, p->problem_mark, why);
}

static sw_status node_of(builder *b, yaml_event_t *ev, int depth, sw_node **out);

/* --- scalars, aliases, collections ------------------------------------------------------------ */

static sw_status new_node(builder *b, yaml_mark_t m, sw_node_kind kind, sw_node **out) {
    if (++b->nodes > MAX_NODES) return fail(b, m, "more than 1,000,000 nodes");
    sw_node *n = sw_yaml_take(b->doc, sizeof *n);
    if (!n) return sw_fail(b->err, SW_MEMORY, "out of memory");
    *n = (sw_node){.kind = kind, .mark = mark_of(b, m)};
    *out = n;
    return SW_OK;
}

static sw_status scalar(builder *b, const yaml_event_t *ev, sw_node **out) {
    size_t n = ev->data.scalar.length;
    const char *text = (const char *)ev->data.scalar.value;
    if (n > MAX_SCALAR) return fail(b, ev->start_mark, "a scalar over 1 MiB");
    if (memchr(text, 0, n)) return fail(b, ev->start_mark, "a NUL byte inside a scalar");
    SW_TRY(new_node(b, ev->start_mark, SW_NODE_SCALAR, out));
    (*out)->quoted = ev->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    (*out)->text = sw_yaml_keep(b->doc, text, n);
    return (*out)->text ? SW_OK : sw_fail(b->err, SW_MEMORY, "out of memory");
}

static uint64_t hash(const char *text) { /* FNV-1a, folded */
    uint64_t h = 14695981039346656037u;
    for (const char *c = text; *c; c++) h = (h ^ (unsigned char)*c) * 1099511628211u;
    return h ^ h >> 32;
}

static sw_status alias(builder *b, const yaml_event_t *ev, int depth, sw_node **out) {
    const char *name = (const char *)ev->data.alias.anchor;
    uint64_t h = hash(name);
    for (size_t i = b->anchors.n; i-- > 0;) {
        const anchor *a = &b->anchors.v[i];
        if (a->hash != h || strcmp(a->name, name)) continue;
        if (!a->node) return fail(b, ev->start_mark, "an alias inside its own anchor: a cycle");
        b->nodes += a->nodes;
        if (b->nodes > MAX_NODES)
            return fail(b, ev->start_mark, "aliases expand to more than 1,000,000 nodes");
        if (depth + a->height > SW_YAML_DEPTH)
            return fail(b, ev->start_mark, "aliases nest deeper than 64");
        if (depth + a->height > b->deepest) b->deepest = depth + a->height;
        *out = a->node;
        return SW_OK;
    }
    return fail(b, ev->start_mark, "an alias without its anchor");
}

/* Keys of one map by hash, so that a map of a million keys is read in a moment. */
typedef struct key_set {
    size_t *slots, n_slots; /* 1 + index of the key; 0: free */
} key_set;

static size_t *key_slot(const key_set *set, const sw_node *map, const char *key) {
    size_t i = hash(key) & (set->n_slots - 1);
    while (set->slots[i] && strcmp(map->keys[set->slots[i] - 1], key))
        i = (i + 1) & (set->n_slots - 1);
    return &set->slots[i];
}

static bool grow_set(key_set *set, const sw_node *map) {
    if (map->n * 2 < set->n_slots) return true;
    size_t n = set->n_slots ? set->n_slots * 4 : 16;
    size_t *slots = sw_zalloc(n, sizeof *slots);
    if (!slots) return false;
    free(set->slots);
    *set = (key_set){slots, n};
    for (size_t i = 0; i < map->n; i++) *key_slot(set, map, map->keys[i]) = i + 1;
    return true;
}

/* Notes the next key of the map; fails if the map has it. */
static sw_status note_key(builder *b, key_set *set, const sw_node *map, const char *key,
                          sw_mark at) {
    if (!grow_set(set, map)) return sw_fail(b->err, SW_MEMORY, "out of memory");
    size_t *slot = key_slot(set, map, key);
    if (*slot)
        return sw_fail_at(b->err, SW_INPUT, at, key, "given twice; first at line %d",
                          map->key_marks[*slot - 1].line);
    *slot = map->n + 1;
    return SW_OK;
}

/* Items of a list, or pairs of a map, up to the end event. */
static sw_status collection(builder *b, sw_node *self, int depth) {
    SW_VEC(sw_node *) items = {0};
    SW_VEC(const char *) keys = {0};
    SW_VEC(sw_mark) marks = {0};
    key_set set = {0};
    bool map = self->kind == SW_NODE_MAP;
    sw_status st = SW_OK;
    for (;;) {
        yaml_event_t ev;
        if ((st = next(b, &ev))) break;
        bool end = ev.type == (map ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT);
        if (end) {
            yaml_event_delete(&ev);
            break;
        }
        sw_node *item = NULL;
        if (map) {
            if (ev.type != YAML_SCALAR_EVENT)
                st = fail(b, ev.start_mark, "a key must be plain text");
            else if (ev.data.scalar.tag)
                st = fail(b, ev.start_mark, "tags are not taken");
            else
                st = scalar(b, &ev, &item);
            if (!st && !strcmp(item->text, "<<"))
                st = fail(b, ev.start_mark, "merge keys are not taken");
            self->n = keys.n, self->keys = keys.v, self->key_marks = marks.v;
            if (!st) st = note_key(b, &set, self, item->text, item->mark);
            if (!st && (!sw_vec_push(&keys, item->text) || !sw_vec_push(&marks, item->mark)))
                st = sw_fail(b->err, SW_MEMORY, "out of memory");
            yaml_event_delete(&ev);
            if (st || (st = next(b, &ev))) break;
        }
        st = node_of(b, &ev, depth + 1, &item);
        if (!st && !sw_vec_push(&items, item)) st = sw_fail(b->err, SW_MEMORY, "out of memory");
        if (st) break;
    }
    self->n = items.n;
    self->items = st ? NULL : sw_yaml_take(b->doc, (items.n + 1) * sizeof *items.v);
    self->keys = st || !map ? NULL : sw_yaml_take(b->doc, (items.n + 1) * sizeof *keys.v);
    self->key_marks = st || !map ? NULL : sw_yaml_take(b->doc, (items.n + 1) * sizeof *marks.v);
    if (!st && (!self->items || (map && (!self->keys || !self->key_marks))))
        st = sw_fail(b->err, SW_MEMORY, "out of memory");
    if (!st && items.n) {
        memcpy(self->items, items.v, items.n * sizeof *items.v);
        if (map) memcpy(self->keys, keys.v, items.n * sizeof *keys.v);
        if (map) memcpy(self->key_marks, marks.v, items.n * sizeof *marks.v);
    }
    sw_vec_free(&items);
    sw_vec_free(&keys);
    sw_vec_free(&marks);
    free(set.slots);
    return st;
}

static bool tagged(const yaml_event_t *ev) {
    switch (ev->type) {
    case YAML_SCALAR_EVENT:
        return ev->data.scalar.tag != NULL;
    case YAML_SEQUENCE_START_EVENT:
        return ev->data.sequence_start.tag != NULL;
    case YAML_MAPPING_START_EVENT:
        return ev->data.mapping_start.tag != NULL;
    default:
        return false;
    }
}

static const char *anchor_of(const yaml_event_t *ev) {
    switch (ev->type) {
    case YAML_SCALAR_EVENT:
        return (const char *)ev->data.scalar.anchor;
    case YAML_SEQUENCE_START_EVENT:
        return (const char *)ev->data.sequence_start.anchor;
    case YAML_MAPPING_START_EVENT:
        return (const char *)ev->data.mapping_start.anchor;
    default:
        return NULL;
    }
}

/* Consumes and deletes `ev`. */
static sw_status node_of(builder *b, yaml_event_t *ev, int depth, sw_node **out) {
    sw_status st = SW_OK;
    size_t before = b->nodes, at = b->anchors.n;
    int deepest = b->deepest;
    const char *name = anchor_of(ev);
    b->deepest = depth;
    if (depth > SW_YAML_DEPTH)
        st = fail(b, ev->start_mark, "nested deeper than 64");
    else if (tagged(ev))
        st = fail(b, ev->start_mark, "tags are not taken");
    else if (name && b->anchors.n == MAX_ANCHORS)
        st = fail(b, ev->start_mark, "more than 1,000 anchors");
    else if (name) {
        anchor a = {.name = sw_yaml_keep(b->doc, name, strlen(name)), .hash = hash(name)};
        if (!a.name || !sw_vec_push(&b->anchors, a))
            st = sw_fail(b->err, SW_MEMORY, "out of memory");
    }
    yaml_event_type_t type = ev->type;
    if (!st && type == YAML_SCALAR_EVENT)
        st = scalar(b, ev, out);
    else if (!st && type == YAML_ALIAS_EVENT)
        st = alias(b, ev, depth, out);
    else if (!st)
        st = new_node(b, ev->start_mark,
                      type == YAML_MAPPING_START_EVENT ? SW_NODE_MAP : SW_NODE_LIST, out);
    yaml_event_delete(ev);
    if (!st && (type == YAML_MAPPING_START_EVENT || type == YAML_SEQUENCE_START_EVENT))
        st = collection(b, *out, depth);
    if (!st && name) { /* the anchor's slot may have moved, its index has not */
        b->anchors.v[at].node = *out;
        b->anchors.v[at].nodes = b->nodes - before;
        b->anchors.v[at].height = b->deepest - depth;
    }
    if (deepest > b->deepest) b->deepest = deepest;
    return st;
}

/* --- documents -------------------------------------------------------------------------------- */

static sw_status document(builder *b, int depth, sw_node **root) {
    yaml_event_t ev;
    SW_TRY(next(b, &ev)); /* stream start */
    yaml_event_delete(&ev);
    SW_TRY(next(b, &ev));
    if (ev.type == YAML_STREAM_END_EVENT) {
        yaml_event_delete(&ev);
        return sw_fail(b->err, SW_INPUT, "%s: empty", b->name);
    }
    yaml_event_delete(&ev); /* document start */
    SW_TRY(next(b, &ev));
    SW_TRY(node_of(b, &ev, depth, root));
    SW_TRY(next(b, &ev)); /* document end */
    yaml_event_delete(&ev);
    SW_TRY(next(b, &ev));
    bool more = ev.type != YAML_STREAM_END_EVENT;
    yaml_mark_t at = ev.start_mark;
    yaml_event_delete(&ev);
    return more ? fail(b, at, "a second document in one file") : SW_OK;
}

/* Tags are refused, yet libyaml would spend hours on a file of %TAG lines before it says what is in
 * it. Anywhere counts: the few that a text may quote are let through. */
static sw_status few_tag_lines(builder *b, size_t bytes) {
    const char *at = b->text, *end = at + bytes;
    for (int n = 0; (at = memmem(at, (size_t)(end - at), "%TAG", 4)); at += 4)
        if (++n > MAX_TAG_LINES)
            return fail(b, mark_at(b->text, (size_t)(at - b->text)), "more than 64 %TAG lines");
    return SW_OK;
}

sw_status sw_yaml_read(sw_yaml *doc, const char *text, size_t bytes, const char *name, int depth,
                       sw_node **root, sw_error *err) {
    if (!bytes) text = ""; /* libyaml asserts that there is a text */
    if (bytes >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) text += 3, bytes -= 3; /* byte order mark */
    builder b = {
        .doc = doc, .err = err, .text = text, .name = sw_yaml_keep(doc, name, strlen(name))};
    if (!b.name) return sw_fail(err, SW_MEMORY, "out of memory");
    SW_TRY(few_tag_lines(&b, bytes));
    if (!yaml_parser_initialize(&b.parser)) return sw_fail(err, SW_MEMORY, "out of memory");
    yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b.parser, (const unsigned char *)text, bytes);
    sw_status st = document(&b, depth, root);
    yaml_parser_delete(&b.parser);
    sw_vec_free(&b.anchors);
    return st;
}

sw_status sw_yaml_parse(const char *text, size_t bytes, const char *name, sw_yaml **out,
                        sw_error *err) {
    if (bytes > MAX_BYTES) return sw_fail(err, SW_INPUT, "%s: over 64 MiB", name);
    sw_yaml *doc = sw_zalloc(1, sizeof *doc);
    if (!doc) return sw_fail(err, SW_MEMORY, "out of memory");
    sw_status st = sw_yaml_read(doc, text, bytes, name, 0, &doc->root, err);
    if (st)
        sw_yaml_free(doc);
    else
        *out = doc;
    return st;
}

sw_status sw_yaml_load(const char *path, sw_yaml **out, sw_error *err) {
    char *text;
    size_t bytes;
    SW_TRY(sw_file_load(path, MAX_MIB, &text, &bytes, err));
    sw_status st = sw_yaml_parse(text, bytes, path, out, err);
    free(text);
    return st;
}

const sw_node *sw_yaml_root(const sw_yaml *doc) {
    return doc->root;
}

void sw_yaml_free(sw_yaml *doc) {
    if (!doc) return;
    for (block *b = doc->blocks, *n; b; b = n) n = b->next, free(b);
    free(doc);
}
