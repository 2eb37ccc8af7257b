/* Question: does `cuda` do what it says, as far as can be seen without a GPU? It is compiled against
 * a stand-in (cuda_standin/standin.h) that does the streams' work in any order that CUDA allows.
 *
 * Contents are checked by the backend itself in every run here. */
#include "backends/cuda.h"
#include "check.h"
#include "cuda_standin/standin.h"
#include "sim/replay.h"
#include "sim/topology_build.h"
#include "validate/verify.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>

extern const sw_backend_ops sw_backend_null, sw_backend_cuda;
extern const sw_source_ops sw_source_synthetic;
extern const sw_alloc_ops sw_alloc_best_fit;
extern const sw_policy_ops sw_policy_resident, sw_policy_demand, sw_policy_mru, sw_policy_belady,
    sw_policy_prefetch, sw_policy_split, sw_policy_managed;

#define KIB 1024ull
#define MIB (1024 * KIB)
/* Files without cuFile, and by few threads, of which each run makes new ones. */
#define PLAIN "cufile: \"\", io: threads, depth: 2"
#define MANY                                                                                       \
    "{blocks: 12, block_bytes: 40 KiB, passes: 4, vary: true, uses: 2, scratch: 5000 B, "          \
    "pattern: zipf, touched: 1.3}"

static sw_topology machine(uint64_t vram, uint64_t ram) {
    sw_topology t;
    sw_topology_simple(&t, 1e12, vram, 10e9, 50e9, ram, 5e9, 100e12, 1e12);
    return t;
}

/* --- whole runs -------------------------------------------------------------------------------- */

typedef struct setup {
    const sw_policy_ops *policy;
    const char *workload, *options;
    uint64_t vram, ram;
    uint32_t chunk_ops, window;
    standin_options how;
} setup;

static setup usual(const sw_policy_ops *policy, uint64_t seed) {
    return (setup){.policy = policy,
                   .workload = MANY,
                   .options = "{host_arena: 1 MiB, " PLAIN "}",
                   .vram = 300 * KIB,
                   .ram = 8 * MIB,
                   .chunk_ops = 16,
                   .window = 3,
                   .how = {.seed = seed, .devices = 1, .memory_bytes = 64 * MIB, .concurrent = 1}};
}

static sw_status run(const setup *s, const sw_backend_ops *backend, sw_result *out,
                     uint64_t *violations, sw_error *err) {
    sw_yaml *w = NULL, *o = NULL;
    sw_verifier *v = NULL;
    sw_topology topo = machine(s->vram, s->ram);
    sw_runtime rt = {0};
    CHECK_INT(sw_yaml_parse(s->workload, strlen(s->workload), "workload", &w, err), SW_OK);
    CHECK_INT(sw_yaml_parse(s->options, strlen(s->options), "backend", &o, err), SW_OK);
    CHECK_INT(sw_verifier_new(&v, err), SW_OK);
    sw_observer watch = sw_verifier_observer(v);
    sw_replay r = {.topo = &topo,
                   .runtime = &rt,
                   .source = &sw_source_synthetic,
                   .source_map = sw_yaml_root(w),
                   .source_env = {.seed = 1},
                   .policy = s->policy,
                   .alloc = &sw_alloc_best_fit,
                   .backend = backend,
                   .backend_map = backend == &sw_backend_cuda ? sw_yaml_root(o) : NULL,
                   .chunk_ops = s->chunk_ops,
                   .window_chunks = s->window,
                   .observers = &watch,
                   .n_observers = 1};
    sw_status st = sw_replay_run(&r, out, err);
    const sw_verify_report *report = sw_verifier_finish(v);
    *violations = report->n_violations;
    if (st == SW_OK && report->n_violations) printf("\n  %s\n", report->kept[0].text);
    sw_verifier_free(v);
    sw_yaml_free(o);
    sw_yaml_free(w);
    return st;
}

static sw_status on_standin(const setup *s, sw_result *out, sw_error *err) {
    uint64_t violations = 0;
    standin_reset(&s->how);
    sw_status st = run(s, &sw_backend_cuda, out, &violations, err);
    if (st == SW_OK) CHECK_INT(violations, 0);
    CHECK_INT(standin_left(), 0);
    CHECK_INT(standin_deadlocks(), 0);
    return st;
}

