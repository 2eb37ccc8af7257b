/* Question: is the bound the answer where the answer is known in closed form, and is its linear
 * program solved exactly?
 *
 * GB = 1e9 here. Machines come from sw_topology_simple; a CPU of 1 flop/s and a link of 1 B/s are
 * as good as none. */
#include "sim/bound.h"
#include "check.h"
#include "sim/base/rng.h"
#include "sim/bound_solve.h"

#define GB 1e9
enum { HIDDEN = 1000 }; /* the activations' block */

static sw_bounder *start(const sw_topology *t, int n_blocks, double bytes) {
    sw_bounder *b = NULL;
    CHECK(sw_bounder_new(t, &b, NULL) == SW_OK);
    for (int i = 0; i < n_blocks; i++) {
        sw_event ev = {.kind = SW_EV_BLOCK};
        ev.block = (sw_block){.id = (uint32_t)i, .kind = SW_BLOCK_WEIGHT, .bytes = (uint64_t)bytes};
        CHECK(sw_bounder_event(b, &ev, NULL) == SW_OK);
    }
    sw_event ev = {.kind = SW_EV_ALLOC};
    ev.block = (sw_block){.id = HIDDEN, .kind = SW_BLOCK_ACT, .bytes = 64};
    CHECK(sw_bounder_event(b, &ev, NULL) == SW_OK);
    return b;
}

static void step(sw_bounder *b, uint32_t number, sw_phase phase) {
    sw_event ev = {.kind = SW_EV_STEP, .step = number, .phase = phase};
    CHECK(sw_bounder_event(b, &ev, NULL) == SW_OK);
}

/* An op that reads a whole block and, if chained, reads and writes the hidden state. */
static void access_block(sw_bounder *b, uint32_t block, double bytes, double flops, bool chained) {
    sw_ev_use uses[2] = {{block, SW_READ, 0, (uint64_t)bytes, (uint64_t)bytes},
                         {HIDDEN, SW_RW, 0, 64, 0}};
    sw_event ev = {.kind = SW_EV_ACCESS, .uses = uses, .n_uses = chained ? 2 : 1};
    ev.work = (sw_work){.flops = flops, .launches = 1};
    CHECK(sw_bounder_event(b, &ev, NULL) == SW_OK);
}

static sw_bound finish(sw_bounder *b) {
    sw_bound out;
    CHECK(sw_bounder_finish(b, &out, NULL) == SW_OK);
    sw_bounder_free(b);
    return out;
}

/* `steps` passes over n equal blocks. */
static sw_bound passes(const sw_topology *t, int n, double bytes, double flops, int steps,
                       bool chained) {
    sw_bounder *b = start(t, n, bytes);
    for (int s = 0; s < steps; s++) {
        step(b, (uint32_t)s, SW_PHASE_DECODE);
        for (int i = 0; i < n; i++) access_block(b, (uint32_t)i, bytes, flops, chained);
    }
    return finish(b);
}

static void resident_decode(void) {
    sw_topology t;
    sw_topology_simple(&t, 1000 * GB, 24000000000, 1, 50 * GB, 64000000000, 0, 1e14, 1);
    sw_bound b = passes(&t, 10, 2 * GB, 1e9, 3, true);
    CHECK_REL(b.total_s, 3 * 20.0 / 1000, 1e-9);
    CHECK_REL(b.decode_s, b.total_s, 1e-12);
    CHECK_STR(b.limit, "vram0");
    CHECK_REL(b.res_bytes[0], 60 * GB, 1e-6);
}

/* All the memories read at once: what a link and a CPU add to a resident model. */
static void resident_with_help(void) {
    sw_topology t;
    sw_topology_simple(&t, 1000 * GB, 24000000000, 25 * GB, 50 * GB, 64000000000, 0, 1e14, 1e13);
    sw_bound b = passes(&t, 10, 2 * GB, 1e6, 1, true);
    CHECK_REL(b.total_s, 20.0 / (1000 + 50), 1e-9);
}

static void resident_compute(void) {
    sw_topology t;
    sw_topology_simple(&t, 1000 * GB, 24000000000, 1, 50 * GB, 64000000000, 0, 1e14, 1);
    sw_bound b = passes(&t, 10, 2 * GB, 1e13, 2, true);
    CHECK_REL(b.total_s, 2 * 10 * 0.1, 1e-9);
    CHECK_STR(b.limit, "gpu0");
}

