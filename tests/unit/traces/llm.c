/* Does the llm generator emit the bytes, the flops and the blocks that published formulas give? */
#include "stream.h"
#include <dirent.h>

/* Totals of one step. */
typedef struct totals {
    double flops, weights, kv_read, kv_written;
    uint64_t tokens, n_ops;
} totals;

/* Runs a workload; out[i] for its first n steps. Returns the number of steps, 0 on failure. */
static uint32_t steps_of(const sw_model *m, const char *flow, totals *out, uint32_t n) {
    stream s;
    uint32_t steps = 0;
    SW_VEC(sw_block_kind) kinds = {0};
    memset(out, 0, n * sizeof *out);
    CHECK(stream_open(&s, "llm", flow, m, NULL, 1));
    while (s.so && stream_next(&s)) {
        if (s.ev.kind == SW_EV_BLOCK || s.ev.kind == SW_EV_ALLOC) {
            while (kinds.n <= s.ev.block.id) (void)sw_vec_push(&kinds, SW_BLOCK_OTHER);
            kinds.v[s.ev.block.id] = s.ev.block.kind;
        }
        if (s.ev.kind == SW_EV_STEP) {
            CHECK_INT(s.ev.step, steps);
            if (steps++ < n) out[steps - 1].tokens = s.ev.tokens;
        }
        if (s.ev.kind != SW_EV_ACCESS || steps > n) continue;
        totals *t = &out[steps - 1];
        t->n_ops++;
        if (strcmp(s.ev.name, "sample")) t->flops += s.ev.work.flops;
        for (uint32_t i = 0; i < s.ev.n_uses; i++) {
            const sw_ev_use *u = &s.ev.uses[i];
            sw_block_kind k = kinds.v[u->block];
            if (k == SW_BLOCK_WEIGHT || k == SW_BLOCK_EXPERT) t->weights += (double)u->touched;
            if (k == SW_BLOCK_KV && u->mode == SW_READ) t->kv_read += (double)u->touched;
            if (k == SW_BLOCK_KV && u->mode == SW_WRITE) t->kv_written += (double)u->touched;
        }
    }
    CHECK_INT(s.st, SW_END);
    stream_close(&s);
    sw_vec_free(&kinds);
    return steps;
}

/* --- bytes --------------------------------------------------------------------------------- */

static void hold_model(const char *name, const char *quant) {
    static const char *const flows[] = {
        "{prompt: 40, generate: 3, prefill_chunk: 16}",
        "{granularity: tensor, prompt: 40, generate: 3, batch: 2, micro_batches: 2, kv_layout: "
        "paged, kv_block_tokens: 16}",
        "{prompt: 9000, generate: 2, prefill_chunk: 4096, kv: q8_0, kv_layout: paged, "
        "start_context: 100}"};
    sw_model *m = open_network(name, quant);
    CHECK(m != NULL);
    if (!m) return;
    for (size_t i = 0; i < sizeof flows / sizeof *flows; i++) {
        sw_error err = {0};
        sw_scan *scan = scan_of("llm", flows[i], m, NULL, &err);
        if (!scan) printf("\n  %s %s %s: %s\n", name, quant, flows[i], err.text);
        CHECK(scan != NULL);
        if (!scan) continue;
        CHECK_INT(scan->static_bytes, m->bytes - m->unused_bytes);
        uint64_t sum = 0;
        for (uint32_t b = 0; b < scan->n_blocks; b++) {
            CHECK(scan->blocks[b].bytes > 0); /* ids are dense */
            if (scan->is_static[b]) sum += scan->blocks[b].bytes;
        }
        CHECK_INT(sum, scan->static_bytes);
        sw_scan_free(scan);
    }
    sw_model_free(m);
}

static void every_network(void) {
    DIR *dir = opendir(SPILLWAY_SOURCE_DIR "/models/networks");
    int n = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        char name[256];
        size_t k = strlen(e->d_name);
        if (k < 6 || strcmp(e->d_name + k - 5, ".yaml")) continue;
        snprintf(name, sizeof name, "%.*s", (int)(k - 5), e->d_name);
        hold_model(name, "");
        n++;
    }
    closedir(dir);
    hold_model("llama-3-70b", "q4_k_m");
    hold_model("mixtral-8x7b", "q4_k_m");
    hold_model("llama-3-8b", "awq");
    hold_model("llama-3.2-1b", "q4_k_m");
    CHECK(n > 50);
}

