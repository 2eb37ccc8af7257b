/* Parts: the pieces of a machine as files of models/devices or as maps of a scenario.
 *
 *   part     the layers that describe one thing, the first that has a key wins: the scenario's map,
 *            the file that its `use` names, the file that that one uses, ..., and last the section
 *            of models/devices/_defaults.yaml for the kind
 *   figure   a value with what is known about it: {value: 1008 GB/s, kind: nominal, source: KEY},
 *            or the bare value (in a scenario)
 *   shelf    the open files, which own every text; one a machine
 *
 * Every key of every layer is checked against the kind's table when a part is opened (name, unit,
 * range, did-you-mean), so that reading a figure afterwards can only fail for its absence. */
#ifndef SW_MODELS_PART_H
#define SW_MODELS_PART_H

#include "sim/base/json.h"
#include "sim/base/vec.h"
#include "sim/base/yaml.h"

typedef enum sw_part_kind {
    SW_PART_GPU,
    SW_PART_CPU,
    SW_PART_LINK,
    SW_PART_DISK,
    SW_PART_SOC,
    SW_PART_MACHINE,
    SW_PART_RUNTIME,
    SW_PART_KINDS
} sw_part_kind;

enum { SW_PART_LAYERS = 12 };

typedef struct sw_part {
    sw_part_kind kind;
    const char *key;   /* the machine's key that it stands under, for messages: "gpu" */
    const char *id;    /* file name without ".yaml" of the nearest file; "" if none */
    const sw_node *at; /* where it is asked for; NULL: nowhere (a default) */
    const sw_node *layers[SW_PART_LAYERS];
    int n;
    struct sw_shelf *shelf;
} sw_part;

typedef struct sw_shelf_file {
    char *path, *id;
    sw_yaml *doc;
} sw_shelf_file;

typedef struct sw_shelf {
    const char *dir, *data_dir;
    SW_VEC(sw_shelf_file) files;
    json_t *figures; /* if not NULL, each figure that is read is noted here, once */
} sw_shelf;

/** Starts a shelf. `dir` is where "./x.yaml" starts, `data_dir` is where models/ lies; both are
 *  borrowed, either may be NULL ("."). */
void sw_shelf_open(sw_shelf *s, const char *dir, const char *data_dir);
/** Closes the files; every node and text that came from them is gone. */
void sw_shelf_close(sw_shelf *s);

/** Opens a part.
 *  nodes  where the scenario and the machine file describe it, nearest first, n of them: a name
 * ends the search, a map with `use` goes on in that file, a map without goes on with the next node;
 * n = 0 leaves the defaults only. Fails  SW_INPUT: no such part (did-you-mean), a file of another
 * kind, `use` in a loop, a key that the kind does not have, a value out of range. */
sw_status sw_part_open(sw_shelf *s, sw_part_kind kind, const char *key, const sw_node *const *nodes,
                       int n, sw_part *out, sw_error *err);
/** The kind that a device file says it is. */
sw_status sw_part_kind_of(sw_shelf *s, const sw_node *name, const char *key, sw_part_kind *out,
                          sw_error *err);
const char *sw_part_kind_name(sw_part_kind kind);

/** The node at a dotted path, from the nearest layer that has it; NULL if none has. */
const sw_node *sw_part_node(const sw_part *p, const char *path);
/** Every layer's node at a top-level key, nearest first; returns how many (at most max). */
int sw_part_nodes(const sw_part *p, const char *key, const sw_node **out, int max);

/* Values in base units. find: false and *out untouched if absent; need: fails if absent. */
bool sw_part_find(const sw_part *p, const char *path, double *out);
sw_status sw_part_need(const sw_part *p, const char *path, double *out, sw_error *err);
bool sw_part_find_bytes(const sw_part *p, const char *path, uint64_t *out);
/** A text; `def` if absent. */
const char *sw_part_text(const sw_part *p, const char *path, const char *def);
/** A truth value; `def` if absent. */
bool sw_part_bool(const sw_part *p, const char *path, bool def);
/** Notes in the shelf's `figures` where a figure came from, once for each part and key. */
void sw_part_note(const sw_part *p, const char *path, const sw_node *node);
/** The id of the file that a node stands in: "_defaults" for a default, "" for the scenario. */
const char *sw_part_file(const sw_part *p, const sw_node *node);
/** The node `name` of the map `section` of the defaults; *out NULL if there is none. */
sw_status sw_part_default(const sw_part *p, const char *section, const char *name,
                          const sw_node **out, sw_error *err);
/** The name for people: `name`, else the file's, else the kind. */
const char *sw_part_name(const sw_part *p);

#endif
