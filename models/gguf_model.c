/* A GGUF header to a model: hyperparameters to layers, names to roles.
 *
 * What a layer is follows from the tensors that it has: ssm_* is a state, attn_kv_a_mqa is MLA,
 * *_exps are experts. The architecture's name matters only for its keys and for the windows that
 * llama.cpp knows without a key. Tensors of unknown names are counted as read at each token, and
 * said so in the source. */
#include "models/gguf.h"
#include "sim/base/vec.h"
#include <stdio.h>

/* What a layer's tensors show. */
enum { HAS_STATE = 1, HAS_MLA = 2, HAS_ATTN = 4, HAS_EXPERTS = 8, HAS_MLP = 16 };

typedef struct name_role {
    const char *part;
    sw_role role;
    uint8_t has;
} name_role;

/* The first part that the name (after "blk.N.") starts with. */
static const name_role in_layer[] = {
    {"nextn.", SW_ROLE_UNUSED, 0},
    {"ffn_gate_inp_shexp", SW_ROLE_SHARED, 0},
    {"ffn_gate_inp", SW_ROLE_ROUTER, 0},
    {"exp_probs_b", SW_ROLE_ROUTER, 0},
    {"ffn_gate_shexp", SW_ROLE_SHARED, 0},
    {"ffn_up_shexp", SW_ROLE_SHARED, 0},
    {"ffn_down_shexp", SW_ROLE_SHARED, 0},
    {"ffn_latent", SW_ROLE_SHARED, 0},
    {"ffn_gate_exps", SW_ROLE_EXPERT, HAS_EXPERTS},
    {"ffn_up_exps", SW_ROLE_EXPERT, HAS_EXPERTS},
    {"ffn_gate_up_exps", SW_ROLE_EXPERT, HAS_EXPERTS},
    {"ffn_down_exps", SW_ROLE_EXPERT, HAS_EXPERTS},
    {"ffn_norm", SW_ROLE_NORM, 0},
    {"ffn_gate", SW_ROLE_MLP, HAS_MLP},
    {"ffn_up", SW_ROLE_MLP, HAS_MLP},
    {"ffn_down", SW_ROLE_MLP, HAS_MLP},
    {"ffn_", SW_ROLE_NORM, 0},
    {"attn_norm", SW_ROLE_NORM, 0},
    {"attn_q_norm", SW_ROLE_NORM, 0},
    {"attn_k_norm", SW_ROLE_NORM, 0},
    {"attn_q_a_norm", SW_ROLE_NORM, 0},
    {"attn_kv_a_norm", SW_ROLE_NORM, 0},
    {"attn_sub_norm", SW_ROLE_NORM, 0},
    {"attn_output_norm", SW_ROLE_NORM, 0},
    {"attn_kv_a_mqa", SW_ROLE_ATTN, HAS_MLA},
    {"attn_q", SW_ROLE_ATTN, HAS_ATTN},
    {"attn_k", SW_ROLE_ATTN, HAS_ATTN},
    {"attn_v", SW_ROLE_ATTN, HAS_ATTN},
    {"attn_", SW_ROLE_ATTN, 0},
    {"indexer.", SW_ROLE_ATTN, 0},
    {"post_", SW_ROLE_NORM, 0},
    {"layer_output_norm", SW_ROLE_NORM, 0},
    {"rope_", SW_ROLE_UNUSED, 0},
    {"ssm_norm", SW_ROLE_NORM, 0},
    {"ssm_", SW_ROLE_ATTN, HAS_STATE},
    {"shortconv.", SW_ROLE_ATTN, HAS_STATE},
    {"time_mix", SW_ROLE_ATTN, HAS_STATE},
    {"channel_mix", SW_ROLE_MLP, HAS_MLP},
};

static const name_role outside[] = {
    {"token_embd_norm", SW_ROLE_OUTPUT, 0},
    {"token_embd", SW_ROLE_EMBED, 0},
    {"position_embd", SW_ROLE_EMBED, 0},
    {"token_types", SW_ROLE_EMBED, 0},
    {"per_layer_token", SW_ROLE_EMBED, 0},
    {"output", SW_ROLE_OUTPUT, 0},
    {"rope_", SW_ROLE_UNUSED, 0},
    {"v.", SW_ROLE_UNUSED, 0},
    {"mm.", SW_ROLE_UNUSED, 0},
    {"a.", SW_ROLE_UNUSED, 0},
    {"cls", SW_ROLE_OUTPUT, 0},
    {"nextn.", SW_ROLE_UNUSED, 0},
};

/* Windows that llama.cpp takes without a pattern in the file: every nth layer is full. */
static const struct {
    const char *arch;
    int64_t every, window;
} window_archs[] = {{"gemma2", 2, 0},  {"gemma3", 6, 0},  {"gemma3n", 5, 0},
                    {"gpt-oss", 2, 0}, {"cohere2", 4, 0}, {"llama4", 4, 8192}};

