/* What each kind of part may say: one row a key, with its dimension and range. For part*.c only. */
#ifndef SW_MODELS_PART_KEYS_H
#define SW_MODELS_PART_KEYS_H

#include "models/part.h"

typedef enum sw_key_type {
    SW_KEY_FIGURE, /* a quantity of `dim`, from min (exclusive unless zero_ok) to max */
    SW_KEY_BYTES,  /* whole bytes, exact */
    SW_KEY_COUNT,  /* a whole number, 1 to max */
    SW_KEY_BOOL,
    SW_KEY_TEXT,
    SW_KEY_PART, /* a name or a map: another part, checked when it is opened */
    SW_KEY_ANY   /* not looked into */
} sw_key_type;

typedef struct sw_key {
    const char *path;
    sw_key_type type;
    sw_dim dim;
    bool zero_ok;
    double max; /* 0: 1e24 */
} sw_key;

/** The kind's rows; *n of them. */
const sw_key *sw_part_keys(sw_part_kind kind, size_t *n);

/** Checks every key of a layer, and of the maps in it; `prefix` is "" at the top, else "memory.".
 */
sw_status sw_part_check(sw_part_kind kind, const sw_node *map, const char *prefix, sw_error *err);
/** A figure's value; any other node itself. */
const sw_node *sw_figure_value(const sw_node *node);

#endif
