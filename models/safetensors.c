/* A safetensors file, or an index.json with its shards, to a model.
 *
 * The header knows names, types and sizes; what they are for, the configuration knows. So the model
 * is built from config.json first, and each of its tensors is then found in the header by name:
 * types and bytes are the header's, roles the configuration's. A tensor that the configuration does
 * not know is not read by text generation (UNUSED), and is counted in the source; one that it needs
 * and that is missing is an error. */
#include "models/safetensors.h"
#include "models/hf.h"
#include "sim/base/vec.h"
#include <unistd.h>

/* Suffixes of what quantizers store in place of NAME.weight; side: holds no weights itself. */
static const struct {
    const char *suffix;
    bool side;
    uint32_t per_word; /* weights in one element of the type it is declared with */
} packed[] = {
    {".qweight", false, 8},
    {".weight_packed", false, 8},
    {".qzeros", true, 1},
    {".scales", true, 1},
    {".g_idx", true, 1},
    {".weight_scale", true, 1},
    {".weight_scale_inv", true, 1},
    {".weight_scale_2", true, 1},
    {".input_scale", true, 1},
    {".weight_shape", true, 1},
    {".weight_zero_point", true, 1},
    {".weight_g_idx", true, 1},
    {"_blocks", false, 2},
    {"_scales", true, 1},
    {".k_scale", true, 1},
    {".v_scale", true, 1},
};

typedef struct merge {
    const char *path;
    sw_model *plan, *file, *out; /* of the configuration; as the header lists; the result */
    sw_names names;
    bool *seen; /* the plan's tensors found */
    uint64_t unknown;
} merge;

static const sw_tensor *base_of(const merge *g, const char *name, size_t *which) {
    char base[SW_MAX_NAME];
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++) {
        size_t k = strlen(packed[i].suffix);
        if (n <= k || strcmp(name + n - k, packed[i].suffix) != 0) continue;
        bool bare = *packed[i].suffix == '_'; /* gpt-oss: X_blocks of X */
        if (snprintf(base, sizeof base, "%.*s%s", (int)(n - k), name, bare ? "" : ".weight") >=
            SW_MAX_NAME)
            return NULL;
        *which = i;
        return sw_names_find(&g->names, base);
    }
    return NULL;
}

/* Halves of a byte and eighths of a word become elements of their own: the sizes are then the
 * network's. */
static sw_status unpack(sw_tensor *t, uint32_t per_word, sw_dtype type, sw_error *err) {
    if (__builtin_mul_overflow(t->dims[0], per_word, &t->dims[0]))
        return sw_fail(err, SW_INPUT, "tensor %s is too large", t->name);
    t->type = type;
    return SW_OK;
}

static sw_status same_shape(const merge *g, const sw_tensor *t, const sw_tensor *want,
                            sw_error *err) {
    uint64_t have = sw_build_product(t->dims, t->n_dims);
    uint64_t need = sw_build_product(want->dims, want->n_dims);
    if (have == need) return SW_OK;
    return sw_fail(err, SW_INPUT, "%s: %s: %llu elements, but the configuration makes it %llu",
                   g->path, t->name, (unsigned long long)have, (unsigned long long)need);
}

static sw_status adopt(merge *g, sw_tensor t, sw_error *err) {
    size_t which = 0;
    const sw_tensor *exact = sw_names_find(&g->names, t.name);
    const sw_tensor *base = exact ? exact : base_of(g, t.name, &which);
    bool weights = base != NULL;
    if (!base && g->plan->tied && strcmp(t.name, "lm_head.weight") == 0) {
        t.role = SW_ROLE_OUTPUT, g->out->tied = false;
        return sw_build_tensor(g->out, &t, true, err);
    }
    if (!base) {
        g->unknown++;
        t.role = SW_ROLE_UNUSED;
        return sw_build_tensor(g->out, &t, true, err);
    }
    t.role = base->role, t.layer = base->layer, t.expert = base->expert,
    t.n_experts = base->n_experts;
    if (exact) {
        bool half = t.type == SW_U8 || t.type == SW_I8, word = t.type == SW_I32;
        bool four = exact->type == SW_F4 || exact->type == SW_I4;
        uint64_t have = sw_build_product(t.dims, t.n_dims);
        weights = exact->elems > 0;
        if (half && (four || have * 2 == exact->elems))
            SW_TRY(unpack(&t, 2, SW_F4, err));
        else if (word && exact->type == SW_I4)
            SW_TRY(unpack(&t, 8, SW_I4, err));
        if (weights || four) SW_TRY(same_shape(g, &t, exact, err));
        g->seen[exact - g->plan->tensors] = true;
    } else {
        weights = !packed[which].side;
        if (weights) {
            SW_TRY(unpack(&t, packed[which].per_word, packed[which].per_word == 2 ? SW_F4 : SW_I4,
                          err));
            SW_TRY(same_shape(g, &t, base, err));
            g->seen[base - g->plan->tensors] = true;
        }
    }
    return sw_build_tensor(g->out, &t, weights, err);
}

