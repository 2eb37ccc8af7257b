/* Question: does paged memory behave as its closed forms say, and alike on null and simgrid?
 *
 * The machine: VRAM 1,000 GB/s, one link of 10 GB/s each way, RAM 50 GB/s. The pager's block is 64
 * MiB here, so that the sums stay small; handling takes 1 ms, eviction 2 ms. */
#include "sim/pager.h"
#include "check.h"
#include "child.h"
#include "sim/replay.h"
#include "sim/topology_build.h"
#include "validate/verify.h"
#include <stdio.h>

extern const sw_backend_ops sw_backend_null;
#ifdef HAVE_SIMGRID
extern const sw_backend_ops sw_backend_simgrid;
#endif
extern const sw_source_ops sw_source_synthetic;
extern const sw_alloc_ops sw_alloc_best_fit;
extern const sw_policy_ops sw_policy_managed;
extern const sw_pager_ops sw_pager_uvm;

#define MIB (1ull << 20)

/* --- the pager by itself ---------------------------------------------------------------------- */

static void *uvm(const char *options, uint64_t pool_bytes) {
    void *pg = NULL;
    sw_yaml *y = NULL;
    sw_error err = {0};
    CU_ASSERT_EQUAL_FATAL(sw_yaml_parse(options, strlen(options), "pager", &y, &err), SW_OK);
    CU_ASSERT_EQUAL_FATAL(sw_plugin_new(&sw_pager_uvm.plugin, "pager", sw_yaml_root(y), &pg, &err),
                          SW_OK);
    sw_yaml_free(y);
    CU_ASSERT_EQUAL_FATAL(sw_pager_uvm.open(pg, pool_bytes, &err), SW_OK);
    return pg;
}

static void done(void *pg) {
    sw_pager_uvm.close(pg);
    free(pg);
}

static sw_pager_stats stats(const void *pg) {
    sw_pager_stats s;
    sw_pager_uvm.stats(pg, &s);
    return s;
}

static sw_page_work touch(void *pg, uint64_t addr, uint64_t bytes, bool write, bool near) {
    sw_page_work w = {0};
    CHECK_INT(sw_pager_uvm.touch(pg, addr, bytes, write, near, &w), SW_OK);
    return w;
}

/* A cyclic scan over one block more than the pool never hits (FIFO, as LRU would); over the pool it
 * misses in the first pass only. */
static void cyclic_scan(void) {
    for (uint64_t blocks = 7; blocks <= 9; blocks++) {
        void *pg = uvm("{block: 2 MiB}", 8 * 2 * MIB);
        for (int pass = 0; pass < 5; pass++)
            for (uint64_t b = 0; b < blocks; b++) touch(pg, b * 2 * MIB, 2 * MIB, false, true);
        sw_pager_stats s = stats(pg);
        CHECK_INT(s.faults, blocks > 8 ? 5 * blocks : blocks);
        CHECK_INT(s.evictions, s.faults - (blocks < 8 ? blocks : 8));
        CHECK_INT(s.in_bytes, s.faults * 2 * MIB);
        CHECK_INT(s.out_bytes, s.evictions * 2 * MIB);
        CHECK_INT(s.resident_bytes, (blocks < 8 ? blocks : 8) * 2 * MIB);
        done(pg);
    }
}

/* The first that came leaves, however lately it was used; with `recency` the least lately used. */
static void who_leaves(void) {
    for (int recency = 0; recency < 2; recency++) {
        void *pg = uvm(recency ? "{block: 2 MiB, recency: true}" : "{block: 2 MiB}", 4 * MIB);
        touch(pg, 0, MIB, false, true);
        touch(pg, 2 * MIB, MIB, false, true);
        touch(pg, 0, MIB, false, true); /* again */
        touch(pg, 4 * MIB, MIB, false, true);
        CHECK_INT(touch(pg, 0, MIB, false, true).in_bytes, recency ? 0 : 2 * MIB);
        done(pg);
    }
}

static void work_of_a_touch(void) {
    void *pg = uvm("{block: 2 MiB, service: 1 ms, evict: 2 ms, copy_clean: false}", 4 * MIB);
    sw_page_work w = touch(pg, MIB, 2 * MIB, true, true); /* across two blocks */
    CHECK_REL(w.fixed_s, 2e-3, 1e-12);
    CHECK_INT(w.in_bytes, 4 * MIB);
    CHECK_INT(w.out_bytes, 0);
    w = touch(pg, 4 * MIB, 1, false, true); /* a written block makes room */
    CHECK_REL(w.fixed_s, 3e-3, 1e-12);
    CHECK_INT(w.out_bytes, 2 * MIB);
    w = touch(pg, 6 * MIB, 1, false, true); /* another, then a clean one */
    CHECK_INT(w.out_bytes, 2 * MIB);
    w = touch(pg, 8 * MIB, 1, false, true);
    CHECK_INT(w.out_bytes, 0);
    w = touch(pg, 6 * MIB, 1, false, false); /* the CPU takes it back */
    CHECK_INT(w.in_bytes, 0);
    CHECK_INT(stats(pg).resident_bytes, 2 * MIB);
    done(pg);
}

