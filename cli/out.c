/* Writing documents (see out.h). */
#include "cli/out.h"
#include "sim/base/stream.h"
#include <stdlib.h>
#include <string.h>

sw_status sw_write_json(json_t *value, const char *path, sw_error *err) {
    char *text = value ? sw_json_text(value) : NULL;
    json_decref(value);
    if (!text) return sw_fail(err, SW_MEMORY, "out of memory");
    sw_writer *w;
    sw_status st = sw_writer_open(path, &w, err);
    if (!st) {
        sw_writer_put(w, text, strlen(text));
        st = sw_writer_commit(w, err);
    }
    free(text);
    return st;
}
