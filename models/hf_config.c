/* Hugging Face config.json to a model: finds the architecture, reads its numbers, and emits its
 * tensors.
 *
 * The keys have many spellings; `keys` below lists them, the first that is there wins. What only
 * one family has is read by that family (models/hf_llama.c …). An architecture without a row is
 * refused. */
#include "models/hf.h"
#include "sim/base/stream.h"
#include "sim/base/vec.h"
#include <unistd.h>

enum { MAX_DIM = 1 << 28, MAX_CONFIG = 16 << 20 };

static const struct {
    const char *keys;
    size_t at;
    int64_t min, max;
} keys[] = {
#define AT(field) offsetof(hf_cfg, field)
    {"num_hidden_layers|n_layer|n_layers|num_layers", AT(layers), 1, SW_MAX_LAYERS},
    {"hidden_size|n_embd|n_embed|d_model", AT(hidden), 1, MAX_DIM},
    {"num_attention_heads|n_head|num_heads", AT(heads), 1, 1 << 20},
    {"num_key_value_heads|num_kv_heads|n_head_kv", AT(kv_heads), 1, 1 << 20},
    {"head_dim|kv_channels|attention_head_dim", AT(head_dim), 1, 1 << 20},
    {"intermediate_size|ffn_dim|n_inner|ffn_hidden_size", AT(ff), 1, MAX_DIM},
    {"vocab_size", AT(vocab), 1, MAX_DIM},
    {"max_position_embeddings|n_positions|seq_length|n_ctx", AT(ctx), 1, (int64_t)1 << 40},
    {"num_local_experts|num_experts|n_routed_experts|moe_num_experts", AT(experts), 0,
     SW_MAX_EXPERTS},
    {"num_experts_per_tok|experts_per_token|moe_top_k|top_k_experts|moe_topk", AT(top_k), 0,
     SW_MAX_EXPERTS},
    {"moe_intermediate_size|expert_ffn_hidden_size", AT(eff), 1, MAX_DIM},
    {"n_shared_experts|num_shared_experts", AT(n_shared), 0, SW_MAX_EXPERTS},
    {"first_k_dense_replace", AT(first_dense), 0, SW_MAX_LAYERS},
    {"num_nextn_predict_layers", AT(mtp), 0, 64},
    {"q_lora_rank", AT(q_lora), 1, MAX_DIM},
    {"kv_lora_rank", AT(kv_lora), 1, MAX_DIM},
    {"qk_nope_head_dim", AT(nope), 1, 1 << 20},
    {"qk_rope_head_dim", AT(rope), 1, 1 << 20},
    {"v_head_dim", AT(v_dim), 1, 1 << 20},
    {"index_n_heads", AT(index_heads), 1, 1 << 20},
    {"index_head_dim", AT(index_dim), 1, 1 << 20},
#undef AT
};

sw_status sw_hf_int(sw_jobj o, const char *names, int64_t min, int64_t max, int64_t *out,
                    sw_error *err) {
    for (const char *at = names; at;) {
        const char *bar = strchr(at, '|');
        char key[64];
        snprintf(key, sizeof key, "%.*s", bar ? (int)(bar - at) : 63, at);
        const json_t *value = json_object_get(o.obj, key);
        if (value && !json_is_null(value)) return sw_jobj_int(o, key, min, max, out, err);
        at = bar ? bar + 1 : NULL;
    }
    return SW_OK;
}

sw_status sw_hf_list(const hf_cfg *c, const char *key, int64_t *out, bool *found, sw_error *err) {
    const json_t *list = json_object_get(c->text.obj, key);
    *found = false;
    if (!list || json_is_null(list)) return SW_OK;
    if (!json_is_array(list) || json_array_size(list) < (size_t)c->layers)
        return sw_jobj_fail(c->text, key, err,
                            "expected a list with an item for each of the %d layers",
                            (int)c->layers);
    for (int64_t i = 0; i < c->layers; i++) {
        const json_t *item = json_array_get(list, (size_t)i);
        if (!json_is_integer(item) && !json_is_boolean(item))
            return sw_jobj_fail(c->text, key, err, "item %d is no integer", (int)i);
        out[i] = json_is_integer(item) ? json_integer_value(item) : json_is_true(item);
    }
    *found = true;
    return SW_OK;
}

