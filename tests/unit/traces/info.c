/* Do the figures of a trace agree with counting by hand, and with a twin that keeps everything? */
#include "traces/info.h"
#include "sim/base/rng.h"
#include "stream.h"
#include "traces/reuse.h"

/* --- reuse distance: the twin keeps a list of blocks by last use ------------------------------ */

enum { BLOCKS = 60 };

static void twin_of_reuse(void) {
    for (uint64_t seed = 1; seed <= 30; seed++) {
        sw_rng r = sw_rng_seed(seed);
        sw_reuse reuse = {0};
        uint32_t list[BLOCKS], n = 0; /* latest first */
        uint64_t bytes[BLOCKS] = {0};
        for (int step = 0; step < 5000; step++) {
            uint32_t b = (uint32_t)sw_rng_below(&r, seed % 3 ? BLOCKS : 1 + seed), at = 0;
            while (at < n && list[at] != b) at++;
            if (sw_rng_below(&r, 20) == 0) {
                sw_reuse_drop(&reuse, b);
                if (at < n) memmove(list + at, list + at + 1, (--n - at) * sizeof *list);
                continue;
            }
            uint64_t size = sw_rng_below(&r, 8) || !bytes[b] ? sw_rng_next(&r) >> 20 | 1 : bytes[b];
            uint64_t expected = 0, got;
            if (at < n) {
                for (uint32_t i = 0; i < at; i++) expected += bytes[list[i]];
                expected += size;
                memmove(list + at, list + at + 1, (--n - at) * sizeof *list);
            }
            memmove(list + 1, list, n++ * sizeof *list);
            list[0] = b;
            bytes[b] = size;
            CHECK(sw_reuse_use(&reuse, b, size, &got));
            CHECK_INT(got, expected);
            CHECK_INT(reuse.n, n);
        }
        sw_reuse_free(&reuse);
    }
}

/* --- the whole, against a twin that keeps the stream ------------------------------------------ */

typedef struct kept { /* an op's different blocks */
    uint32_t block[64], n;
} kept;

static double windows_by_hand(const kept *ops, int n_ops, const uint64_t *bytes, uint64_t w) {
    double sum = 0;
    for (int t = 0; t < n_ops; t++) {
        bool in[BLOCKS] = {0};
        for (int k = t; k >= 0 && (uint64_t)(t - k) < w; k--)
            for (uint32_t i = 0; i < ops[k].n; i++) in[ops[k].block[i]] = true;
        for (int b = 0; b < BLOCKS; b++) sum += in[b] ? (double)bytes[b] : 0;
    }
    return sum / n_ops;
}

static void twin_of_windows(void) {
    enum { OPS = 700 };
    static kept ops[OPS];
    sw_error err = {0};
    for (uint64_t seed = 1; seed <= 5; seed++) {
        sw_rng r = sw_rng_seed(seed);
        uint64_t bytes[BLOCKS];
        sw_trace_meter *m = sw_trace_meter_new();
        for (uint32_t b = 0; b < BLOCKS; b++) {
            bytes[b] = 1 + sw_rng_below(&r, 1 << 20);
            sw_event ev = {.kind = SW_EV_BLOCK,
                           .block = {b, SW_BLOCK_WEIGHT, -1, -1, bytes[b], ""}};
            CHECK_INT(sw_trace_meter_put(m, &ev, &err), SW_OK);
        }
        double mean = 0;
        for (int t = 0; t < OPS; t++) {
            sw_ev_use uses[20];
            uint32_t n = 1 + (uint32_t)sw_rng_below(&r, 20);
            ops[t].n = 0;
            for (uint32_t i = 0; i < n; i++) {
                uint32_t b = (uint32_t)sw_rng_below(&r, BLOCKS), k = 0;
                uses[i] = (sw_ev_use){b, SW_READ, 0, bytes[b], 1};
                while (k < ops[t].n && ops[t].block[k] != b) k++;
                if (k < ops[t].n) continue;
                ops[t].block[ops[t].n++] = b;
                mean += (double)bytes[b] / OPS;
            }
            sw_event ev = {.kind = SW_EV_ACCESS, .uses = uses, .n_uses = n};
            CHECK_INT(sw_trace_meter_put(m, &ev, &err), SW_OK);
        }
        sw_trace_info x;
        sw_trace_meter_end(m, &x);
        sw_trace_meter_free(m);
        CHECK_REL(x.mean_op_bytes, mean, 1e-12);
        for (int i = 0; i < SW_INFO_WINDOWS; i++)
            CHECK_REL(x.window_bytes[i], windows_by_hand(ops, OPS, bytes, x.window_ops[i]), 1e-12);
    }
}

/* --- closed forms ----------------------------------------------------------------------------- */

