/* llm: a language model at work, event by event: prefill in chunks, then one decode step a token.
 *
 * Every op of a step reads and writes the hidden state, the sampled token starts the next step: so
 * ops chain as they do in the network. A layer is up to five ops: projections, attention, router,
 * experts (and shared experts), feed-forward. All sequences of the batch advance in lockstep; with
 * micro-batches a layer runs all of them before the next layer (FlexGen's zig-zag). Formulas and
 * sources: docs/llm-generator.md. */
#include "traces/llm_layout.h"
#include "traces/llm_router.h"
#include <stdio.h>

enum { GRANULE_LAYER, GRANULE_TENSOR };
enum { KV_STATIC, KV_PAGED };
enum { TOP_K_MAX = 256, KV_IDS_MAX = 12 << 20 };

typedef struct kv_layer {
    uint32_t source;    /* layer whose KV this one reads */
    uint32_t first;     /* its first block: [micro-batch][piece] */
    uint32_t pieces;    /* blocks a micro-batch; 0: none */
    uint64_t per_token; /* bytes a token and sequence */
    uint64_t capacity;  /* tokens kept (window, or all); STATE: 0 */
    uint64_t state;     /* bytes a sequence */
} kv_layer;

typedef struct ctx {
    int64_t batch, prompt, generate, prefill_chunk, start_context, kv_block_tokens, micro_batches;
    int granularity, kv_layout;
    char kv[64];
    double skew, locality;

    const sw_model *m;
    sw_llm_layout layout;
    sw_llm_router router;
    bool has_router;
    kv_layer *layers;
    sw_dtype kv_type;
    uint32_t token, hidden, work, logits, n_ids; /* block ids */
    uint64_t total;                              /* tokens of a sequence at the end */
    uint64_t group;                              /* sequences in a micro-batch */
    uint64_t context;                            /* tokens already in the cache */
    uint64_t n;                                  /* tokens a sequence in this step */
    uint64_t work_bytes;
    uint32_t step, declared;
    uint32_t layer, micro, part; /* where in the step */
    uint32_t kv_layer_at, kv_piece_at;
    bool first_token_made, last_chunk;
    int stage;
    uint64_t seq, router_seq;
    uint16_t *chosen;
    SW_VEC(sw_ev_use) uses;
    const char *n_proj, *n_attn, *n_router, *n_expert, *n_shared, *n_mlp, *n_embed, *n_head,
        *n_sample, *n_kv, *n_token, *n_hidden, *n_work, *n_logits, *n_prefill, *n_decode;
} ctx;

static const sw_param params[] = {
    {"batch", SW_PARAM_INT, "1", 1, 65536, NULL, offsetof(ctx, batch), "sequences, in lockstep"},
    {"prompt", SW_PARAM_INT, "512", 1, 1 << 30, NULL, offsetof(ctx, prompt),
     "tokens of each prompt"},
    {"generate", SW_PARAM_INT, "32", 0, 1 << 30, NULL, offsetof(ctx, generate),
     "tokens generated for each sequence; the first comes out of the prefill"},
    {"prefill_chunk", SW_PARAM_INT, "0", 0, 1 << 30, NULL, offsetof(ctx, prefill_chunk),
     "tokens of each prompt processed at once; 0: the whole prompt"},
    {"start_context", SW_PARAM_INT, "0", 0, 1 << 30, NULL, offsetof(ctx, start_context),
     "tokens whose keys and values count as cached before the prompt"},
    {"granularity", SW_PARAM_CHOICE, "layer", 0, 0, "layer|tensor", offsetof(ctx, granularity),
     "what a block is: a layer's weights, or each tensor (an expert is a block in both)"},
    {"kv", SW_PARAM_STRING, "f16", 0, 0, NULL, offsetof(ctx, kv),
     "number format of the KV cache: f16, f8_e4m3, q8_0, q4_0 …"},
    {"kv_layout", SW_PARAM_CHOICE, "static", 0, 0, "static|paged", offsetof(ctx, kv_layout),
     "one block a layer at full size from the start, or blocks that come as the context grows"},
    {"kv_block_tokens", SW_PARAM_INT, "256", 1, 1 << 20, NULL, offsetof(ctx, kv_block_tokens),
     "paged: tokens in a KV block"},
    {"micro_batches", SW_PARAM_INT, "1", 1, 4096, NULL, offsetof(ctx, micro_batches),
     "parts of the batch that go through a layer one after the other; must divide it"},
    {"skew", SW_PARAM_NUM, "0", 0, 8, NULL, offsetof(ctx, skew),
     "experts: Zipf exponent of their popularity; 0: all alike"},
    {"locality", SW_PARAM_NUM, "0", 0, 1, NULL, offsetof(ctx, locality),
     "experts: probability that a token keeps an expert of the token before it"},
};