static void advice_is_no_fault(void) {
    void *pg = uvm("{block: 2 MiB}", 8 * MIB);
    sw_page_work w = {0};
    CHECK_INT(sw_pager_uvm.advise(pg, 0, 4 * MIB, SW_PAGE_WANT, &w), SW_OK);
    CHECK(w.fixed_s == 0);
    CHECK_INT(w.in_bytes, 4 * MIB);
    CHECK_INT(touch(pg, 0, 4 * MIB, false, true).in_bytes, 0);
    CHECK_INT(sw_pager_uvm.advise(pg, 0, 2 * MIB, SW_PAGE_DROP, &w), SW_OK);
    CHECK_INT(stats(pg).resident_bytes, 2 * MIB);
    done(pg);
}

/* --- a whole run ------------------------------------------------------------------------------ */

typedef struct a_run {
    const sw_backend_ops *backend;
    uint64_t vram_bytes;
    int blocks, passes;
    sw_status status;
    sw_error err;
    uint64_t n_violations;
    sw_result result;
} a_run;

static void replay(void *arg) {
    a_run *a = arg;
    char work[96];
    sw_yaml *w = NULL, *g = NULL;
    sw_verifier *v = NULL;
    const char *pager = "{block: 64 MiB, service: 1 ms, evict: 2 ms}";
    sw_runtime rt = {0};
    sw_topology t;
    sw_topology_simple(&t, 1e12, a->vram_bytes, 10e9, 50e9, 100ull << 30, 5e9, 100e12, 1e12);
    snprintf(work, sizeof work, "{blocks: %d, block_bytes: 64 MiB, passes: %d}", a->blocks,
             a->passes);
    if (sw_yaml_parse(work, strlen(work), "workload", &w, &a->err) ||
        sw_yaml_parse(pager, strlen(pager), "pager", &g, &a->err) || sw_verifier_new(&v, &a->err))
        exit(2);
    sw_observer watch = sw_verifier_observer(v);
    sw_replay r = {.topo = &t,
                   .runtime = &rt,
                   .source = &sw_source_synthetic,
                   .source_map = sw_yaml_root(w),
                   .source_env = {.seed = 1},
                   .policy = &sw_policy_managed,
                   .pager = &sw_pager_uvm,
                   .pager_map = sw_yaml_root(g),
                   .alloc = &sw_alloc_best_fit,
                   .backend = a->backend,
                   .observers = &watch,
                   .n_observers = 1};
    a->status = sw_replay_run(&r, &a->result, &a->err);
    if (!a->status) a->n_violations = sw_verifier_finish(v)->n_violations;
    sw_verifier_free(v);
    sw_yaml_free(w);
    sw_yaml_free(g);
}

static double counter(const sw_result *r, const char *name) {
    for (int i = 0; i < (int)r->n_counters; i++)
        if (!strcmp(r->counters[i].name, name)) return r->counters[i].value;
    return -1;
}

static a_run *on(const sw_backend_ops *b, uint64_t pool_blocks, int blocks, int passes) {
    a_run *a = shared(sizeof *a);
    *a = (a_run){.backend = b,
                 .vram_bytes = pool_blocks * 64 * MIB + 32 * MIB, /* and the policy's spare room */
                 .blocks = blocks,
                 .passes = passes};
    CHECK_INT(in_child(replay, a), 0);
    if (a->status) printf("\n  %s\n", a->err.text);
    CU_ASSERT_EQUAL_FATAL(a->status, SW_OK);
    CHECK_INT(a->n_violations, 0);
    return a;
}

/* With n blocks and a pool of p, in P passes each of B bytes: first touches fault; a block more
 * than the pool faults in every pass. A fault waits for its handling and its copy, an eviction as
 * well; the op then reads from VRAM. */
static void closed_forms(const sw_backend_ops *b) {
    const double B = 64.0 * MIB, in = 1e-3 + B / 10e9, out = 2e-3 + B / 10e9, read = B / 1e12;
    a_run *fits = on(b, 8, 8, 5), *over = on(b, 8, 9, 5);
    CHECK_REL(fits->result.makespan_s, 8 * in + 40 * read, 1e-6);
    CHECK_REL(fits->result.path_s[SW_CAT_FAULT], 8 * in, 1e-6);
    CHECK(counter(&fits->result, "page_faults") == 8);
    CHECK_REL(over->result.makespan_s, 45 * (in + read) + 37 * out, 1e-6);
    CHECK_REL(over->result.path_s[SW_CAT_FAULT], 45 * in + 37 * out, 1e-6);
    CHECK(counter(&over->result, "page_faults") == 45);
    CHECK(counter(&over->result, "page_evictions") == 37);
    CHECK(counter(&over->result, "paged_in_bytes") == 45 * B);
    CHECK(counter(&over->result, "paged_out_bytes") == 37 * B);
}

static void closed_forms_on_null(void) {
    closed_forms(&sw_backend_null);
}

#ifdef HAVE_SIMGRID
static void closed_forms_on_simgrid(void) {
    closed_forms(&sw_backend_simgrid);
}
#define SIMGRID_TESTS                                                                              \
    , {                                                                                            \
        "closed forms on simgrid", closed_forms_on_simgrid                                         \
    }
#else
#define SIMGRID_TESTS
#endif

SW_TESTS("pager", {"cyclic scan", cyclic_scan}, {"who leaves", who_leaves},
         {"work of a touch", work_of_a_touch}, {"advice is no fault", advice_is_no_fault},
         {"closed forms on null", closed_forms_on_null} SIMGRID_TESTS)
