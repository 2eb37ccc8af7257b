/* Question: does a run for real decide and do what a simulated one does?
 *
 * Small machines, small blocks, every policy, a synthetic and two LLM workloads. On host kernels
 * check every byte that they read, and either engine moves the file: each run is clean, passes the
 * verifier, and takes the decisions that null takes. */
#include "check.h"
#include "sim/base/rng.h"
#include "sim/scenario.h"
#include "validate/verify.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

extern const sw_backend_ops sw_backend_null, sw_backend_host;
extern const sw_source_ops sw_source_synthetic, sw_source_llm;

static sw_yaml *yaml(const char *text) {
    sw_yaml *doc = NULL;
    sw_error err = {0};
    if (sw_yaml_parse(text, strlen(text), "test", &doc, &err) != SW_OK) puts(err.text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(doc);
    return doc;
}

static sw_model *model(const char *config) {
    char text[64];
    sw_model *m = NULL;
    sw_error err = {0};
    snprintf(text, sizeof text, "{config: %s}", config);
    sw_yaml *doc = yaml(text);
    if (sw_model_open(sw_yaml_root(doc), SPILLWAY_SOURCE_DIR "/tests/data/host",
                      SPILLWAY_SOURCE_DIR, &m, &err) != SW_OK)
        puts(err.text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    sw_yaml_free(doc);
    return m;
}

/* A machine whose fast tier holds `share` of the bytes, and at least thrice the largest op's. RAM
 * holds them all, or two thirds where there is an NVMe. */
static void machine(sw_topology *t, double bytes, double most, double share, bool nvme) {
    double vram = bytes * share, ram = bytes * (nvme ? 0.66 : 1.6);
    if (vram < 3 * most) vram = 3 * most;
    if (ram < 3 * most) ram = 3 * most;
    sw_topology_simple(t, 1e11, (uint64_t)vram, 1e10, 4e10, (uint64_t)ram, nvme ? 2e9 : 0, 1e13,
                       1e12);
}

static sw_status run(sw_replay *r, const sw_backend_ops *backend, sw_result *out,
                     sw_verify_report *report, sw_error *err) {
    sw_verifier *v = NULL;
    SW_TRY(sw_verifier_new(&v, err));
    sw_observer obs = sw_verifier_observer(v);
    r->backend = backend;
    r->observers = &obs;
    r->n_observers = 1;
    sw_status st = sw_replay_run(r, out, err);
    *report = *sw_verifier_finish(v);
    sw_verifier_free(v);
    return st;
}

static int ran, fetched, to_file; /* over all runs: that something did happen */

/* Small requests, so that there are several; `auto` is io_uring where it is to be had. */
static const char *const engines[] = {"{io: auto, block: 16 KiB}",
                                      "{io: threads, block: 16 KiB, depth: 4}"};

static void compare_on(sw_replay *r, const char *what, const sw_result *null, sw_status st,
                       const char *engine) {
    sw_result host;
    sw_verify_report report;
    sw_error err = {0};
    sw_yaml *options = yaml(engine);
    r->backend_map = sw_yaml_root(options);
    sw_status st_host = run(r, &sw_backend_host, &host, &report, &err);
    r->backend_map = NULL;
    sw_yaml_free(options);
    if (st != st_host || report.n_violations)
        printf("\n  %s on %s, %s: null %d, host %d %s; %s\n", r->policy->plugin.name, what, engine,
               st, st_host, err.text,
               report.n_kept ? report.kept[0].text : "the verifier is content");
    CHECK_INT(st, st_host);
    CHECK(report.n_violations == 0);
    CHECK(st == SW_OK || st == SW_FIT);
    if (st != SW_OK || st_host != SW_OK) return;
    CHECK(null->log_hash == host.log_hash);
    CHECK(null->n_ops == host.n_ops && report.n_ops == host.n_ops);
    CHECK(host.makespan_s > 0);
    ran++;
    fetched += (int)host.n_fetches;
    to_file += r->topo->n_tiers > 2;
}

static void compare(sw_replay *r, const char *what) {
    sw_result null;
    sw_verify_report report;
    sw_error err = {0};
    sw_status st = run(r, &sw_backend_null, &null, &report, &err);
    for (int e = 0; e < (r->topo->n_tiers > 2 ? 2 : 1); e++)
        compare_on(r, what, &null, st, engines[e]);
}

static const struct choice {
    const char *policy, *options;
} choices[] = {
    {"resident", "{}"},
    {"demand", "{}"},
    {"demand", "{sync: true}"},
    {"prefetch", "{depth: 1}"},
    {"prefetch", "{depth: 3}"},
    {"mru", "{}"},
    {"belady", "{}"},
    {"split", "{gpu_layers: 3}"},
    {"split", "{experts: cpu}"},
};

/* Every policy; chunks of a few ops, and of the usual size. */
static void every_policy(const sw_source_ops *source, const sw_source_env *env, const char *map,
                         const sw_topology *t, bool run_ahead) {
    sw_yaml *source_map = yaml(map);
    sw_runtime rt = {.pinned = true, .launch_host_s = 1e-6, .run_ahead = run_ahead ? 8 : 0};
    for (int c = 0; c < SW_CLASS_COUNT; c++) rt.factor[c] = (sw_efficiency){1, 1, 0};
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        for (size_t p = 0; p < sw_policy_table_n; p++) {
            if (strcmp(sw_policy_table[p]->name, choices[i].policy) != 0) continue;
            sw_yaml *options = yaml(choices[i].options);
            sw_replay r = {.topo = t,
                           .runtime = &rt,
                           .source = source,
                           .source_map = sw_yaml_root(source_map),
                           .source_env = *env,
                           .policy = (const sw_policy_ops *)(const void *)sw_policy_table[p],
                           .policy_map = sw_yaml_root(options),
                           .alloc = (const sw_alloc_ops *)(const void *)sw_alloc_table[0],
                           .chunk_ops = i % 2 ? 0 : 7};
            compare(&r, map);
            sw_yaml_free(options);
        }
    sw_yaml_free(source_map);
}

static void synthetic(void) {
    static const char *const maps[] = {
        "{blocks: 24, block_bytes: 64 KiB, passes: 3}",
        ("{blocks: 16, block_bytes: 100000 B, passes: 3, pattern: zipf, vary: true, uses: 2, "
         "scratch: 30001 B, chained: false}"),
        "{blocks: 12, block_bytes: 256 KiB, passes: 2, pattern: random, touched: 1.5}",
        "{blocks: 20, block_bytes: 77777 B, passes: 2, pattern: strided, touched: 0.3}",
    };
    ran = fetched = to_file = 0;
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        for (int k = 0; k < 3; k++) {
            sw_topology t;
            sw_source_env env = {.seed = i + 1};
            machine(&t, 1.6e6 + 1.6e6 * (i == 2), 3e5, k == 2 ? 1.3 : 0.4, k == 1);
            every_policy(&sw_source_synthetic, &env, maps[i], &t, k == 2);
        }
    printf("(%d runs, %d fetches, %d with a file) ", ran, fetched, to_file);
    CHECK(ran > 60 && fetched > 1000 && to_file > 10);
}

static void llm(void) {
    static const char *const configs[] = {"dense.json", "moe.json"};
    static const char *const maps[] = {
        "{batch: 2, prompt: 20, generate: 4, granularity: layer, kv_layout: static}",
        ("{batch: 2, prompt: 33, generate: 4, prefill_chunk: 16, granularity: tensor, kv_layout: "
         "paged, kv_block_tokens: 16}"),
    };
    ran = fetched = to_file = 0;
    for (size_t c = 0; c < 2; c++) {
        sw_model *m = model(configs[c]);
        for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
            for (int k = 0; k < 3; k++) {
                sw_topology t;
                sw_source_env env = {.seed = i + 1, .model = m};
                machine(&t, (double)m->bytes, (double)m->bytes * 0.12, k == 2 ? 1.6 : 0.5, k == 1);
                every_policy(&sw_source_llm, &env, maps[i], &t, k == 2);
            }
        sw_model_free(m);
    }
    printf("(%d runs, %d fetches, %d with a file) ", ran, fetched, to_file);
    CHECK(ran > 60 && fetched > 1000 && to_file > 10);
}

/* From the file to the report, as people run it. */
static void a_scenario(void) {
    const char *bin = getenv("SPILLWAY");
    char command[600];
    CU_ASSERT_PTR_NOT_NULL_FATAL(bin);
    snprintf(command, sizeof command, "'%s' run '%s/tests/data/host/small.yaml' -q --verify", bin,
             SPILLWAY_SOURCE_DIR);
    int status = system(command);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

SW_TESTS("host and null", {"synthetic", synthetic}, {"llm", llm}, {"a scenario", a_scenario})