/* Multimodal models wrap a text model: outer model_type, names' prefixes, what is not counted. */
static const struct {
    const char *model_type, *prefix, *head, *note;
} wraps[] = {
    {"gemma3", "language_model.model.", "language_model.", "vision tower not counted"},
    {"gemma4", "model.language_model.", "", "vision tower not counted"},
    {"kimi_k25", "language_model.model.", "language_model.", "vision tower not counted"},
    {"llama4", "language_model.model.", "language_model.", "vision tower not counted"},
    {"mistral3", "language_model.model.", "language_model.", "vision tower not counted"},
    {"qwen3_vl", "model.language_model.", "", "vision tower not counted"},
    {"qwen3_vl_moe", "model.language_model.", "", "vision tower not counted"},
    {"qwen3_5", "model.language_model.", "", "vision tower not counted"},
    {"qwen3_5_moe", "model.language_model.", "", "vision tower not counted"},
};

static sw_status find_arch(hf_cfg *c, sw_error *err) {
    const char *outer = NULL, *inner = NULL;
    SW_TRY(sw_jobj_str(c->root, "model_type", &outer, err));
    SW_TRY(sw_jobj_sub(c->root, "text_config", &c->text, err));
    if (!outer)
        return sw_jobj_fail(c->root, "model_type", err, "missing: not a model's config.json");
    c->prefix = NULL, c->head = "", c->note = "";
    if (c->text.obj) {
        SW_TRY(sw_jobj_str(c->text, "model_type", &inner, err));
        for (size_t i = 0; i < sizeof wraps / sizeof *wraps; i++)
            if (strcmp(wraps[i].model_type, outer) == 0)
                c->prefix = wraps[i].prefix, c->head = wraps[i].head, c->note = wraps[i].note;
        if (c->prefix) c->arch = sw_hf_arch(inner ? inner : outer);
    } else {
        c->text = c->root;
        c->arch = sw_hf_arch(outer);
    }
    if (!c->arch)
        return sw_jobj_fail(
            c->root, "model_type", err,
            "architecture %.64s is not supported; give a GGUF or a safetensors header", outer);
    if (!c->prefix) c->prefix = c->arch->prefix;
    return SW_OK;
}

static sw_status read_type(hf_cfg *c, sw_error *err) {
    const char *text = NULL;
    static const struct {
        const char *name;
        sw_dtype type;
    } types[] = {{"bfloat16", SW_BF16}, {"float16", SW_F16}, {"float32", SW_F32}};
    SW_TRY(sw_jobj_str(c->root, "torch_dtype", &text, err));
    if (!text) SW_TRY(sw_jobj_str(c->root, "dtype", &text, err));
    if (!text) SW_TRY(sw_jobj_str(c->text, "torch_dtype", &text, err));
    if (!text) SW_TRY(sw_jobj_str(c->text, "dtype", &text, err));
    c->type = SW_BF16;
    if (!text) return SW_OK;
    if (strncmp(text, "torch.", 6) == 0) text += 6;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].name, text) == 0) {
            c->type = types[i].type;
            return SW_OK;
        }
    }
    return sw_jobj_fail(c->root, "torch_dtype", err,
                        "`%.32s` is none of bfloat16, float16, float32", text);
}

static sw_status read_bias(hf_cfg *c, const char *key, uint32_t flags, sw_error *err) {
    bool on = (c->flags & flags) == flags;
    SW_TRY(sw_jobj_bool(c->text, key, &on, err));
    c->flags = on ? c->flags | flags : c->flags & ~flags;
    return SW_OK;
}

