/* quantization_config: how the checkpoint says that its products are stored. Unknown methods are
 * refused, as are options that would change sizes in a way that is not known here. */
#include "models/hf_filter.h"
#include "sim/base/vec.h"

static sw_status in_config(hf_cfg *c, sw_error *err, sw_status s, const sw_error *why) {
    return s == SW_OK ? SW_OK : sw_jobj_fail(c->root, "quantization_config", err, "%s", why->text);
}

/* Adds every string of a list under `key` with `scheme`. */
static sw_status add_list(hf_cfg *c, sw_jobj q, const char *key, hf_scheme scheme, sw_error *err) {
    const json_t *list = json_object_get(q.obj, key);
    if (!list || json_is_null(list)) return SW_OK;
    if (!json_is_array(list)) return sw_jobj_fail(q, key, err, "expected a list of module names");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (!text) return sw_jobj_fail(q, key, err, "expected a list of module names");
        sw_error why;
        sw_status s = sw_hf_filter_add(c->store.filter, text, scheme, &why);
        if (s != SW_OK) return sw_jobj_fail(q, key, err, "%s", why.text);
    }
    c->store.filtered = true;
    return SW_OK;
}

static sw_status read_fp8(hf_cfg *c, sw_jobj q, sw_error *err) {
    const json_t *block = json_object_get(q.obj, "weight_block_size");
    c->store.scheme = S_FP8_TENSOR;
    if (json_is_array(block)) {
        int64_t rows = json_integer_value(json_array_get(block, 0));
        int64_t cols = json_integer_value(json_array_get(block, 1));
        if (json_array_size(block) != 2 || rows < 1 || cols < 1 || rows > 65536 || cols > 65536)
            return sw_jobj_fail(q, "weight_block_size", err, "expected two sizes from 1 to 65536");
        c->store.scheme = S_FP8_BLOCK;
        c->store.block_rows = (uint64_t)rows, c->store.block_cols = (uint64_t)cols;
    }
    SW_TRY(add_list(c, q, "modules_to_not_convert", S_NONE, err));
    return add_list(c, q, "ignored_layers", S_NONE, err);
}

static sw_status read_group(hf_cfg *c, sw_jobj q, sw_error *err) {
    int64_t bits = 4, group = 128;
    SW_TRY(sw_hf_int(q, "bits|w_bit", 1, 16, &bits, err));
    SW_TRY(sw_hf_int(q, "group_size|q_group_size", -1, 1 << 20, &group, err));
    if (bits != 4)
        return sw_jobj_fail(q, "bits", err, "only 4 bits are supported, not %d", (int)bits);
    if (group == 0) return sw_jobj_fail(q, "group_size", err, "a group of 0");
    c->store.group = group < 0 ? 0 : (uint64_t)group;
    c->type = SW_F16;
    return add_list(c, q, "modules_to_not_convert", S_NONE, err);
}

static sw_status read_awq(hf_cfg *c, sw_jobj q, sw_error *err) {
    c->store.scheme = S_AWQ;
    return read_group(c, q, err);
}

static sw_status read_gptq(hf_cfg *c, sw_jobj q, sw_error *err) {
    c->store.scheme = S_GPTQ;
    return read_group(c, q, err);
}

static sw_status read_mxfp4(hf_cfg *c, sw_jobj q, sw_error *err) {
    c->store.scheme = S_MXFP4;
    c->store.experts_only = true;
    return add_list(c, q, "modules_to_not_convert", S_NONE, err);
}

/* config_groups of compressed-tensors and modelopt: one group, of all linear modules. */
static sw_status first_group(sw_jobj q, sw_jobj *weights, sw_error *err) {
    sw_jobj groups, group;
    SW_TRY(sw_jobj_sub(q, "config_groups", &groups, err));
    if (!groups.obj || json_object_size(groups.obj) != 1)
        return sw_jobj_fail(q, "config_groups", err, "exactly one group is supported");
    const char *key = json_object_iter_key(json_object_iter((json_t *)groups.obj));
    SW_TRY(sw_jobj_sub(groups, key, &group, err));
    SW_TRY(sw_jobj_sub(group, "weights", weights, err));
    if (!weights->obj) return sw_jobj_fail(group, "weights", err, "missing");
    return SW_OK;
}

