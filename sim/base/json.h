/* JSON in and out through jansson. The only files that include <jansson.h> are this one and its
 * users.
 *
 * In: untrusted (config.json, safetensors headers and indexes). A syntax error carries line and
 * column; an error of type or range carries the file and the dotted path of the key. Limits: 256
 * MiB, depth 256 (checked before jansson sees the text), duplicate keys refused.
 * Out: key order is insertion order, doubles as the shortest text that reads back equal, so results
 * diff clean. NaN and infinity cannot be written (an assert: they are our bug). */
#ifndef SW_BASE_JSON_H
#define SW_BASE_JSON_H

#include "sim/base/error.h"
#include <jansson.h>
#include <stdbool.h>

/** Parses a file, or text in memory (`name` stands in messages). *out is a new reference. */
sw_status sw_json_load(const char *path, json_t **out, sw_error *err);
sw_status sw_json_parse(const char *text, size_t bytes, const char *name, json_t **out,
                        sw_error *err);

/** A reader over one object that knows its file and its path, for messages. Borrowed, by value. */
typedef struct sw_jobj {
    const json_t *obj;
    const char *file;
    char path[96]; /* "" at the root, else "text_config." (with the final dot) */
} sw_jobj;

sw_jobj sw_jobj_root(const json_t *obj, const char *file);
/** The object under `key`; its obj is NULL if the key is absent or null. Fails if it is no
 *  object. */
sw_status sw_jobj_sub(sw_jobj o, const char *key, sw_jobj *out, sw_error *err);
/* Absent or null keys leave *out as it was: set the default first. *_need fail on absence. */
sw_status sw_jobj_int(sw_jobj o, const char *key, int64_t min, int64_t max, int64_t *out,
                      sw_error *err);
sw_status sw_jobj_int_need(sw_jobj o, const char *key, int64_t min, int64_t max, int64_t *out,
                           sw_error *err);
sw_status sw_jobj_num(sw_jobj o, const char *key, double *out, sw_error *err);
sw_status sw_jobj_bool(sw_jobj o, const char *key, bool *out, sw_error *err);
sw_status sw_jobj_str(sw_jobj o, const char *key, const char **out, sw_error *err);
/** "file: path.key: message" */
sw_status sw_jobj_fail(sw_jobj o, const char *key, sw_error *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/** Shortest decimal that strtod reads back as x; "0.1", "1e+20". Returns buf (at least 32
 *  bytes). */
char *sw_json_double(char *buf, double x);
/** Text of a value, two-space indentation, '\n' at the end; malloc'd, NULL when out of memory. */
char *sw_json_text(const json_t *value);
/** Writes the document to a file ("-": standard output), whole or not at all. The reference is
 *  given back in every case; NULL counts as out of memory. Fails SW_IO, SW_MEMORY. */
sw_status sw_json_write(json_t *value, const char *path, sw_error *err);

#endif