static void same_as_null(setup s) {
    static sw_result real, null;
    sw_error err = {0};
    uint64_t violations;
    sw_status st = on_standin(&s, &real, &err);
    if (st) printf("\n  %s: %s\n", s.policy->plugin.name, err.text);
    CHECK_INT(st, SW_OK);
    CHECK_INT(run(&s, &sw_backend_null, &null, &violations, &err), SW_OK);
    CHECK(real.log_hash == null.log_hash);
    CHECK(real.n_events == null.n_events);
}

static void policies_under_many_orders(void) {
    static const sw_policy_ops *const policies[] = {&sw_policy_resident, &sw_policy_demand,
                                                    &sw_policy_mru,      &sw_policy_belady,
                                                    &sw_policy_prefetch, &sw_policy_split};
    for (size_t p = 0; p < sizeof policies / sizeof *policies; p++)
        for (uint64_t seed = 0; seed < 10; seed++) {
            setup s = usual(policies[p], seed);
            if (policies[p] == &sw_policy_resident) s.vram = MIB;
            same_as_null(s);
        }
}

static void other_options(void) {
    for (uint64_t seed = 0; seed < 5; seed++) {
        setup s = usual(&sw_policy_demand, seed);
        s.options = "{pinned: false, " PLAIN "}";
        same_as_null(s);
        s.options = "{verify: false, " PLAIN "}";
        same_as_null(s);
        s.chunk_ops = s.window = 1;
        same_as_null(s);
    }
}

/* Several staging buffers' worth, and a rest. */
static setup large_blocks(uint64_t seed) {
    setup s = usual(&sw_policy_demand, seed);
    s.workload = "{blocks: 3, block_bytes: 9000001 B, passes: 2}";
    s.vram = 20 * MIB;
    s.ram = MIB;
    return s;
}

/* RAM is too small: blocks come from the file, through the staging buffers. */
static void from_the_file(void) {
    for (uint64_t seed = 0; seed < 10; seed++) {
        setup s = usual(&sw_policy_demand, seed);
        s.ram = 64 * KIB;
        same_as_null(s);
    }
    same_as_null(large_blocks(1));
}

/* Straight between file and VRAM, by a cuFile of the stand-in's (tests/cuda_standin/cufile). */
static void with_cufile(void) {
    void *lib = dlopen("libstandin_cufile.so", RTLD_NOW);
    uint64_t *moved = lib ? dlsym(lib, "standin_cufile_bytes") : NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(moved);
    for (uint64_t seed = 0; seed < 10; seed++) {
        setup s = usual(&sw_policy_demand, seed);
        s.options = "{host_arena: 1 MiB, cufile: libstandin_cufile.so, io: threads, depth: 2}";
        s.ram = 64 * KIB;
        if (seed % 2) s.workload = "{blocks: 5, block_bytes: 50003 B, passes: 3, scratch: 5000 B}";
        same_as_null(s);
    }
    if (!*moved) printf(" (not used: no O_DIRECT here)");
    dlclose(lib);
}

/* --- memory that moves by itself --------------------------------------------------------------- */

static setup paged(uint64_t seed, const char *options) {
    setup s = usual(&sw_policy_managed, seed);
    s.options = options;
    s.vram = 7 * MIB;
    s.how.memory_bytes = 400 * MIB;
    return s;
}

static void pages_are_managed_memory(void) {
    static const char *const options[] = {
        "{" PLAIN "}", "{" PLAIN ", advise: device, prefetch: start}", "{" PLAIN ", advise: host}",
        "{" PLAIN ", advise: read_mostly, prefetch: use}"};
    for (int i = 0; i < 4; i++)
        for (uint64_t seed = 0; seed < 5; seed++) {
            same_as_null(paged(seed, options[i]));
            CHECK((standin_prefetched() > 0) == (i == 1 || i == 3));
        }
}

/* The driver finds the pool free, what it needs itself, and nothing else. */
static void the_rest_is_occupied(void) {
    same_as_null(paged(1, "{" PLAIN "}"));
    CHECK(standin_free() > 128 * MIB && standin_free() < 140 * MIB);
    same_as_null(paged(1, "{" PLAIN ", occupy: false}"));
    CHECK(standin_free() > 380 * MIB);
}

