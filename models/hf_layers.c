/* Which layers attend to a window and which are mixtures of experts: the keys that many families
 * share.
 *
 * Windows: layer_types, else a pattern (Gemma 2 alternates, Gemma 3 repeats), else sliding_window
 * for all. Mixtures: mlp_layer_types, moe_layer_freq (a list or a step), first_k_dense_replace,
 * mlp_only_layers with decoder_sparse_step, interleave_moe_layer_step. */
#include "models/hf.h"
#include "sim/base/vec.h"

/* A list of strings, one a layer, each one of `words`; found: index of its word in out. */
static sw_status read_words(const hf_cfg *c, const char *key, const char *const *words, int n,
                            int64_t *out, bool *found, sw_error *err) {
    const json_t *list = json_object_get(c->text.obj, key);
    *found = false;
    if (!list || json_is_null(list)) return SW_OK;
    if (!json_is_array(list) || json_array_size(list) < (size_t)c->layers)
        return sw_jobj_fail(c->text, key, err,
                            "expected a list with an item for each of the %d layers",
                            (int)c->layers);
    for (int64_t i = 0; i < c->layers; i++) {
        const char *text = json_string_value(json_array_get(list, (size_t)i));
        int w = 0;
        while (w < n && !(text && strcmp(text, words[w]) == 0)) w++;
        if (w == n)
            return sw_jobj_fail(c->text, key, err, "item %d, `%.40s`, is not known", (int)i,
                                text ? text : "(no text)");
        out[i] = w;
    }
    *found = true;
    return SW_OK;
}

static sw_status window_layers(hf_cfg *c, int64_t *list, sw_error *err) {
    static const char *const words[] = {"full_attention", "sliding_attention", "chunked_attention",
                                        "attention", "linear_attention"};
    int64_t pattern = 0, first = 0;
    bool found, use = true;
    SW_TRY(sw_hf_int(c->text, "sliding_window|attention_chunk_size", 0, (int64_t)1 << 40,
                     &c->window, err));
    SW_TRY(read_words(c, "layer_types", words, 5, list, &found, err));
    if (found) {
        for (int64_t i = 0; i < c->layers; i++) {
            c->lay[i].sliding = list[i] == 1 || list[i] == 2;
            c->lay[i].block = list[i] == 4 ? 'L' : 0;
            if (c->lay[i].sliding && c->window == 0)
                return sw_jobj_fail(c->text, "sliding_window", err,
                                    "missing, but layer %d has a window", (int)i);
        }
        return SW_OK;
    }
    SW_TRY(sw_jobj_bool(c->text, "use_sliding_window", &use, err));
    if (c->window == 0 || !use) return SW_OK;
    SW_TRY(sw_hf_int(c->text, "sliding_window_pattern|_sliding_window_pattern", 1, SW_MAX_LAYERS,
                     &pattern, err));
    SW_TRY(sw_hf_int(c->text, "max_window_layers", 0, SW_MAX_LAYERS, &first, err));
    if (pattern == 0) pattern = c->arch->window_every;
    for (int64_t i = 0; i < c->layers; i++)
        c->lay[i].sliding = pattern ? (i + 1) % pattern != 0 : i >= first;
    return SW_OK;
}

sw_status sw_hf_read_window(hf_cfg *c, sw_error *err) {
    int64_t *list = sw_zalloc((size_t)c->layers, sizeof *list);
    if (!list) return sw_fail(err, SW_MEMORY, "no memory for %d layers", (int)c->layers);
    sw_status s = window_layers(c, list, err);
    free(list);
    return s;
}

static sw_status shared_experts(hf_cfg *c, sw_error *err) {
    int64_t width = 0;
    SW_TRY(sw_hf_int(c->text, "shared_expert_intermediate_size|moe_shared_expert_intermediate_size",
                     0, 1 << 28, &width, err));
    c->sff = width ? width : c->n_shared * c->eff;
    if (c->sff == 0) c->flags &= ~(uint32_t)(F_SHARED | F_SGATE);
    return SW_OK;
}

static sw_status moe_layers(hf_cfg *c, int64_t *list, sw_error *err) {
    static const char *const words[] = {"dense", "sparse"};
    int64_t step = 1, freq = 1;
    bool found;
    SW_TRY(read_words(c, "mlp_layer_types", words, 2, list, &found, err));
    if (!found && json_is_array(json_object_get(c->text.obj, "moe_layer_freq")))
        SW_TRY(sw_hf_list(c, "moe_layer_freq", list, &found, err));
    else if (!found)
        SW_TRY(sw_hf_int(c->text, "moe_layer_freq", 1, SW_MAX_LAYERS, &freq, err));
    SW_TRY(sw_hf_int(c->text, "decoder_sparse_step|interleave_moe_layer_step", 1, SW_MAX_LAYERS,
                     &step, err));
    for (int64_t i = 0; i < c->layers; i++)
        c->lay[i].moe =
            found ? list[i] != 0 : i >= c->first_dense && i % freq == 0 && (i + 1) % step == 0;
    const json_t *only = json_object_get(c->text.obj, "mlp_only_layers");
    for (size_t k = 0; k < json_array_size(only); k++) {
        const json_t *item = json_array_get(only, k);
        int64_t i = json_integer_value(item);
        if (!json_is_integer(item) || i < 0 || i >= c->layers)
            return sw_jobj_fail(c->text, "mlp_only_layers", err, "item %d is no layer", (int)k);
        c->lay[i].moe = false;
    }
    return SW_OK;
}

sw_status sw_hf_read_moe(hf_cfg *c, sw_error *err) {
    if (c->experts == 0)
        return sw_jobj_fail(c->text, "num_experts", err, "missing for a mixture of experts");
    if (c->top_k == 0)
        return sw_jobj_fail(c->text, "num_experts_per_tok", err,
                            "missing for a mixture of experts");
    SW_TRY(shared_experts(c, err));
    int64_t *list = sw_zalloc((size_t)c->layers, sizeof *list);
    if (!list) return sw_fail(err, SW_MEMORY, "no memory for %d layers", (int)c->layers);
    sw_status s = moe_layers(c, list, err);
    free(list);
    return s;
}
