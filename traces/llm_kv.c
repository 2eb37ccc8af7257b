/* KV cache and recurrent state of the llm generator (see llm.h).
 *
 * Windows are rings: position p lies at p modulo the window. What counts as cached before the run
 * (start_context) has never been written in it: the first write of a layer covers it too. */
#include "traces/llm.h"

enum { IDS_MAX = 12 << 20 };
static const uint64_t BYTES_MAX = UINT64_C(1) << 60;

static uint64_t fixed_bytes(const sw_llm *c, const sw_llm_kv *k) {
    return (k->per_token * k->capacity + k->state) * c->group;
}

/* Elements to bytes, in whole blocks of the format. */
static uint64_t bytes_of(uint64_t elems, sw_dtype type) {
    uint64_t block = sw_dtype_block_elems(type), size = sw_dtype_block_bytes(type);
    return (elems * size + block - 1) / block;
}

static sw_status check_bytes(const sw_llm *c, const sw_llm_kv *k, sw_error *err) {
    uint64_t sum;
    if (__builtin_mul_overflow(k->per_token, c->total, &sum) ||
        __builtin_add_overflow(sum, k->state, &sum) ||
        __builtin_mul_overflow(sum, (uint64_t)c->batch, &sum) || sum > BYTES_MAX)
        return sw_fail(err, SW_INPUT, "workload: a KV cache of more than 2^60 bytes");
    return SW_OK;
}

sw_status sw_llm_kv_open(sw_llm *c, sw_dtype type, uint32_t first, uint32_t *end, sw_error *err) {
    size_t n = (size_t)c->m->n_layers + 1;
    c->kv = sw_zalloc(n, sizeof *c->kv);
    c->fixed = sw_zalloc(n, sizeof *c->fixed);
    c->paged = sw_zalloc(n, sizeof *c->paged);
    if (!c->kv || !c->fixed || !c->paged) return sw_fail(err, SW_MEMORY, "out of memory");
    for (uint32_t i = 0; i < c->m->n_layers; i++) {
        const sw_layer *l = &c->m->layers[i];
        sw_llm_kv *k = &c->kv[i];
        bool window = l->attn == SW_ATTN_WINDOW && l->window && l->window < c->total;
        k->source = l->kv_shared_with >= 0 ? c->kv[l->kv_shared_with].source : i;
        k->per_token = bytes_of(l->kv_elems_per_token, type);
        k->capacity = !k->per_token ? 0 : window ? l->window : c->total;
        k->state = l->attn == SW_ATTN_STATE ? l->state_bytes : 0;
        k->paged = c->kv_layout == SW_LLM_KV_PAGED && k->per_token && !window;
        SW_TRY(check_bytes(c, k, err));
        if (k->paged)
            c->paged[k->slot = c->n_paged++] = i;
        else if (k->per_token || k->state)
            c->fixed[k->slot = c->n_fixed++] = i;
    }
    uint64_t micros = (uint64_t)c->micro_batches, piece = (uint64_t)c->kv_block_tokens;
    uint64_t pieces = (c->total + piece - 1) / piece;
    uint64_t fixed = c->n_fixed * micros, ids = first + fixed;
    if (ids > IDS_MAX || (c->n_paged && pieces > (IDS_MAX - ids) / (c->n_paged * micros)))
        return sw_fail(err, SW_INPUT,
                       "workload: more than 12 M KV blocks; raise kv_block_tokens, or lower "
                       "micro_batches");
    c->fixed_first = first;
    c->paged_first = (uint32_t)ids;
    *end = (uint32_t)(ids + pieces * c->n_paged * micros);
    return SW_OK;
}

static void alloc_event(const sw_llm *c, sw_event *ev, uint32_t id, uint32_t layer,
                        uint64_t bytes) {
    sw_block_kind kind = c->kv[layer].per_token ? SW_BLOCK_KV : SW_BLOCK_STATE;
    *ev =
        (sw_event){.kind = SW_EV_ALLOC, .block = {id, kind, (int32_t)layer, -1, bytes, c->name.kv}};
}