/* --- ops by hand ------------------------------------------------------------------------------- */

enum { N = 5 };

typedef struct script {
    sw_op ops[N];
    sw_use uses[N][2];
    uint64_t after[N][2];
    uint64_t upto; /* of the wait; 0: any, until all are back */
    uint64_t lose_wait;
    sw_topology topo;
} script;

/* A copy up, a kernel that reads it and one that writes it, a copy down, and the CPU reads that. */
static void make_script(script *s) {
    memset(s, 0, sizeof *s);
    s->topo = machine(MIB, MIB);
    s->upto = N;
    int up = s->topo.routes[s->topo.route_of[1][0][0]].queue;
    int down = s->topo.routes[s->topo.route_of[0][1][0]].queue;
    int queues[N] = {up, s->topo.units[0].queue, s->topo.units[0].queue, down,
                     s->topo.units[1].queue};
    for (int i = 0; i < N; i++) {
        sw_op *op = &s->ops[i];
        *op = (sw_op){.id = (uint64_t)i + 1,
                      .name = "step",
                      .uses = s->uses[i],
                      .after = s->after[i],
                      .n_uses = 1,
                      .n_after = i ? 1 : 0,
                      .queue = (uint16_t)queues[i],
                      .unit = -1,
                      .kind = i == 0 || i == 3 ? SW_OP_COPY : SW_OP_COMPUTE};
        s->after[i][0] = (uint64_t)i;
        s->uses[i][0] = (sw_use){.version = i > 1,
                                 .tier = i == 0 || i == 4,
                                 .mode = i == 2 ? SW_RW : SW_READ,
                                 .addr = i == 0   ? 100
                                         : i == 4 ? 70000
                                                  : 4096,
                                 .bytes = 50003,
                                 .touched = 50003};
        if (op->kind != SW_OP_COPY) continue;
        op->n_uses = 2;
        s->uses[i][1] = s->uses[i][0];
        s->uses[i][1].mode = SW_WRITE;
        s->uses[i][1].tier = i == 3;
        s->uses[i][1].addr = i == 0 ? 4096 : 70000;
    }
}

typedef struct play {
    script *s;
    void *be;
    sw_done done[N];
} play;

static sw_status play_body(void *arg, sw_error *err) {
    play *p = arg;
    const sw_block block = {.id = 0, .bytes = 50003, .layer = -1, .expert = -1};
    uint32_t n = 0, all = 0;
    SW_TRY(sw_backend_cuda.place(p->be, &block, 1, 100, err));
    SW_TRY(sw_backend_cuda.submit(p->be, p->s->ops, 2, err));
    SW_TRY(sw_backend_cuda.submit(p->be, p->s->ops + 2, N - 2, err));
    while (!p->s->upto && all < N) {
        SW_TRY(sw_backend_cuda.wait(p->be, 0, p->done, N, &n, err));
        CHECK(n > 0);
        all += n;
    }
    SW_TRY(sw_backend_cuda.wait(p->be, N, p->done, N, &n, err));
    CHECK_INT(n, N);
    return SW_OK;
}

static sw_status play_script(script *s, uint64_t seed, sw_error *err) {
    static const char no_cufile[] = "{" PLAIN "}";
    static play p;
    p = (play){.s = s};
    standin_reset(&(standin_options){.seed = seed,
                                     .devices = 1,
                                     .memory_bytes = 64 * MIB,
                                     .concurrent = 1,
                                     .lose_wait = s->lose_wait});
    sw_yaml *o = NULL;
    CHECK_INT(sw_yaml_parse(no_cufile, strlen(no_cufile), "backend", &o, err), SW_OK);
    CHECK_INT(sw_plugin_new(&sw_backend_cuda.plugin, "backend", sw_yaml_root(o), &p.be, err),
              SW_OK);
    sw_yaml_free(o);
    sw_status st = sw_backend_cuda.open(p.be, &s->topo, err);
    if (st == SW_OK) st = sw_backend_cuda.run(p.be, play_body, &p, err);
    if (st == SW_OK) {
        sw_cuda_stats stats;
        sw_cuda_stats_of(p.be, &stats);
        CHECK_INT(stats.n_enqueues, 4);
        CHECK(stats.enqueue_s > 0);
        CHECK(stats.n_events <= 8);
        CHECK(stats.checked_bytes == 3.0 * 50003);
        for (int i = 1; i < N; i++)
            CHECK(!s->ops[i].n_after || p.done[i].start_s >= p.done[i - 1].end_s);
    }
    sw_backend_cuda.close(p.be);
    free(p.be);
    CHECK_INT(standin_left(), 0);
    return st;
}