/* KV bytes of a sequence after `tokens` tokens, all layers. */
static double kv_bytes(const char *network, const char *kv, unsigned tokens, const char *layout) {
    char flow[256];
    sw_error err = {0};
    double sum = 0;
    sw_model *m = open_network(network, "");
    snprintf(flow, sizeof flow, "{prompt: %u, generate: 1, kv: %s, kv_layout: %s}", tokens, kv,
             layout);
    sw_scan *scan = m ? scan_of("llm", flow, m, NULL, &err) : NULL;
    CHECK(scan != NULL);
    for (uint32_t b = 0; scan && b < scan->n_blocks; b++)
        if (scan->blocks[b].kind == SW_BLOCK_KV) sum += (double)scan->blocks[b].bytes;
    sw_scan_free(scan);
    sw_model_free(m);
    return sum;
}

static void kv_sizes(void) {
    CHECK_INT(kv_bytes("llama-3-70b", "f16", 1000, "static"), 1000 * 327680.0);
    CHECK_INT(kv_bytes("llama-3-70b", "q8_0", 1000, "static"), 1000 * 327680.0 * 34 / 64);
    CHECK_INT(kv_bytes("llama-3-70b", "f16", 1000, "paged"), 1024 * 327680.0);
    CHECK_INT(kv_bytes("mixtral-8x7b", "f16", 1000, "static"), 1000 * 131072.0);
    CHECK_INT(kv_bytes("deepseek-v3", "f16", 1000, "static"), 1000 * 70272.0);
    /* gpt-oss-120b: 36 layers, every other one with a window of 128; 8 heads of 64, K and V. */
    CHECK_INT(kv_bytes("gpt-oss-120b", "f16", 1000, "static"), 18 * 2048.0 * (1000 + 128));
    CHECK_INT(kv_bytes("gpt-oss-120b", "f16", 100, "static"), 36 * 2048.0 * 100);
    CHECK_INT(kv_bytes("gpt-oss-120b", "f16", 1000, "paged"), 18 * 2048.0 * (1024 + 128));
}

static void kv_traffic(void) {
    sw_model *m = open_network("llama-3-8b", ""); /* 32 layers, 8 heads of 128: 131,072 B */
    static const char *const layouts[] = {"static", "paged"};
    totals t[4];
    for (int i = 0; i < 2; i++) {
        char flow[128];
        snprintf(flow, sizeof flow, "{prompt: 300, generate: 3, batch: 4, kv_layout: %s}",
                 layouts[i]);
        CHECK_INT(steps_of(m, flow, t, 4), 3);
        CHECK_INT(t[0].kv_read, 0);
        CHECK_INT(t[0].kv_written, 4 * 300 * 131072.0);
        CHECK_INT(t[1].kv_read, 4 * 300 * 131072.0);
        CHECK_INT(t[1].kv_written, 4 * 131072.0);
        CHECK_INT(t[2].kv_read, 4 * 301 * 131072.0);
    }
    sw_model_free(m);
    m = open_network("gpt-oss-20b", ""); /* 12 full and 12 window layers */
    CHECK_INT(steps_of(m, "{prompt: 300, generate: 2}", t, 4), 2);
    CHECK_INT(t[0].kv_written, 12 * 2048.0 * (300 + 128));
    CHECK_INT(t[1].kv_read, 12 * 2048.0 * (300 + 128));
    CHECK_INT(t[1].kv_written, 24 * 2048.0);
    sw_model_free(m);
}

/* --- flops --------------------------------------------------------------------------------- */

