/* YAML as a tree of nodes with positions. The only file that includes <yaml.h> is yaml.c.
 *
 * The document owns every node and string; nodes are valid until sw_yaml_free. All scalars stay
 * text
 * until a getter types them (no "Norway problem"). Refused, with position: duplicate keys, more
 * than
 * one document, tags, merge keys, an alias inside its own anchor (a cycle), depth over 64 or
 * more than 1 M nodes (aliases expanded), more than 1000 anchors, files over 64 MiB, bytes that are
 * not UTF-8. */
#ifndef SW_BASE_YAML_H
#define SW_BASE_YAML_H

#include "sim/base/error.h"
#include "sim/base/units.h"
#include <stdbool.h>

typedef enum sw_node_kind { SW_NODE_SCALAR, SW_NODE_LIST, SW_NODE_MAP } sw_node_kind;

typedef struct sw_node {
    sw_node_kind kind;
    bool quoted;            /* scalar written with quotes: never read as null, bool or number */
    sw_mark mark;           /* where the value starts */
    const char *text;       /* scalar only, NUL-terminated, no NUL inside */
    size_t n;               /* list: items; map: pairs */
    struct sw_node **items; /* list items, or map values */
    const char **keys;      /* map keys */
    sw_mark *key_marks;     /* where each key stands */
} sw_node;

typedef struct sw_yaml sw_yaml;

/** Reads a file; `path` is copied and stands in the marks. Fails SW_INPUT (also: cannot open). */
sw_status sw_yaml_load(const char *path, sw_yaml **out, sw_error *err);
/** Parses text in memory; `name` stands in the marks. */
sw_status sw_yaml_parse(const char *text, size_t bytes, const char *name, sw_yaml **out,
                        sw_error *err);
const sw_node *sw_yaml_root(const sw_yaml *doc);
void sw_yaml_free(sw_yaml *doc);

/** Sets the node at a dotted path ("policy.depth") to what `text` parses to (a scalar, or YAML flow
 *  such as "[a, b]"), making the maps on the way. On the way a plain `policy: NAME` (allocator,
 *  backend) becomes {name: NAME}, any other scalar {use: NAME}. The new nodes' marks name `origin`
 *  ("--set"). The root changes: ask for it again.
 *  Fails SW_INPUT if the path runs through a quoted scalar or a list index is out of range. */
sw_status sw_yaml_set(sw_yaml *doc, const char *path, const char *text, const char *origin,
                      sw_error *err);

/** The value of a key, or NULL. `map` may be NULL or not a map (then NULL). */
const sw_node *sw_node_get(const sw_node *map, const char *key);
/** As above, but a missing key fails with the map's position. */
sw_status sw_node_need(const sw_node *map, const char *key, const sw_node **out, sw_error *err);
/** Fails on the first key that is not among `allowed`, at its place, with a did-you-mean. Also
 *  fails
 *  if `map` is no map; NULL passes. `what` names the map in the message ("machine"). */
sw_status sw_node_keys(const sw_node *map, const char *what, const char *const *allowed, size_t n,
                       sw_error *err);

/* Typed getters. `key` is for the message only. Fail SW_INPUT at the node's place. */
sw_status sw_node_str(const sw_node *node, const char *key, const char **out, sw_error *err);
sw_status sw_node_bool(const sw_node *node, const char *key, bool *out, sw_error *err);
sw_status sw_node_int(const sw_node *node, const char *key, int64_t min, int64_t max, int64_t *out,
                      sw_error *err);
sw_status sw_node_num(const sw_node *node, const char *key, double min, double max, double *out,
                      sw_error *err);
/** A quantity: a scalar "25 GB/s", or a catalogue figure {value, kind, source, note} of which the
 *  value
 *  is read. Must be > 0 unless zero_ok. */
sw_status sw_node_quantity(const sw_node *node, const char *key, sw_dim dim, bool zero_ok,
                           double *out, sw_error *err);
sw_status sw_node_bytes(const sw_node *node, const char *key, uint64_t *out, sw_error *err);

#endif
