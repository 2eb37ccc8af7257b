/* Fuzzes JSON: any text gives a value whose text reads back equal, or one line. */
#include "sim/base/json.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void line(sw_status st, const sw_error *err) {
    if (st == SW_OK ? *err->text != 0 : !*err->text || strchr(err->text, '\n')) abort();
}

static void walk(sw_jobj o, int depth) {
    const char *key;
    json_t *value;
    if (depth > 300) abort();
    if (!json_is_object(o.obj)) return;
    json_object_foreach((json_t *)o.obj, key, value) {
        sw_error err = {0};
        sw_jobj sub = {0};
        int64_t i = 0;
        double x;
        bool flag;
        const char *text;
        line(sw_jobj_int_need(o, key, -3, 1 << 20, &i, &err), &err);
        if (i < -3 || i > 1 << 20) abort();
        err = (sw_error){0};
        line(sw_jobj_num(o, key, &x, &err), &err);
        err = (sw_error){0};
        line(sw_jobj_bool(o, key, &flag, &err), &err);
        err = (sw_error){0};
        line(sw_jobj_str(o, key, &text, &err), &err);
        err = (sw_error){0};
        sw_status st = sw_jobj_sub(o, key, &sub, &err);
        line(st, &err);
        if (st == SW_OK) walk(sub, depth + 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    json_t *doc = NULL, *again = NULL;
    sw_error err = {0};
    sw_status st = sw_json_parse((const char *)data, size, "fuzz.json", &doc, &err);
    line(st, &err);
    if (st != SW_OK) return doc ? abort(), 1 : 0;
    walk(sw_jobj_root(doc, "fuzz.json"), 0);
    char *text = sw_json_text(doc);
    if (!text) abort();
    if (sw_json_parse(text, strlen(text), "again.json", &again, &err)) abort();
    if (!json_equal(doc, again)) abort();
    free(text);
    json_decref(doc);
    json_decref(again);
    return 0;
}