static void streaming(void) {
    sw_topology t;
    sw_topology_simple(&t, 1000 * GB, 24000000000, 25 * GB, 100 * GB, 64000000000, 0, 1e14, 1);
    sw_bound b = passes(&t, 20, 2 * GB, 1e9, 4, true);
    CHECK_REL(b.total_s, 4 * (40.0 - 24) / 25, 1e-9);
    CHECK_STR(b.limit, "pcie0.h2d");
    CHECK_REL(b.res_bytes[sw_topology_tier(&t, SW_TIER_RAM)], 4 * 16 * GB, 0.02);
}

/* Two slots, and each op takes longer than the copy of the next block: all copies hide. */
static void overlap(void) {
    sw_topology t;
    sw_topology_simple(&t, 1000 * GB, 4000000000, 25 * GB, 100 * GB, 64000000000, 0, 1e14, 1);
    sw_bound b = passes(&t, 20, 2 * GB, 1e13, 4, true);
    CHECK_REL(b.total_s, 4 * 20 * 0.1, 1e-9);
}

static void nvme(void) {
    sw_topology t;
    sw_topology_simple(&t, 1000 * GB, 8000000000, 25 * GB, 100 * GB, 16000000000, 5 * GB, 1e14, 1);
    sw_bound b = passes(&t, 20, 2 * GB, 1e9, 3, true);
    CHECK_REL(b.total_s, 3 * (40.0 - 24) / 5, 1e-9);
    CHECK_STR(b.limit, "nvme0.read");
}

/* The CPU may work on what lies in RAM: 16 GB over, at 25 over the link and 50 on the spot. */
static void cpu_shares(void) {
    sw_topology t;
    sw_topology_simple(&t, 1e6 * GB, 24000000000, 25 * GB, 50 * GB, 64000000000, 0, 1e16, 1e16);
    t.ports[0][1].read_path = -1; /* no reading in place */
    sw_bound b = passes(&t, 20, 2 * GB, 1, 1, true);
    /* chain: about y/50; link: (16 - y)/25; and RAM must give 16 GB: 16/50 */
    CHECK_REL(b.total_s, 16.0 / 50, 1e-9);
    t.res[t.tiers[1].res].rate = 100 * GB; /* RAM itself is no limit */
    b = passes(&t, 20, 2 * GB, 1, 1, true);
    CHECK(b.total_s <= 16.0 / 75 && b.total_s > 0.999 * 16.0 / 75);
}

static void same_block_once(void) {
    sw_topology t;
    sw_topology_simple(&t, 1000 * GB, 2000000000, 1 * GB, 50 * GB, 64000000000, 0, 1e14, 1);
    sw_bounder *b = start(&t, 2, 2 * GB);
    step(b, 0, SW_PHASE_PREFILL);
    for (int k = 0; k < 6; k++) access_block(b, (uint32_t)(k % 2), 2 * GB, 1e9, true);
    sw_bound out = finish(b);
    CHECK_REL(out.total_s, 2.0, 1e-9); /* 4 GB distinct, 2 fit */
    CHECK_REL(out.prefill_s, 2.0, 1e-9);
    CHECK(out.decode_s == 0);
}

/* Without a hidden state between them, ops run side by side; only the order of the GPU's queue
 * keeps the steps apart (found on a grid: a little below). */
static void unchained(void) {
    sw_topology t;
    sw_topology_simple(&t, 1000 * GB, 2000000000, 1 * GB, 50 * GB, 64000000000, 0, 1e14, 1);
    sw_bound b = passes(&t, 2, 2 * GB, 1e9, 5, false);
    CHECK(b.total_s <= 10 && b.total_s > 0.999 * 10);
    CHECK_REL(b.decode_s, b.total_s, 1e-9);
    CHECK_STR(b.limit, "pcie0.h2d");
    /* GPU and CPU in parallel: 10 ops, each 1 s or 3 s */
    sw_topology_simple(&t, 1000 * GB, 24000000000, 1, 1000 * GB, 64000000000, 0, 3e12, 1e12);
    b = passes(&t, 2, 1000, 3e12, 5, false);
    CHECK_REL(b.total_s, 10 * 3.0 / 4, 1e-9);
}

/* A prompt in chunks: each chunk begins without waiting for the one before, the first token ends
 * the last of them. Neither the chunks nor what follows may be lost. */
