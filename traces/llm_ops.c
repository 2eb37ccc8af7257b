/* The ops of the llm generator (see llm.h): what each computes, and what it touches. Formulas and
 * sources: docs/llm-generator.md. */
#include "traces/llm.h"

void sw_llm_use(sw_llm *c, uint32_t block, uint8_t mode, uint64_t offset, uint64_t bytes,
                uint64_t touched) {
    sw_ev_use u = {block, mode, offset, bytes, touched};
    (void)sw_vec_push(&c->uses, u);
}

/* Starts an op's uses with room for n, and a few more. */
static sw_status begin(sw_llm *c, size_t n, sw_error *err) {
    c->uses.n = 0;
    return sw_vec_reserve(&c->uses, n + 8) ? SW_OK : sw_fail(err, SW_MEMORY, "out of memory");
}

static void use_range(sw_llm *c, const sw_llm_range *r) {
    for (uint32_t i = 0; i < r->n; i++) (void)sw_vec_push(&c->uses, c->layout.uses.v[r->from + i]);
}

/* The micro-batch's slice of the hidden state, read and written. */
static void use_hidden(sw_llm *c) {
    uint64_t slice = c->group * c->n * c->m->hidden * c->act_bytes;
    sw_llm_use(c, c->hidden, SW_RW, c->micro * slice, slice, 2 * slice);
}

static sw_status finish(sw_llm *c, sw_event *ev, const char *name, double flops, uint8_t math,
                        sw_class cls, uint32_t launches) {
    *ev = (sw_event){.kind = SW_EV_ACCESS,
                     .name = name,
                     .uses = c->uses.v,
                     .n_uses = (uint32_t)c->uses.n,
                     .work = {flops, math, (uint8_t)cls, launches ? launches : 1}};
    return SW_OK;
}

static double tokens(const sw_llm *c) {
    return (double)(c->group * c->n);
}

/* --- attention ------------------------------------------------------------------------------ */

/* Sum over a sequence's tokens of this step of how many positions each one attends to. */
static double attended(const sw_llm *c, const sw_layer *l) {
    double s = (double)c->context, n = (double)c->n, w = (double)l->window;
    if (l->attn != SW_ATTN_WINDOW || !l->window || s + n <= w) return n * s + n * (n + 1) / 2;
    if (s >= w) return n * w;
    double head = w - s; /* tokens that still see everything */
    return head * s + head * (head + 1) / 2 + (n - head) * w;
}

