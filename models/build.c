/* Layers, tensors and strings of a model under construction (models/build.h), and its end. */
#include "models/build.h"
#include "sim/base/vec.h"

enum { CHUNK = 1 << 16 };

/* The model and what it owns besides its arrays; `model` first, so that a sw_model* is a box*. */
typedef struct box {
    sw_model model;
    size_t layers_cap, tensors_cap, used;
    SW_VEC(char *) chunks;
} box;

sw_model *sw_build_new(void) {
    box *b = sw_zalloc(1, sizeof *b);
    return b ? &b->model : NULL;
}

void sw_model_free(sw_model *model) {
    if (!model) return;
    box *b = (box *)model;
    for (size_t i = 0; i < b->chunks.n; i++) free(b->chunks.v[i]);
    sw_vec_free(&b->chunks);
    free(model->layers);
    free(model->tensors);
    free(b);
}

const char *sw_build_string(sw_model *m, const char *text) {
    box *b = (box *)m;
    size_t n = strlen(text) + 1, size = n > CHUNK ? n : CHUNK;
    if (b->chunks.n == 0 || b->used + n > CHUNK) {
        char *chunk = malloc(size);
        if (!chunk) return NULL;
        if (!sw_vec_push(&b->chunks, chunk)) {
            free(chunk);
            return NULL;
        }
        b->used = 0;
    }
    char *at = b->chunks.v[b->chunks.n - 1] + b->used;
    memcpy(at, text, n);
    b->used = b->used + n > CHUNK ? CHUNK : b->used + n;
    return at;
}

sw_status sw_build_layers(sw_model *m, uint64_t n, sw_error *err) {
    if (n == 0 || n > SW_MAX_LAYERS)
        return sw_fail(err, SW_INPUT, "%llu layers; 1 to %d are supported", (unsigned long long)n,
                       SW_MAX_LAYERS);
    m->layers = sw_zalloc(n, sizeof *m->layers);
    if (!m->layers)
        return sw_fail(err, SW_MEMORY, "no memory for %llu layers", (unsigned long long)n);
    m->n_layers = (uint32_t)n;
    for (uint64_t i = 0; i < n; i++) m->layers[i].kv_shared_with = -1;
    return SW_OK;
}

uint64_t sw_build_product(const uint64_t *dims, uint32_t n) {
    uint64_t product = 1;
    for (uint32_t i = 0; i < n; i++)
        if (__builtin_mul_overflow(product, dims[i], &product)) return UINT64_MAX;
    return product;
}

sw_status sw_build_resize(sw_tensor *t, sw_error *err) {
    uint64_t elems = sw_build_product(t->dims, t->n_dims);
    uint64_t row = t->n_dims ? t->dims[0] : 1;
    uint64_t rows = t->n_dims ? sw_build_product(t->dims + 1, t->n_dims - 1) : 1;
    uint64_t bytes = rows == UINT64_MAX ? UINT64_MAX : sw_dtype_bytes(t->type, row, rows);
    if (elems >= INT64_MAX || bytes >= INT64_MAX)
        return sw_fail(err, SW_INPUT, "tensor %s is too large", t->name);
    if (t->elems) t->elems = elems;
    t->bytes = bytes;
    return SW_OK;
}

sw_status sw_build_tensor(sw_model *m, const sw_tensor *t, bool weights, sw_error *err) {
    box *b = (box *)m;
    if (m->n_tensors >= SW_MAX_TENSORS)
        return sw_fail(err, SW_INPUT, "more than %d tensors", SW_MAX_TENSORS);
    if (m->n_tensors == b->tensors_cap &&
        !sw_grow((void **)&m->tensors, &b->tensors_cap, m->n_tensors + 1, sizeof *m->tensors))
        return sw_fail(err, SW_MEMORY, "no memory for %llu tensors",
                       (unsigned long long)m->n_tensors + 1);
    sw_tensor copy = *t;
    copy.elems = weights;
    SW_TRY(sw_build_resize(&copy, err));
    copy.name = sw_build_string(m, t->name);
    if (!copy.name) return sw_fail(err, SW_MEMORY, "no memory for the names of tensors");
    m->tensors[m->n_tensors++] = copy;
    return SW_OK;
}

static int by_name(const void *a, const void *b) {
    return strcmp((*(const sw_tensor *const *)a)->name, (*(const sw_tensor *const *)b)->name);
}

sw_status sw_names_open(const sw_model *m, sw_names *out, sw_error *err) {
    sw_names names = {sw_zalloc(m->n_tensors + 1, sizeof *names.sorted), m->n_tensors};
    if (!names.sorted) return sw_fail(err, SW_MEMORY, "no memory for an index of tensors");
    for (size_t i = 0; i < names.n; i++) names.sorted[i] = &m->tensors[i];
    qsort(names.sorted, names.n, sizeof *names.sorted, by_name);
    for (size_t i = 1; i < names.n; i++) {
        if (strcmp(names.sorted[i - 1]->name, names.sorted[i]->name) == 0) {
            sw_status s = sw_fail(err, SW_INPUT, "tensor %s occurs twice", names.sorted[i]->name);
            free(names.sorted);
            return s;
        }
    }
    *out = names;
    return SW_OK;
}

const sw_tensor *sw_names_find(const sw_names *names, const char *name) {
    sw_tensor key = {.name = name};
    const sw_tensor *at = &key;
    const sw_tensor **hit =
        names->n ? bsearch(&at, names->sorted, names->n, sizeof *names->sorted, by_name) : NULL;
    return hit ? *hit : NULL;
}

void sw_names_close(sw_names *names) {
    free(names->sorted);
    *names = (sw_names){0};
}
