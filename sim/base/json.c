/* JSON through jansson (see json.h). */
#include "sim/base/json.h"
#include "sim/base/stream.h"
#include "sim/base/vec.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>

enum { MAX_DEPTH = 256, MAX_MIB = 256, MAX_BYTES = MAX_MIB << 20, MAX_VALUES = 4000000 };

/* Depth and number of values (a value takes up to 150 bytes of memory, and two of text), before
 * jansson recurses or allocates; strings are skipped. Counts may be wrong behind a syntax error,
 * which jansson meets first. */
static sw_status check_size(const char *text, size_t n, const char *name, sw_error *err) {
    int depth = 0, line = 1, values = 0;
    size_t start = 0; /* of the line */
    bool string = false;
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        sw_mark at = {name, line, (int)(i - start) + 1};
        if (c == '\n')
            line++, start = i + 1;
        else if (string && c == '\\')
            i++;
        else if (c == '"')
            string = !string;
        else if (string)
            continue;
        else if (c == '}' || c == ']')
            depth--;
        else if (c == '{' || c == '[' || c == ',') {
            if (c != ',' && ++depth > MAX_DEPTH)
                return sw_fail_at(err, SW_INPUT, at, NULL, "nested deeper than 256");
            if (++values > MAX_VALUES)
                return sw_fail_at(err, SW_INPUT, at, NULL, "more than 4,000,000 values");
        }
    }
    return SW_OK;
}

sw_status sw_json_parse(const char *text, size_t bytes, const char *name, json_t **out,
                        sw_error *err) {
    json_error_t why;
    if (bytes > MAX_BYTES) return sw_fail(err, SW_INPUT, "%s: over 256 MiB", name);
    SW_TRY(check_size(text, bytes, name, err));
    json_t *v = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &why);
    if (!v)
        return sw_fail_at(err, SW_INPUT, (sw_mark){name, why.line, why.column}, NULL, "%s",
                          why.text);
    *out = v;
    return SW_OK;
}

sw_status sw_json_load(const char *path, json_t **out, sw_error *err) {
    char *text;
    size_t bytes;
    SW_TRY(sw_file_load(path, MAX_MIB, &text, &bytes, err));
    sw_status st = sw_json_parse(text, bytes, path, out, err);
    free(text);
    return st;
}

/* --- reading objects -------------------------------------------------------------------------- */

sw_jobj sw_jobj_root(const json_t *obj, const char *file) {
    return (sw_jobj){.obj = obj, .file = file};
}

sw_status sw_jobj_fail(sw_jobj o, const char *key, sw_error *err, const char *fmt, ...) {
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return sw_fail(err, SW_INPUT, "%.300s: %s%s: %s", o.file, o.path, key, text);
}

static const json_t *value(sw_jobj o, const char *key) {
    const json_t *v = o.obj ? json_object_get(o.obj, key) : NULL;
    return json_is_null(v) ? NULL : v;
}

sw_status sw_jobj_sub(sw_jobj o, const char *key, sw_jobj *out, sw_error *err) {
    const json_t *v = value(o, key);
    if (v && !json_is_object(v)) return sw_jobj_fail(o, key, err, "expected an object");
    sw_jobj sub = {.obj = v, .file = o.file};
    int n = snprintf(sub.path, sizeof sub.path, "%s%s.", o.path, key);
    if (n < 0 || (size_t)n >= sizeof sub.path)
        return sw_jobj_fail(o, key, err, "nested too deeply");
    *out = sub;
    return SW_OK;
}

sw_status sw_jobj_int(sw_jobj o, const char *key, int64_t min, int64_t max, int64_t *out,
                      sw_error *err) {
    const json_t *v = value(o, key);
    if (!v) return SW_OK;
    double real = json_is_real(v) ? json_real_value(v) : 0.5;
    if (!json_is_integer(v) && (real != floor(real) || fabs(real) > 9e15))
        return sw_jobj_fail(o, key, err, "expected a whole number");
    int64_t x = json_is_integer(v) ? (int64_t)json_integer_value(v) : (int64_t)real;
    if (x < min)
        return sw_jobj_fail(o, key, err, "%lld is below the minimum %lld", (long long)x,
                            (long long)min);
    if (x > max)
        return sw_jobj_fail(o, key, err, "%lld is above the maximum %lld", (long long)x,
                            (long long)max);
    *out = x;
    return SW_OK;
}