typedef struct conv {
    const gguf_file *g;
    const char *path, *arch;
    sw_model *m;
    uint8_t *has;      /* a layer's flags */
    uint32_t *experts; /* a layer's experts, as its tensors have them */
    uint64_t unknown;
    int64_t layers, unused_from;
} conv;

static sw_status bad_key(const conv *c, const char *key, sw_error *err, const char *what) {
    return sw_fail(err, SW_INPUT, "%s: %s.%s: %s", c->path, c->arch, key, what);
}

static const gguf_value *arch_value(const conv *c, const char *key) {
    char name[160];
    snprintf(name, sizeof name, "%s.%s", c->arch, key);
    return sw_gguf_value(c->g, name);
}

/* A number, or the layer's item of a list; *out stays if there is none. */
static sw_status number(const conv *c, const char *key, int64_t layer, int64_t max, int64_t *out,
                        sw_error *err) {
    const gguf_value *v = arch_value(c, key);
    if (!v) return SW_OK;
    if (!v->number && (!v->list || layer < 0 || (uint64_t)layer >= v->n))
        return bad_key(c, key, err, "expected a number, or one for each layer");
    int64_t x = v->number ? v->i : v->list[layer];
    if (x < 0 || x > max) return bad_key(c, key, err, "out of range");
    *out = x;
    return SW_OK;
}

static const name_role *find_role(const name_role *rows, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (strncmp(name, rows[i].part, strlen(rows[i].part)) == 0) return &rows[i];
    return NULL;
}

/* "blk.12.ffn_up.3.weight" of old Mixtral files: the expert's number, or -1. */
static int32_t old_expert(const char *name) {
    int expert = -1, end = 0;
    if (sscanf(name, "ffn_%*[a-z].%5d.weight%n", &expert, &end) == 1 && end > 0 && !name[end])
        return expert;
    return -1;
}

static sw_status place_in_layer(conv *c, sw_tensor *t, int64_t layer, const char *rest,
                                sw_error *err) {
    const name_role *r = find_role(in_layer, sizeof in_layer / sizeof *in_layer, rest);
    if (layer >= c->layers)
        return sw_fail(err, SW_INPUT, "%s: tensor %s: the model has %d layers", c->path, t->name,
                       (int)c->layers);
    t->role = r ? r->role : SW_ROLE_ATTN;
    if (!r) c->unknown++;
    if (layer >= c->unused_from || t->role == SW_ROLE_UNUSED) {
        t->role = SW_ROLE_UNUSED;
        return SW_OK;
    }
    t->layer = (int32_t)layer;
    int32_t expert = old_expert(rest);
    if (expert >= 0) {
        t->role = SW_ROLE_EXPERT, t->expert = expert;
        c->has[layer] |= HAS_EXPERTS;
        return SW_OK;
    }
    if (r) c->has[layer] |= r->has;
    if (t->role == SW_ROLE_EXPERT) {
        uint64_t n = t->n_dims ? t->dims[t->n_dims - 1] : 0;
        if (t->n_dims < 2 || n > SW_MAX_EXPERTS || n == 0)
            return sw_fail(err, SW_INPUT, "%s: tensor %s: no tensor of experts", c->path, t->name);
        t->n_experts = c->experts[layer] = (uint32_t)n;
    }
    return SW_OK;
}

static sw_status place_tensor(conv *c, sw_tensor *t, sw_error *err) {
    int layer = -1, end = 0;
    if (sscanf(t->name, "blk.%6d.%n", &layer, &end) == 1 && end > 0 && layer >= 0)
        return place_in_layer(c, t, layer, t->name + end, err);
    const name_role *r = find_role(outside, sizeof outside / sizeof *outside, t->name);
    t->role = r ? r->role : SW_ROLE_OUTPUT;
    if (!r) c->unknown++;
    return SW_OK;
}

static sw_status read_windows(conv *c, sw_error *err) {
    int64_t window = 0, every = 0;
    const gguf_value *list = arch_value(c, "attention.sliding_window_pattern");
    for (size_t i = 0; i < sizeof window_archs / sizeof *window_archs; i++)
        if (strcmp(window_archs[i].arch, c->arch) == 0)
            every = window_archs[i].every, window = window_archs[i].window;
    SW_TRY(number(c, "attention.sliding_window", -1, INT64_MAX, &window, err));
    SW_TRY(number(c, "attention.chunk_size", -1, INT64_MAX, &window, err));
    if (list && list->number) every = list->i;
    if (every < 0) return bad_key(c, "attention.sliding_window_pattern", err, "out of range");
    for (uint32_t i = 0; window && i < c->m->n_layers; i++) {
        sw_layer *l = &c->m->layers[i];
        bool slides =
            list && list->list && i < list->n ? list->list[i] != 0 : every && (i + 1) % every != 0;
        if (l->attn == SW_ATTN_FULL && slides)
            l->attn = SW_ATTN_WINDOW, l->window = (uint64_t)window;
    }
    return SW_OK;
}