static void chunks_then_decode(void) {
    sw_topology t;
    sw_topology_simple(&t, 1000 * GB, 24000000000, 25 * GB, 100 * GB, 64000000000, 0, 1e14, 1);
    sw_bounder *b = start(&t, 20, 2 * GB);
    for (int s = 0; s < 12; s++) {
        bool fresh = s < 6; /* writes the hidden state without reading it */
        step(b, (uint32_t)s, fresh ? SW_PHASE_PREFILL : SW_PHASE_DECODE);
        sw_ev_use first = {HIDDEN, SW_WRITE, 0, 64, 0};
        sw_event ev = {.kind = SW_EV_ACCESS, .uses = &first, .n_uses = 1};
        ev.work.flops = 1;
        if (fresh) CHECK(sw_bounder_event(b, &ev, NULL) == SW_OK);
        for (int i = 0; i < 20; i++) access_block(b, (uint32_t)i, 2 * GB, 1e9, true);
    }
    sw_bound out = finish(b);
    double each = (40.0 - 24) / 25;
    CHECK(out.total_s <= 12 * each && out.total_s > 0.999 * 12 * each);
    CHECK_REL(out.prefill_s, 6 * each, 1e-3);
    CHECK_REL(out.decode_s, 6 * each, 1e-3);
    CHECK_STR(out.limit, "pcie0.h2d");
}

static void made_in_the_step(void) {
    sw_topology t;
    sw_topology_simple(&t, 1000 * GB, 2000000000, 1 * GB, 50 * GB, 64000000000, 0, 1e14, 1);
    sw_bounder *b = start(&t, 1, 2 * GB);
    sw_event ev = {.kind = SW_EV_ALLOC};
    ev.block = (sw_block){.id = 500, .kind = SW_BLOCK_KV, .bytes = 3000000000};
    CHECK(sw_bounder_event(b, &ev, NULL) == SW_OK);
    sw_ev_use uses[2] = {{500, SW_WRITE, 0, 2000000000, 2000000000}, {HIDDEN, SW_RW, 0, 64, 0}};
    ev = (sw_event){.kind = SW_EV_ACCESS, .uses = uses, .n_uses = 2};
    step(b, 0, SW_PHASE_DECODE);
    CHECK(sw_bounder_event(b, &ev, NULL) == SW_OK);
    access_block(b, 0, 2 * GB, 1e6, true);
    access_block(b, 500, 2 * GB, 1e6, true);
    step(b, 1, SW_PHASE_DECODE); /* now it exists: 4 GB distinct, of which 2 fit */
    access_block(b, 0, 2 * GB, 1e6, true);
    access_block(b, 500, 2 * GB, 1e6, true);
    sw_bound out = finish(b);
    /* first step: 4 GB read from VRAM and over the link */
    CHECK_REL(out.total_s, 2.0 + 4.0 / (1000 + 1), 1e-5);
}

static void unified(void) {
    sw_topology t;
    sw_topology_simple(&t, 1, 1, 1, 400 * GB, 24000000000, 5 * GB, 1e14, 1e13);
    t.tiers[1].kind = SW_TIER_UNIFIED; /* vram0 goes, gpu0 reaches the pool directly */
    t.tiers[0] = t.tiers[1];
    t.tiers[1] = t.tiers[2];
    t.n_tiers = 2;
    t.n_routes = 0;
    t.units[0].tier = t.units[1].tier = 0;
    t.ports[1][0] = t.ports[1][1];
    t.ports[0][0] = (sw_port){t.ports[1][0].read_path, -1, 300 * GB, 1};
    t.ports[0][1].read_path = t.ports[1][1].read_path = t.ports[1][2].read_path = -1;
    t.ports[1][0].read_Bps = 50 * GB;
    sw_bound b = passes(&t, 10, 2 * GB, 1, 1, true);
    CHECK_REL(b.total_s, 20.0 / 350, 1e-9);
    b = passes(&t, 20, 2 * GB, 1, 1, true);
    CHECK_REL(b.total_s, (40.0 - 24) / 5, 1e-9);
}

/* --- the linear program against what can be tried ------------------------------------------------
 */

