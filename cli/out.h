/* Small things that several commands write. */
#ifndef SW_CLI_OUT_H
#define SW_CLI_OUT_H

#include "sim/base/json.h"
#include <stdbool.h>

/** Writes a JSON document to a file ("-": standard output) and gives the reference back. Fails SW_IO,
 * SW_MEMORY; the reference is given back in every case. */
sw_status sw_write_json(json_t *value, const char *path, sw_error *err);
/** What `spillway model FILE` prints and writes (cmd_model.c). json NULL: no file. */
sw_status sw_model_show(const char *file, const char *json, bool quiet, bool plain, sw_error *err);

#endif
