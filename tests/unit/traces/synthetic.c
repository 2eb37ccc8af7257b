/* Do the patterns of the synthetic generator have the shape that their names promise? */
#include "stream.h"

enum { BLOCKS_MAX = 64 };

typedef struct shape {
    double share[BLOCKS_MAX]; /* of the uses of weights */
    uint64_t n_ops, n_uses, hash;
    int64_t living; /* dynamic blocks at the end */
    bool twice;     /* an op used a block twice */
} shape;

static shape run(const char *flow, uint64_t seed) {
    shape x = {0};
    stream s;
    uint32_t n_static = 0;
    CHECK(stream_open(&s, "synthetic", flow, NULL, NULL, seed));
    while (stream_next(&s)) {
        n_static += s.ev.kind == SW_EV_BLOCK;
        x.living += (s.ev.kind == SW_EV_ALLOC) - (s.ev.kind == SW_EV_FREE);
        if (s.ev.kind != SW_EV_ACCESS) continue;
        bool in[BLOCKS_MAX] = {0};
        x.n_ops++;
        for (uint32_t i = 0; i < s.ev.n_uses; i++) {
            uint32_t b = s.ev.uses[i].block;
            if (b >= n_static || b >= BLOCKS_MAX) continue;
            x.twice |= in[b];
            in[b] = true;
            x.share[b]++;
            x.n_uses++;
            x.hash = (x.hash ^ b) * 0x100000001b3u;
        }
    }
    CHECK_INT(s.st, SW_END);
    for (int i = 0; i < BLOCKS_MAX; i++) x.share[i] /= (double)x.n_uses;
    stream_close(&s);
    return x;
}

static void patterns(void) {
    shape x = run("{blocks: 20, passes: 10}", 1);
    CHECK_INT(x.n_ops, 200);
    for (int i = 0; i < 20; i++) CHECK_REL(x.share[i], 0.05, 1e-12);
    x = run("{blocks: 20, passes: 10, uses: 6}", 1);
    CHECK_INT(x.n_ops, 40);
    CHECK_INT(x.n_uses, 200); /* the last op of a pass has what is left */
    x = run("{blocks: 20, passes: 10, pattern: strided, stride: 7}", 1);
    for (int i = 0; i < 20; i++) CHECK_REL(x.share[i], 0.05, 1e-12);
    x = run("{blocks: 20, passes: 10, pattern: strided, stride: 10}", 1);
    CHECK(x.share[0] == 0.5 && x.share[10] == 0.5);
    x = run("{blocks: 20, passes: 2000, pattern: random}", 1);
    for (int i = 0; i < 20; i++) CHECK_REL(x.share[i], 0.05, 0.1);
    x = run("{blocks: 20, passes: 2000, pattern: zipf, skew: 1}", 1);
    double h = 0;
    for (int i = 1; i <= 20; i++) h += 1.0 / i;
    for (int i = 0; i < 20; i++) CHECK_REL(x.share[i], 1 / (h * (i + 1)), 0.1);
    x = run("{blocks: 20, passes: 2000, pattern: hot_cold, hot_share: 0.1, hot_use: 0.9}", 1);
    CHECK_REL(x.share[0] + x.share[1], 0.9, 0.02);
}

static void ops_take_each_block_once(void) {
    static const char *const names[] = {"cyclic", "random", "zipf", "hot_cold", "strided"};
    for (int i = 0; i < 5; i++) {
        char flow[128];
        snprintf(flow, sizeof flow, "{blocks: 40, passes: 30, uses: 40, pattern: %s, skew: 8}",
                 names[i]);
        shape x = run(flow, 1);
        CHECK(!x.twice);
        CHECK_INT(x.n_uses, 1200); /* all of them, each time */
        snprintf(flow, sizeof flow, "{blocks: 40, passes: 30, uses: 9, pattern: %s}", names[i]);
        CHECK(!run(flow, 1).twice);
    }
    /* One op over a million blocks, all drawn from the head of the list: no quadratic search. */
    run("{blocks: 1000000, passes: 1, uses: 1000000, pattern: zipf, skew: 8, block_bytes: 1 B}", 1);
}

static void seeds_and_scratch(void) {
    static const char flow[] = "{blocks: 30, passes: 20, pattern: random, scratch: 1 MiB}";
    shape a = run(flow, 1), b = run(flow, 1), c = run(flow, 2);
    CHECK(a.hash == b.hash);
    CHECK(a.hash != c.hash);
    CHECK_INT(a.living, 1); /* the token; scratch is gone */
    CHECK_INT(run("{chained: false}", 1).living, 0);
}

static void refusals(void) {
    static const struct {
        const char *flow, *says;
    } bad[] = {{"{blocks: 4, uses: 5}", "an op uses 5 of 4 blocks"},
               {"{blocks: 1000000, block_bytes: 1 PB}", "2^59"},
               {"{pattern: cyclc}", "cyclic"},
               {"{passes: 0}", "passes"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        stream s;
        CHECK(!stream_open(&s, "synthetic", bad[i].flow, NULL, NULL, 1));
        check_line(&s.err, bad[i].says);
        stream_close(&s);
    }
}

SW_TESTS("synthetic", {"patterns", patterns}, {"each block once", ops_take_each_block_once},
         {"seeds and scratch", seeds_and_scratch}, {"refusals", refusals})