/* By hand: a decode step after `context` tokens. */
static void decode_flops(const char *network, double active, double attention, double tol) {
    sw_model *m = open_network(network, "");
    totals t[2];
    CHECK_INT(steps_of(m, "{prompt: 512, generate: 2}", t, 2), 2);
    CHECK_REL(t[1].flops, 2 * active + attention * 513, tol);
    CHECK_REL((double)m->active_params, active, tol);
    CHECK_INT(steps_of(m, "{prompt: 512, generate: 2, batch: 8, micro_batches: 4}", t, 2), 2);
    CHECK_REL(t[1].flops, 8 * (2 * active + attention * 513), tol);
    sw_model_free(m);
}

static void flops_by_hand(void) {
    /* All but the embedding, 128256 x 8192; 80 layers, 64 heads, K and V of 128. */
    decode_flops("llama-3-70b", 70553706496.0 - 128256.0 * 8192, 80.0 * 64 * 2 * 256, 1e-12);
    /* A layer: q and o 4096^2, k and v 4096 x 1024, two norms, router, 2 experts of 3 x 4096 x
     * 14336; then the last norm and the head. */
    decode_flops("mixtral-8x7b",
                 32 * (2 * 4096.0 * 4096 + 2 * 4096.0 * 1024 + 2 * 4096 + 8 * 4096 +
                       2 * 3 * 4096.0 * 14336) +
                     4096 + 32000.0 * 4096,
                 32.0 * 32 * 2 * 256, 1e-12);
    /* MLA absorbed: queries of 512 + 64 on the latent, values of 512. The tolerance covers the
     * scales of the FP8 blocks of 128 x 128, which count as weights. */
    double attn = 7168.0 * 1536 + 1536 + 1536.0 * 128 * 192 + 7168.0 * 576 + 512 +
                  512.0 * 128 * 256 + 128.0 * 128 * 7168 + 2 * 7168;
    double expert = 3 * 7168.0 * 2048;
    decode_flops("deepseek-v3",
                 61 * attn + 3 * 3 * 7168.0 * 18432 + 58 * (9 * expert + 256 * 7168.0 + 256) +
                     7168 + 129280.0 * 7168,
                 61.0 * 128 * 2 * (2 * 512 + 64), 1e-4);
}

static void chunks_add_up(void) {
    static const char *const names[] = {"llama-3-8b", "gpt-oss-20b", "deepseek-v2-lite",
                                        "gemma-3-4b"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        sw_model *m = open_network(names[i], "");
        totals whole[1], part[8];
        double sum = 0;
        CHECK_INT(steps_of(m, "{prompt: 700, generate: 0}", whole, 1), 1);
        CHECK_INT(steps_of(m, "{prompt: 700, generate: 0, prefill_chunk: 100}", part, 8), 7);
        for (int k = 0; k < 7; k++) sum += part[k].flops;
        CHECK_REL(sum, whole[0].flops, 1e-12);
        CHECK_INT(part[6].tokens, 100);
        sw_model_free(m);
    }
    /* Causal: n (n + 1) / 2 pairs; no head, since nothing is generated. */
    sw_model *m = open_network("llama-3-8b", "");
    totals t[1];
    CHECK_INT(steps_of(m, "{prompt: 700, generate: 0}", t, 1), 1);
    CHECK_REL(t[0].flops,
              2.0 * 700 * (double)(m->active_params - m->output_params) +
                  32.0 * 32 * 2 * 256 * 700 * 701 / 2,
              1e-12);
    sw_model_free(m);
}

static void weights_once_a_step(void) {
    totals t[3];
    sw_model *m = open_network("llama-3-70b", "q4_k_m");
    CHECK_INT(steps_of(m, "{prompt: 100, generate: 3, batch: 4}", t, 3), 3);
    for (int i = 0; i < 3; i++)
        CHECK_INT(t[i].weights, (double)(m->bytes - m->unused_bytes - m->embed_bytes));
    CHECK_INT(steps_of(m, "{prompt: 100, generate: 3, batch: 4, micro_batches: 4}", t, 3), 3);
    CHECK_INT(t[1].weights, 4.0 * (double)(m->bytes - m->unused_bytes - m->embed_bytes) -
                                3.0 * (double)m->output_bytes);
    sw_model_free(m);
    m = open_network("llama-3.2-1b", ""); /* tied: gathered from, and read whole as the head */
    CHECK(m->tied);
    CHECK_INT(steps_of(m, "{prompt: 100, generate: 2}", t, 3), 2);
    CHECK_INT(t[1].weights, (double)m->bytes + 2048 * 2);
    sw_model_free(m);
}