static sw_status read_numbers(hf_cfg *c, sw_error *err) {
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        SW_TRY(sw_hf_int(c->text, keys[i].keys, keys[i].min, keys[i].max,
                         (int64_t *)((char *)c + keys[i].at), err));
    c->flags = c->arch->flags | F_YES;
    c->tied = (c->flags & F_TIED) != 0;
    c->flags &= ~(uint32_t)F_TIED;
    SW_TRY(sw_jobj_bool(c->root, "tie_word_embeddings", &c->tied, err));
    if (c->text.obj != c->root.obj)
        SW_TRY(sw_jobj_bool(c->text, "tie_word_embeddings", &c->tied, err));
    SW_TRY(read_bias(c, "attention_bias", F_QBIAS, err));
    SW_TRY(read_bias(c, "mlp_bias", F_MBIAS, err));
    return read_type(c, err);
}

static sw_status check_numbers(hf_cfg *c, sw_error *err) {
    static const struct {
        const char *key;
        size_t at;
    } needs[] = {{"num_hidden_layers", offsetof(hf_cfg, layers)},
                 {"hidden_size", offsetof(hf_cfg, hidden)},
                 {"num_attention_heads", offsetof(hf_cfg, heads)},
                 {"vocab_size", offsetof(hf_cfg, vocab)}};
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (*(int64_t *)((char *)c + needs[i].at) == 0)
            return sw_jobj_fail(c->text, needs[i].key, err, "missing");
    if (c->head_dim == 0) {
        if (c->hidden % c->heads)
            return sw_jobj_fail(c->text, "num_attention_heads", err,
                                "%d heads do not divide hidden size %d", (int)c->heads,
                                (int)c->hidden);
        c->head_dim = c->hidden / c->heads;
    }
    if (c->kv_heads == 0) c->kv_heads = c->heads;
    if (c->v_dim == 0) c->v_dim = c->head_dim;
    if (c->eff == 0) c->eff = c->ff;
    if (c->top_k > c->experts)
        return sw_jobj_fail(c->text, "num_experts_per_tok", err, "%d chosen out of %d experts",
                            (int)c->top_k, (int)c->experts);
    return SW_OK;
}

static sw_status too_big(const hf_cfg *c, sw_error *err) {
    int64_t a_layer = 40 + (c->experts + 1) * 12;
    if (c->layers * a_layer > (int64_t)SW_MAX_TENSORS * 4)
        return sw_jobj_fail(c->text, "num_hidden_layers", err,
                            "%d layers of %d experts: too many tensors", (int)c->layers,
                            (int)c->experts);
    return SW_OK;
}

