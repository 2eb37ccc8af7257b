/* Cutting a model into blocks (see llm_layout.h). */
#include "traces/llm_layout.h"
#include <stdio.h>

typedef struct builder {
    sw_llm_layout *l;
    const sw_model *m;
    bool by_tensor;
    sw_error *err;
    uint64_t *at; /* tensors sorted by layer: at[i] … at[i+1]-1 of `order` are those of layer i */
    uint32_t *order;
} builder;

static sw_llm_part part_of(const sw_tensor *t, const sw_layer *layer) {
    switch (t->role) {
    case SW_ROLE_MLP:
        return SW_LLM_MLP;
    case SW_ROLE_ROUTER:
        return SW_LLM_ROUTER;
    case SW_ROLE_SHARED:
        return SW_LLM_SHARED;
    case SW_ROLE_NORM:
        return layer->attn == SW_ATTN_NONE && layer->ffn != SW_FFN_NONE ? SW_LLM_MLP : SW_LLM_ATTN;
    default:
        return SW_LLM_ATTN;
    }
}

static sw_status no_memory(builder *b) {
    return sw_fail(b->err, SW_MEMORY, "out of memory");
}

static sw_status add_block(builder *b, sw_block_kind kind, int32_t layer, int32_t expert,
                           uint64_t bytes, const char *name, uint32_t *id) {
    sw_block k = {(uint32_t)b->l->blocks.n, kind, layer, expert, bytes, sw_intern(name)};
    *id = k.id;
    if (k.id >= 8u << 20) return sw_fail(b->err, SW_INPUT, "the model has more than 8 M blocks");
    return k.name && sw_vec_push(&b->l->blocks, k) ? SW_OK : no_memory(b);
}

static sw_status add_use(builder *b, sw_llm_range *r, uint32_t block, uint64_t offset,
                         uint64_t bytes) {
    sw_ev_use u = {block, SW_READ, offset, bytes, bytes};
    if (!r->n) r->from = (uint32_t)b->l->uses.n;
    r->n++;
    return sw_vec_push(&b->l->uses, u) ? SW_OK : no_memory(b);
}

/* The tensors of one part, as blocks of their own or as an extent of the layer's block. */
static sw_status add_part(builder *b, int32_t layer, int part, uint32_t *block, uint64_t *offset,
                          sw_llm_range *r) {
    uint64_t sum = 0, largest = 0;
    for (uint64_t k = b->at[layer]; k < b->at[layer + 1]; k++) {
        const sw_tensor *t = &b->m->tensors[b->order[k]];
        if (t->role == SW_ROLE_EXPERT || (int)part_of(t, &b->m->layers[layer]) != part || !t->bytes)
            continue;
        if (t->bytes > largest) largest = t->bytes, r->math = (uint8_t)sw_dtype_math(t->type);
        sum += t->bytes;
        if (!b->by_tensor) continue;
        uint32_t id;
        SW_TRY(add_block(b, SW_BLOCK_WEIGHT, layer, -1, t->bytes, t->name, &id));
        SW_TRY(add_use(b, r, id, 0, t->bytes));
    }
    if (b->by_tensor || !sum) return SW_OK;
    if (*block == UINT32_MAX) {
        char name[32];
        snprintf(name, sizeof name, "layer.%d", layer);
        SW_TRY(add_block(b, SW_BLOCK_WEIGHT, layer, -1, 1, name, block));
    }
    SW_TRY(add_use(b, r, *block, *offset, sum));
    *offset += sum;
    b->l->blocks.v[*block].bytes = *offset;
    return SW_OK;
}

static sw_status add_experts(builder *b, int32_t layer, sw_llm_layer *out) {
    const sw_layer *l = &b->m->layers[layer];
    uint64_t largest = 0;
    if (l->ffn != SW_FFN_MOE) return SW_OK;
    for (uint64_t k = b->at[layer]; k < b->at[layer + 1]; k++) {
        const sw_tensor *t = &b->m->tensors[b->order[k]];
        if (t->role == SW_ROLE_EXPERT && t->bytes > largest)
            largest = t->bytes, out->expert_math = (uint8_t)sw_dtype_math(t->type);
    }
    for (uint32_t e = 0; e < l->n_experts; e++) {
        char name[48];
        uint32_t id;
        snprintf(name, sizeof name, "layer.%d.expert.%u", layer, e);
        SW_TRY(add_block(b, SW_BLOCK_EXPERT, layer, (int32_t)e, l->expert_bytes, name, &id));
        if (e == 0) out->first_expert = id;
    }
    return SW_OK;
}

