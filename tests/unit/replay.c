/* Question: is the time of a run, and where it went, what a small case worked out by hand says?
 *
 * The machine: VRAM 1,000 GB/s, one link of 10 GB/s, RAM 50 GB/s, a GPU of 100 TFLOP/s; blocks of 1
 * GB; no set-up costs. So a block takes 1 ms from VRAM, 100 ms over the link and 20 ms on the CPU.
 */
#include "sim/replay.h"
#include "check.h"
#include "sim/topology_build.h"
#include "validate/verify.h"
#include <stdio.h>

extern const sw_backend_ops sw_backend_null;
extern const sw_source_ops sw_source_synthetic;
extern const sw_alloc_ops sw_alloc_best_fit;
extern const sw_policy_ops sw_policy_resident, sw_policy_demand, sw_policy_mru, sw_policy_belady,
    sw_policy_prefetch, sw_policy_split;

#define GB 1000000000ull

static sw_topology machine(uint64_t vram_bytes) {
    sw_topology t;
    sw_topology_simple(&t, 1e12, vram_bytes, 10e9, 50e9, 100 * GB, 5e9, 100e12, 1e12);
    return t;
}

typedef struct setup {
    sw_topology topo;
    sw_runtime rt;
    const sw_policy_ops *policy;
    const char *policy_opts, *workload;
    const sw_source_ops *source;
    uint32_t chunk_ops, window_chunks;
} setup;

/* Runs on null with the verifier watching. */
static sw_status run(const setup *s, sw_result *out, sw_error *err) {
    sw_yaml *w = NULL, *p = NULL;
    sw_verifier *v = NULL;
    const char *opts = s->policy_opts ? s->policy_opts : "{}",
               *work = s->workload ? s->workload : "{}";
    sw_status st = sw_yaml_parse(work, strlen(work), "workload", &w, err);
    if (!st) st = sw_yaml_parse(opts, strlen(opts), "policy", &p, err);
    if (!st) st = sw_verifier_new(&v, err);
    if (!st) {
        sw_observer watch = sw_verifier_observer(v);
        sw_replay r = {.topo = &s->topo,
                       .runtime = &s->rt,
                       .source = s->source ? s->source : &sw_source_synthetic,
                       .source_map = sw_yaml_root(w),
                       .source_env = {.seed = 1},
                       .policy = s->policy,
                       .policy_map = sw_yaml_root(p),
                       .alloc = &sw_alloc_best_fit,
                       .backend = &sw_backend_null,
                       .chunk_ops = s->chunk_ops,
                       .window_chunks = s->window_chunks,
                       .observers = &watch,
                       .n_observers = 1};
        st = sw_replay_run(&r, out, err);
        if (!st) CHECK_INT(sw_verifier_finish(v)->n_violations, 0);
    }
    sw_verifier_free(v);
    sw_yaml_free(p);
    sw_yaml_free(w);
    return st;
}

static sw_result ok(const setup *s) {
    static sw_result r;
    sw_error err = {0};
    sw_status st = run(s, &r, &err);
    if (st) printf("\n  %s\n", err.text);
    CU_ASSERT_EQUAL_FATAL(st, SW_OK);
    double sum = 0;
    for (int c = 0; c < SW_CAT_COUNT; c++) sum += r.path_s[c];
    CHECK_REL(sum, r.makespan_s, 1e-12);
    CHECK(r.makespan_s >= r.bound.total_s * (1 - 1e-9));
    return r;
}

#define FOUR "{blocks: 4, block_bytes: 1 GB, passes: 2, flops_per_byte: 0, chained: false}"

static void resident(void) {
    setup s = {.topo = machine(10 * GB), .policy = &sw_policy_resident, .workload = FOUR};
    sw_result r = ok(&s);
    CHECK_REL(r.makespan_s, 8 * 1e-3, 1e-12);
    CHECK_REL(r.path_s[SW_CAT_GPU_MEMORY], 8e-3, 1e-12);
    CHECK_REL(r.tokens_per_s, 2 / 8e-3, 1e-12);
    s.workload =
        "{blocks: 4, block_bytes: 1 GB, passes: 2, flops_per_byte: 10000, chained: false}"; /* 100
                                                                                               ms a
                                                                                               block
                                                                                             */
    r = ok(&s);
    CHECK_REL(r.makespan_s, 8 * 0.1, 1e-12);
    CHECK_REL(r.path_s[SW_CAT_GPU_COMPUTE], 0.8, 1e-12);
}

static void resident_that_does_not_fit(void) {
    setup s = {.topo = machine(3 * GB), .policy = &sw_policy_resident, .workload = FOUR};
    sw_result r;
    sw_error err = {0};
    CHECK_INT(run(&s, &r, &err), SW_FIT);
    CHECK(strstr(err.text, "missing in vram0") != NULL);
}

