/* Sums over a model's tensors: what each layer reads, and what the whole weighs (sw_model_finish).
 *
 * A tensor belongs to exactly one part of one layer, or to the embedding, the output or the unused
 * rest; so the parts add up to the whole, which the property tests check. Norms count with the
 * attention of their layer, or with its feed-forward where there is no attention. */
#include "models/build.h"
#include "sim/base/vec.h"

typedef struct sum {
    uint64_t elems, bytes;
} sum;

typedef enum part { ATTN, MLP, SHARED, ROUTER, EXPERT, PARTS } part;

static bool add(sum *s, const sw_tensor *t) {
    return !__builtin_add_overflow(s->elems, t->elems, &s->elems) &&
           !__builtin_add_overflow(s->bytes, t->bytes, &s->bytes);
}

/* Kernels that a fused runtime launches a layer, counted on vLLM's and llama.cpp's CUDA graphs: for
 * full attention: norm, qkv product, rope with cache write, attention, output product.
 * docs/models.md has the list. */
static const uint8_t attn_kernels[] = {[SW_ATTN_FULL] = 5,
                                       [SW_ATTN_WINDOW] = 5,
                                       [SW_ATTN_MLA] = 10,
                                       [SW_ATTN_STATE] = 6,
                                       [SW_ATTN_NONE] = 0};
static const uint8_t ffn_kernels[] = {[SW_FFN_NONE] = 0, [SW_FFN_DENSE] = 4, [SW_FFN_MOE] = 7};

static part part_of(const sw_tensor *t, const sw_layer *l) {
    switch (t->role) {
    case SW_ROLE_MLP:
        return MLP;
    case SW_ROLE_ROUTER:
        return ROUTER;
    case SW_ROLE_EXPERT:
        return EXPERT;
    case SW_ROLE_SHARED:
        return SHARED;
    case SW_ROLE_NORM:
        return l->attn == SW_ATTN_NONE && l->ffn != SW_FFN_NONE ? MLP : ATTN;
    default:
        return ATTN;
    }
}

static uint64_t kv_elems(const sw_layer *l) {
    if (l->kv_shared_with >= 0) return 0;
    switch (l->attn) {
    case SW_ATTN_FULL:
    case SW_ATTN_WINDOW:
        return (uint64_t)l->kv_heads * ((uint64_t)l->head_dim + l->v_head_dim) + l->kv_index_dim;
    case SW_ATTN_MLA:
        return (uint64_t)l->kv_latent + l->rope_dim + l->kv_index_dim;
    default:
        return 0;
    }
}

static sw_status finish_layer(sw_layer *l, uint32_t i, const sum *s, sw_error *err) {
    if (l->ffn == SW_FFN_MOE) {
        if (l->n_experts == 0 || s[EXPERT].elems == 0)
            return sw_fail(err, SW_INPUT, "layer %u: a mixture of experts without experts", i);
        if (l->top_k == 0 || l->top_k > l->n_experts)
            return sw_fail(err, SW_INPUT, "layer %u: %u experts chosen out of %u", i, l->top_k,
                           l->n_experts);
        if (s[EXPERT].elems % l->n_experts || s[EXPERT].bytes % l->n_experts)
            return sw_fail(err, SW_INPUT, "layer %u: its experts differ in size", i);
    } else if (s[EXPERT].bytes || s[ROUTER].bytes) {
        return sw_fail(err, SW_INPUT, "layer %u: tensors of experts in a layer without them", i);
    }
    if (l->attn == SW_ATTN_FULL || l->attn == SW_ATTN_WINDOW)
        if (l->heads == 0 || l->kv_heads == 0 || l->heads % l->kv_heads)
            return sw_fail(err, SW_INPUT, "layer %u: %u heads are no multiple of %u kv heads", i,
                           l->heads, l->kv_heads);
    if (l->kv_shared_with >= (int32_t)i)
        return sw_fail(err, SW_INPUT, "layer %u: shares the KV of a later layer", i);
    uint64_t n = l->ffn == SW_FFN_MOE ? l->n_experts : 1;
    l->attn_params = s[ATTN].elems, l->attn_bytes = s[ATTN].bytes;
    l->mlp_params = s[MLP].elems, l->mlp_bytes = s[MLP].bytes;
    l->shared_params = s[SHARED].elems, l->shared_bytes = s[SHARED].bytes;
    l->router_params = s[ROUTER].elems, l->router_bytes = s[ROUTER].bytes;
    l->expert_params = s[EXPERT].elems / n, l->expert_bytes = s[EXPERT].bytes / n;
    l->kv_elems_per_token = kv_elems(l);
    l->n_kernels_attn = attn_kernels[l->attn];
    l->n_kernels_ffn = ffn_kernels[l->ffn] + (s[SHARED].bytes ? 3 : 0);
    return SW_OK;
}

static sw_status place(sw_model *m, const sw_tensor *t, sum *layers, sum *embed, sum *output,
                       sum *unused, sw_error *err) {
    bool ok;
    if (t->role == SW_ROLE_UNUSED) {
        ok = add(unused, t);
    } else if (t->layer < 0) {
        ok = add(t->role == SW_ROLE_EMBED ? embed : output, t);
    } else if ((uint32_t)t->layer >= m->n_layers) {
        return sw_fail(err, SW_INPUT, "tensor %s: layer %d of a model with %u", t->name, t->layer,
                       m->n_layers);
    } else {
        const sw_layer *l = &m->layers[t->layer];
        if (t->role == SW_ROLE_EXPERT && l->ffn == SW_FFN_MOE &&
            (t->expert >= (int64_t)l->n_experts ||
             (t->expert < 0 && t->n_experts != l->n_experts && t->bytes)))
            return sw_fail(err, SW_INPUT, "tensor %s: expert %d of a layer with %u", t->name,
                           t->expert, l->n_experts);
        ok = add(&layers[(size_t)t->layer * PARTS + part_of(t, l)], t);
    }
    return ok ? SW_OK : sw_fail(err, SW_INPUT, "the sizes of the tensors add up beyond 2^64");
}

sw_status sw_model_finish(sw_model *m, sw_error *err) {
    sum embed = {0}, output = {0}, unused = {0}, all = {0};
    sum *layers = sw_zalloc((size_t)m->n_layers * PARTS + 1, sizeof *layers);
    if (!layers) return sw_fail(err, SW_MEMORY, "no memory for the sums of %u layers", m->n_layers);
    sw_status s = SW_OK;
    for (uint64_t i = 0; s == SW_OK && i < m->n_tensors; i++) {
        s = place(m, &m->tensors[i], layers, &embed, &output, &unused, err);
        if (s == SW_OK && (!add(&all, &m->tensors[i]) || all.bytes > INT64_MAX))
            s = sw_fail(err, SW_INPUT, "the sizes of the tensors add up beyond 2^63");
    }
    uint64_t active = 0;
    for (uint32_t i = 0; s == SW_OK && i < m->n_layers; i++) {
        sw_layer *l = &m->layers[i];
        s = finish_layer(l, i, &layers[(size_t)i * PARTS], err);
        if (s == SW_OK)
            active += l->attn_params + l->mlp_params + l->shared_params + l->router_params +
                      l->top_k * l->expert_params;
    }
    free(layers);
    if (s != SW_OK) return s;
    m->params = all.elems, m->bytes = all.bytes;
    m->embed_bytes = embed.bytes, m->unused_bytes = unused.bytes;
    m->output_params = output.elems + (m->tied ? embed.elems : 0);
    m->output_bytes = output.bytes + (m->tied ? embed.bytes : 0);
    m->active_params = active + m->output_params;
    return SW_OK;
}