/* --- order --------------------------------------------------------------------------------- */

/* Every op reads what the op before wrote; experts are known after their router. */
static void ops_chain(void) {
    sw_model *m = open_network("mixtral-8x7b", "q4_k_m");
    stream s;
    uint64_t router = 0;
    uint32_t chain = UINT32_MAX, experts = 0;
    CHECK(stream_open(&s, "llm", "{prompt: 20, generate: 3}", m, NULL, 7));
    while (stream_next(&s)) {
        if (s.ev.kind != SW_EV_ACCESS) continue;
        bool reads = chain == UINT32_MAX, embed = !strcmp(s.ev.name, "embed");
        CHECK_INT(s.ev.gather, embed);
        for (uint32_t i = 0; i < s.ev.n_uses; i++) {
            if (s.ev.uses[i].block == chain && s.ev.uses[i].mode & SW_READ) reads = true;
            if (s.ev.uses[i].block == chain && s.ev.uses[i].mode == SW_WRITE) reads = true;
        }
        CHECK(reads);
        for (uint32_t i = 0; i < s.ev.n_uses; i++)
            if (s.ev.uses[i].mode & SW_WRITE) chain = s.ev.uses[i].block;
        bool expert = s.ev.work.cls == SW_CLASS_EXPERT;
        if (s.ev.makes_known) router = s.seq;
        CHECK_INT(s.ev.known_after, expert ? router : 0);
        experts += expert;
    }
    CHECK_INT(experts, 3 * 32);
    stream_close(&s);
    sw_model_free(m);
}

/* The ops of a layer's block use extents that do not overlap and that fill it. */
static void extents_fill_blocks(void) {
    sw_model *m = open_network("llama-3-8b", "q4_k_m");
    stream s;
    uint64_t used[64] = {0}, bytes[64] = {0};
    CHECK(stream_open(&s, "llm", "{prompt: 20, generate: 0}", m, NULL, 7));
    while (stream_next(&s)) {
        if (s.ev.kind == SW_EV_BLOCK && s.ev.block.id < 64)
            bytes[s.ev.block.id] = s.ev.block.layer >= 0 ? s.ev.block.bytes : 0;
        for (uint32_t i = 0; i < s.ev.n_uses; i++) {
            const sw_ev_use *u = &s.ev.uses[i];
            if (u->block >= 64 || !bytes[u->block]) continue;
            CHECK_INT(u->offset, used[u->block]);
            used[u->block] += u->bytes;
        }
    }
    for (int i = 0; i < 64; i++) CHECK_INT(used[i], bytes[i]);
    stream_close(&s);
    sw_model_free(m);
}

/* --- experts ------------------------------------------------------------------------------- */

enum { EXPERTS = 128 };

/* Decodes one sequence; counts how often each expert of layer 0 comes, and how many come again.
 * Returns a hash over all layers. */
static uint64_t route(const sw_model *m, const char *flow, uint64_t seed, double *count,
                      double *again) {
    stream s;
    bool last[EXPERTS] = {0};
    uint64_t hash = 0, of_zero = 0;
    double n = 0, kept = 0;
    memset(count, 0, EXPERTS * sizeof *count);
    CHECK(stream_open(&s, "llm", flow, m, NULL, seed));
    SW_VEC(sw_block) blocks = {0};
    while (stream_next(&s)) {
        if (s.ev.kind == SW_EV_BLOCK) (void)sw_vec_push(&blocks, s.ev.block);
        if (s.ev.kind != SW_EV_ACCESS || s.ev.work.cls != SW_CLASS_EXPERT) continue;
        bool now[EXPERTS] = {0}, zero = false;
        for (uint32_t i = 0; i + 1 < s.ev.n_uses; i++) {
            const sw_block *b = &blocks.v[s.ev.uses[i].block];
            CHECK_INT(b->kind, SW_BLOCK_EXPERT);
            hash = (hash ^ b->id) * 0x100000001b3u;
            zero = b->layer == blocks.v[of_zero].layer || !of_zero;
            if (!of_zero) of_zero = b->id;
            if (!zero) continue;
            now[b->expert] = true;
            count[b->expert]++, n++;
            kept += last[b->expert];
        }
        if (zero) memcpy(last, now, sizeof last);
    }
    for (int i = 0; i < EXPERTS; i++) count[i] /= n;
    *again = kept / n;
    stream_close(&s);
    sw_vec_free(&blocks);
    return hash;
}