static void demand_overlaps_nothing(void) {
    setup s = {.topo = machine(2 * GB + GB / 2), .policy = &sw_policy_demand, .workload = FOUR};
    sw_result r = ok(&s);
    CHECK_INT(r.n_fetches, 8); /* LRU on a cyclic scan: never a hit */
    CHECK_REL(r.makespan_s, 8 * 0.101, 1e-12);
    CHECK_REL(r.path_s[SW_CAT_H2D], 0.8, 1e-12);
    CHECK_REL(r.path_s[SW_CAT_GPU_MEMORY], 8e-3, 1e-9);
}

/* 0123 three times through three slots. LRU misses all 12; the optimum misses 0 1 2 3, then 2,
 * then 1. MRU does as well. */
static void fetches_of_demand_policies(void) {
    setup s = {.topo = machine(3 * GB + GB / 2),
               .policy = &sw_policy_demand,
               .workload = "{blocks: 4, block_bytes: 1 GB, passes: 3, flops_per_byte: 0}"};
    CHECK_INT(ok(&s).n_fetches, 12);
    s.policy = &sw_policy_belady;
    CHECK_INT(ok(&s).n_fetches, 6);
    s.policy = &sw_policy_mru;
    CHECK_INT(ok(&s).n_fetches, 6);
}

/* Two slots. Compute 200 ms, copy 100 ms: only the first copy shows. The other way round: only the
 * last kernel shows. */
static void prefetch_hides_the_shorter(void) {
    setup s = {
        .topo = machine(2 * GB + GB / 2),
        .policy = &sw_policy_prefetch,
        .policy_opts = "{pinned: 0}",
        .workload =
            "{blocks: 4, block_bytes: 1 GB, passes: 2, flops_per_byte: 20000, chained: false}"};
    sw_result r = ok(&s);
    CHECK_REL(r.makespan_s, 0.1 + 8 * 0.2, 1e-9);
    CHECK_REL(r.path_s[SW_CAT_H2D], 0.1, 1e-9);
    CHECK_REL(r.path_s[SW_CAT_GPU_COMPUTE], 1.6, 1e-9);
    s.workload = "{blocks: 4, block_bytes: 1 GB, passes: 2, flops_per_byte: 5000, chained: false}";
    r = ok(&s);
    CHECK_REL(r.makespan_s, 9 * 0.1,
              1e-9); /* the ninth is for a token that does not come: who streams does not know */
    CHECK_REL(r.decode_s, 8 * 0.1 + 0.05, 1e-9);
}

/* Room for two of four: the GPU has the last two, the CPU reads the others from RAM; activations
 * (64 B) cross in 6.4 ns. */
static void split_runs_where_it_lies(void) {
    setup s = {.topo = machine(2 * GB + GB / 2),
               .policy = &sw_policy_split,
               .workload = "{blocks: 4, block_bytes: 1 GB, passes: 2, flops_per_byte: 0}"};
    sw_result r = ok(&s);
    CHECK_REL(r.makespan_s, 2 * (2 * 0.020 + 2 * 0.001), 1e-6);
    CHECK_REL(r.path_s[SW_CAT_CPU_MEMORY], 4 * 0.020, 1e-9);
}

static void the_host_thread_is_real(void) {
    setup s = {.topo = machine(10 * GB), .policy = &sw_policy_resident, .workload = FOUR};
    s.rt.launch_host_s = 3e-3; /* slower than the kernels */
    sw_result r = ok(&s);
    CHECK_REL(r.makespan_s, 8 * 3e-3 + 1e-3, 1e-9);
    CHECK_REL(r.path_s[SW_CAT_HOST], 24e-3, 1e-9);
    s.rt.launch_host_s = 1e-4; /* faster: hidden but for the first */
    CHECK_REL(ok(&s).makespan_s, 1e-4 + 8e-3, 1e-9);
    s.rt.run_ahead = 1; /* the host may queue one kernel ahead of the device: it blocks, and each
                           launch shows but one */
    r = ok(&s);
    CHECK(r.makespan_s >= 8e-3 + 1e-4);
}

/* Memory of a run does not depend on its length, and neither may its times: whatever the window,
 * once it is wider than the run-ahead. */
static void the_window_changes_nothing_here(void) {
    setup s = {
        .topo = machine(2 * GB + GB / 2),
        .policy = &sw_policy_prefetch,
        .policy_opts = "{pinned: 0}",
        .workload =
            "{blocks: 4, block_bytes: 1 GB, passes: 500, flops_per_byte: 5000, chained: false}"};
    double wide = ok(&s).makespan_s;
    CHECK_REL(wide, 2001 * 0.1, 1e-9);
    s.chunk_ops = 8;
    s.window_chunks = 4;
    CHECK_REL(ok(&s).makespan_s, wide, 1e-12);
}

/* --- a collective, by a policy of the test's own ---------------------------------------------- */

static sw_status reduce_access(void *po, sw_plan *p, const sw_event *ev, sw_error *err) {
    (void)po;
    SW_TRY(sw_plan_run(p, ev, sw_topology_primary_unit(sw_plan_topology(p)), err));
    return sw_plan_all_reduce(p, 3, GB, 1e-3, err);
}

