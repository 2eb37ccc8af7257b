/* llm: a language model at work, event by event: prefill in chunks, then one decode step a token.
 *
 * Every op of a step reads and writes the hidden state, the sampled token starts the next step: so
 * ops chain as they do in the network. A layer is up to six ops: projections, attention, router,
 * shared experts, routed experts, feed-forward. All sequences of the batch advance in lockstep;
 * with micro-batches a layer runs all of them before the next layer (FlexGen's zig-zag). Here: the
 * options and the order of events; llm_ops.c has the ops, llm_kv.c the KV cache, llm_layout.c the
 * blocks. Formulas and sources: docs/llm-generator.md. */
#include "traces/llm.h"

enum { TOP_K_MAX = 256 };
static const uint64_t BYTES_MAX = UINT64_C(1) << 60;

static const sw_param params[] = {
    {"batch", SW_PARAM_INT, "1", 1, 65536, NULL, offsetof(sw_llm, batch), "sequences, in lockstep"},
    {"prompt", SW_PARAM_INT, "512", 1, 1 << 30, NULL, offsetof(sw_llm, prompt),
     "tokens of each prompt"},
    {"generate", SW_PARAM_INT, "32", 0, 1 << 30, NULL, offsetof(sw_llm, generate),
     "tokens generated for each sequence; the first comes out of the prefill"},
    {"prefill_chunk", SW_PARAM_INT, "0", 0, 1 << 30, NULL, offsetof(sw_llm, prefill_chunk),
     "tokens of each prompt processed at once; 0: the whole prompt"},
    {"start_context", SW_PARAM_INT, "0", 0, 1 << 30, NULL, offsetof(sw_llm, start_context),
     "tokens whose keys and values count as cached before the prompt"},
    {"granularity", SW_PARAM_CHOICE, "layer", 0, 0, "layer|tensor", offsetof(sw_llm, granularity),
     "what a block is: a layer's weights, or each tensor (an expert is a block in both)"},
    {"kv", SW_PARAM_STRING, "f16", 0, 0, NULL, offsetof(sw_llm, kv_type),
     "number format of the KV cache: f16, fp8, q8_0, q4_0 …"},
    {"kv_layout", SW_PARAM_CHOICE, "static", 0, 0, "static|paged", offsetof(sw_llm, kv_layout),
     "one block a layer at full size from the start, or blocks that come as the context grows"},
    {"kv_block_tokens", SW_PARAM_INT, "256", 1, 1 << 20, NULL, offsetof(sw_llm, kv_block_tokens),
     "paged: tokens in a KV block"},
    {"act", SW_PARAM_CHOICE, "f16", 0, 0, "f16|f32|f8", offsetof(sw_llm, act),
     "number format of activations: the hidden state, workspace, logits"},
    {"micro_batches", SW_PARAM_INT, "1", 1, 4096, NULL, offsetof(sw_llm, micro_batches),
     "parts of the batch that go through a layer one after the other; must divide it"},
    {"skew", SW_PARAM_NUM, "0", 0, 8, NULL, offsetof(sw_llm, skew),
     "experts: Zipf exponent of their popularity; 0: all alike"},
    {"locality", SW_PARAM_NUM, "0", 0, 1, NULL, offsetof(sw_llm, locality),
     "experts: probability that a token keeps an expert of the token before it"},
};

/* --- opening ------------------------------------------------------------------------------- */

