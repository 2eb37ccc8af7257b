/* Does a trace's verdict follow from what the trace does? */
#include "traces/judge.h"
#include "stream.h"

static sw_trace_verdict judge(const char *name, const char *flow, const sw_model *m) {
    sw_trace_info x = {0};
    sw_trace_verdict v;
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
    sw_trace_judge(&x, &v);
    for (int i = 0; i < 2; i++) CHECK(*v.why[i] && !strchr(v.why[i], '\n'));
    return v;
}

static void of_models(void) {
    sw_model *dense = open_network("llama-3-8b", "q4_k_m");
    sw_trace_verdict v = judge("llm", "{prompt: 16, generate: 8}", dense);
    CHECK_INT(v.order, SW_ORDER_SAME);
    CHECK_INT(v.offload, SW_OFFLOAD_PAYS);
    CHECK_INT(v.phase, SW_PHASE_DECODE);
    CHECK(v.flops_per_byte > 2 && v.flops_per_byte < 5); /* 2 operations for 4.9 bits */
    v = judge("llm", "{prompt: 16384, prefill_chunk: 4096, generate: 0}", dense);
    CHECK_INT(v.offload, SW_OFFLOAD_HIDES);
    CHECK(v.flops_per_byte > 4096 * 2);
    v = judge("llm", "{prompt: 16, generate: 8, batch: 1024}", dense);
    CHECK_INT(v.offload, SW_OFFLOAD_HIDES);
    sw_model_free(dense);
}

static void of_patterns(void) {
    sw_trace_verdict v = judge("synthetic", "{pattern: cyclic, passes: 20}", NULL);
    CHECK_INT(v.order, SW_ORDER_SAME);
    CHECK_INT(v.offload, SW_OFFLOAD_PAYS);
    CHECK(v.half_cache_share == 1);
    v = judge("synthetic", "{pattern: zipf, skew: 2, blocks: 64, passes: 50}", NULL);
    CHECK_INT(v.order, SW_ORDER_RANDOM);
    CHECK_INT(v.offload, SW_OFFLOAD_CACHES);
    v = judge("synthetic", "{pattern: random, blocks: 64, passes: 50}", NULL);
    CHECK_INT(v.order, SW_ORDER_RANDOM);
    CHECK_INT(v.offload, SW_OFFLOAD_PAYS);
    v = judge("synthetic", "{blocks: 2, passes: 2}", NULL);
    CHECK_INT(v.order, SW_ORDER_UNKNOWN);
}

/* All blocks in each op; then nine of ten, which is the limit; then eight. */
static void of_one_op(void) {
    sw_trace_verdict v = judge("synthetic", "{blocks: 10, uses: 10, passes: 20}", NULL);
    CHECK_INT(v.offload, SW_OFFLOAD_CANNOT);
    CHECK(strstr(v.why[1], "2.50 GiB at once, of 2.50 GiB") != NULL);
    v = judge("synthetic", "{blocks: 10, uses: 9, passes: 20, chained: false}", NULL);
    CHECK_INT(v.offload, SW_OFFLOAD_CANNOT);
    v = judge("synthetic", "{blocks: 10, uses: 8, passes: 20}", NULL);
    CHECK(v.offload != SW_OFFLOAD_CANNOT);
}

/* Nothing at all: no figure is made up. */
static void of_nothing(void) {
    sw_trace_info x = {0};
    sw_trace_verdict v;
    sw_trace_judge(&x, &v);
    CHECK_INT(v.order, SW_ORDER_UNKNOWN);
    CHECK_INT(v.offload, SW_OFFLOAD_NOTHING);
    CHECK(strstr(v.why[0], "not in this trace") != NULL);
}

SW_TESTS("judge", {"of models", of_models}, {"of patterns", of_patterns}, {"of one op", of_one_op},
         {"of nothing", of_nothing})