bool sw_llm_kv_alloc(sw_llm *c, sw_event *ev) {
    uint64_t micros = (uint64_t)c->micro_batches, piece = (uint64_t)c->kv_block_tokens;
    uint64_t fixed = c->step ? 0 : c->n_fixed * micros, row = c->n_paged * micros;
    if (c->kv_at < fixed) {
        uint64_t at = c->kv_at++;
        uint32_t layer = c->fixed[at / micros];
        alloc_event(c, ev, c->fixed_first + (uint32_t)at, layer, fixed_bytes(c, &c->kv[layer]));
        return true;
    }
    uint64_t had = c->step ? (c->context + piece - 1) / piece : 0;
    uint64_t need = (c->context + c->n + piece - 1) / piece, at = c->kv_at - fixed;
    if (at >= (need - had) * row) return false;
    c->kv_at++;
    uint32_t layer = c->paged[at % row / micros];
    alloc_event(c, ev, c->paged_first + (uint32_t)(had * row + at), layer,
                c->kv[layer].per_token * piece * c->group);
    return true;
}

/* The block that holds a piece of a layer's KV, for the micro-batch at hand. */
static uint32_t block_of(const sw_llm *c, const sw_llm_kv *k, uint64_t piece) {
    uint64_t slot = (uint64_t)k->slot * (uint64_t)c->micro_batches + c->micro;
    uint64_t row = (uint64_t)c->n_paged * (uint64_t)c->micro_batches;
    return (uint32_t)(k->paged ? c->paged_first + piece * row + slot : c->fixed_first + slot);
}

static uint64_t piece_tokens(const sw_llm *c, const sw_llm_kv *k) {
    return k->paged ? (uint64_t)c->kv_block_tokens : k->capacity;
}

/* Positions [0, to) are read; of a ring, what it keeps of them. */
static void read_to(sw_llm *c, const sw_llm_kv *k, uint64_t to) {
    uint64_t piece = piece_tokens(c, k), row = k->per_token * c->group;
    if (to > k->capacity) to = k->capacity;
    for (uint64_t at = 0; at < to; at += piece) {
        uint64_t n = to - at < piece ? to - at : piece;
        sw_llm_use(c, block_of(c, k, at / piece), SW_READ, 0, n * row, n * row);
    }
}

/* Positions [from, from+n) are written. */
static void write_from(sw_llm *c, const sw_llm_kv *k, uint64_t from, uint64_t n) {
    uint64_t piece = piece_tokens(c, k), row = k->per_token * c->group;
    if (k->capacity < c->total) { /* a ring */
        uint64_t at = from % k->capacity, kept = n < k->capacity ? n : k->capacity;
        bool whole = at + n > k->capacity;
        sw_llm_use(c, block_of(c, k, 0), SW_WRITE, whole ? 0 : at * row,
                   (whole ? k->capacity : n) * row, kept * row);
        return;
    }
    while (n) {
        uint64_t at = from % piece, here = piece - at < n ? piece - at : n;
        sw_llm_use(c, block_of(c, k, from / piece), SW_WRITE, at * row, here * row, here * row);
        from += here;
        n -= here;
    }
}

size_t sw_llm_kv_most(const sw_llm *c) {
    const sw_llm_kv *k = &c->kv[c->kv[c->layer].source];
    return k->paged ? 2 * (size_t)((c->context + c->n) / (uint64_t)c->kv_block_tokens + 2) : 2;
}

void sw_llm_kv_use(sw_llm *c) {
    const sw_llm_kv *own = &c->kv[c->layer], *k = &c->kv[own->source];
    bool fresh = c->context == (uint64_t)c->start_context;
    if (own->state) {
        uint64_t bytes = own->state * c->group;
        sw_llm_use(c, block_of(c, own, 0), fresh ? SW_WRITE : SW_RW, 0, bytes,
                   fresh ? bytes : 2 * bytes);
    }
    if (!k->per_token) return;
    if (own != k) {
        read_to(c, k, c->context + c->n);
    } else if (fresh) {
        write_from(c, k, 0, c->context + c->n);
    } else {
        read_to(c, k, c->context);
        write_from(c, k, c->context, c->n);
    }
}
