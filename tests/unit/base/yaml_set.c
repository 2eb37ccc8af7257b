/* Do overrides change the one place that they name, and nothing when they fail? */
#include "base.h"
#include "sim/base/vec.h"
#include "sim/base/yaml.h"

/* The tree as flow text. */
static void flow(const sw_node *n, char *out) {
    if (n->kind == SW_NODE_SCALAR) {
        strcat(strcat(strcat(out, n->quoted ? "'" : ""), n->text), n->quoted ? "'" : "");
        return;
    }
    bool map = n->kind == SW_NODE_MAP;
    strcat(out, map ? "{" : "[");
    for (size_t i = 0; i < n->n; i++) {
        if (i) strcat(out, ", ");
        if (map) strcat(strcat(out, n->keys[i]), ": ");
        flow(n->items[i], out);
    }
    strcat(out, map ? "}" : "]");
}

static sw_yaml *good(const char *text) {
    sw_yaml *doc = NULL;
    CU_ASSERT_EQUAL_FATAL(sw_yaml_parse(text, strlen(text), "t.yaml", &doc, NULL), SW_OK);
    return doc;
}

static void holds(const sw_yaml *doc, const char *due) {
    char text[4096] = "";
    flow(sw_yaml_root(doc), text);
    CHECK_STR(text, due);
    if (strcmp(text, due)) printf("\n  %s, expected %s\n", text, due);
}

/* `before`, with path=value set, is `after`. */
static void sets(const char *before, const char *path, const char *value, const char *after) {
    sw_yaml *doc = good(before);
    sw_error err = {0};
    CHECK(sw_yaml_set(doc, path, value, "--set", &err) == SW_OK);
    if (*err.text) printf("\n  %s\n", err.text);
    holds(doc, after);
    sw_yaml_free(doc);
}

static void fails(const char *before, const char *path, const char *value, const char *why) {
    sw_yaml *doc = good(before);
    const sw_node *root = sw_yaml_root(doc);
    sw_error err = {0};
    char was[4096] = "";
    flow(root, was);
    CHECK(sw_yaml_set(doc, path, value, "--set", &err) == SW_INPUT);
    check_text(&err, why);
    check_text(&err, "--set:");
    CHECK(sw_yaml_root(doc) == root);
    holds(doc, was);
    sw_yaml_free(doc);
}

static void values(void) {
    sets("{a: 1}", "a", "2", "{a: 2}");
    sets("{a: 1}", "b", "2", "{a: 1, b: 2}");
    sets("{}", "a.b.c", "x", "{a: {b: {c: x}}}");
    sets("{a: {b: 1, c: 2}}", "a.c", "[x, {y: z}]", "{a: {b: 1, c: [x, {y: z}]}}");
    sets("{a: [1, {b: 2}]}", "a.1.b", "3", "{a: [1, {b: 3}]}");
    sets("[1, 2]", "0", "x", "[x, 2]");
    sets("{a: 1}", "a", "'2'", "{a: '2'}");
    sets("{a: 1}", "a", "24 GiB", "{a: 24 GiB}");
    sets("{a: {b: 1}}", "a", "~", "{a: ~}");
    sets("{a: 1}", "0", "x", "{a: 1, 0: x}"); /* in a map, digits are a key */
}

static void short_forms(void) {
    sets("{policy: demand}", "policy.depth", "2", "{policy: {name: demand, depth: 2}}");
    sets("{policy: demand}", "policy.name", "prefetch", "{policy: {name: prefetch}}");
    sets("{policy: }", "policy.depth", "2", "{policy: {depth: 2}}");
    sets("{machine: {gpu: rtx4090}}", "machine.gpu.price", "1 USD",
         "{machine: {gpu: {use: rtx4090, price: 1 USD}}}");
    sets("{policy: {name: demand}}", "policy", "lru", "{policy: lru}");
    sw_yaml *doc = good("{seed: 1}");
    CHECK(sw_yaml_set(doc, "policy", "demand", "--set", NULL) == SW_OK);
    CHECK(sw_yaml_set(doc, "policy.depth", "2", "--set", NULL) == SW_OK);
    CHECK(sw_yaml_set(doc, "policy.depth", "3", "--set", NULL) == SW_OK);
    holds(doc, "{seed: 1, policy: {name: demand, depth: 3}}");
    const sw_node *depth = sw_node_get(sw_node_get(sw_yaml_root(doc), "policy"), "depth");
    CHECK_STR(depth->mark.file, "--set");
    CHECK_INT(depth->mark.line, 0);
    sw_yaml_free(doc);
}