void sw_hf_plan(const hf_cfg *c, uint32_t i, hf_plan *p) {
    /* A prediction layer (i beyond the layers) looks like the last one, with all that it may have.
     */
    struct hf_lay last = c->lay[c->layers - 1];
    last.no_flags = 0;
    const struct hf_lay *lay = i < c->layers ? &c->lay[i] : &last;
    uint64_t heads = (uint64_t)(lay->heads ? lay->heads : c->heads);
    uint64_t kv = (uint64_t)(lay->kv_heads ? lay->kv_heads : c->kv_heads);
    uint64_t hd = (uint64_t)(lay->head_dim ? lay->head_dim : c->head_dim);
    uint64_t vd = (uint64_t)(lay->v_dim ? lay->v_dim : c->v_dim);
    uint64_t ff = (uint64_t)(lay->ff ? lay->ff : c->ff), h = (uint64_t)c->hidden;
    uint64_t qk = (uint64_t)(c->nope + c->rope), eff = (uint64_t)c->eff;
    *p = (hf_plan){
        .attn = c->arch->attn,
        .ffn = lay->moe ? c->arch->moe : c->arch->dense,
        .norms = c->arch->norms,
        .flags = (c->flags | lay->flags | (c->tied ? F_TIED : F_UNTIED)) & ~lay->no_flags,
        .dim = {[D_1] = 1,
                [D_H] = h,
                [D_H2] = 2 * h,
                [D_VOCAB] = (uint64_t)c->vocab,
                [D_POS] = (uint64_t)c->ctx,
                [D_TYPES] = (uint64_t)c->types,
                [D_EMB] = (uint64_t)(c->emb ? c->emb : c->hidden),
                [D_Q] = heads * hd,
                [D_QG] = 2 * heads * hd,
                [D_K] = kv * hd,
                [D_V] = kv * vd,
                [D_O] = heads * vd,
                [D_QKV] = heads * hd + kv * (hd + vd),
                [D_HD] = hd,
                [D_HEADS] = heads,
                [D_FF] = ff,
                [D_FF2] = 2 * ff,
                [D_E] = (uint64_t)c->experts,
                [D_EFF] = eff,
                [D_EFF2] = 2 * eff,
                [D_EIN] = (uint64_t)(c->latent ? c->latent : c->hidden),
                [D_SFF] = (uint64_t)c->sff,
                [D_QL] = (uint64_t)c->q_lora,
                [D_QB] = heads * qk,
                [D_KVL] = (uint64_t)c->kv_lora,
                [D_KVA] = (uint64_t)(c->kv_lora + c->rope),
                [D_KVB] = heads * ((uint64_t)c->nope + vd),
                [D_NOPE] = (uint64_t)c->nope,
                [D_VD] = vd,
                [D_IQ] = (uint64_t)(c->index_heads * c->index_dim),
                [D_IH] = (uint64_t)c->index_heads,
                [D_ID] = (uint64_t)c->index_dim},
        .geo = {.attn = c->kv_lora     ? SW_ATTN_MLA
                        : lay->sliding ? SW_ATTN_WINDOW
                                       : SW_ATTN_FULL,
                .ffn = lay->moe ? SW_FFN_MOE : SW_FFN_DENSE,
                .heads = (uint32_t)heads,
                .kv_heads = (uint32_t)kv,
                .head_dim = (uint32_t)(c->kv_lora ? qk : hd),
                .v_head_dim = (uint32_t)vd,
                .kv_latent = (uint32_t)c->kv_lora,
                .rope_dim = (uint32_t)(c->kv_lora ? c->rope : 0),
                .kv_index_dim =
                    (uint32_t)((c->flags & ~lay->no_flags & F_INDEX) ? c->index_dim : 0),
                .window = lay->sliding ? (uint64_t)(lay->window ? lay->window : c->window) : 0,
                .kv_shared_with = -1,
                .ff_dim = lay->moe ? 0 : ff,
                .expert_ff_dim = lay->moe ? eff : 0,
                .n_experts = lay->moe ? (uint32_t)c->experts : 0,
                .top_k = lay->moe ? (uint32_t)c->top_k : 0}};
    if (c->arch->shape) c->arch->shape(c, i, p);
}

static sw_status fill(hf_cfg *c, const char *quant, sw_model *m, sw_error *err) {
    SW_TRY(find_arch(c, err));
    SW_TRY(read_numbers(c, err));
    if (c->arch->read_first) SW_TRY(c->arch->read_first(c, err));
    SW_TRY(check_numbers(c, err));
    SW_TRY(too_big(c, err));
    c->lay = sw_zalloc((size_t)c->layers, sizeof *c->lay);
    if (!c->lay) return sw_fail(err, SW_MEMORY, "no memory for %d layers", (int)c->layers);
    if (c->arch->read) SW_TRY(c->arch->read(c, err));
    SW_TRY(sw_hf_store_open(c, quant, err));
    bool mix = quant && sw_mix_known(quant);
    if (mix && !c->arch->gguf)
        return sw_jobj_fail(c->root, "model_type", err,
                            "llama.cpp's format %s is not offered for %s", quant,
                            c->arch->model_type);
    sw_error why;
    sw_status s = sw_hf_emit(c, mix, m, &why);
    m->tied = c->tied;
    if (s == SW_OK && mix) s = sw_mix_apply(m, c, quant, &why);
    if (s == SW_OK) s = sw_model_finish(m, &why);
    return s == SW_OK ? SW_OK : sw_fail(err, s, "%s: %s", c->root.file, why.text);
}