static double attention_flops(const sw_llm *c, const sw_layer *l) {
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

static sw_status attn_op(sw_llm *c, sw_event *ev, sw_error *err) {
    SW_TRY(begin(c, sw_llm_kv_most(c), err));
    sw_llm_kv_use(c);
    use_hidden(c);
    return finish(c, ev, c->name.attn, attention_flops(c, &c->m->layers[c->layer]), SW_FP16,
                  c->n == 1 ? SW_CLASS_ATTN_DECODE : SW_CLASS_ATTN_PREFILL, 1);
}

/* --- layers -------------------------------------------------------------------------------- */

static sw_status expert_op(sw_llm *c, sw_event *ev, uint32_t launches, sw_error *err) {
    const sw_layer *l = &c->m->layers[c->layer];
    const sw_llm_layer *ll = &c->layout.layers[c->layer];
    uint32_t n = sw_llm_router_choose(&c->router, c->layer, (uint32_t)(c->micro * c->group),
                                      (uint32_t)c->group, c->n, c->chosen);
    SW_TRY(begin(c, n, err));
    for (uint32_t i = 0; i < n; i++)
        sw_llm_use(c, ll->first_expert + c->chosen[i], SW_READ, 0, l->expert_bytes,
                   l->expert_bytes);
    use_hidden(c);
    finish(c, ev, c->name.expert, 2 * (double)l->expert_params * l->top_k * tokens(c),
           ll->expert_math, SW_CLASS_EXPERT, launches);
    ev->known_after = c->router_seq;
    return SW_OK;
}

static sw_status weights_op(sw_llm *c, sw_event *ev, sw_llm_part part, const char *name,
                            uint64_t weights, sw_class cls, uint32_t launches, sw_error *err) {
    const sw_llm_range *r = &c->layout.layers[c->layer].part[part];
    SW_TRY(begin(c, r->n, err));
    use_range(c, r);
    use_hidden(c);
    return finish(c, ev, name, 2 * (double)weights * tokens(c), r->math, cls, launches);
}

/* Of a layer's n_kernels_*: attention proper is one launch, a router two (product and top-k), a
 * shared expert three; the rest is the projections' and the experts'. Beside a mixture, a dense
 * feed-forward is four, a lone norm one. */
enum { ROUTER_LAUNCHES = 2, SHARED_LAUNCHES = 3, MLP_LAUNCHES = 4 };

sw_status sw_llm_layer_op(sw_llm *c, sw_event *ev, sw_error *err) {
    const sw_layer *l = &c->m->layers[c->layer];
    const sw_llm_layer *ll = &c->layout.layers[c->layer];
    bool moe = l->ffn == SW_FFN_MOE, shared = ll->part[SW_LLM_SHARED].n;
    uint32_t taken = ROUTER_LAUNCHES + (shared ? SHARED_LAUNCHES : 0), n = l->n_kernels_ffn;
    for (;;) switch (c->part++) {
        case 0:
            if (!ll->part[SW_LLM_ATTN].n) continue;
            return weights_op(c, ev, SW_LLM_ATTN, c->name.proj, l->attn_params, SW_CLASS_GEMM,
                              l->n_kernels_attn > 1 ? l->n_kernels_attn - 1 : 1, err);
        case 1:
            if (l->attn == SW_ATTN_NONE) continue;
            return attn_op(c, ev, err);
        case 2:
            if (!moe) continue;
            SW_TRY(weights_op(c, ev, SW_LLM_ROUTER, c->name.router, l->router_params,
                              SW_CLASS_ROUTER, ROUTER_LAUNCHES, err));
            ev->makes_known = true;
            c->router_seq = c->seq;
            return SW_OK;
        case 3:
            if (!shared) continue;
            return weights_op(c, ev, SW_LLM_SHARED, c->name.shared, l->shared_params, SW_CLASS_GEMM,
                              SHARED_LAUNCHES, err);
        case 4:
            if (!moe) continue;
            return expert_op(c, ev, n > taken ? n - taken : 1, err);
        case 5:
            if (!ll->part[SW_LLM_MLP].n) continue;
            return weights_op(c, ev, SW_LLM_MLP, c->name.mlp, l->mlp_params, SW_CLASS_GEMM,
                              !moe                      ? n
                              : l->attn == SW_ATTN_NONE ? 1
                                                        : MLP_LAUNCHES,
                              err);
        default:
            return SW_END;
        }
}

/* --- beginning and end of a step ----------------------------------------------------------- */

sw_status sw_llm_embed_op(sw_llm *c, sw_event *ev, sw_error *err) {
    uint64_t batch = (uint64_t)c->batch, rows = batch * c->n,
             hidden = rows * c->m->hidden * c->act_bytes,
             gathered = rows * c->layout.embed_row_bytes;
    SW_TRY(begin(c, c->layout.embed.n, err));
    for (uint32_t i = 0; i < c->layout.embed.n; i++) {
        sw_ev_use u = c->layout.uses.v[c->layout.embed.from + i];
        u.touched = gathered < u.bytes ? gathered : u.bytes;
        (void)sw_vec_push(&c->uses, u);
    }
    if (c->sampled) sw_llm_use(c, c->token, SW_READ, 0, batch * 4, batch * 4);
    sw_llm_use(c, c->hidden, SW_WRITE, 0, hidden, hidden);
    finish(c, ev, c->name.embed, 0, SW_FP16, SW_CLASS_EMBED, 1);
    ev->gather = true;
    return SW_OK;
}

/* Logits of the last position of each sequence. */
static uint64_t logits_bytes(const sw_llm *c) {
    return (uint64_t)c->batch * c->m->vocab * c->act_bytes;
}

sw_status sw_llm_head_op(sw_llm *c, sw_event *ev, sw_error *err) {
    uint64_t batch = (uint64_t)c->batch, hidden = batch * c->m->hidden * c->act_bytes;
    SW_TRY(begin(c, c->layout.head.n, err));
    use_range(c, &c->layout.head);
    sw_llm_use(c, c->hidden, SW_READ, 0, hidden, hidden);
    sw_llm_use(c, c->logits, SW_WRITE, 0, logits_bytes(c), logits_bytes(c));
    return finish(c, ev, c->name.head, 2 * (double)c->m->output_params * (double)batch,
                  c->layout.head.math, SW_CLASS_GEMM, 2);
}

sw_status sw_llm_sample_op(sw_llm *c, sw_event *ev, sw_error *err) {
    uint64_t batch = (uint64_t)c->batch;
    SW_TRY(begin(c, 2, err));
    sw_llm_use(c, c->logits, SW_READ, 0, logits_bytes(c), logits_bytes(c));
    sw_llm_use(c, c->token, SW_WRITE, 0, batch * 4, batch * 4);
    return finish(c, ev, c->name.sample, (double)(batch * c->m->vocab), SW_FP32, SW_CLASS_SAMPLE,
                  1);
}