static sw_status read_compressed(hf_cfg *c, sw_jobj q, sw_error *err) {
    sw_jobj w;
    const char *type = "int", *strategy = "channel", *format = "";
    int64_t bits = 0, group = 0;
    SW_TRY(first_group(q, &w, err));
    SW_TRY(sw_jobj_str(w, "type", &type, err));
    SW_TRY(sw_jobj_str(w, "strategy", &strategy, err));
    SW_TRY(sw_jobj_str(q, "format", &format, err));
    SW_TRY(sw_jobj_int(w, "num_bits", 1, 16, &bits, err));
    SW_TRY(sw_jobj_int(w, "group_size", 1, 1 << 20, &group, err));
    bool channel = strcmp(strategy, "channel") == 0;
    if (strcmp(format, "pack-quantized") == 0 && bits == 4)
        c->store.scheme = S_PACKED;
    else if (strcmp(format, "float-quantized") == 0 && bits == 8 && channel)
        c->store.scheme = S_FP8_CHANNEL;
    else if (strcmp(format, "int-quantized") == 0 && bits == 8 && channel)
        c->store.scheme = S_INT8;
    else
        return sw_jobj_fail(q, "format", err,
                            "compressed-tensors `%s` with %d bits and strategy `%s` is not "
                            "supported; give a safetensors header",
                            format, (int)bits, strategy);
    c->store.group = (uint64_t)group;
    return add_list(c, q, "ignore", S_NONE, err);
}

typedef struct algo {
    const char *name;
    hf_scheme scheme;
} algo;

static const algo algos[] = {
    {"NVFP4", S_NVFP4}, {"FP8", S_FP8_TENSOR}, {"W4A16_NVFP4", S_NVFP4_W}, {"FP8_PB_WO", S_NONE}};

static sw_status find_algo(sw_jobj q, const char *key, const char *name, hf_scheme *out,
                           sw_error *err) {
    for (size_t i = 0; name && i < sizeof algos / sizeof *algos; i++) {
        if (strcmp(algos[i].name, name) == 0 && algos[i].scheme != S_NONE) {
            *out = algos[i].scheme;
            return SW_OK;
        }
    }
    return sw_jobj_fail(q, key, err, "modelopt's `%s` is not supported; give a safetensors header",
                        name ? name : "(none)");
}

static sw_status read_mixed(hf_cfg *c, sw_jobj q, sw_error *err) {
    sw_jobj layers;
    SW_TRY(sw_jobj_sub(q, "quantized_layers", &layers, err));
    if (!layers.obj) return sw_jobj_fail(q, "quantized_layers", err, "missing for mixed precision");
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)layers.obj, key, value) {
        hf_scheme s = S_NONE;
        SW_TRY(find_algo(layers, key, json_string_value(json_object_get(value, "quant_algo")), &s,
                         err));
        sw_error why;
        sw_status status = sw_hf_filter_add(c->store.filter, key, s, &why);
        if (status != SW_OK) return sw_jobj_fail(layers, key, err, "%s", why.text);
    }
    c->store.scheme = S_NVFP4; /* of what a filter names; the rest is left plain */
    c->store.listed_only = true;
    c->store.filtered = true;
    return SW_OK;
}

static sw_status read_modelopt(hf_cfg *c, sw_jobj q, sw_error *err) {
    const char *name = NULL;
    SW_TRY(sw_jobj_str(q, "quant_algo", &name, err));
    if (name && strcmp(name, "MIXED_PRECISION") == 0) return read_mixed(c, q, err);
    SW_TRY(find_algo(q, "quant_algo", name, &c->store.scheme, err));
    SW_TRY(add_list(c, q, "ignore", S_NONE, err));
    return add_list(c, q, "exclude_modules", S_NONE, err);
}

static const struct {
    const char *method;
    sw_status (*read)(hf_cfg *, sw_jobj, sw_error *);
} methods[] = {{"fp8", read_fp8},
               {"awq", read_awq},
               {"gptq", read_gptq},
               {"mxfp4", read_mxfp4},
               {"compressed-tensors", read_compressed},
               {"modelopt", read_modelopt}};

sw_status sw_hf_store_config(hf_cfg *c, sw_error *err) {
    sw_jobj q;
    const char *method = NULL;
    SW_TRY(sw_jobj_sub(c->root, "quantization_config", &q, err));
    if (!q.obj) SW_TRY(sw_jobj_sub(c->text, "quantization_config", &q, err));
    if (!q.obj) return SW_OK;
    SW_TRY(sw_jobj_str(q, "quant_method", &method, err));
    for (size_t i = 0; method && i < sizeof methods / sizeof *methods; i++) {
        if (strcmp(methods[i].method, method) != 0) continue;
        c->store.filter = sw_hf_filter_new();
        if (!c->store.filter) return in_config(c, err, SW_MEMORY, &(sw_error){.text = "no memory"});
        SW_TRY(methods[i].read(c, q, err));
        sw_hf_filter_ready(c->store.filter);
        snprintf(c->store.label, sizeof c->store.label, "%s", method);
        return SW_OK;
    }
    return sw_jobj_fail(q, "quant_method", err,
                        "`%s` is not supported; give a GGUF or a safetensors header",
                        method ? method : "(none)");
}
