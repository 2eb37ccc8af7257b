/* Are plug-ins found by name with a did-you-mean, and their contexts zeroed and filled? */
#include "sim/plugin.h"
#include "base.h"

typedef struct context {
    int64_t depth;
    char rest[100]; /* no option: zero */
} context;

static const sw_param params[] = {
    {"depth", SW_PARAM_INT, "2", 1, 8, NULL, offsetof(context, depth), "How far ahead."}};
static const sw_plugin demand = {.name = "demand", .ctx_bytes = sizeof(context)},
                       prefetch = {.name = "prefetch",
                                   .ctx_bytes = sizeof(context),
                                   .params = params,
                                   .n_params = 1},
                       bare = {.name = "bare"};
static const sw_plugin *const table[] = {&bare, &demand, &prefetch};

static void finds(void) {
    const sw_plugin *p = NULL;
    sw_error err = {0};
    sw_mark at = {"t.yaml", 4, 9};
    CHECK(sw_plugin_find(table, 3, "policy", "demand", at, &p, &err) == SW_OK && p == &demand);
    p = NULL;
    CHECK(sw_plugin_find(table, 3, "policy", "demnd", at, &p, &err) == SW_INPUT && p == NULL);
    CHECK_STR(err.text, "t.yaml:4:9: policy: unknown policy \"demnd\"; did you mean \"demand\"?");
    CHECK(sw_plugin_find(table, 3, "policy", "Demand", at, &p, &err) == SW_INPUT);
    check_text(&err, "did you mean \"demand\"?");
    CHECK(sw_plugin_find(table, 3, "policy", "something else", at, &p, &err) == SW_INPUT);
    CHECK(!strstr(err.text, "did you mean"));
    CHECK(sw_plugin_find(table, 3, "policy", "", at, &p, &err) == SW_INPUT);
    CHECK(sw_plugin_find(table, 0, "policy", "demand", at, &p, &err) == SW_INPUT);
    CHECK(p == NULL);
}

static sw_status make(const sw_plugin *plugin, const char *kind, const char *flow, void **ctx,
                      sw_error *err) {
    sw_yaml *doc = NULL;
    CU_ASSERT_EQUAL_FATAL(sw_yaml_parse(flow, strlen(flow), "t.yaml", &doc, err), SW_OK);
    sw_status st = sw_plugin_new(plugin, kind, sw_yaml_root(doc), ctx, err);
    sw_yaml_free(doc);
    return st;
}

static void contexts(void) {
    void *ctx = NULL;
    sw_error err = {0};
    CU_ASSERT_EQUAL_FATAL(sw_plugin_new(&prefetch, "policy", NULL, &ctx, &err), SW_OK);
    CHECK(((context *)ctx)->depth == 2);
    for (int i = 0; i < 100; i++) CHECK(((context *)ctx)->rest[i] == 0);
    free(ctx);
    ctx = NULL;
    CHECK(make(&prefetch, "policy", "{name: prefetch, depth: 8}", &ctx, &err) == SW_OK);
    CHECK(ctx && ((context *)ctx)->depth == 8);
    free(ctx);
    ctx = NULL;
    CHECK(sw_plugin_new(&bare, "backend", NULL, &ctx, &err) == SW_OK);
    CHECK(ctx != NULL); /* also of no bytes */
    free(ctx);
}

static void wrong_options(void) {
    void *ctx = NULL;
    sw_error err = {0};
    CHECK(make(&prefetch, "policy", "{depth: 9}", &ctx, &err) == SW_INPUT && !ctx);
    CHECK_STR(err.text, "t.yaml:1:9: depth: 9 is above the maximum 8");
    CHECK(make(&demand, "policy", "{name: demand, depth: 1}", &ctx, &err) == SW_INPUT && !ctx);
    check_text(&err, "t.yaml:1:16: policy: unknown key \"depth\"");
    /* What says which source a workload is, is an option of nothing else. */
    CHECK(make(&prefetch, "policy", "{trace: x}", &ctx, &err) == SW_INPUT && !ctx);
    CHECK(make(&prefetch, "policy", "{generator: x}", &ctx, &err) == SW_INPUT && !ctx);
    CHECK(make(&prefetch, "workload", "{trace: x, format: swt, depth: 1}", &ctx, &err) == SW_OK);
    free(ctx);
}

SW_TESTS("plug-ins", {"finds", finds}, {"contexts", contexts}, {"wrong options", wrong_options})