static sw_status merge_all(merge *g, sw_error *err) {
    SW_TRY(sw_build_layers(g->out, g->plan->n_layers, err));
    memcpy(g->out->layers, g->plan->layers, g->plan->n_layers * sizeof *g->plan->layers);
    g->out->tied = g->plan->tied;
    for (uint64_t i = 0; i < g->file->n_tensors; i++) SW_TRY(adopt(g, g->file->tensors[i], err));
    for (uint64_t i = 0; i < g->plan->n_tensors; i++) {
        const sw_tensor *t = &g->plan->tensors[i];
        if (!g->seen[i] && t->elems && t->role != SW_ROLE_UNUSED)
            return sw_fail(err, SW_INPUT, "%s: %s: in the configuration, but not here", g->path,
                           t->name);
    }
    sw_error why = {0};
    sw_status s = sw_model_finish(g->out, &why);
    return s == SW_OK ? SW_OK : sw_fail(err, s, "%s: %s", g->path, why.text);
}

static void label(merge *g, bool exact, const char *note) {
    sw_model *m = g->out;
    char unknown[80] = "";
    if (g->unknown)
        snprintf(unknown, sizeof unknown, "; %llu tensors that the configuration does not know",
                 (unsigned long long)g->unknown);
    m->hidden = g->plan->hidden, m->vocab = g->plan->vocab, m->max_context = g->plan->max_context;
    memcpy(m->arch, g->plan->arch, sizeof m->arch);
    snprintf(m->quant, sizeof m->quant, "as stored");
    snprintf(m->source, sizeof m->source, "%.90s%s%s", g->path, note, unknown);
    m->bytes_exact = exact;
}

/* The result of the plan and the header's tensors; takes neither. */
static sw_status combine(const char *path, sw_model *plan, sw_model *file, bool exact,
                         const char *note, sw_model **out, sw_error *err) {
    merge g = {.path = path, .plan = plan, .file = file, .out = sw_build_new()};
    g.seen = sw_zalloc(plan->n_tensors + 1, sizeof *g.seen);
    sw_status s = g.out && g.seen ? SW_OK : sw_fail(err, SW_MEMORY, "no memory for a model");
    sw_names twice = {0};
    if (s == SW_OK) s = sw_names_open(file, &twice, err); /* no name in two files */
    sw_names_close(&twice);
    if (s == SW_OK) s = sw_names_open(plan, &g.names, err);
    if (s == SW_OK) s = merge_all(&g, err);
    if (s == SW_OK) {
        label(&g, exact, note);
        *out = g.out;
    } else {
        sw_model_free(g.out);
    }
    sw_names_close(&g.names);
    free(g.seen);
    return s;
}

static char *beside(const char *path, const char *name) {
    const char *slash = strrchr(path, '/');
    char *out = NULL;
    int n = slash ? (int)(slash + 1 - path) : 0;
    return asprintf(&out, "%.*s%s", n, path, name) < 0 ? NULL : out;
}

