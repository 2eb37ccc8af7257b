/* Reads the header of a safetensors file (models/safetensors.h). */
#include "models/safetensors.h"
#include "sim/base/json.h"
#include "sim/base/stream.h"
#include "sim/base/vec.h"

enum { MAX_HEADER = 100000000 }; /* the format's own limit */

typedef struct extent {
    uint64_t at, end;
    const char *name;
} extent;

static int by_offset(const void *a, const void *b) {
    const extent *x = a, *y = b;
    return x->at != y->at ? (x->at > y->at) - (x->at < y->at)
                          : (x->end > y->end) - (x->end < y->end);
}

static sw_status bad(const char *path, const char *name, sw_error *err, const char *what) {
    return sw_fail(err, SW_INPUT, "%s: %.200s: %s", path, name, what);
}

static sw_status read_shape(const char *path, const char *name, const json_t *shape, sw_tensor *t,
                            sw_error *err) {
    size_t n = json_array_size(shape);
    if (!json_is_array(shape) || n > 8)
        return bad(path, name, err, "shape is no list of up to 8 sizes");
    for (size_t i = 0; i < n; i++) {
        const json_t *item = json_array_get(shape, n - 1 - i);
        if (!json_is_integer(item) || json_integer_value(item) < 0)
            return bad(path, name, err, "shape holds what is no size");
        uint64_t d = (uint64_t)json_integer_value(item);
        if (i < 4)
            t->dims[i] = d;
        else if (__builtin_mul_overflow(t->dims[3], d,
                                        &t->dims[3])) /* outer sizes fold into the fourth */
            return bad(path, name, err, "shape overflows");
    }
    t->n_dims = n < 4 ? (uint32_t)n : 4;
    return SW_OK;
}

static sw_status read_entry(const char *path, const char *name, const json_t *entry, sw_model *m,
                            extent *e, sw_error *err) {
    sw_tensor t = {.name = name, .layer = -1, .expert = -1, .n_experts = 1};
    const char *type = json_string_value(json_object_get(entry, "dtype"));
    const json_t *offsets = json_object_get(entry, "data_offsets");
    if (!json_is_object(entry))
        return bad(path, name, err, "expected dtype, shape and data_offsets");
    if (!type || !sw_dtype_parse(type, &t.type) || sw_dtype_block_elems(t.type) > 2)
        return bad(path, name, err, "dtype is not known");
    SW_TRY(read_shape(path, name, json_object_get(entry, "shape"), &t, err));
    const json_t *from = json_array_get(offsets, 0), *to = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(from) || !json_is_integer(to) ||
        json_integer_value(from) < 0 || json_integer_value(to) < json_integer_value(from))
        return bad(path, name, err, "data_offsets is no pair of rising offsets");
    e->at = (uint64_t)json_integer_value(from), e->end = (uint64_t)json_integer_value(to);
    sw_error why = {0};
    sw_status s = sw_build_tensor(m, &t, true, &why);
    if (s != SW_OK) return bad(path, name, err, why.text);
    const sw_tensor *made = &m->tensors[m->n_tensors - 1];
    e->name = made->name;
    if (made->bytes != e->end - e->at)
        return bad(path, name, err, "shape and data_offsets disagree on its bytes");
    return SW_OK;
}

static sw_status check_tiling(const char *path, extent *e, size_t n, uint64_t *total,
                              sw_error *err) {
    uint64_t at = 0;
    qsort(e, n, sizeof *e, by_offset);
    for (size_t i = 0; i < n; i++) {
        if (e[i].at != at)
            return bad(path, e[i].name, err,
                       e[i].at < at ? "overlaps another tensor" : "a hole before it");
        at = e[i].end;
    }
    *total = at;
    return SW_OK;
}

static sw_status read_doc(const char *path, const json_t *doc, sw_model *m, uint64_t *total,
                          sw_error *err) {
    if (!json_is_object(doc)) return sw_fail(err, SW_INPUT, "%s: its header is no object", path);
    extent *extents = sw_zalloc(json_object_size(doc) + 1, sizeof *extents);
    if (!extents) return sw_fail(err, SW_MEMORY, "no memory for tensors");
    sw_status s = SW_OK;
    const char *name;
    json_t *entry;
    size_t n = 0;
    json_object_foreach((json_t *)doc, name, entry) {
        if (strcmp(name, "__metadata__") == 0) continue;
        s = read_entry(path, name, entry, m, &extents[n++], err);
        if (s != SW_OK) break;
    }
    if (s == SW_OK) s = check_tiling(path, extents, n, total, err);
    free(extents);
    return s;
}

/* The header's text, grown as it is read: a length that the file does not hold costs nothing. */
static sw_status read_text(sw_reader *r, const char *path, char **out, size_t *size,
                           sw_error *err) {
    uint8_t b[8];
    size_t got = 0, cap = 0;
    uint64_t n = 0;
    SW_TRY(sw_reader_read(r, b, 8, &got, err));
    if (got < 8)
        return sw_fail(err, SW_INPUT, "%s: byte %zu: shorter than a header's length", path, got);
    for (int i = 7; i >= 0; i--) n = n << 8 | b[i];
    if (n < 2 || n > MAX_HEADER)
        return sw_fail(err, SW_INPUT, "%s: byte 0: a header of %llu bytes", path,
                       (unsigned long long)n);
    for (*size = 0; *size < n; *size += got) {
        size_t step = n - *size < 1 << 20 ? (size_t)n - *size : 1 << 20;
        if (!sw_grow((void **)out, &cap, *size + step, 1))
            return sw_fail(err, SW_MEMORY, "no memory for the header of %s", path);
        SW_TRY(sw_reader_read(r, *out + *size, step, &got, err));
        if (got == 0)
            return sw_fail(err, SW_INPUT, "%s: byte %zu: the file ends inside its header", path,
                           *size + 8);
    }
    return SW_OK;
}

sw_status sw_safetensors_read(const char *path, sw_model *m, bool *whole, sw_error *err) {
    sw_reader *r = NULL;
    char *text = NULL;
    json_t *doc = NULL;
    size_t n = 0;
    uint64_t total = 0;
    SW_TRY(sw_reader_open(path, &r, err));
    uint64_t file = sw_reader_file_bytes(r);
    sw_status s = read_text(r, path, &text, &n, err);
    sw_reader_close(r);
    if (s == SW_OK) s = sw_json_parse(text, n, path, &doc, err);
    if (s == SW_OK) s = read_doc(path, doc, m, &total, err);
    json_decref(doc);
    free(text);
    if (s == SW_OK) *whole = file >= 8 + n + total;
    return s;
}
