/* Question: does the worked example of docs/policies.md compile, run, and stand in the document as
 * it is? */
#include "../../examples/keep_first.c"
#include "check.h"
#include "sim/replay.h"
#include "validate/verify.h"
#include <stdio.h>

extern const sw_backend_ops sw_backend_null;
extern const sw_source_ops sw_source_synthetic;
extern const sw_alloc_ops sw_alloc_best_fit;

/* Four blocks of 1 GB, room for two: two at 1,000 GB/s from VRAM, two over a link of 10 GB/s. */
static void it_runs(void) {
    sw_topology t;
    sw_runtime rt = {0};
    sw_yaml *w;
    sw_verifier *v;
    static sw_result r;
    sw_error err = {0};
    const char *text = "{blocks: 4, block_bytes: 1 GB, passes: 3, flops_per_byte: 0}";
    sw_topology_simple(&t, 1e12, 2200000000u, 10e9, 50e9, 1ull << 37, 5e9, 100e12, 1e12);
    CU_ASSERT_EQUAL_FATAL(sw_yaml_parse(text, strlen(text), "workload", &w, &err), SW_OK);
    CU_ASSERT_EQUAL_FATAL(sw_verifier_new(&v, &err), SW_OK);
    sw_observer watch = sw_verifier_observer(v);
    sw_replay replay = {.topo = &t,
                        .runtime = &rt,
                        .source = &sw_source_synthetic,
                        .source_map = sw_yaml_root(w),
                        .policy = &sw_policy_keep_first,
                        .alloc = &sw_alloc_best_fit,
                        .backend = &sw_backend_null,
                        .observers = &watch,
                        .n_observers = 1};
    sw_status st = sw_replay_run(&replay, &r, &err);
    if (st) printf("%s\n", err.text);
    CHECK_INT(st, SW_OK);
    CHECK_REL(r.makespan_s, 3 * (2 * 0.001 + 2 * 0.1), 1e-6);
    CHECK_INT(r.n_fetches, 0);
    CHECK_INT(sw_verifier_finish(v)->n_violations, 0);
    sw_verifier_free(v);
    sw_yaml_free(w);
}

static char *file(const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", SPILLWAY_SOURCE_DIR, name);
    FILE *f = fopen(path, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    char *text = calloc(1, 1 << 16);
    CHECK(fread(text, 1, (1 << 16) - 1, f) > 0);
    fclose(f);
    return text;
}

static void it_stands_in_the_document(void) {
    char *code = file("examples/keep_first.c"), *doc = file("docs/policies.md");
    CHECK(strstr(doc, code) != NULL);
    free(code);
    free(doc);
}

SW_TESTS("example policy", {"it runs", it_runs},
         {"it stands in the document", it_stands_in_the_document})