/* What belongs to no layer: the embedding or the head, by tensor or as one block. */
static sw_status add_loose(builder *b, bool head, sw_llm_range *r) {
    uint64_t sum = 0;
    bool tied = b->m->tied;
    for (uint64_t i = 0; i < b->m->n_tensors; i++) {
        const sw_tensor *t = &b->m->tensors[i];
        bool embed = t->role == SW_ROLE_EMBED, mine = head ? !embed || tied : embed && !tied;
        if (t->layer >= 0 || t->role == SW_ROLE_UNUSED || !mine || !t->bytes) continue;
        sum += t->bytes;
        if (!b->by_tensor) continue;
        uint32_t id;
        SW_TRY(add_block(b, embed && !tied ? SW_BLOCK_EMBED : SW_BLOCK_WEIGHT, -1, -1, t->bytes,
                         t->name, &id));
        SW_TRY(add_use(b, r, id, 0, t->bytes));
    }
    if (b->by_tensor || !sum) return SW_OK;
    uint32_t id;
    SW_TRY(add_block(b, head ? SW_BLOCK_WEIGHT : SW_BLOCK_EMBED, -1, -1, sum,
                     head ? "head" : "embed", &id));
    return add_use(b, r, id, 0, sum);
}

/* The embedding's uses: of a tied model, those of the block or tensor that is the head's too. */
static void find_embed(builder *b) {
    sw_llm_layout *l = b->l;
    for (uint64_t i = 0; i < b->m->n_tensors; i++) {
        const sw_tensor *t = &b->m->tensors[i];
        if (t->role != SW_ROLE_EMBED || t->layer >= 0) continue;
        uint64_t rows = b->m->vocab ? b->m->vocab : 1;
        l->embed_row_bytes += t->bytes / rows;
        for (uint32_t k = 0; b->m->tied && b->by_tensor && k < l->head.n; k++) {
            uint32_t block = l->uses.v[l->head.from + k].block;
            if (!strcmp(l->blocks.v[block].name, t->name))
                l->embed = (sw_llm_range){l->head.from + k, 1, l->head.math};
        }
    }
    if (b->m->tied && !b->by_tensor) l->embed = l->head;
    if (!l->embed_row_bytes) l->embed_row_bytes = 1;
}

static sw_status sort_by_layer(builder *b) {
    uint32_t n = b->m->n_layers;
    b->at = sw_zalloc((size_t)n + 2, sizeof *b->at);
    b->order = malloc((b->m->n_tensors + 1) * sizeof *b->order);
    if (!b->at || !b->order) return no_memory(b);
    for (uint64_t i = 0; i < b->m->n_tensors; i++) {
        const sw_tensor *t = &b->m->tensors[i];
        if (t->layer >= 0 && t->role != SW_ROLE_UNUSED) b->at[t->layer + 1]++;
    }
    for (uint32_t i = 0; i < n; i++) b->at[i + 1] += b->at[i];
    for (uint64_t i = b->m->n_tensors; i-- > 0;) {
        const sw_tensor *t = &b->m->tensors[i];
        if (t->layer >= 0 && t->role != SW_ROLE_UNUSED)
            b->order[--b->at[t->layer + 1]] = (uint32_t)i;
    }
    for (uint32_t i = 0; i < n; i++) b->at[i] = b->at[i + 1]; /* undo the shift of the fill */
    uint64_t total = 0;
    for (uint64_t i = 0; i < b->m->n_tensors; i++)
        total += b->m->tensors[i].layer >= 0 && b->m->tensors[i].role != SW_ROLE_UNUSED;
    b->at[n] = total;
    return SW_OK;
}

static sw_status build(builder *b) {
    sw_llm_layout *l = b->l;
    SW_TRY(sort_by_layer(b));
    l->layers = sw_zalloc((size_t)b->m->n_layers + 1, sizeof *l->layers);
    if (!l->layers) return no_memory(b);
    SW_TRY(add_loose(b, false, &l->embed));
    for (uint32_t i = 0; i < b->m->n_layers; i++) {
        uint32_t block = UINT32_MAX;
        uint64_t offset = 0;
        for (int part = 0; part < SW_LLM_PARTS; part++)
            SW_TRY(add_part(b, (int32_t)i, part, &block, &offset, &l->layers[i].part[part]));
        SW_TRY(add_experts(b, (int32_t)i, &l->layers[i]));
    }
    uint64_t largest = 0;
    for (uint64_t i = 0; i < b->m->n_tensors; i++) {
        const sw_tensor *t = &b->m->tensors[i];
        bool head =
            t->layer < 0 && (t->role == SW_ROLE_OUTPUT || (b->m->tied && t->role == SW_ROLE_EMBED));
        if (head && t->bytes > largest)
            largest = t->bytes, l->head.math = (uint8_t)sw_dtype_math(t->type);
    }
    SW_TRY(add_loose(b, true, &l->head));
    find_embed(b);
    return SW_OK;
}

sw_status sw_llm_layout_open(sw_llm_layout *l, const sw_model *model, bool by_tensor,
                             sw_error *err) {
    *l = (sw_llm_layout){0};
    builder b = {.l = l, .m = model, .by_tensor = by_tensor, .err = err};
    sw_status st = build(&b);
    free(b.at);
    free(b.order);
    if (st) sw_llm_layout_close(l);
    return st;
}

void sw_llm_layout_close(sw_llm_layout *l) {
    sw_vec_free(&l->blocks);
    sw_vec_free(&l->uses);
    free(l->layers);
    *l = (sw_llm_layout){0};
}