static sw_trace_info info_of(const char *name, const char *flow, const sw_model *m) {
    sw_trace_info x = {0};
    sw_yaml *doc = NULL;
    sw_error err = {0};
    const sw_plugin *p;
    sw_source_env env = {.model = m, .seed = 1};
    CHECK(!sw_plugin_find(sw_source_table, sw_source_table_n, "source", name, (sw_mark){0}, &p,
                          &err));
    CHECK(!sw_yaml_parse(flow, strlen(flow), "test.yaml", &doc, &err));
    CHECK_INT(sw_trace_info_run((const sw_source_ops *)p, sw_yaml_root(doc), &env, &x, &err),
              SW_OK);
    sw_yaml_free(doc);
    return x;
}

/* 16 blocks of 1 MiB, 10 passes: each reuse is 16 MiB away, and the order never changes. */
static void cyclic(void) {
    double mib = 1 << 20;
    sw_trace_info x =
        info_of("synthetic", "{blocks: 16, block_bytes: 1 MiB, passes: 10, chained: false}", NULL);
    CHECK_INT(x.n_static, 16);
    CHECK_INT(x.static_bytes, 16 << 20);
    CHECK_INT(x.first_uses, 16);
    CHECK_INT(x.reuses, 9 * 16);
    CHECK_INT(x.largest_reuse, 16 << 20);
    CHECK_INT(x.reuse_count[24 * SW_INFO_OCTAVE], 9 * 16); /* 2^24, a bucket's end */
    CHECK_INT(sw_info_lru_fetched(&x, 16 * mib), 0);
    CHECK_INT(sw_info_lru_fetched(&x, 15 * mib), 9 * 16 * mib);
    CHECK(sw_info_order(&x) == 1);
    CHECK_INT(x.phase[SW_PHASE_DECODE].steps, 10);
    CHECK_INT(x.phase[SW_PHASE_DECODE].ops, 160);
    CHECK_INT(x.phase[SW_PHASE_DECODE].distinct_weights.min, 16 * mib);
    CHECK_INT(x.phase[SW_PHASE_DECODE].touched.sum, 160 * mib);
    CHECK_REL(x.window_bytes[0], mib, 1e-12);
    /* Windows of 4 ops are short at the first three places. */
    CHECK_REL(x.window_bytes[1], mib * (4 * 160 - 6) / 160, 1e-12);
    CHECK_INT(x.largest_op_bytes, 1 << 20);
}

static void random_order(void) {
    sw_trace_info x =
        info_of("synthetic", "{blocks: 64, passes: 40, pattern: random, block_bytes: 1 MiB}", NULL);
    CHECK(sw_info_order(&x) >= 0 && sw_info_order(&x) < 0.05);
    CHECK_INT(x.peak_dynamic_bytes, 64); /* the token that chains the ops */
    CHECK_INT(x.peak_bytes, (64 << 20) + 64);
}

static void of_a_model(void) {
    sw_model *m = open_network("tinyllama-1.1b", "q4_k_m");
    sw_trace_info x = info_of("llm", "{prompt: 100, generate: 5}", m);
    double read = (double)(m->bytes - m->unused_bytes - m->embed_bytes);
    CHECK_INT(x.static_bytes, m->bytes - m->unused_bytes);
    CHECK_INT(x.phase[SW_PHASE_PREFILL].steps, 1);
    CHECK_INT(x.phase[SW_PHASE_DECODE].steps, 4);
    CHECK_INT(x.phase[SW_PHASE_DECODE].outputs, 4);
    CHECK_INT(x.phase[SW_PHASE_DECODE].distinct_weights.min, read);
    CHECK_INT(x.phase[SW_PHASE_DECODE].distinct_weights.max, read);
    CHECK(sw_info_order(&x) == 1);
    sw_model_free(m);
}

static void refusals(void) {
    static const sw_ev_use use = {.block = 3, .mode = SW_READ, .bytes = 1};
    static const sw_event bad[] = {
        {.kind = SW_EV_ACCESS, .uses = &use, .n_uses = 1},
        {.kind = SW_EV_FREE, .block = {.id = 9}},
        {.kind = SW_EV_ALLOC, .block = {.id = 1 << 24, .bytes = 1}},
        {.kind = SW_EV_ALLOC, .block = {.id = 100000, .bytes = 1}},
        {.kind = SW_EV_STEP, .phase = (sw_phase)77},
        {.kind = (sw_event_kind)77},
    };
    sw_trace_meter *m = sw_trace_meter_new();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sw_error err = {0};
        CHECK_INT(sw_trace_meter_put(m, &bad[i], &err), SW_INPUT);
        CHECK(*err.text);
    }
    sw_trace_meter_free(m);
}

SW_TESTS("trace info", {"reuse distance, by a list", twin_of_reuse},
         {"windows, by keeping all", twin_of_windows}, {"cyclic", cyclic}, {"random", random_order},
         {"a model", of_a_model}, {"refusals", refusals})