static int descending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

static void experts_follow_the_options(void) {
    double count[EXPERTS], again;
    sw_model *m = open_network("qwen3-30b-a3b", "q4_k_m"); /* 8 of 128 */
    uint64_t one = route(m, "{prompt: 1, generate: 1500}", 1, count, &again);
    CHECK(one == route(m, "{prompt: 1, generate: 1500}", 1, count, &again));
    CHECK(one != route(m, "{prompt: 1, generate: 1500}", 2, count, &again));
    CHECK(fabs(again - 8 / 128.0) < 0.01);
    for (int i = 0; i < EXPERTS; i++) CHECK(fabs(count[i] * EXPERTS - 1) < 0.5);
    route(m, "{prompt: 1, generate: 1500, locality: 0.5}", 1, count, &again);
    CHECK(fabs(again - (0.5 + 0.5 * 8 / 128)) < 0.03);
    sw_model_free(m);
    m = open_network("llama-4-scout", "q4_k_m"); /* 1 of 16: no draws without replacement */
    route(m, "{prompt: 1, generate: 6000, skew: 1}", 1, count, &again);
    qsort(count, EXPERTS, sizeof *count, descending);
    double h = 0;
    for (int i = 1; i <= 16; i++) h += 1.0 / i;
    for (int i = 0; i < 6; i++) CHECK_REL(count[i], 1 / (h * (i + 1)), 0.15);
    CHECK(count[16] == 0);
    sw_model_free(m);
}

/* A long prompt chooses every expert, a batch their union. */
static void unions(void) {
    sw_model *m = open_network("mixtral-8x7b", "");
    totals t[2];
    CHECK_INT(steps_of(m, "{prompt: 4096, generate: 2, batch: 64}", t, 2), 2);
    double all = (double)(m->bytes - m->unused_bytes - m->embed_bytes);
    CHECK_INT(t[0].weights, all);
    CHECK_INT(t[1].weights, all);
    CHECK_INT(steps_of(m, "{prompt: 4096, generate: 2}", t, 2), 2);
    CHECK_INT(t[1].weights, all - 32.0 * 6 * (double)m->layers[0].expert_bytes);
    sw_model_free(m);
}

/* --- refusals ------------------------------------------------------------------------------ */

static void refusals(void) {
    static const struct {
        const char *flow, *says;
    } bad[] = {
        {"{batch: 6, micro_batches: 4}", "4 micro-batches do not divide a batch of 6"},
        {"{kv: q3_x}", "unknown number format \"q3_x\""},
        {"{kv_layout: paged, kv_block_tokens: 1, prompt: 1000000}", "12 M KV blocks"},
        {"{prompt: 1073741824, batch: 65536}", "2^60"},
        {"{generat: 4}", "generate"},
    };
    sw_model *m = open_network("llama-3-8b", "");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        stream s;
        CHECK(!stream_open(&s, "llm", bad[i].flow, m, NULL, 1));
        check_line(&s.err, bad[i].says);
        stream_close(&s);
    }
    stream s;
    CHECK(!stream_open(&s, "llm", "{}", NULL, NULL, 1));
    check_line(&s.err, "model:");
    stream_close(&s);
    sw_model_free(m);
}

SW_TESTS("llm", {"blocks hold every byte of every network", every_network}, {"KV bytes", kv_sizes},
         {"KV traffic", kv_traffic}, {"flops by hand", flops_by_hand},
         {"chunks add up", chunks_add_up}, {"weights once a step", weights_once_a_step},
         {"ops chain", ops_chain}, {"extents fill blocks", extents_fill_blocks},
         {"experts follow the options", experts_follow_the_options}, {"unions", unions},
         {"refusals", refusals})
