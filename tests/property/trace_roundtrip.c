/* Does any stream of events that the writer takes read back equal, field by field, to the bit?
 *
 * Random events: every kind, every field, numbers from all magnitudes, names in several scripts,
 * plain and gzip. Then real streams: what the generators make, recorded and read. */
#include "../unit/traces/stream.h"
#include "sim/base/rng.h"
#include "traces/swt.h"
#include "traces/swt_write.h"

enum { USES = 40 };

typedef struct made {
    sw_event ev;
    sw_ev_use uses[USES];
} made;

static uint64_t any_size(sw_rng *r) {
    return sw_rng_next(r) >> sw_rng_below(r, 64);
}

static double any_real(sw_rng *r) {
    double x;
    switch (sw_rng_below(r, 4)) {
    case 0:
        return (double)any_size(r);
    case 1:
        return sw_rng_unit(r);
    case 2:
        return 0;
    default:
        do {
            uint64_t bits = sw_rng_next(r) >> 1; /* not negative */
            memcpy(&x, &bits, sizeof x);
        } while (!(x - x == 0));
        return x;
    }
}

static const char *any_name(sw_rng *r) {
    static const char *const names[] = {"op",     "",     " ", "= x",    "r1@0+1", "a  b ",
                                        "größer", "层.0", "#", "a\\x41", "end 3"};
    uint64_t i = sw_rng_below(r, 14);
    return i < 11 ? sw_intern(names[i]) : NULL;
}

static void any_uses(sw_rng *r, made *m, const uint64_t *sizes, uint32_t n_blocks) {
    m->ev.n_uses = (uint32_t)sw_rng_below(r, sw_rng_below(r, 4) ? 4 : USES);
    for (uint32_t i = 0; i < m->ev.n_uses; i++) {
        uint32_t id = (uint32_t)sw_rng_below(r, n_blocks + 3);
        uint64_t whole = id < n_blocks ? sizes[id] : 0;
        sw_ev_use *u = &m->uses[i];
        *u = (sw_ev_use){id, (uint8_t)(1 + sw_rng_below(r, 3)), 0, whole, whole};
        if (!whole || sw_rng_below(r, 2)) u->offset = any_size(r), u->bytes = any_size(r);
        u->touched = sw_rng_below(r, 2) ? u->bytes : any_size(r);
    }
}

/* Any event, right or wrong by the rules of trace.h. */
static void any_event(sw_rng *r, made *m, uint64_t *sizes, uint32_t n_blocks) {
    *m = (made){0};
    sw_event *e = &m->ev;
    e->kind = (sw_event_kind)sw_rng_below(r, SW_EV_MARK + 1);
    e->known_after = sw_rng_below(r, 3) ? 0 : any_size(r);
    sw_block b = {(uint32_t)sw_rng_below(r, n_blocks),
                  (sw_block_kind)sw_rng_below(r, SW_SWT_KINDS),
                  (int32_t)sw_rng_below(r, 100) - 1,
                  (int32_t)sw_rng_below(r, 9) - 1,
                  any_size(r) | 1,
                  any_name(r)};
    if (e->kind != SW_EV_BLOCK && e->kind != SW_EV_ALLOC && e->kind != SW_EV_FREE)
        e->name = any_name(r);
    switch (e->kind) {
    case SW_EV_BLOCK:
    case SW_EV_ALLOC:
        e->block = b;
        sizes[b.id] = b.bytes;
        break;
    case SW_EV_FREE:
        e->block.id = b.id;
        sizes[b.id] = 0;
        break;
    case SW_EV_ACCESS:
        e->work = (sw_work){any_real(r), (uint8_t)sw_rng_below(r, SW_MATH_COUNT),
                            (uint8_t)sw_rng_below(r, SW_CLASS_COUNT), (uint32_t)any_size(r)};
        e->gather = sw_rng_below(r, 2);
        e->makes_known = sw_rng_below(r, 2);
        any_uses(r, m, sizes, n_blocks);
        break;
    case SW_EV_PREDICT:
        any_uses(r, m, sizes, n_blocks);
        break;
    case SW_EV_STEP:
        e->step = (uint32_t)any_size(r);
        e->phase = (sw_phase)sw_rng_below(r, SW_SWT_PHASES);
        e->tokens = any_size(r);
        e->outputs = any_size(r);
        break;
    case SW_EV_HOST:
        e->host_s = any_real(r);
        break;
    case SW_EV_MARK:
    default:
        break;
    }
}

static bool same_block(const sw_block *a, const sw_block *b) {
    return a->id == b->id && a->kind == b->kind && a->layer == b->layer && a->expert == b->expert &&
           a->bytes == b->bytes && a->name == b->name;
}