/* An alias shares its anchor's node; an override of one is none of the other. */
static void aliases(void) {
    sets("{a: &x {k: 1}, b: *x}", "b.k", "2", "{a: {k: 1}, b: {k: 2}}");
    sets("{a: &x {k: 1}, b: *x}", "a.k", "2", "{a: {k: 2}, b: {k: 1}}");
    sets("{a: &x {k: 1}, b: *x}", "b.j", "2", "{a: {k: 1}, b: {k: 1, j: 2}}");
    sets("{a: &x demand, policy: *x}", "policy.depth", "2",
         "{a: demand, policy: {name: demand, depth: 2}}");
    sets("{a: &x [1, 2], b: [*x, *x]}", "b.0.1", "3", "{a: [1, 2], b: [[1, 3], [1, 2]]}");
}

static void failures(void) {
    fails("{a: 1}", "", "2", "an empty path");
    fails("{a: 1}", "b.", "2", "malformed path");
    fails("{a: 1}", ".b", "2", "malformed path");
    fails("{a: 1}", "b..c", "2", "malformed path");
    fails("{a: 'quoted'}", "a.b", "2", "runs through a value that is no map");
    fails("plain", "a", "2", "runs through a value that is no map");
    fails("{a: [1, 2]}", "a.2", "x", "no such item in a list of 2");
    fails("{a: [1, 2]}", "a.-1", "x", "no such item");
    fails("{a: [1, 2]}", "a.+1", "x", "no such item");
    fails("{a: [1, 2]}", "a.1x", "x", "no such item");
    fails("{a: [1, 2]}", "a.18446744073709551616", "x", "no such item");
    fails("{a: [1, 2]}", "a.b.c", "x", "no such item");
    fails("{a: 1}", "a", "", "--set: empty");
    fails("{a: 1}", "a", "[1", "--set:2:1: ");
    fails("{a: 1}", "a", "{x: 1, x: 2}", "given twice");
    fails("{a: 1}", "a", "*x", "alias");
    fails("{a: 1}", "a", "!!str 1", "tags");
}

static void long_paths(void) {
    char path[300], part[130];
    memset(part, 'k', 129), part[127] = 0;
    sw_yaml *doc = good("{}");
    sw_error err = {0};
    CHECK(sw_yaml_set(doc, part, "1", "--set", &err) == SW_OK);
    part[127] = 'k', part[128] = 0;
    CHECK(sw_yaml_set(doc, part, "1", "--set", &err) == SW_INPUT);
    memset(path, 0, sizeof path);
    for (int i = 0; i < 64; i++) memcpy(path + 2 * i, "a.", 2);
    path[127] = 0; /* 64 parts */
    CHECK(sw_yaml_set(doc, path, "1", "--set", &err) == SW_OK);
    CHECK(sw_yaml_set(doc, path, "[1]", "--set", &err) == SW_INPUT);
    check_text(&err, "deeper than 64");
    path[127] = '.', path[128] = 'a', path[129] = 0;
    CHECK(sw_yaml_set(doc, path, "1", "--set", &err) == SW_INPUT);
    check_text(&err, "deeper than 64");
    sw_yaml_free(doc);
}

SW_TESTS("yaml overrides", {"values", values}, {"short forms", short_forms}, {"aliases", aliases},
         {"failures", failures}, {"long paths", long_paths})
