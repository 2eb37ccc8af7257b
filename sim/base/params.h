/* Options as rows of a table: parsing from YAML, defaults, ranges, help and did-you-mean come from
 * the row. A plug-in's options live in its own context struct at `offset`. */
#ifndef SW_BASE_PARAMS_H
#define SW_BASE_PARAMS_H

#include "sim/base/json.h"
#include "sim/base/yaml.h"
#include <stdio.h>

typedef enum sw_param_type {
    SW_PARAM_INT,    /* int64_t */
    SW_PARAM_NUM,    /* double, no unit */
    SW_PARAM_BOOL,   /* bool */
    SW_PARAM_STRING, /* char[64] inside the context */
    SW_PARAM_CHOICE, /* int: index into `choices` */
    SW_PARAM_BYTES,  /* uint64_t */
    SW_PARAM_RATE,   /* double, bytes/s */
    SW_PARAM_SECONDS /* double, s */
} sw_param_type;

typedef struct sw_param {
    const char *name;
    sw_param_type type;
    const char *def; /* default, as it would be written in YAML */
    double min, max; /* INT, NUM, BYTES, RATE, SECONDS; both inclusive; min==max means unchecked */
    const char *choices; /* CHOICE: "auto|first|last" */
    size_t offset;       /* offsetof(ctx, field) */
    const char *help;    /* one sentence, with the unit where there is one */
} sw_param;

/** Fills ctx from the defaults and then from `map` (NULL: defaults only).
 *  ignore  keys that are not options ("name"), n_ignore of them.
 *  Fails   SW_INPUT at the key's place: unknown key (did-you-mean), wrong type, out of range. */
sw_status sw_params_read(const sw_param *table, size_t n, const sw_node *map, const char *what,
                         const char *const *ignore, size_t n_ignore, void *ctx, sw_error *err);
/** The values in ctx, in table order, as a JSON object (new reference), quantities in base
 *  units. */
json_t *sw_params_json(const sw_param *table, size_t n, const void *ctx);
/** A table for people: name, type, default, range, help. */
void sw_params_help(const sw_param *table, size_t n, FILE *out);

#endif