/* --- opening
 * ------------------------------------------------------------------------------------------ */

static sw_status intern_names(ctx *c, sw_error *err) {
    const struct {
        const char **to, *text;
    } names[] = {{&c->n_proj, "attn.proj"}, {&c->n_attn, "attn"},     {&c->n_router, "router"},
                 {&c->n_expert, "experts"}, {&c->n_shared, "shared"}, {&c->n_mlp, "mlp"},
                 {&c->n_embed, "embed"},    {&c->n_head, "head"},     {&c->n_sample, "sample"},
                 {&c->n_kv, "kv"},          {&c->n_token, "token"},   {&c->n_hidden, "hidden"},
                 {&c->n_work, "workspace"}, {&c->n_logits, "logits"}, {&c->n_prefill, "prefill"},
                 {&c->n_decode, "decode"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!(*names[i].to = sw_intern(names[i].text)))
            return sw_fail(err, SW_MEMORY, "out of memory");
    return SW_OK;
}

/* KV and state of each layer, and the ids of their blocks. */
static sw_status plan_kv(ctx *c, sw_error *err) {
    c->layers = sw_zalloc((size_t)c->m->n_layers + 1, sizeof *c->layers);
    if (!c->layers) return sw_fail(err, SW_MEMORY, "out of memory");
    double bytes_per_elem = sw_dtype_bits(c->kv_type) / 8;
    for (uint32_t i = 0; i < c->m->n_layers; i++) {
        const sw_layer *l = &c->m->layers[i];
        kv_layer *k = &c->layers[i];
        k->source = l->kv_shared_with >= 0 ? (uint32_t)l->kv_shared_with : i;
        k->per_token = (uint64_t)((double)l->kv_elems_per_token * bytes_per_elem + 0.999999);
        k->capacity =
            l->attn == SW_ATTN_WINDOW && l->window && l->window < c->total ? l->window : c->total;
        k->state = l->attn == SW_ATTN_STATE ? l->state_bytes : 0;
        bool paged = c->kv_layout == KV_PAGED && k->per_token && k->capacity == c->total;
        uint64_t piece = (uint64_t)c->kv_block_tokens;
        k->pieces = paged                      ? (uint32_t)((c->total + piece - 1) / piece)
                    : k->per_token || k->state ? 1
                                               : 0;
        if (!k->per_token) k->capacity = 0;
        k->first = c->n_ids;
        uint64_t ids = (uint64_t)k->pieces * (uint64_t)c->micro_batches;
        if (ids > KV_IDS_MAX || c->n_ids + ids > KV_IDS_MAX)
            return sw_fail(err, SW_INPUT,
                           "workload: more than 12 M KV blocks; raise kv_block_tokens");
        c->n_ids += (uint32_t)ids;
    }
    return SW_OK;
}

/* Workspace: what the widest op of a layer keeps beside the hidden state, f16, for a micro-batch of
 * n tokens. */
static uint64_t work_per_token(const sw_model *m) {
    uint64_t most = m->hidden;
    for (uint32_t i = 0; i < m->n_layers; i++) {
        const sw_layer *l = &m->layers[i];
        uint64_t qkv = (uint64_t)l->heads * l->head_dim + l->kv_elems_per_token +
                       (uint64_t)l->heads * l->v_head_dim;
        uint64_t ffn = 2 * l->ff_dim, moe = 2 * l->expert_ff_dim * l->top_k;
        uint64_t here = qkv > ffn ? qkv : ffn;
        if (moe > here) here = moe;
        if (here > most) most = here;
    }
    return 2 * most;
}

static sw_status open_router(ctx *c, uint64_t seed, sw_error *err) {
    uint32_t experts = 0, k = 0;
    for (uint32_t i = 0; i < c->m->n_layers; i++) {
        const sw_layer *l = &c->m->layers[i];
        if (l->ffn != SW_FFN_MOE) continue;
        if ((experts && experts != l->n_experts) || (k && k != l->top_k))
            return sw_fail(err, SW_INPUT,
                           "workload: layers with different numbers of experts are not supported");
        experts = l->n_experts, k = l->top_k;
    }
    if (!experts) return SW_OK;
    if (experts > 65535 || k > TOP_K_MAX)
        return sw_fail(err, SW_INPUT,
                       "workload: %u experts of which %u are chosen: at most 65535 and %d", experts,
                       k, TOP_K_MAX);
    c->has_router = true;
    c->chosen = malloc((size_t)experts * sizeof *c->chosen);
    if (!c->chosen) return sw_fail(err, SW_MEMORY, "out of memory");
    return sw_llm_router_open(&c->router, seed, c->m->n_layers, (uint32_t)c->batch, experts, k,
                              c->skew, c->locality, err);
}

static sw_status llm_open(void *so, const sw_source_env *env, sw_error *err) {
    ctx *c = so;
    c->m = env->model;
    if (!c->m) return sw_fail(err, SW_INPUT, "workload: the llm generator needs a `model:`");
    if (c->batch % c->micro_batches)
        return sw_fail(err, SW_INPUT, "workload: %lld micro-batches do not divide a batch of %lld",
                       (long long)c->micro_batches, (long long)c->batch);
    if (!sw_dtype_parse(c->kv, &c->kv_type))
        return sw_fail(err, SW_INPUT, "workload: kv: unknown number format \"%s\"", c->kv);
    c->group = (uint64_t)(c->batch / c->micro_batches);
    c->context = (uint64_t)c->start_context;
    c->total = (uint64_t)(c->start_context + c->prompt + (c->generate > 1 ? c->generate - 1 : 0));
    SW_TRY(intern_names(c, err));
    SW_TRY(sw_llm_layout_open(&c->layout, c->m, c->granularity == GRANULE_TENSOR, err));
    c->n_ids = (uint32_t)c->layout.blocks.n;
    SW_TRY(plan_kv(c, err));
    c->token = c->n_ids++, c->hidden = c->n_ids++, c->work = c->n_ids++, c->logits = c->n_ids++;
    c->work_bytes = work_per_token(c->m);
    return open_router(c, env->seed, err);
}

/* --- building events
 * -------------------------------------------------------------------------------------- */

static void use(ctx *c, uint32_t block, uint8_t mode, uint64_t offset, uint64_t bytes,
                uint64_t touched) {
    sw_ev_use u = {block, mode, offset, bytes, touched};
    (void)sw_vec_push(&c->uses, u); /* reserved in begin_uses */
}

static bool begin_uses(ctx *c, size_t n) {
    c->uses.n = 0;
    return sw_vec_reserve(&c->uses, n + 16);
}

static void use_range(ctx *c, const sw_llm_range *r) {
    for (uint32_t i = 0; i < r->n; i++) (void)sw_vec_push(&c->uses, c->layout.uses.v[r->from + i]);
}

/* The micro-batch's slice of the hidden state, read and written. */
static void use_hidden(ctx *c, uint8_t mode) {
    uint64_t slice = c->group * c->n * c->m->hidden * 2;
    use(c, c->hidden, mode, c->micro * slice, slice, mode == SW_RW ? 2 * slice : slice);
}

static void finish(ctx *c, sw_event *ev, const char *name, double flops, uint8_t math, sw_class cls,
                   uint32_t launches) {
    *ev = (sw_event){.kind = SW_EV_ACCESS,
                     .name = name,
                     .uses = c->uses.v,
                     .n_uses = (uint32_t)c->uses.n,
                     .work = {flops, math, (uint8_t)cls, launches ? launches : 1}};
}

static double tokens(const ctx *c) {
    return (double)(c->group * c->n);
}

/* The KV pieces that hold positions [0, to) of the micro-batch, read. */
static void use_kv_read(ctx *c, const kv_layer *k, uint64_t to) {
    uint64_t piece =
        k->pieces > 1 || c->kv_layout == KV_PAGED ? (uint64_t)c->kv_block_tokens : k->capacity;
    if (k->capacity < c->total || piece > k->capacity) piece = k->capacity;
    if (to > k->capacity) to = k->capacity;
    uint64_t row = k->per_token * c->group;
    for (uint64_t at = 0, i = 0; at < to; at += piece, i++) {
        uint64_t n = to - at < piece ? to - at : piece;
        use(c, k->first + c->micro * k->pieces + (uint32_t)i, SW_READ, 0, n * row, n * row);
    }
}

/* The positions [from, from+n) written; in a window they wrap round. */
static void use_kv_write(ctx *c, const kv_layer *k, uint64_t from, uint64_t n) {
    uint64_t row = k->per_token * c->group;
    if (k->capacity < c->total) { /* a ring */
        uint64_t at = from % k->capacity, whole = n >= k->capacity || at + n > k->capacity;
        uint64_t kept = n < k->capacity ? n : k->capacity;
        use(c, k->first + c->micro * k->pieces, SW_WRITE, whole ? 0 : at * row,
            (whole ? k->capacity : n) * row, kept * row);
        return;
    }
    uint64_t piece = c->kv_layout == KV_PAGED ? (uint64_t)c->kv_block_tokens : k->capacity;
    if (piece > k->capacity) piece = k->capacity;
    while (n) {
        uint64_t at = from % piece, here = piece - at < n ? piece - at : n;
        use(c, k->first + c->micro * k->pieces + (uint32_t)(from / piece), SW_WRITE, at * row,
            here * row, here * row);
        from += here;
        n -= here;
    }
}

/* Sum over the step's tokens of how many positions each one attends to. */
static double attended(const ctx *c, const sw_layer *l) {
    double s = (double)c->context, n = (double)c->n, w = (double)l->window;
    double all = n * s + n * (n + 1) / 2;
    if (l->attn != SW_ATTN_WINDOW || !l->window || s + n <= w) return all;
    if (s >= w) return n * w;
    double head = w - s; /* tokens that still see everything */
    return head * s + head * (head + 1) / 2 + (n - head) * w;
}

static double attention_flops(const ctx *c, const sw_layer *l) {
    double pairs = attended(c, l) * (double)c->group, h = l->heads;
    switch (l->attn) {
    case SW_ATTN_MLA: /* decode: absorbed, all heads attend the latent; prefill: expanded */
        if (c->n == 1) return 2 * h * pairs * (2.0 * l->kv_latent + l->rope_dim);
        return 2 * h * pairs * ((double)l->head_dim + l->v_head_dim);
    case SW_ATTN_STATE:
        return 6 * (double)l->state_elems * tokens(c);
    case SW_ATTN_NONE:
        return 0;
    default:
        return 2 * h * pairs * ((double)l->head_dim + l->v_head_dim);
    }
}

static void proj_event(ctx *c, sw_event *ev) {
    const sw_layer *l = &c->m->layers[c->layer];
    const sw_llm_range *r = &c->layout.layers[c->layer].part[SW_LLM_ATTN];
    use_range(c, r);
    use_hidden(c, SW_RW);
    uint32_t launches = l->n_kernels_attn > 1 ? l->n_kernels_attn - 1 : 1;
    finish(c, ev, c->n_proj, 2 * (double)l->attn_params * tokens(c), r->math, SW_CLASS_GEMM,
           launches);
}

static void attn_event(ctx *c, sw_event *ev) {
    const sw_layer *l = &c->m->layers[c->layer];
    const kv_layer *own = &c->layers[c->layer], *k = &c->layers[own->source];
    if (l->attn == SW_ATTN_STATE) {
        uint64_t bytes = own->state * c->group;
        bool fresh = c->context == (uint64_t)c->start_context;
        if (bytes)
            use(c, own->first + c->micro, fresh ? SW_WRITE : SW_RW, 0, bytes,
                fresh ? bytes : 2 * bytes);
    } else {
        uint64_t all = c->context, seen = all - (uint64_t)c->start_context;
        if (k->per_token && own->source != c->layer) {
            use_kv_read(c, k, all + c->n);
        } else if (k->per_token) {
            if (seen) use_kv_read(c, k, all);
            /* What counts as cached before the run has never been written in it: the first write
             * covers it. */
            if (seen)
                use_kv_write(c, k, all, c->n);
            else
                use_kv_write(c, k, 0, all + c->n);
        }
    }
    use_hidden(c, SW_RW);
    finish(c, ev, c->n_attn, attention_flops(c, l), SW_FP16,
           c->n == 1 ? SW_CLASS_ATTN_DECODE : SW_CLASS_ATTN_PREFILL, 1);
}

static bool expert_event(ctx *c, sw_event *ev) {
    const sw_layer *l = &c->m->layers[c->layer];
    const sw_llm_layer *ll = &c->layout.layers[c->layer];
    uint32_t n = sw_llm_router_choose(&c->router, c->layer, (uint32_t)(c->micro * c->group),
                                      (uint32_t)c->group, c->n, c->chosen);
    if (!begin_uses(c, n)) return false;
    for (uint32_t i = 0; i < n; i++)
        use(c, ll->first_expert + c->chosen[i], SW_READ, 0, l->expert_bytes, l->expert_bytes);
    use_hidden(c, SW_RW);
    uint32_t launches = l->n_kernels_ffn > 2 ? l->n_kernels_ffn - 2 : 1;
    finish(c, ev, c->n_expert, 2 * (double)l->expert_params * l->top_k * tokens(c), ll->expert_math,
           SW_CLASS_EXPERT, launches);
    ev->known_after = c->router_seq;
    return true;
}

static void weights_event(ctx *c, sw_event *ev, sw_llm_part part, const char *name,
                          uint64_t weights, sw_class cls, uint32_t launches) {
    const sw_llm_range *r = &c->layout.layers[c->layer].part[part];
    use_range(c, r);
    use_hidden(c, SW_RW);
    finish(c, ev, name, 2 * (double)weights * tokens(c), r->math, cls, launches);
}

/* The next op of the layer and micro-batch at hand: true when there was one. */
static bool layer_event(ctx *c, sw_event *ev, sw_status *st, sw_error *err) {
    const sw_layer *l = &c->m->layers[c->layer];
    const sw_llm_layer *ll = &c->layout.layers[c->layer];
    for (;;) {
        uint32_t part = c->part++;
        size_t most = ll->part[SW_LLM_ATTN].n + ll->part[SW_LLM_MLP].n + ll->part[SW_LLM_SHARED].n +
                      ll->part[SW_LLM_ROUTER].n +
                      c->layers[c->layers[c->layer].source].pieces * 2ull;
        if (!begin_uses(c, most)) {
            *st = sw_fail(err, SW_MEMORY, "out of memory");
            return true;
        }
        switch (part) {
        case 0:
            if (!ll->part[SW_LLM_ATTN].n) continue;
            proj_event(c, ev);
            return true;
        case 1:
            if (l->attn == SW_ATTN_NONE) continue;
            attn_event(c, ev);
            return true;
        case 2:
            if (l->ffn != SW_FFN_MOE) continue;
            weights_event(c, ev, SW_LLM_ROUTER, c->n_router, l->router_params, SW_CLASS_ROUTER, 2);
            ev->makes_known = true;
            c->router_seq = c->seq;
            return true;
        case 3:
            if (!ll->part[SW_LLM_SHARED].n) continue;
            weights_event(c, ev, SW_LLM_SHARED, c->n_shared, l->shared_params, SW_CLASS_GEMM, 3);
            return true;
        case 4:
            if (l->ffn != SW_FFN_MOE) continue;
            if (!expert_event(c, ev)) *st = sw_fail(err, SW_MEMORY, "out of memory");
            return true;
        case 5:
            if (!ll->part[SW_LLM_MLP].n) continue;
            weights_event(c, ev, SW_LLM_MLP, c->n_mlp, l->mlp_params, SW_CLASS_GEMM,
                          l->n_kernels_ffn);
            return true;
        default:
            return false;
        }
    }
}

static void embed_event(ctx *c, sw_event *ev) {
    uint64_t rows = (uint64_t)c->batch * c->n, gathered = rows * c->layout.embed_row_bytes;
    (void)begin_uses(c, c->layout.embed.n);
    for (uint32_t i = 0; i < c->layout.embed.n; i++) {
        sw_ev_use u = c->layout.uses.v[c->layout.embed.from + i];
        u.touched = gathered < u.bytes ? gathered : u.bytes;
        (void)sw_vec_push(&c->uses, u);
    }
    if (c->first_token_made)
        use(c, c->token, SW_READ, 0, (uint64_t)c->batch * 4, (uint64_t)c->batch * 4);
    use(c, c->hidden, SW_WRITE, 0, rows * c->m->hidden * 2, rows * c->m->hidden * 2);
    finish(c, ev, c->n_embed, 0, SW_FP16, SW_CLASS_EMBED, 1);
    ev->gather = true;
}

static void head_event(ctx *c, sw_event *ev) {
    uint64_t batch = (uint64_t)c->batch, logits = batch * c->m->vocab * 2,
             hidden = batch * c->m->hidden * 2;
    (void)begin_uses(c, c->layout.head.n);
    use_range(c, &c->layout.head);
    use(c, c->hidden, SW_READ, 0, hidden, hidden);
    use(c, c->logits, SW_WRITE, 0, logits, logits);
    finish(c, ev, c->n_head, 2 * (double)c->m->output_params * (double)batch, c->layout.head.math,
           SW_CLASS_GEMM, 2);
}

static void sample_event(ctx *c, sw_event *ev) {
    uint64_t batch = (uint64_t)c->batch, logits = batch * c->m->vocab * 2;
    (void)begin_uses(c, 2);
    use(c, c->logits, SW_READ, 0, logits, logits);
    use(c, c->token, SW_WRITE, 0, batch * 4, batch * 4);
    finish(c, ev, c->n_sample, (double)(batch * c->m->vocab), SW_FP32, SW_CLASS_SAMPLE, 1);
}

static void alloc_event(sw_event *ev, uint32_t id, sw_block_kind kind, int32_t layer,
                        uint64_t bytes, const char *name) {
    *ev = (sw_event){.kind = SW_EV_ALLOC, .block = {id, kind, layer, -1, bytes ? bytes : 1, name}};
}

/* --- the stream
 * -------------------------------------------------------------------------------------------- */

/* The next KV block that must exist before the step; false when all do. */
static bool next_kv(ctx *c, sw_event *ev) {
    uint64_t upto = c->context + c->n;
    for (; c->kv_layer_at < c->m->n_layers; c->kv_layer_at++, c->kv_piece_at = 0) {
        const kv_layer *k = &c->layers[c->kv_layer_at];
        bool paged = c->kv_layout == KV_PAGED && k->per_token && k->capacity == c->total;
        uint64_t piece = paged ? (uint64_t)c->kv_block_tokens : 0;
        uint32_t first = 0, last = k->pieces; /* pieces to allocate now */
        if (paged) {
            first = c->step ? (uint32_t)((c->context + piece - 1) / piece) : 0;
            last = (uint32_t)((upto + piece - 1) / piece);
        } else if (c->step) {
            continue;
        }
        uint32_t n = last > first ? last - first : 0;
        if (c->kv_piece_at >= n * (uint32_t)c->micro_batches) continue;
        uint32_t at = c->kv_piece_at++, micro = at / n, p = first + at % n;
        uint64_t row_tokens = paged ? piece : k->capacity;
        uint64_t bytes = (k->per_token * row_tokens + k->state) * c->group;
        alloc_event(ev, k->first + micro * k->pieces + p,
                    k->per_token ? SW_BLOCK_KV : SW_BLOCK_STATE, (int32_t)c->kv_layer_at, bytes,
                    c->n_kv);
        return true;
    }
    return false;
}

enum {
    S_DECLARE,
    S_TOKEN,
    S_STEP,
    S_KV,
    S_HIDDEN,
    S_WORK,
    S_EMBED,
    S_LAYERS,
    S_LOGITS,
    S_HEAD,
    S_SAMPLE,
    S_FREE_LOGITS,
    S_FREE_WORK,
    S_FREE_HIDDEN
};

static bool begin_step(ctx *c, sw_event *ev) {
    uint64_t done = c->context - (uint64_t)c->start_context, prompt = (uint64_t)c->prompt;
    bool prefill = done < prompt;
    if (prefill) {
        uint64_t chunk = c->prefill_chunk ? (uint64_t)c->prefill_chunk : prompt;
        c->n = prompt - done < chunk ? prompt - done : chunk;
        c->last_chunk = done + c->n == prompt;
    } else {
        if (c->generate < 2 || done >= prompt + (uint64_t)c->generate - 1) return false;
        c->n = 1;
        c->last_chunk = true;
    }
    c->layer = c->micro = c->part = 0;
    c->kv_layer_at = c->kv_piece_at = 0;
    uint64_t outputs = c->last_chunk && c->generate > 0 ? (uint64_t)c->batch : 0;
    *ev = (sw_event){.kind = SW_EV_STEP,
                     .name = prefill ? c->n_prefill : c->n_decode,
                     .step = c->step,
                     .phase = prefill ? SW_PHASE_PREFILL : SW_PHASE_DECODE,
                     .tokens = (uint64_t)c->batch * c->n,
                     .outputs = outputs};
    return true;
}

static sw_status next(ctx *c, sw_event *ev, sw_error *err) {
    sw_status st = SW_OK;
    for (;;) switch (c->stage) {
        case S_DECLARE:
            if (c->declared < c->layout.blocks.n) {
                *ev = (sw_event){.kind = SW_EV_BLOCK, .block = c->layout.blocks.v[c->declared++]};
                return SW_OK;
            }
            c->stage = S_TOKEN;
            break;
        case S_TOKEN:
            alloc_event(ev, c->token, SW_BLOCK_ACT, -1, (uint64_t)c->batch * 4, c->n_token);
            c->stage = S_STEP;
            return SW_OK;
        case S_STEP:
            if (!begin_step(c, ev)) return SW_END;
            c->stage = S_KV;
            return SW_OK;
        case S_KV:
            if (next_kv(c, ev)) return SW_OK;
            c->stage = S_HIDDEN;
            break;
        case S_HIDDEN:
            alloc_event(ev, c->hidden, SW_BLOCK_ACT, -1,
                        (uint64_t)c->batch * c->n * c->m->hidden * 2, c->n_hidden);
            c->stage = S_WORK;
            return SW_OK;
        case S_WORK:
            alloc_event(ev, c->work, SW_BLOCK_ACT, -1, c->group * c->n * c->work_bytes, c->n_work);
            c->stage = S_EMBED;
            return SW_OK;
        case S_EMBED:
            embed_event(c, ev);
            c->stage = S_LAYERS;
            return SW_OK;
        case S_LAYERS:
            if (c->layer == c->m->n_layers) {
                c->stage = c->last_chunk && c->generate > 0 ? S_LOGITS : S_FREE_WORK;
                break;
            }
            if (layer_event(c, ev, &st, err)) return st;
            c->part = 0;
            if (++c->micro == (uint32_t)c->micro_batches) c->micro = 0, c->layer++;
            break;
        case S_LOGITS:
            alloc_event(ev, c->logits, SW_BLOCK_ACT, -1, (uint64_t)c->batch * c->m->vocab * 2,
                        c->n_logits);
            c->stage = S_HEAD;
            return SW_OK;
        case S_HEAD:
            head_event(c, ev);
            c->stage = S_SAMPLE;
            return SW_OK;
        case S_SAMPLE:
            sample_event(c, ev);
            c->first_token_made = true;
            c->stage = S_FREE_LOGITS;
            return SW_OK;
        case S_FREE_LOGITS:
            *ev = (sw_event){.kind = SW_EV_FREE, .block = {.id = c->logits}};
            c->stage = S_FREE_WORK;
            return SW_OK;
        case S_FREE_WORK:
            *ev = (sw_event){.kind = SW_EV_FREE, .block = {.id = c->work}};
            c->stage = S_FREE_HIDDEN;
            return SW_OK;
        default:
            *ev = (sw_event){.kind = SW_EV_FREE, .block = {.id = c->hidden}};
            c->context += c->n;
            c->step++;
            c->stage = S_STEP;
            return SW_OK;
        }
}

static sw_status llm_next(void *so, const sw_feedback *fb, sw_event *ev, sw_error *err) {
    ctx *c = so;
    (void)fb;
    c->seq++;
    return next(c, ev, err);
}

static void llm_close(void *so) {
    ctx *c = so;
    sw_llm_layout_close(&c->layout);
    if (c->has_router) sw_llm_router_close(&c->router);
    free(c->layers);
    free(c->chosen);
    sw_vec_free(&c->uses);
}

const sw_source_ops sw_source_llm = {
    .plugin = {.name = "llm",
               .summary =
                   "a language model at work: prefill, decode, growing KV cache, routed experts",
               .doc = "Turns `model:` and a batch of equal requests into events: prefill in "
                      "chunks, then a decode step a token. "
                      "Work and bytes follow the published formulas (docs/llm-generator.md).",
               .ctx_bytes = sizeof(ctx),
               .params = params,
               .n_params = sizeof params / sizeof *params},
    .open = llm_open,
    .next = llm_next,
    .close = llm_close,
};