static sw_status intern_names(sw_llm_names *n, sw_error *err) {
    const struct {
        const char **to, *text;
    } names[] = {{&n->proj, "attn.proj"}, {&n->attn, "attn"},     {&n->router, "router"},
                 {&n->expert, "experts"}, {&n->shared, "shared"}, {&n->mlp, "mlp"},
                 {&n->embed, "embed"},    {&n->head, "head"},     {&n->sample, "sample"},
                 {&n->kv, "kv"},          {&n->token, "token"},   {&n->hidden, "hidden"},
                 {&n->work, "workspace"}, {&n->logits, "logits"}, {&n->prefill, "prefill"},
                 {&n->decode, "decode"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!(*names[i].to = sw_intern(names[i].text)))
            return sw_fail(err, SW_MEMORY, "out of memory");
    return SW_OK;
}

static uint64_t product(uint64_t a, uint64_t b) { /* at most 2^50: refused later */
    uint64_t p;
    return __builtin_mul_overflow(a, b, &p) || p >> 50 ? UINT64_C(1) << 50 : p;
}

/* Workspace: what the widest op of a layer keeps beside the hidden state. */
static uint64_t work_elems(const sw_model *m) {
    uint64_t most = m->hidden;
    for (uint32_t i = 0; i < m->n_layers; i++) {
        const sw_layer *l = &m->layers[i];
        uint64_t qkv = product(l->heads, l->head_dim) + product(l->kv_elems_per_token, 1) +
                       product(l->heads, l->v_head_dim);
        uint64_t ffn = product(2, l->ff_dim);
        uint64_t moe = product(2ull * l->top_k, l->expert_ff_dim);
        uint64_t here = qkv > ffn ? qkv : ffn;
        if (moe > here) here = moe;
        if (here > most) most = here;
    }
    return most;
}

static sw_status open_router(sw_llm *c, uint64_t seed, sw_error *err) {
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
    c->chosen = malloc((size_t)experts * sizeof *c->chosen);
    if (!c->chosen) return sw_fail(err, SW_MEMORY, "out of memory");
    return sw_llm_router_open(&c->router, seed, c->m->n_layers, (uint32_t)c->batch, experts, k,
                              c->skew, c->locality, err);
}

/* The largest activations of a step must be a sensible number of bytes. */
static sw_status check_sizes(const sw_llm *c, sw_error *err) {
    int64_t longest =
        c->prefill_chunk && c->prefill_chunk < c->prompt ? c->prefill_chunk : c->prompt;
    double widest = (double)c->work_per_token + (double)(c->m->hidden * c->act_bytes) +
                    (double)c->layout.embed_row_bytes;
    double logits = (double)(c->m->vocab * c->act_bytes) * (double)c->batch;
    if (c->m->hidden == 0 || c->m->vocab == 0)
        return sw_fail(err, SW_INPUT, "workload: the model has no hidden size or no vocabulary");
    if ((double)longest * (double)c->batch * widest > (double)BYTES_MAX ||
        logits > (double)BYTES_MAX)
        return sw_fail(err, SW_INPUT, "workload: activations of more than 2^60 bytes");
    return SW_OK;
}

static sw_status llm_open(void *so, const sw_source_env *env, sw_error *err) {
    static const uint8_t act_bytes[] = {2, 4, 1};
    sw_llm *c = so;
    sw_dtype kv;
    uint32_t ids;
    c->m = env->model;
    if (!c->m) return sw_fail(err, SW_INPUT, "workload: the llm generator needs a `model:`");
    if (c->batch % c->micro_batches)
        return sw_fail(err, SW_INPUT, "workload: %lld micro-batches do not divide a batch of %lld",
                       (long long)c->micro_batches, (long long)c->batch);
    const char *type = !strcmp(c->kv_type, "fp8")    ? "f8_e4m3"
                       : !strcmp(c->kv_type, "fp16") ? "f16"
                                                     : c->kv_type;
    if (!sw_dtype_parse(type, &kv))
        return sw_fail(err, SW_INPUT, "workload: kv: unknown number format \"%s\"", c->kv_type);
    c->group = (uint64_t)(c->batch / c->micro_batches);
    c->context = (uint64_t)c->start_context;
    c->total = (uint64_t)(c->start_context + c->prompt + (c->generate > 1 ? c->generate - 1 : 0));
    c->act_bytes = act_bytes[c->act];
    c->work_per_token = work_elems(c->m) * c->act_bytes;
    SW_TRY(intern_names(&c->name, err));
    SW_TRY(sw_llm_layout_open(&c->layout, c->m, c->granularity != 0, err));
    SW_TRY(check_sizes(c, err));
    ids = (uint32_t)c->layout.blocks.n;
    c->token = ids++, c->hidden = ids++, c->work = ids++, c->logits = ids++;
    SW_TRY(sw_llm_kv_open(c, kv, ids, &ids, err));
    return open_router(c, env->seed, err);
}

/* --- the stream ---------------------------------------------------------------------------- */

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

static bool begin_step(sw_llm *c, sw_event *ev) {
    uint64_t done = c->context - (uint64_t)c->start_context, prompt = (uint64_t)c->prompt;
    bool prefill = done < prompt;
    if (prefill) {
        uint64_t chunk = c->prefill_chunk ? (uint64_t)c->prefill_chunk : prompt;
        c->n = prompt - done < chunk ? prompt - done : chunk;
        c->last_part = done + c->n == prompt;
    } else {
        if (c->generate < 2 || done >= prompt + (uint64_t)c->generate - 1) return false;
        c->n = 1;
        c->last_part = true;
    }
    c->layer = c->micro = c->part = 0;
    c->kv_at = 0;
    *ev = (sw_event){.kind = SW_EV_STEP,
                     .name = prefill ? c->name.prefill : c->name.decode,
                     .step = c->step,
                     .phase = prefill ? SW_PHASE_PREFILL : SW_PHASE_DECODE,
                     .tokens = (uint64_t)c->batch * c->n,
                     .outputs = c->last_part && c->generate > 0 ? (uint64_t)c->batch : 0};
    return true;
}

static sw_status alloc_act(sw_llm *c, sw_event *ev, int stage, uint32_t id, uint64_t bytes,
                           const char *name) {
    c->stage = stage;
    *ev = (sw_event){.kind = SW_EV_ALLOC, .block = {id, SW_BLOCK_ACT, -1, -1, bytes, name}};
    return SW_OK;
}

static sw_status free_act(sw_llm *c, sw_event *ev, int stage, uint32_t id) {
    c->stage = stage;
    *ev = (sw_event){.kind = SW_EV_FREE, .block = {.id = id}};
    return SW_OK;
}

static sw_status llm_next(void *so, const sw_feedback *fb, sw_event *ev, sw_error *err) {
    sw_llm *c = so;
    uint64_t batch = (uint64_t)c->batch;
    sw_status st;
    (void)fb;
    c->seq++;
    for (;;) switch (c->stage) {
        case S_DECLARE:
            if (c->declared < c->layout.blocks.n) {
                *ev = (sw_event){.kind = SW_EV_BLOCK, .block = c->layout.blocks.v[c->declared++]};
                return SW_OK;
            }
            c->stage = S_TOKEN;
            break;
        case S_TOKEN:
            return alloc_act(c, ev, S_STEP, c->token, batch * 4, c->name.token);
        case S_STEP:
            if (!begin_step(c, ev)) return SW_END;
            c->stage = S_KV;
            return SW_OK;
        case S_KV:
            if (sw_llm_kv_alloc(c, ev)) return SW_OK;
            c->stage = S_HIDDEN;
            break;
        case S_HIDDEN:
            return alloc_act(c, ev, S_WORK, c->hidden, batch * c->n * c->m->hidden * c->act_bytes,
                             c->name.hidden);
        case S_WORK:
            return alloc_act(c, ev, S_EMBED, c->work, c->group * c->n * c->work_per_token,
                             c->name.work);
        case S_EMBED:
            c->stage = S_LAYERS;
            return sw_llm_embed_op(c, ev, err);
        case S_LAYERS:
            if (c->layer == c->m->n_layers) {
                c->stage = c->last_part && c->generate > 0 ? S_LOGITS : S_FREE_WORK;
                break;
            }
            if ((st = sw_llm_layer_op(c, ev, err)) != SW_END) return st;
            c->part = 0;
            if (++c->micro == (uint32_t)c->micro_batches) c->micro = 0, c->layer++;
            break;
        case S_LOGITS:
            return alloc_act(c, ev, S_HEAD, c->logits, batch * c->m->vocab * c->act_bytes,
                             c->name.logits);
        case S_HEAD:
            c->stage = S_SAMPLE;
            return sw_llm_head_op(c, ev, err);
        case S_SAMPLE:
            c->stage = S_FREE_LOGITS;
            c->sampled = true;
            return sw_llm_sample_op(c, ev, err);
        case S_FREE_LOGITS:
            return free_act(c, ev, S_FREE_WORK, c->logits);
        case S_FREE_WORK:
            return free_act(c, ev, S_FREE_HIDDEN, c->work);
        default:
            c->context += c->n;
            c->step++;
            return free_act(c, ev, S_STEP, c->hidden);
        }
}

static void llm_close(void *so) {
    sw_llm *c = so;
    sw_llm_layout_close(&c->layout);
    sw_llm_router_close(&c->router);
    free(c->kv);
    free(c->fixed);
    free(c->paged);
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
               .ctx_bytes = sizeof(sw_llm),
               .params = params,
               .n_params = sizeof params / sizeof *params},
    .open = llm_open,
    .next = llm_next,
    .close = llm_close,
};