static void script_runs(void) {
    static script s;
    for (uint64_t seed = 0; seed < 200; seed++) {
        sw_error err = {0};
        make_script(&s);
        s.upto = seed % 2 ? N : 0;
        sw_status st = play_script(&s, seed, &err);
        if (st) printf("\n  %s\n", err.text);
        CHECK_INT(st, SW_OK);
    }
}

/* Arithmetic goes with the reading, or follows it. */
static void flops_are_done(void) {
    static script s;
    const double flops[] = {7, 24000, 1e6, 1e9};
    for (int i = 0; i < 4; i++) {
        sw_error err = {0};
        double since = standin_flops();
        make_script(&s);
        s.ops[1].work.flops = flops[i];
        CHECK_INT(play_script(&s, 1, &err), SW_OK);
        CHECK(fabs(standin_flops() - since - flops[i]) <= 0.02 * flops[i]);
    }
}

/* In how many of `seeds` orders is it caught that op `victim` does not wait for the one before? */
static int caught(int victim, const char *part, int seeds) {
    static script s;
    int n = 0;
    for (int seed = 0; seed < seeds; seed++) {
        sw_error err = {0};
        make_script(&s);
        s.ops[victim].n_after = 0;
        if (play_script(&s, (uint64_t)seed, &err) == SW_OK) continue;
        CHECK(strstr(err.text, part) != NULL);
        n++;
    }
    return n;
}

static void missing_dependencies_are_caught(void) {
    CHECK(caught(1, "op 2 (step) reads version 0 of block 0", 40) > 0);
    CHECK(caught(3, "op 5 (step) reads version 1 of block 0", 40) > 0);
    CHECK(caught(4, "op 5 (step) reads version 1 of block 0", 40) > 0);
    CHECK_INT(caught(2, "", 20), 0); /* the stream orders these two anyway */
}

/* The same, with a mistake of the backend's own. Where an event comes too early, its time may also be
 * missing. */
static int caught_losing(uint64_t wait, const char *part, int seeds) {
    static script s;
    int n = 0;
    for (int seed = 0; seed < seeds; seed++) {
        sw_error err = {0};
        make_script(&s);
        s.lose_wait = wait;
        sw_status st = play_script(&s, (uint64_t)seed, &err);
        n += st == SW_RUN && strstr(err.text, part);
    }
    return n;
}

static void lost_waits_are_caught(void) {
    static sw_result r;
    int n = 0;
    CHECK(caught_losing(1, "op 2 (step) reads version 0 of block 0", 40) > 0);
    CHECK(caught_losing(2, "op 5 (step) reads version 1 of block 0", 40) > 0);
    for (uint64_t seed = 0; seed < 10; seed++) { /* a staging buffer is used again too early */
        sw_error err = {0};
        setup s = large_blocks(seed);
        s.how.lose_sync = 3;
        n += on_standin(&s, &r, &err) == SW_RUN && strstr(err.text, "reads version 0");
    }
    CHECK(n > 0);
}

static void refuses(void (*spoil)(script *s), const char *part) {
    static script s;
    sw_error err = {0};
    make_script(&s);
    spoil(&s);
    CHECK_INT(play_script(&s, 1, &err), SW_RUN);
    if (!strstr(err.text, part)) printf("\n  %s\n", err.text);
    CHECK(strstr(err.text, part) != NULL);
}

