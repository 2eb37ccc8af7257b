/* Fuzzes scenario files against the catalogue of the source tree: any text gives a resolved
 * scenario that can be written as JSON, or one line. */
#include "sim/scenario.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sw_scenario *s = NULL;
    sw_error err = {0};
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = 0;
    sw_status st = sw_scenario_open("fuzz.yaml", text, SPILLWAY_SOURCE_DIR, NULL, 0, &s, &err);
    if (st == SW_OK) {
        json_t *doc = sw_scenario_json(s);
        char *out = doc ? sw_json_text(doc) : NULL;
        if (!out || (*s->question && !json_object_get(doc, "question"))) abort();
        free(out);
        json_decref(doc);
        sw_scenario_free(s);
    } else if (s || !*err.text || strchr(err.text, '\n')) {
        abort();
    }
    free(text);
    return 0;
}
