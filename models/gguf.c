/* Reads the header of a GGUF file (models/gguf.h). */
#include "models/gguf.h"
#include "sim/base/stream.h"
#include "sim/base/vec.h"
#include <math.h>
#include <stdio.h>

enum { MAX_VALUES = 65536, MAX_STRING = 1 << 26, MAX_ITEMS = 1 << 27, MAX_ALIGN = 1 << 20 };

/* Types of values, in the format's numbering. */
enum { U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64, TYPES };
static const uint8_t widths[TYPES] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

/* ggml's numbering of tensor types (ggml.h); SW_DTYPE_COUNT: removed or never given. */
#define NONE SW_DTYPE_COUNT
static const sw_dtype types[] = {
    SW_F32,     SW_F16,   SW_Q4_0,   SW_Q4_1,  NONE,     NONE,      SW_Q5_0, SW_Q5_1,    SW_Q8_0,
    SW_Q8_1,    SW_Q2_K,  SW_Q3_K,   SW_Q4_K,  SW_Q5_K,  SW_Q6_K,   SW_Q8_K, SW_IQ2_XXS, SW_IQ2_XS,
    SW_IQ3_XXS, SW_IQ1_S, SW_IQ4_NL, SW_IQ3_S, SW_IQ2_S, SW_IQ4_XS, SW_I8,   SW_I16,     SW_I32,
    SW_I64,     SW_F64,   SW_IQ1_M,  SW_BF16,  NONE,     NONE,      NONE,    SW_TQ1_0,   SW_TQ2_0,
    NONE,       NONE,     NONE,      SW_MXFP4, SW_NVFP4, SW_Q1_0,   SW_Q2_0};

typedef struct in {
    sw_reader *r;
    const char *path;
    uint64_t at; /* bytes consumed */
    size_t n, pos;
    uint8_t buf[1 << 16];
} in;

#define FAIL(file, err, ...) fail_at_byte((file), (file)->at, (err), __VA_ARGS__)

__attribute__((format(printf, 4, 5))) static sw_status
fail_at_byte(const in *f, uint64_t at, sw_error *err, const char *fmt, ...) {
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return sw_fail(err, SW_INPUT, "%s: byte %llu: %s", f->path, (unsigned long long)at, text);
}

/* Copies n bytes to out, or skips them if out is NULL. */
static sw_status take(in *f, void *out, uint64_t n, sw_error *err) {
    uint8_t *to = out;
    while (n) {
        if (f->pos == f->n) {
            f->pos = f->n = 0;
            SW_TRY(sw_reader_read(f->r, f->buf, sizeof f->buf, &f->n, err));
            if (f->n == 0) return FAIL(f, err, "the file ends inside its header");
        }
        size_t k = f->n - f->pos < n ? f->n - f->pos : (size_t)n;
        if (to) memcpy(to, f->buf + f->pos, k), to += k;
        f->pos += k, f->at += k, n -= k;
    }
    return SW_OK;
}

static sw_status take_int(in *f, unsigned width, uint64_t *out, sw_error *err) {
    uint8_t b[8];
    SW_TRY(take(f, b, width, err));
    *out = 0;
    for (unsigned i = width; i-- > 0;) *out = *out << 8 | b[i];
    return SW_OK;
}

/* A string into buf of `size`; longer ones, up to `max`, are an error if `whole`, else skipped (buf
 * ""). */
static sw_status take_string(in *f, char *buf, size_t size, bool whole, const char *what,
                             sw_error *err) {
    uint64_t n, start = f->at;
    SW_TRY(take_int(f, 8, &n, err));
    if (n > MAX_STRING || (whole && n >= size))
        return fail_at_byte(f, start, err, "%s of %llu bytes", what, (unsigned long long)n);
    buf[0] = 0;
    if (n >= size) return take(f, NULL, n, err);
    SW_TRY(take(f, buf, n, err));
    buf[n] = 0;
    if (memchr(buf, 0, n)) return fail_at_byte(f, start, err, "%s with a NUL byte", what);
    return SW_OK;
}

static int64_t to_int(uint32_t type, uint64_t raw) {
    double d;
    float x;
    switch (type) {
    case I8:
        return (int8_t)raw;
    case I16:
        return (int16_t)raw;
    case I32:
        return (int32_t)raw;
    case F32:
        memcpy(&x, &(uint32_t){(uint32_t)raw}, 4), d = x;
        break;
    case F64:
        memcpy(&d, &raw, 8);
        break;
    default:
        return raw > INT64_MAX ? INT64_MAX : (int64_t)raw;
    }
    return isfinite(d) && fabs(d) < 9e18 ? (int64_t)d : 0;
}

