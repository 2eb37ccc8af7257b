/* What the tests of model readers share: opening by kind, and files in a scratch folder. */
#ifndef SW_TESTS_MODELS_H
#define SW_TESTS_MODELS_H

#include "check.h"
#include "models/build.h"
#include "sim/base/stream.h"
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define DATA SPILLWAY_SOURCE_DIR "/tests/data/models/configs/"

/* A path in a scratch folder of this process; valid for the next seven calls. */
static inline const char *scratch(const char *name) {
    static char paths[8][256], folder[64];
    static unsigned next;
    char *out = paths[next++ % 8];
    if (!*folder) {
        snprintf(folder, sizeof folder, "/tmp/spillway-test-%ld", (long)getpid());
        mkdir(folder, 0700);
    }
    snprintf(out, 256, "%s/%s", folder, name);
    return out;
}

/* Opens a `model:` map given as YAML flow; files are relative to the fixtures. NULL and `why` on
 * failure. */
static inline sw_model *open_map(const char *flow, sw_error *why) {
    sw_yaml *doc = NULL;
    sw_model *m = NULL;
    sw_error err = {0};
    sw_status s = sw_yaml_parse(flow, strlen(flow), "test.yaml", &doc, &err);
    if (s == SW_OK) s = sw_model_open(sw_yaml_root(doc), DATA, SPILLWAY_SOURCE_DIR, &m, &err);
    sw_yaml_free(doc);
    if (why) *why = err;
    if (s != SW_OK && !why) printf("\n  %s: %s\n", flow, err.text);
    return s == SW_OK ? m : NULL;
}

/* A network with a quant ("" for none). */
static inline sw_model *open_network(const char *name, const char *quant) {
    char flow[256];
    snprintf(flow, sizeof flow, "{network: %s%s%s}", name, *quant ? ", quant: " : "", quant);
    return open_map(flow, NULL);
}

/* Writes bytes to a new file named after the test; the caller unlinks it. */
static inline void write_file(const char *path, const void *data, size_t n) {
    FILE *f = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    if (n) CHECK_INT(fwrite(data, 1, n, f), n);
    fclose(f);
}

/* One line that says where: not empty, no line break, and the file's name in it. */
static inline void check_line(const sw_error *err, const char *part) {
    CHECK(*err->text && !strchr(err->text, '\n'));
    CHECK(strstr(err->text, part) != NULL);
    if (!strstr(err->text, part)) printf("\n  `%s` has no `%s`\n", err->text, part);
}

#endif