/* The step's time if the CPU does the given shares. */
static double tried(const sw_bound_machine *m, const sw_bound_item *v, int n, const double *share,
                    double distinct) {
    double chain = 0, spared = 0;
    for (int i = 0; i < n; i++) {
        double s = share[i];
        double t = fmax(v[i].gpu_s * (1 - s), v[i].cpu_s * s);
        chain += fmax(t, v[i].read_bytes / m->reach_Bps[v[i].cls]);
        spared += s * v[i].spared_bytes;
    }
    double over = fmax(0, distinct - m->near_bytes);
    double link = fmax(0, over - spared) / m->link_Bps;
    return fmax(fmax(chain, link), over / m->host_Bps);
}

static void program(void) {
    sw_rng r = sw_rng_seed(7);
    for (int round = 0; round < 3000; round++) {
        enum { N = 5 };
        sw_topology t;
        double link = 1 + 30 * sw_rng_unit(&r);
        sw_topology_simple(&t, 100 + 100 * sw_rng_unit(&r), 1 + sw_rng_below(&r, 200), link,
                           20 + 80 * sw_rng_unit(&r), 100000, 0, 1000, 10 + 300 * sw_rng_unit(&r));
        sw_bound_machine m;
        sw_bound_machine_init(&m, &t);
        sw_bound_item v[N];
        double distinct = 0, share[N], best = INFINITY;
        for (int i = 0; i < N; i++) {
            v[i] = (sw_bound_item){.read_bytes = 1 + 100 * sw_rng_unit(&r),
                                   .flops = 300 * sw_rng_unit(&r),
                                   .group = (uint32_t)i};
            v[i].spared_bytes = v[i].read_bytes * (sw_rng_below(&r, 2) ? 1 : sw_rng_unit(&r));
            distinct += v[i].spared_bytes;
            sw_bound_price(&m, &v[i]);
        }
        sw_bound_step out;
        CHECK(sw_bound_solve(&m, v, N, distinct, &out));
        for (int i = 0; i < N; i++) share[i] = fmin(1, v[i].share);
        best = tried(&m, v, N, share, distinct);
        CHECK_REL(out.time_s, best, 1e-9); /* its own shares reach it … */
        for (int k = 0; k < 200; k++) {    /* … and no others beat it */
            for (int i = 0; i < N; i++) {
                double other = sw_rng_unit(&r);
                share[i] = k < 100 ? other : fmin(1, fmax(0, v[i].share + (other - 0.5) * 0.02));
            }
            CHECK(tried(&m, v, N, share, distinct) >= out.time_s * (1 - 1e-9));
        }
    }
}

/* A group of two ops: the least time over all splits, by trying a grid. */
static void side_by_side(void) {
    sw_rng r = sw_rng_seed(11);
    for (int round = 0; round < 300; round++) {
        sw_topology t;
        sw_topology_simple(&t, 1e6, 1 << 30, 1, 1e6, 1 << 30, 0, 100, 10 + 100 * sw_rng_unit(&r));
        t.units[1].peak[1] = 10 + 300 * sw_rng_unit(&r); /* good at one of the two */
        sw_bound_machine m;
        sw_bound_machine_init(&m, &t);
        sw_bound_item v[2] = {{.flops = 100 * sw_rng_unit(&r)},
                              {.flops = 100 * sw_rng_unit(&r), .math = 1}};
        for (int i = 0; i < 2; i++) sw_bound_price(&m, &v[i]);
        sw_bound_item keep[2] = {v[0], v[1]};
        double best = INFINITY;
        for (int a = 0; a <= 200; a++)
            for (int b = 0; b <= 200; b++) {
                double gpu = keep[0].gpu_s * (1 - a / 200.0) + keep[1].gpu_s * (1 - b / 200.0);
                double cpu = keep[0].cpu_s * a / 200.0 + keep[1].cpu_s * b / 200.0;
                best = fmin(best, fmax(gpu, cpu));
            }
        sw_bound_step out;
        CHECK(sw_bound_solve(&m, v, 2, 0, &out));
        CHECK(out.time_s <= best * (1 + 1e-9) && out.time_s >= best * 0.98);
    }
}

SW_TESTS("bound", {"resident decode", resident_decode},
         {"resident decode, helped", resident_with_help}, {"compute-bound", resident_compute},
         {"streaming over the link", streaming}, {"perfect overlap", overlap},
         {"nvme-limited", nvme}, {"the CPU shares", cpu_shares},
         {"a block counts once a step", same_block_once}, {"unchained ops", unchained},
         {"chunks, then decode", chunks_then_decode}, {"made in the step", made_in_the_step},
         {"unified memory", unified}, {"the program is solved", program},
         {"side by side", side_by_side})