/* Reads the shards that an index names. *there: all of them lie beside it. */
static sw_status read_shards(const char *path, const json_t *map, sw_model *file, bool *there,
                             sw_error *err) {
    SW_VEC(const char *) done = {0};
    sw_status s = SW_OK;
    const char *name;
    json_t *value;
    *there = true;
    json_object_foreach((json_t *)map, name, value) {
        const char *shard = json_string_value(value);
        size_t i = 0;
        if (!shard || !*shard || strchr(shard, '/')) {
            s = sw_fail(err, SW_INPUT, "%s: weight_map.%.200s: no name of a file", path, name);
            break;
        }
        while (i < done.n && strcmp(done.v[i], shard) != 0) i++;
        if (i < done.n) continue;
        if (done.n >= 10000 || !sw_vec_push(&done, shard)) {
            s = sw_fail(err, SW_INPUT, "%s: too many files", path);
            break;
        }
        char *full = beside(path, shard);
        bool whole;
        if (!full)
            s = sw_fail(err, SW_MEMORY, "no memory for a path");
        else if (access(full, R_OK))
            *there = false;
        else if (*there)
            s = sw_safetensors_read(full, file, &whole, err);
        free(full);
        if (s != SW_OK || !*there) break;
    }
    sw_vec_free(&done);
    return s;
}

/* Without shards the index has names only: sizes are the configuration's. */
static sw_status names_only(const char *path, const json_t *map, const sw_model *plan,
                            sw_model *file, sw_error *err) {
    sw_names names;
    SW_TRY(sw_names_open(plan, &names, err));
    sw_status s = SW_OK;
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)map, name, value) {
        const sw_tensor *t = sw_names_find(&names, name);
        if (!t) {
            s = sw_fail(err, SW_INPUT,
                        "%s: weight_map.%.200s: not in the configuration, and its file is not "
                        "here to say how large it is",
                        path, name);
            break;
        }
        s = sw_build_tensor(file, t, t->elems > 0, err);
        if (s != SW_OK) break;
    }
    sw_names_close(&names);
    return s;
}

static sw_status read_index(const char *path, sw_model *plan, sw_model *file, bool *exact,
                            char note[80], sw_error *err) {
    json_t *doc = NULL;
    SW_TRY(sw_json_load(path, &doc, err));
    const json_t *map = json_object_get(doc, "weight_map");
    const json_t *size = json_object_get(json_object_get(doc, "metadata"), "total_size");
    sw_status s = json_is_object(map) ? read_shards(path, map, file, exact, err)
                                      : sw_fail(err, SW_INPUT, "%s: weight_map: missing", path);
    if (s == SW_OK && *exact && file->n_tensors != json_object_size(map))
        s = sw_fail(err, SW_INPUT, "%s: weight_map: %llu tensors, but its files hold %llu", path,
                    (unsigned long long)json_object_size(map), (unsigned long long)file->n_tensors);
    if (s == SW_OK && !*exact) {
        s = names_only(path, map, plan, file, err);
        uint64_t sum = 0;
        for (uint64_t i = 0; s == SW_OK && i < file->n_tensors; i++) sum += file->tensors[i].bytes;
        bool agrees = json_is_number(size) && json_number_value(size) == (double)sum;
        snprintf(note, 80, "%s",
                 !size    ? " (sizes from the configuration)"
                 : agrees ? " (sizes from the configuration, total as the index says)"
                          : " (sizes from the configuration; the index has another total)");
    }
    json_decref(doc);
    return s;
}

static bool ends_with(const char *text, const char *tail) {
    size_t n = strlen(text), k = strlen(tail);
    return n >= k && strcmp(text + n - k, tail) == 0;
}

sw_status sw_model_from_safetensors(const char *path, const char *config, sw_model **out,
                                    sw_error *err) {
    bool index = ends_with(path, ".json"), exact = true;
    char note[80] = "";
    if (!index && strstr(path, "-of-"))
        return sw_fail(err, SW_INPUT, "%s: one of several files; give the index.json", path);
    char *own = config ? NULL : beside(path, "config.json");
    if (!config && !own) return sw_fail(err, SW_MEMORY, "no memory for a path");
    sw_model *plan = NULL, *file = sw_build_new();
    sw_status s = file ? sw_model_from_config(config ? config : own, NULL, &plan, err)
                       : sw_fail(err, SW_MEMORY, "no memory for a model");
    if (s == SW_OK)
        s = index ? read_index(path, plan, file, &exact, note, err)
                  : sw_safetensors_read(path, file, &exact, err);
    if (s == SW_OK && !index && !exact) {
        exact = true; /* a header alone has all sizes */
        snprintf(note, sizeof note, " (header only)");
    }
    if (s == SW_OK) s = combine(path, plan, file, exact, note, out, err);
    sw_model_free(plan);
    sw_model_free(file);
    free(own);
    return s;
}