static sw_status take_array(in *f, gguf_value *v, sw_error *err) {
    uint64_t type, n, raw, start = f->at;
    SW_TRY(take_int(f, 4, &type, err));
    SW_TRY(take_int(f, 8, &n, err));
    if (type >= TYPES || type == ARRAY)
        return fail_at_byte(f, start, err, "key %s: an array of type %llu", v->key,
                            (unsigned long long)type);
    if (n > MAX_ITEMS)
        return fail_at_byte(f, start, err, "key %s: an array of %llu items", v->key,
                            (unsigned long long)n);
    if (type == STRING) {
        char none[1];
        for (uint64_t i = 0; i < n; i++)
            SW_TRY(take_string(f, none, sizeof none, false, "a string", err));
        return SW_OK;
    }
    if (type == F32 || type == F64 || n > SW_MAX_LAYERS)
        return take(f, NULL, n * widths[type], err);
    v->list = sw_zalloc(n + 1, sizeof *v->list);
    if (!v->list) return sw_fail(err, SW_MEMORY, "no memory for an array");
    v->n = (uint32_t)n;
    for (uint64_t i = 0; i < n; i++) {
        SW_TRY(take_int(f, widths[type], &raw, err));
        int64_t x = to_int((uint32_t)type, raw);
        v->list[i] = x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (int32_t)x;
    }
    return SW_OK;
}

static sw_status take_value(in *f, gguf_file *g, gguf_value *v, sw_error *err) {
    uint64_t type, raw, start = f->at;
    char text[256];
    SW_TRY(take_string(f, v->key, sizeof v->key, false, "a key", err));
    SW_TRY(take_int(f, 4, &type, err));
    if (type == ARRAY) return take_array(f, v, err);
    if (type == STRING) {
        SW_TRY(take_string(f, text, sizeof text, false, "a string", err));
        v->text = sw_build_string(g->model, text);
        return v->text ? SW_OK : sw_fail(err, SW_MEMORY, "no memory for a string");
    }
    if (type >= TYPES)
        return fail_at_byte(f, start, err, "key %s: values of type %llu are not known", v->key,
                            (unsigned long long)type);
    SW_TRY(take_int(f, widths[type], &raw, err));
    v->i = to_int((uint32_t)type, raw);
    v->number = true;
    return SW_OK;
}

static sw_status take_tensor(in *f, gguf_file *g, uint64_t *offset, sw_error *err) {
    char name[SW_MAX_NAME];
    uint64_t n_dims, type, start = f->at;
    SW_TRY(take_string(f, name, sizeof name, true, "a tensor's name", err));
    SW_TRY(take_int(f, 4, &n_dims, err));
    if (n_dims > 4)
        return fail_at_byte(f, start, err, "tensor %s has %llu dimensions", name,
                            (unsigned long long)n_dims);
    sw_tensor t = {
        .name = name, .layer = -1, .expert = -1, .n_experts = 1, .n_dims = (uint32_t)n_dims};
    for (uint64_t i = 0; i < n_dims; i++) SW_TRY(take_int(f, 8, &t.dims[i], err));
    SW_TRY(take_int(f, 4, &type, err));
    SW_TRY(take_int(f, 8, offset, err));
    if (type >= sizeof types / sizeof *types || types[type] == NONE)
        return fail_at_byte(f, start, err, "tensor %s: type %llu is not known", name,
                            (unsigned long long)type);
    t.type = types[type];
    if (n_dims && t.dims[0] % sw_dtype_block_elems(t.type))
        return fail_at_byte(f, start, err, "tensor %s: rows of %llu in blocks of %u", name,
                            (unsigned long long)t.dims[0], sw_dtype_block_elems(t.type));
    sw_error why = {0};
    sw_status s = sw_build_tensor(g->model, &t, true, &why);
    return s == SW_OK ? SW_OK : fail_at_byte(f, start, err, "%s", why.text);
}

typedef struct extent {
    uint64_t at, end;
    const char *name;
} extent;

static int by_offset(const void *a, const void *b) {
    const extent *x = a, *y = b;
    return x->at != y->at ? (x->at > y->at) - (x->at < y->at)
                          : (x->end > y->end) - (x->end < y->end);
}

static sw_status check_extents(const in *f, gguf_file *g, extent *e, uint64_t align,
                               sw_error *err) {
    size_t n = g->model->n_tensors;
    for (size_t i = 0; i < n; i++) {
        const sw_tensor *t = &g->model->tensors[i];
        e[i].name = t->name;
        if (e[i].at % align)
            return FAIL(f, err, "tensor %s: offset %llu is not aligned to %llu", t->name,
                        (unsigned long long)e[i].at, (unsigned long long)align);
        if (__builtin_add_overflow(e[i].at, t->bytes, &e[i].end) || e[i].end > INT64_MAX)
            return FAIL(f, err, "tensor %s: ends beyond 2^63", t->name);
    }
    qsort(e, n, sizeof *e, by_offset);
    for (size_t i = 0; i < n; i++) {
        if (i && e[i].at < e[i - 1].end)
            return FAIL(f, err, "tensors %s and %s overlap", e[i - 1].name, e[i].name);
        g->data_bytes = e[i].end;
    }
    return SW_OK;
}