sw_status sw_jobj_int_need(sw_jobj o, const char *key, int64_t min, int64_t max, int64_t *out,
                           sw_error *err) {
    if (!value(o, key)) return sw_jobj_fail(o, key, err, "is missing");
    return sw_jobj_int(o, key, min, max, out, err);
}

sw_status sw_jobj_num(sw_jobj o, const char *key, double *out, sw_error *err) {
    const json_t *v = value(o, key);
    if (!v) return SW_OK;
    if (!json_is_number(v)) return sw_jobj_fail(o, key, err, "expected a number");
    *out = json_number_value(v);
    return SW_OK;
}

sw_status sw_jobj_bool(sw_jobj o, const char *key, bool *out, sw_error *err) {
    const json_t *v = value(o, key);
    if (!v) return SW_OK;
    if (!json_is_boolean(v)) return sw_jobj_fail(o, key, err, "expected true or false");
    *out = json_is_true(v);
    return SW_OK;
}

sw_status sw_jobj_str(sw_jobj o, const char *key, const char **out, sw_error *err) {
    const json_t *v = value(o, key);
    if (!v) return SW_OK;
    if (!json_is_string(v)) return sw_jobj_fail(o, key, err, "expected text");
    *out = json_string_value(v);
    return SW_OK;
}

/* --- writing ---------------------------------------------------------------------------------- */

char *sw_json_double(char *buf, double x) {
    assert(isfinite(x));
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(buf, 32, "%.*g", digits, x);
        if (strtod(buf, NULL) == x) break;
    }
    return buf;
}

typedef SW_VEC(char) text_vec;

static bool put(text_vec *t, const char *s, size_t n) {
    if (!sw_vec_reserve(t, t->n + n + 1)) return false;
    memcpy(t->v + t->n, s, n);
    t->n += n;
    t->v[t->n] = 0;
    return true;
}

static bool put_s(text_vec *t, const char *s) {
    return put(t, s, strlen(s));
}

static bool put_indent(text_vec *t, int depth) {
    bool ok = put(t, "\n", 1);
    for (int i = 0; i < depth && ok; i++) ok = put(t, "  ", 2);
    return ok;
}

static bool put_string(text_vec *t, const json_t *v) {
    char *s = json_dumps(v, JSON_ENCODE_ANY);
    bool ok = s && put_s(t, s);
    free(s);
    return ok;
}

static bool put_value(text_vec *t, const json_t *v, int depth);

static bool put_object(text_vec *t, const json_t *v, int depth) {
    const char *key;
    json_t *item;
    bool first = true, ok = put(t, "{", 1);
    json_object_foreach((json_t *)v, key, item) {
        json_t *k = json_string(key);
        ok = ok && (first || put(t, ",", 1)) && put_indent(t, depth + 1) && k && put_string(t, k) &&
             put(t, ": ", 2) && put_value(t, item, depth + 1);
        json_decref(k);
        first = false;
    }
    return ok && (first || put_indent(t, depth)) && put(t, "}", 1);
}

static bool put_array(text_vec *t, const json_t *v, int depth) {
    size_t n = json_array_size(v);
    bool ok = put(t, "[", 1);
    for (size_t i = 0; i < n && ok; i++)
        ok = (i == 0 || put(t, ",", 1)) && put_indent(t, depth + 1) &&
             put_value(t, json_array_get(v, i), depth + 1);
    return ok && (n == 0 || put_indent(t, depth)) && put(t, "]", 1);
}

static bool put_value(text_vec *t, const json_t *v, int depth) {
    char buf[32];
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        return put_object(t, v, depth);
    case JSON_ARRAY:
        return put_array(t, v, depth);
    case JSON_REAL: {
        sw_json_double(buf, json_real_value(v));
        if (!strpbrk(buf, ".eEn")) strcat(buf, ".0"); /* stays a real when read back */
        return put_s(t, buf);
    }
    default:
        return put_string(t, v);
    }
}

char *sw_json_text(const json_t *value_) {
    text_vec t = {0};
    if (put_value(&t, value_, 0) && put(&t, "\n", 1)) return t.v;
    sw_vec_free(&t);
    return NULL;
}

sw_status sw_json_write(json_t *value, const char *path, sw_error *err) {
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