static void wrong_version(script *s) {
    s->uses[4][0].version = 0;
}
static void other_bytes(script *s) {
    s->uses[1][0].addr += 8;
}
static void past_the_end(script *s) {
    s->uses[0][1].addr = s->uses[1][0].addr = MIB - 50;
}
static void later_op(script *s) {
    s->after[1][0] = 3;
}
static void cpu_reads_vram(script *s) {
    s->uses[4][0].tier = 0;
}
static void collective(script *s) {
    s->ops[2].kind = SW_OP_COLLECTIVE;
}
static void paged_use(script *s) {
    s->uses[4][0].paged = true;
}
static void two_gpus(script *s) {
    s->topo.units[1].kind = SW_UNIT_GPU;
}

static void mistakes_are_refused(void) {
    refuses(wrong_version, "reads version 0 of block 0");
    refuses(other_bytes, "nobody's bytes");
    refuses(past_the_end, "goes past the 1 MiB of the tier");
    refuses(later_op, "waits for one that comes later");
    refuses(cpu_reads_vram, "VRAM is out of its reach");
    refuses(collective, "collective");
    refuses(paged_use, "this run has no pager");
    refuses(two_gpus, "2 GPUs");
}

/* --- what can go wrong ------------------------------------------------------------------------- */

static void says(setup s, const char *part) {
    static sw_result r;
    sw_error err = {0};
    CHECK_INT(on_standin(&s, &r, &err), SW_RUN);
    if (!strstr(err.text, part)) printf("\n  %s\n", err.text);
    CHECK(strstr(err.text, part) != NULL);
    CHECK(strchr(err.text, '\n') == NULL);
}

static void no_device_or_memory(void) {
    setup s = usual(&sw_policy_demand, 1);
    s.how.devices = 0;
    says(s, "cuda: no CUDA device: no CUDA-capable device is detected");
    s.how.devices = 1;
    s.options = "{device: 1, " PLAIN "}";
    says(s, "cuda: no CUDA device: 1 found, number 1 asked for");
    s.options = "{" PLAIN "}";
    s.how.memory_bytes = 200 * KIB; /* half of it is not used */
    says(s, "that this GPU has for it");
    s.how.memory_bytes = 8;
    says(s, "out of memory");
    s = paged(1, "{" PLAIN "}");
    s.how.memory_bytes = 4 * MIB;
    says(s, "the pager's pool is");
    s.how.concurrent = 0;
    says(s, "may not use managed memory");
    standin_options gone = {.seed = 1};
    s.how = gone;
    says(s, "no CUDA device");
}

/* Each call in turn fails. How many there are depends on the threads: so until none did. */
static void every_call_fails_once(void) {
    static sw_result r;
    const char *workloads[] = {"{blocks: 3, block_bytes: 40 KiB, passes: 2}",
                               "{blocks: 3, block_bytes: 40 KiB, passes: 1, scratch: 1000 B}",
                               "{blocks: 3, block_bytes: 40 KiB, passes: 1}"};
    for (int w = 0; w < 3; w++) {
        uint64_t reached = 0, k = 0;
        for (bool ok = false; !ok && k < 20000;) {
            sw_error err = {0};
            setup s = usual(&sw_policy_demand, k);
            s.vram = 100 * KIB;
            s.ram = w ? 64 * KIB : 8 * MIB;
            if (w == 2) s = paged(k, "{" PLAIN ", advise: device, prefetch: start}");
            s.workload = workloads[w];
            s.how.fail_at = ++k;
            sw_status st = on_standin(&s, &r, &err);
            ok = st == SW_OK;
            CHECK(ok || st == SW_RUN);
            if (!ok) CHECK(strstr(err.text, "cuda: ") == err.text);
            if (ok) CHECK(standin_calls() < k);
            reached += !ok;
        }
        CHECK(reached > 50);
        CHECK(k < 20000);
    }
}

SW_TESTS("cuda, on a stand-in", {"policies under many orders", policies_under_many_orders},
         {"other options", other_options}, {"from the file", from_the_file},
         {"with cuFile", with_cufile}, {"pages are managed memory", pages_are_managed_memory},
         {"the rest is occupied", the_rest_is_occupied}, {"a script runs", script_runs},
         {"flops are done", flops_are_done},
         {"missing dependencies are caught", missing_dependencies_are_caught},
         {"lost waits are caught", lost_waits_are_caught},
         {"mistakes are refused", mistakes_are_refused},
         {"no device or memory", no_device_or_memory},
         {"every call fails once", every_call_fails_once})
