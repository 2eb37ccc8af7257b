/* Question: does the worked example of docs/policies.md say what examples/turn.c says, and does it run?
 *
 * Four blocks of 1 GB pass three times through a VRAM that holds three, over a link of 10 GB/s. By hand:
 * 0 1 2 come; 3 sends 1 away; 0 is there still; 1, 2, 3 send 2, 3, 0 away; then 0, 1, 2, 3 all come
 * again: 11 fetches of 0.1 s on one copy queue, and 1 ms for the last op. */
#include "check.h"
#include "examples/turn.c"
#include "sim/replay.h"
#include "sim/topology_build.h"
#include "validate/verify.h"
#include <stdio.h>

extern const sw_backend_ops sw_backend_null;
extern const sw_source_ops sw_source_synthetic;
extern const sw_alloc_ops sw_alloc_best_fit;

#define WORK "{blocks: 4, block_bytes: 1 GB, passes: 3, flops_per_byte: 0, chained: false}"
#define GB   1000000000ull

static void runs(void) {
    sw_topology topo;
    sw_runtime rt = {0};
    sw_result out = {0};
    sw_error err = {0};
    sw_yaml *work = NULL;
    sw_verifier *v = NULL;
    sw_topology_simple(&topo, 1e12, 3 * GB + GB / 2, 10e9, 50e9, 100 * GB, 5e9, 1e14, 1e12);
    CHECK(sw_yaml_parse(WORK, strlen(WORK), "workload", &work, &err) == SW_OK);
    CU_ASSERT_EQUAL_FATAL(sw_verifier_new(&v, &err), SW_OK);
    sw_observer watch = sw_verifier_observer(v);
    sw_replay r = {.topo = &topo,
                   .runtime = &rt,
                   .source = &sw_source_synthetic,
                   .source_map = sw_yaml_root(work),
                   .policy = &sw_policy_turn,
                   .alloc = &sw_alloc_best_fit,
                   .backend = &sw_backend_null,
                   .observers = &watch,
                   .n_observers = 1};
    if (sw_replay_run(&r, &out, &err) != SW_OK) printf("\n  %s\n", err.text);
    CHECK_INT(out.n_fetches, 11);
    CHECK_REL(out.makespan_s, 11 * 0.1 + 1e-3, 1e-9);
    CHECK_INT(sw_verifier_finish(v)->n_violations, 0);
    sw_verifier_free(v);
    sw_yaml_free(work);
}

static size_t file_text(const char *path, char *buf, size_t cap) {
    FILE *in = fopen(path, "rb");
    size_t n = in ? fread(buf, 1, cap - 1, in) : 0;
    buf[n] = 0;
    if (in) fclose(in);
    return n;
}

static void text_is_the_same(void) {
    static char code[1 << 14], page[1 << 17];
    CHECK(file_text("examples/turn.c", code, sizeof code) > 0);
    CHECK(file_text("docs/policies.md", page, sizeof page) > 0);
    char *begin = strstr(page, "```c\n"), *end = begin ? strstr(begin + 5, "```") : NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(end);
    *end = 0;
    CHECK_STR(begin + 5, code);
}

SW_TESTS("the example of a policy", {"runs", runs}, {"text is the same", text_is_the_same})