static sw_status reduce_open(void *po, sw_plan *p, sw_error *err) {
    (void)po;
    for (uint32_t b = 0; b < sw_plan_scan(p)->n_blocks; b++)
        if (sw_plan_scan(p)->is_static[b])
            SW_TRY(sw_plan_place(p, b, sw_topology_fast_tier(sw_plan_topology(p)), err));
    return SW_OK;
}

static const sw_policy_ops reduce_policy = {
    .plugin = {.name = "reduce", .summary = "test", .ctx_bytes = 1},
    .open = reduce_open,
    .on_access = reduce_access};

/* Two GPUs, ring: each sends 2 (n-1)/n = 1 GB to the other over its own direction, 1 ms of alpha:
 * as two copies at once would. */
static void all_reduce_takes_what_its_copies_take(void) {
    setup s = {.policy = &reduce_policy, .workload = FOUR};
    sw_yaml *m;
    sw_error err = {0};
    const char *text = "{gpu: rtx3090, gpus: 2, cpu: ddr5-6000-2ch}";
    CU_ASSERT_EQUAL_FATAL(sw_yaml_parse(text, strlen(text), "machine", &m, &err), SW_OK);
    CU_ASSERT_EQUAL_FATAL(
        sw_topology_open(sw_yaml_root(m), ".", SPILLWAY_SOURCE_DIR, &s.topo, &err), SW_OK);
    const sw_topology *t = &s.topo;
    int a = t->units[0].tier, b = t->units[1].tier;
    sw_flow copies[2];
    double rate[2];
    for (int i = 0; i < 2; i++) {
        const sw_route *r = &t->routes[t->route_of[i ? b : a][i ? a : b][0]];
        copies[i] = (sw_flow){r->path, 1e9, r->cap_Bps};
    }
    sw_fair_share(t, copies, 2, rate);
    double kernel = 1e9 / (t->ports[0][a].read_Bps * t->units[0].eff[SW_CLASS_GENERIC].memory);
    double each =
        kernel + t->units[0].eff[SW_CLASS_GENERIC].fixed_s + 1e-3 + 1e9 / fmin(rate[0], rate[1]);
    CHECK_REL(ok(&s).makespan_s, 8 * each, 1e-6);
    sw_yaml_free(m);
}

/* --- a closed loop, by a source of the test's own --------------------------------------------- */

typedef struct loop_ctx {
    int declared, asked;
    sw_ev_use use;
} loop_ctx;

static sw_status loop_open(void *so, const sw_source_env *env, sw_error *err) {
    (void)so, (void)env, (void)err;
    return SW_OK;
}

/* One block; accesses follow until the clock shows 5 ms. */
static sw_status loop_next(void *so, const sw_feedback *fb, sw_event *ev, sw_error *err) {
    loop_ctx *c = so;
    (void)err;
    if (!c->declared++) {
        *ev = (sw_event){.kind = SW_EV_BLOCK, .block = {0, SW_BLOCK_WEIGHT, 0, -1, GB, "only"}};
        return SW_OK;
    }
    if (fb->now_s >= 5e-3 - 1e-12) return SW_END;
    c->use = (sw_ev_use){0, SW_READ, 0, GB, GB};
    *ev = (sw_event){
        .kind = SW_EV_ACCESS, .name = "op", .uses = &c->use, .n_uses = 1, .work = {.launches = 1}};
    return SW_OK;
}

static void loop_close(void *so) {
    (void)so;
}

static const sw_source_ops loop_source = {.plugin = {.name = "loop",
                                                     .summary = "test",
                                                     .flags = SW_SOURCE_CLOSED_LOOP,
                                                     .ctx_bytes = sizeof(loop_ctx)},
                                          .open = loop_open,
                                          .next = loop_next,
                                          .close = loop_close};

static void a_closed_loop_sees_the_clock(void) {
    setup s = {.topo = machine(10 * GB), .policy = &sw_policy_resident, .source = &loop_source};
    sw_result r = ok(&s);
    CHECK_INT(r.n_ops, 5); /* 1 ms each */
    CHECK_REL(r.makespan_s, 5e-3, 1e-12);
    s.policy = &sw_policy_belady; /* nobody can look ahead in a loop */
    sw_error err = {0};
    CHECK_INT(run(&s, &r, &err), SW_INPUT);
}

SW_TESTS("replay", {"resident", resident},
         {"resident that does not fit", resident_that_does_not_fit},
         {"demand overlaps nothing", demand_overlaps_nothing},
         {"fetches of demand policies", fetches_of_demand_policies},
         {"prefetch hides the shorter", prefetch_hides_the_shorter},
         {"split runs where it lies", split_runs_where_it_lies},
         {"the host thread is real", the_host_thread_is_real},
         {"the window changes nothing here", the_window_changes_nothing_here},
         {"a collective takes what its copies take", all_reduce_takes_what_its_copies_take},
         {"a closed loop sees the clock", a_closed_loop_sees_the_clock})