static bool same_bits(double a, double b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

static bool same(const sw_event *a, const sw_event *b) {
    bool uses = a->n_uses == b->n_uses;
    for (uint32_t i = 0; uses && i < a->n_uses; i++) {
        const sw_ev_use *u = &a->uses[i], *v = &b->uses[i];
        uses = u->block == v->block && u->mode == v->mode && u->offset == v->offset &&
               u->bytes == v->bytes && u->touched == v->touched;
    }
    return uses && a->kind == b->kind && a->name == b->name && same_block(&a->block, &b->block) &&
           same_bits(a->work.flops, b->work.flops) && a->work.math == b->work.math &&
           a->work.cls == b->work.cls && a->work.launches == b->work.launches &&
           a->step == b->step && a->phase == b->phase && a->tokens == b->tokens &&
           a->outputs == b->outputs && a->known_after == b->known_after && a->gather == b->gather &&
           a->makes_known == b->makes_known && same_bits(a->host_s, b->host_s);
}

static void random_streams(void) {
    enum { EVENTS = 4000 };
    made *list = malloc(EVENTS * sizeof *list);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        sw_rng r = sw_rng_seed(seed);
        uint64_t sizes[64] = {0};
        uint32_t n_blocks = 1 + (uint32_t)sw_rng_below(&r, 60), n;
        const char *path = scratch(seed % 2 ? "any.swt" : "any.swt.gz");
        sw_swt_file *f = NULL;
        sw_error err = {0};
        CHECK_INT(sw_swt_open(path, "random\nevents", &f, &err), SW_OK);
        for (n = 0; n < EVENTS; n++) {
            any_event(&r, &list[n], sizes, n_blocks);
            list[n].ev.uses = list[n].uses;
            sw_status st = sw_swt_put(f, &list[n].ev, &err);
            if (st) puts(err.text);
            CHECK_INT(st, SW_OK);
        }
        CHECK_INT(sw_swt_commit(f, &err), SW_OK);
        stream s;
        CHECK(stream_open(&s, "swt", "{}", NULL, path, 1));
        for (n = 0; n < EVENTS && stream_next(&s); n++) CHECK(same(&list[n].ev, &s.ev));
        CHECK_INT(n, EVENTS);
        CHECK(!stream_next(&s));
        if (s.st != SW_END) puts(s.err.text);
        CHECK_INT(s.st, SW_END);
        stream_close(&s);
        unlink(path);
    }
    free(list);
}

/* A generator's stream, recorded and read, and what a scan says of both. */
static void hold(const char *generator, const char *flow, const sw_model *m) {
    const sw_plugin *p;
    sw_yaml *doc = NULL;
    sw_error err = {0};
    sw_source_env env = {.model = m, .seed = 3};
    const char *path = scratch("recorded.swt.gz");
    CHECK(!sw_plugin_find(sw_source_table, sw_source_table_n, "source", generator, (sw_mark){0}, &p,
                          &err));
    CHECK(!sw_yaml_parse(flow, strlen(flow), "test.yaml", &doc, &err));
    CHECK(!sw_swt_record((const sw_source_ops *)p, sw_yaml_root(doc), &env, path, flow, &err));
    sw_yaml_free(doc);
    stream a, b;
    CHECK(stream_open(&a, generator, flow, m, NULL, 3));
    CHECK(stream_open(&b, "swt", "{}", NULL, path, 3));
    uint64_t n = 0;
    for (; stream_next(&a) && stream_next(&b); n++) CHECK(same(&a.ev, &b.ev));
    CHECK(!stream_next(&b));
    CHECK_INT(b.st, SW_END);
    CHECK(n > 100);
    stream_close(&a);
    stream_close(&b);
    sw_scan *scan = scan_of("swt", "{}", NULL, path, &err);
    CHECK(scan != NULL && scan->n_events == n);
    sw_scan_free(scan);
    unlink(path);
}

static void recorded_streams(void) {
    sw_model *dense = open_network("tinyllama-1.1b", "q4_k_m");
    sw_model *moe = open_network("olmoe-1b-7b", "q4_k_m");
    hold("llm", "{prompt: 300, generate: 20, kv_layout: paged, prefill_chunk: 128}", dense);
    hold("llm", "{prompt: 30, generate: 40, batch: 4, micro_batches: 2, skew: 1}", moe);
    hold("synthetic", "{pattern: zipf, passes: 30, vary: true, scratch: 1 MiB}", NULL);
    hold("synthetic", "{pattern: hot_cold, passes: 30, touched: 0.37, chained: false}", NULL);
    sw_model_free(dense);
    sw_model_free(moe);
}

SW_TESTS("trace round trip", {"random streams", random_streams},
         {"recorded streams", recorded_streams})