sw_status sw_model_from_json(const json_t *doc, const char *file, const char *source,
                             const char *quant, sw_model **out, sw_error *err) {
    if (!json_is_object(doc)) return sw_fail(err, SW_INPUT, "%s: expected an object", file);
    hf_cfg c = {.root = sw_jobj_root(doc, file)};
    sw_model *m = sw_build_new();
    if (!m) return sw_fail(err, SW_MEMORY, "no memory for a model");
    sw_status s = fill(&c, quant, m, err);
    if (s == SW_OK) {
        m->hidden = (uint64_t)c.hidden, m->vocab = (uint64_t)c.vocab,
        m->max_context = (uint64_t)c.ctx;
        snprintf(m->arch, sizeof m->arch, "%s", c.arch->model_type);
        snprintf(m->quant, sizeof m->quant, "%s", c.store.label);
        snprintf(m->source, sizeof m->source, "%s%s%s", source, *c.note ? "; " : "", c.note);
        *out = m;
    } else {
        sw_model_free(m);
    }
    sw_hf_store_close(&c);
    free(c.lay);
    return s;
}

/* Python writes Infinity and NaN into JSON; no number that sizes depend on is ever one: make them
 * null (NaN, too short for that, an empty text: whoever wants a number there says so). */
static void tame(char *text, size_t n) {
    static const char *const words[] = {"-Infinity", "Infinity", "NaN"};
    bool quoted = false;
    for (size_t i = 0; i < n; i++) {
        if (quoted && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            quoted = !quoted;
        for (size_t w = 0; !quoted && w < 3 && i < n; w++) {
            size_t len = strlen(words[w]);
            if (n - i >= len && memcmp(text + i, words[w], len) == 0) {
                memset(text + i, ' ', len);
                memcpy(text + i, len < 4 ? "\"\" " : "null", len < 4 ? 3 : 4);
            }
        }
    }
}

sw_status sw_config_parse(char *text, size_t bytes, const char *name, json_t **out, sw_error *err) {
    tame(text, bytes);
    return sw_json_parse(text, bytes, name, out, err);
}

sw_status sw_config_load(const char *path, json_t **out, sw_error *err) {
    sw_reader *r = NULL;
    char *text = NULL;
    size_t n = 0, cap = 0, got = 1;
    SW_TRY(sw_reader_open(path, &r, err));
    sw_status s = SW_OK;
    while (s == SW_OK && got && n <= MAX_CONFIG) {
        if (!sw_grow((void **)&text, &cap, n + (1 << 16), 1))
            s = sw_fail(err, SW_MEMORY, "no memory to read %s", path);
        else
            s = sw_reader_read(r, text + n, 1 << 16, &got, err);
        if (s == SW_OK) n += got;
    }
    if (s == SW_OK && n > MAX_CONFIG)
        s = sw_fail(err, SW_INPUT, "%s: larger than a configuration can be (16 MiB)", path);
    if (s == SW_OK) s = sw_config_parse(text, n, path, out, err);
    free(text);
    sw_reader_close(r);
    return s;
}

/* modelopt writes its formats to hf_quant_config.json beside the configuration. */
static sw_status add_modelopt(const char *path, json_t *doc, sw_error *err) {
    const char *slash = strrchr(path, '/');
    char *name = NULL;
    json_t *extra = NULL;
    if (json_object_get(doc, "quantization_config")) return SW_OK;
    if (asprintf(&name, "%.*shf_quant_config.json", slash ? (int)(slash + 1 - path) : 0, path) < 0)
        return sw_fail(err, SW_MEMORY, "no memory for a path");
    sw_status s = access(name, R_OK) ? SW_OK : sw_config_load(name, &extra, err);
    json_t *q = json_object_get(extra, "quantization");
    if (s == SW_OK && extra && !json_is_object(q))
        s = sw_fail(err, SW_INPUT, "%s: quantization: missing", name);
    if (s == SW_OK && extra && json_string_value(json_object_get(q, "quant_algo"))) {
        json_object_set_new(q, "quant_method", json_string("modelopt"));
        json_object_set(doc, "quantization_config", q);
    }
    json_decref(extra);
    free(name);
    return s;
}

sw_status sw_model_from_config(const char *path, const char *quant, sw_model **out, sw_error *err) {
    json_t *doc = NULL;
    SW_TRY(sw_config_load(path, &doc, err));
    sw_status s = json_is_object(doc) ? add_modelopt(path, doc, err) : SW_OK;
    if (s == SW_OK) s = sw_model_from_json(doc, path, path, quant, out, err);
    json_decref(doc);
    return s;
}