static sw_status read_state(conv *c, sw_layer *l, sw_error *err) {
    int64_t conv_k = 0, inner = 0, state = 0, group = 0;
    SW_TRY(number(c, "ssm.conv_kernel", -1, 1 << 16, &conv_k, err));
    SW_TRY(number(c, "ssm.inner_size", -1, 1 << 28, &inner, err));
    SW_TRY(number(c, "ssm.state_size", -1, 1 << 28, &state, err));
    SW_TRY(number(c, "ssm.group_count", -1, 1 << 20, &group, err));
    l->attn = SW_ATTN_STATE;
    if (inner == 0) return bad_key(c, "ssm.inner_size", err, "missing");
    uint64_t window = (uint64_t)(conv_k ? conv_k - 1 : 0), recurrent;
    uint64_t channels = (uint64_t)inner + 2 * (uint64_t)group * (uint64_t)state;
    if (__builtin_mul_overflow((uint64_t)inner, (uint64_t)state, &recurrent) ||
        __builtin_mul_overflow(window, channels, &window) || recurrent + window > (uint64_t)1 << 50)
        return bad_key(c, "ssm.state_size", err, "out of range");
    l->state_elems = recurrent + window, l->state_bytes = 4 * l->state_elems;
    return SW_OK;
}

static sw_status read_attention(conv *c, sw_layer *l, int64_t i, sw_error *err) {
    int64_t heads = 0, kv = 0, hd = 0, vd = 0, rope = 0, index = 0;
    SW_TRY(number(c, "attention.head_count", i, 1 << 20, &heads, err));
    if (heads == 0) return bad_key(c, "attention.head_count", err, "missing");
    kv = heads;
    SW_TRY(number(c, "attention.head_count_kv", i, 1 << 20, &kv, err));
    hd = (int64_t)(c->m->hidden / (uint64_t)heads);
    SW_TRY(number(c, "attention.key_length", i, 1 << 20, &hd, err));
    vd = hd;
    SW_TRY(number(c, "attention.value_length", i, 1 << 20, &vd, err));
    l->attn = SW_ATTN_FULL;
    if (c->has[i] & HAS_MLA) {
        int64_t latent = 0;
        SW_TRY(number(c, "attention.kv_lora_rank", i, 1 << 28, &latent, err));
        SW_TRY(number(c, "rope.dimension_count", i, 1 << 20, &rope, err));
        SW_TRY(number(c, "attention.key_length_mla", i, 1 << 20, &hd, err));
        SW_TRY(number(c, "attention.value_length_mla", i, 1 << 20, &vd, err));
        SW_TRY(number(c, "attention.indexer.key_length", i, 1 << 20, &index, err));
        if (latent == 0) return bad_key(c, "attention.kv_lora_rank", err, "missing");
        l->attn = SW_ATTN_MLA, kv = heads;
        l->kv_latent = (uint32_t)latent, l->rope_dim = (uint32_t)rope,
        l->kv_index_dim = (uint32_t)index;
    }
    l->heads = (uint32_t)heads, l->kv_heads = (uint32_t)kv;
    l->head_dim = (uint32_t)hd, l->v_head_dim = (uint32_t)vd;
    return SW_OK;
}

static sw_status read_layer(conv *c, int64_t i, sw_error *err) {
    sw_layer *l = &c->m->layers[i];
    int64_t ff = 0, eff = 0, experts = 0, top = 0;
    uint8_t has = c->has[i];
    if (!has)
        return sw_fail(err, SW_INPUT, "%s: layer %d has no tensors%s", c->path, (int)i,
                       c->m->n_tensors ? "" : " (a vocabulary without weights)");
    l->attn = SW_ATTN_NONE;
    if (has & HAS_STATE)
        SW_TRY(read_state(c, l, err));
    else if (has & (HAS_ATTN | HAS_MLA))
        SW_TRY(read_attention(c, l, i, err));
    l->ffn = has & HAS_EXPERTS ? SW_FFN_MOE : has & HAS_MLP ? SW_FFN_DENSE : SW_FFN_NONE;
    SW_TRY(number(c, "feed_forward_length", i, 1 << 28, &ff, err));
    if (l->ffn == SW_FFN_DENSE) l->ff_dim = (uint64_t)ff;
    if (l->ffn != SW_FFN_MOE) return SW_OK;
    eff = ff;
    SW_TRY(number(c, "expert_feed_forward_length", i, 1 << 28, &eff, err));
    SW_TRY(number(c, "expert_count", i, SW_MAX_EXPERTS, &experts, err));
    SW_TRY(number(c, "expert_used_count", i, SW_MAX_EXPERTS, &top, err));
    if (c->experts[i] && c->experts[i] != experts)
        return bad_key(c, "expert_count", err, "contradicts the tensors of experts");
    l->expert_ff_dim = (uint64_t)eff, l->n_experts = (uint32_t)experts, l->top_k = (uint32_t)top;
    return SW_OK;
}