static sw_status read_tensors(in *f, gguf_file *g, uint64_t n, sw_error *err) {
    SW_VEC(extent) extents = {0};
    sw_status s = SW_OK;
    for (uint64_t i = 0; s == SW_OK && i < n; i++) {
        extent e = {0};
        s = take_tensor(f, g, &e.at, err);
        if (s == SW_OK && !sw_vec_push(&extents, e))
            s = sw_fail(err, SW_MEMORY, "no memory for tensors");
    }
    const gguf_value *v = sw_gguf_value(g, "general.alignment");
    uint64_t align = v && v->number ? (uint64_t)v->i : 32;
    if (s == SW_OK && (align == 0 || align > MAX_ALIGN || (align & (align - 1))))
        s = FAIL(f, err, "general.alignment %lld is no power of two up to 2^20", (long long)v->i);
    if (s == SW_OK) {
        g->data_offset = (f->at + align - 1) / align * align;
        if (n) s = check_extents(f, g, extents.v, align, err);
    }
    sw_vec_free(&extents);
    if (s != SW_OK) return s;
    sw_names names;
    sw_error why = {0};
    s = sw_names_open(g->model, &names, &why);
    if (s != SW_OK) return FAIL(f, err, "%s", why.text);
    sw_names_close(&names);
    return SW_OK;
}

static sw_status read_header(in *f, gguf_file *g, sw_error *err) {
    uint64_t magic, version, n_tensors, n_values;
    SW_TRY(take_int(f, 4, &magic, err));
    if (magic == 0x47475546)
        return FAIL(f, err, "GGUF version 1, of August 2023; 2 and 3 are supported");
    if (magic != 0x46554747) return FAIL(f, err, "not a GGUF file");
    SW_TRY(take_int(f, 4, &version, err));
    if (version && (version & 0xffff) == 0)
        return FAIL(f, err, "a big-endian GGUF file is not supported");
    if (version != 2 && version != 3)
        return FAIL(f, err, "GGUF version %llu; 2 and 3 are supported",
                    (unsigned long long)version);
    SW_TRY(take_int(f, 8, &n_tensors, err));
    SW_TRY(take_int(f, 8, &n_values, err));
    if (n_tensors > SW_MAX_TENSORS)
        return FAIL(f, err, "%llu tensors", (unsigned long long)n_tensors);
    if (n_values > MAX_VALUES) return FAIL(f, err, "%llu key-values", (unsigned long long)n_values);
    SW_VEC(gguf_value) values = {0};
    sw_status s = SW_OK;
    for (uint64_t i = 0; s == SW_OK && i < n_values; i++) {
        if (!sw_vec_push(&values, (gguf_value){0}))
            s = sw_fail(err, SW_MEMORY, "no memory for key-values");
        g->values = values.v, g->n_values = values.n;
        if (s == SW_OK) s = take_value(f, g, &values.v[i], err);
    }
    return s == SW_OK ? read_tensors(f, g, n_tensors, err) : s;
}

sw_status sw_gguf_read(const char *path, gguf_file *out, sw_error *err) {
    gguf_file g = {0};
    in *f = sw_zalloc(1, sizeof *f);
    g.model = sw_build_new();
    sw_status s = f && g.model ? SW_OK : sw_fail(err, SW_MEMORY, "no memory to read %s", path);
    if (s == SW_OK) s = sw_reader_open(path, &f->r, err);
    if (s == SW_OK) {
        f->path = path;
        g.file_bytes = sw_reader_file_bytes(f->r);
        s = read_header(f, &g, err);
        sw_reader_close(f->r);
    }
    free(f);
    if (s == SW_OK)
        *out = g;
    else
        sw_gguf_close(&g);
    return s;
}

void sw_gguf_close(gguf_file *g) {
    for (size_t i = 0; i < g->n_values; i++) free(g->values[i].list);
    free(g->values);
    sw_model_free(g->model);
    *g = (gguf_file){0};
}

const gguf_value *sw_gguf_value(const gguf_file *g, const char *key) {
    for (size_t i = 0; i < g->n_values; i++)
        if (strcmp(g->values[i].key, key) == 0) return &g->values[i];
    return NULL;
}