static sw_status fill(conv *c, sw_error *err) {
    sw_model *m = c->m;
    int64_t hidden = 0, vocab = 0, ctx = 0, nextn = 0, parts = 0;
    const gguf_value *split = sw_gguf_value(c->g, "split.count");
    if (split && split->number) parts = split->i;
    if (parts > 1)
        return sw_fail(err, SW_INPUT,
                       "%s: one of %lld parts; merge them (llama-gguf-split --merge)", c->path,
                       (long long)parts);
    SW_TRY(number(c, "block_count", -1, SW_MAX_LAYERS, &c->layers, err));
    SW_TRY(number(c, "embedding_length", -1, 1 << 28, &hidden, err));
    SW_TRY(number(c, "context_length", -1, INT64_MAX, &ctx, err));
    SW_TRY(number(c, "nextn_predict_layers", -1, SW_MAX_LAYERS, &nextn, err));
    if (c->layers == 0 || nextn >= c->layers)
        return bad_key(c, "block_count", err, "missing or too small");
    if (hidden == 0) return bad_key(c, "embedding_length", err, "missing");
    m->hidden = (uint64_t)hidden, m->max_context = (uint64_t)ctx;
    c->unused_from = c->layers - nextn;
    SW_TRY(sw_build_layers(m, (uint64_t)c->unused_from, err));
    c->has = sw_zalloc((size_t)c->layers, 1);
    c->experts = sw_zalloc((size_t)c->layers, sizeof *c->experts);
    if (!c->has || !c->experts)
        return sw_fail(err, SW_MEMORY, "no memory for %d layers", (int)c->layers);
    bool head = false;
    for (uint64_t i = 0; i < m->n_tensors; i++) {
        sw_tensor *t = &m->tensors[i];
        SW_TRY(place_tensor(c, t, err));
        head |= strcmp(t->name, "output.weight") == 0;
        if (strcmp(t->name, "token_embd.weight") == 0 && t->n_dims == 2)
            vocab = (int64_t)t->dims[1];
    }
    m->vocab = (uint64_t)vocab, m->tied = !head;
    for (int64_t i = 0; i < c->unused_from; i++) SW_TRY(read_layer(c, i, err));
    return read_windows(c, err);
}

static void label(conv *c) {
    sw_model *m = c->m;
    const gguf_value *name = sw_gguf_value(c->g, "general.name");
    uint64_t end = c->g->data_offset + c->g->data_bytes;
    char note[96] = "";
    if (c->unknown)
        snprintf(note, sizeof note,
                 "; %llu tensors of unknown names are counted as read at each token",
                 (unsigned long long)c->unknown);
    if (name && name->text) snprintf(m->name, sizeof m->name, "%.95s", name->text);
    snprintf(m->arch, sizeof m->arch, "%.63s", c->arch);
    snprintf(m->quant, sizeof m->quant, "as stored");
    snprintf(m->source, sizeof m->source, "%.120s%s%s", c->path,
             c->g->file_bytes < end ? " (header only)" : "", note);
    m->bytes_exact = true;
}

sw_status sw_model_from_gguf(const char *path, sw_model **out, sw_error *err) {
    gguf_file g;
    SW_TRY(sw_gguf_read(path, &g, err));
    conv c = {.g = &g, .path = path, .m = g.model};
    const gguf_value *arch = sw_gguf_value(&g, "general.architecture");
    sw_status s = SW_OK;
    if (arch && arch->text && *arch->text && strlen(arch->text) < 64)
        c.arch = arch->text;
    else
        s = sw_fail(err, SW_INPUT, "%s: general.architecture: missing or no name", path);
    if (s == SW_OK) s = fill(&c, err);
    if (s == SW_OK) {
        sw_error why = {0};
        s = sw_model_finish(c.m, &why);
        if (s != SW_OK) s = sw_fail(err, s, "%s: %s", path, why.text);
    }
    if (s == SW_OK) {
        label(&c);
        *out = g.model, g.model = NULL;
    }
    free(c.has);
    free(c.experts);
    sw_gguf_close(&g);
    return s;
}
