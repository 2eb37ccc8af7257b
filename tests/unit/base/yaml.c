/* Does the YAML reader keep what was written, with its place, and refuse hostile texts in one
 * line? */
#include "sim/base/yaml.h"
#include "base.h"

static sw_yaml *read_text(const char *text, sw_error *err) {
    sw_yaml *doc = NULL;
    sw_status st = sw_yaml_parse(text, strlen(text), "t.yaml", &doc, err);
    CHECK((st == SW_OK) == (doc != NULL));
    return doc;
}

static sw_yaml *good(const char *text) {
    sw_error err = {0};
    sw_yaml *doc = read_text(text, &err);
    if (!doc) printf("\n  %.60s: %s\n", text, err.text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(doc);
    return doc;
}

static void bad(const char *text, const char *why) {
    sw_error err = {0};
    sw_yaml *doc = read_text(text, &err);
    CHECK(doc == NULL);
    CHECK(err.status == SW_INPUT);
    check_text(&err, why);
    sw_yaml_free(doc);
}

static void places(void) {
    sw_yaml *doc = good("# why\na: 1\nb:\n  - x\n  - {k: \"v\"}\n");
    const sw_node *root = sw_yaml_root(doc), *b = sw_node_get(root, "b");
    CHECK_INT(root->kind, SW_NODE_MAP);
    CHECK_INT(root->n, 2);
    CHECK_STR(root->keys[1], "b");
    CHECK_INT(root->key_marks[1].line, 3);
    CHECK_INT(sw_node_get(root, "a")->mark.col, 4);
    CHECK_STR(sw_node_get(root, "a")->mark.file, "t.yaml");
    CHECK_INT(b->kind, SW_NODE_LIST);
    CHECK_STR(b->items[0]->text, "x");
    CHECK(!b->items[0]->quoted);
    CHECK(sw_node_get(b->items[1], "k")->quoted);
    CHECK_INT(b->items[1]->mark.line, 5);
    CHECK(sw_node_get(root, "c") == NULL && sw_node_get(NULL, "a") == NULL);
    CHECK(sw_node_get(b, "a") == NULL);
    sw_yaml_free(doc);
}

/* No word is more than text until it is asked to be. */
static void plain_text(void) {
    sw_yaml *doc = good("[no, ~, null, 010, 1e3, 12:30, 2001-01-01, \"\"]");
    static const char *const due[] = {"no", "~", "null", "010", "1e3", "12:30", "2001-01-01", ""};
    const sw_node *root = sw_yaml_root(doc);
    for (size_t i = 0; i < 8; i++) {
        const char *text = NULL;
        CHECK(sw_node_str(root->items[i], "k", &text, NULL) == SW_OK);
        CHECK_STR(text, due[i]);
    }
    sw_yaml_free(doc);
}

static void refused(void) {
    bad("", "t.yaml: empty");
    bad("# nothing\n", "t.yaml: empty");
    bad("a: 1\nb: 2\na: 3\n", "t.yaml:3:1: a: given twice; first at line 1");
    bad("a: 1\n'a': 3\n", "given twice");
    bad("a: {x: 1, y: 2, x: 3}\n", "t.yaml:1:17: x: given twice");
    bad("a: 1\n---\nb: 2\n", "a second document");
    bad("a: !!str 1\n", "t.yaml:1:4: tags");
    bad("a: !x [1]\n", "tags");
    bad("a: !x {b: 1}\n", "tags");
    bad("!x a: 1\n", "tags");
    bad("x: &x {k: 1}\ny: {<<: *x}\n", "merge keys");
    bad("a: &a [1, *a]\n", "t.yaml:1:11: an alias inside its own anchor: a cycle");
    bad("a: &a {b: {c: *a}}\n", "a cycle");
    bad("a: *b\n", "alias");
    bad("? [1]\n: 2\n", "a key must be plain text");
    bad("x: &k a\n*k : 1\n", "a key must be plain text");
    bad("a: [1, 2\n", "t.yaml:");
    bad("a: \"\\0\"\n", "NUL");
    bad("a: 1\n\tb: 2\n", "t.yaml:2:");
    bad("a:\n\tb: 2\n", "t.yaml:2:1: a tab where a value or a key is due; indent with spaces");
    bad("a: @\n", "t.yaml:1:4: found character that cannot start any token");
    bad("a: \xff\n", "t.yaml:1:4: invalid leading UTF-8");
    bad("a: 1\nb: \xc3\xa9\xc3\x28\n", "t.yaml:2:6: "); /* columns are characters */
    bad("a: \xed\xa0\x80\n", "t.yaml:1:4: ");
    bad("\xef\xbb\xbf"
        "a: \033\n",
        "t.yaml:1:4: control characters");
}

static void raw_nul(void) {
    sw_yaml *doc = NULL;
    sw_error err = {0};
    CHECK(sw_yaml_parse("a: 1\0b", 6, "t.yaml", &doc, &err) == SW_INPUT);
    CHECK(doc == NULL && *err.text);
    CHECK(sw_yaml_parse(NULL, 0, "t.yaml", &doc, &err) == SW_INPUT);
    check_text(&err, "t.yaml: empty");
}

/* `n` lists around `inner`. */
static char *nested(int n, const char *inner) {
    char *text = calloc(1, (size_t)n * 2 + strlen(inner) + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    memset(text, '[', (size_t)n);
    strcat(text, inner);
    memset(text + strlen(text), ']', (size_t)n);
    return text;
}

static void depth(void) {
    char *ok = nested(64, "x"), *over = nested(65, "x"), *far = nested(100000, "");
    sw_yaml_free(good(ok));
    bad(over, "t.yaml:1:66: nested deeper than 64");
    bad(far, "nested deeper than 64");
    free(ok), free(over), free(far);
}

/* A chain of anchors, each one level above the last: depth counts what aliases stand for. */
static void depth_of_aliases(void) {
    for (int levels = 62; levels <= 64; levels++) {
        char text[4096] = "[&a0 [x]", part[32];
        for (int i = 1; i < levels; i++)
            snprintf(part, sizeof part, ", &a%d [*a%d]", i, i - 1), strcat(text, part);
        strcat(text, "]");
        if (levels < 64)
            sw_yaml_free(good(text)); /* the root, `levels` lists, and x at level levels + 1 */
        else
            bad(text, "aliases nest deeper than 64");
    }
}

static void bombs(void) {
    char text[4096] = "a: &a [x, x, x, x, x, x, x, x, x, x]\n", part[128];
    for (char c = 'b'; c < 'j'; c++) {
        snprintf(part, sizeof part, "%c: &%c [", c, c), strcat(text, part);
        for (int i = 0; i < 10; i++)
            snprintf(part, sizeof part, "%s*%c", i ? ", " : "", c - 1), strcat(text, part);
        strcat(text, "]\n");
    }
    bad(text, "aliases expand to more than 1,000,000 nodes");
}

/* Many small nodes: the limit is at a million, and what is below is read in a moment. */
static char *many(int n, const char *fmt) {
    char *text = malloc((size_t)n * 24 + 16), *p = text;
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    for (int i = 0; i < n; i++) p += sprintf(p, fmt, i, i);
    return text;
}

static void limits(void) {
    char *text = many(999999, "- x\n"); /* and the list itself */
    sw_yaml_free(good(text));
    free(text);
    bad(text = many(1000000, "- x\n"), "more than 1,000,000 nodes");
    free(text);
    text = many(200000, "k%d: v\n"); /* duplicates are looked for by hash */
    sw_yaml *doc = good(text);
    CHECK_INT(sw_yaml_root(doc)->n, 200000);
    sw_yaml_free(doc);
    strcpy(text + strlen(text), "k7: again\n");
    bad(text, "t.yaml:200001:1: k7: given twice; first at line 8");
    free(text);
    sw_yaml_free(good(text = many(1000, "- &a%d x\n")));
    free(text);
    bad(text = many(1001, "- &a%d x\n"), "more than 1,000 anchors");
    free(text);
}

/* libyaml takes hours over them; tags themselves are refused anyway. */
static void tag_lines(void) {
    char *lines = many(200000, "%%TAG !a%d! b\n"), *text = malloc(strlen(lines) + 32);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    bad(lines, "t.yaml:65:1: more than 64 %TAG lines");
    sprintf(text, "a: 1\n...\n%s---\nb: 1\n", lines);
    bad(text, "t.yaml:67:1: more than 64 %TAG lines");
    free(text), free(lines);
    lines = many(64, "- a %%TAG is text here\n");
    sw_yaml_free(good(lines));
    free(lines);
    bad("%TAG !a! b\n---\nc: !a!x 1\n", "t.yaml:3:4: tags are not taken");
}

static void long_scalars(void) {
    size_t limit = 1 << 20;
    char *text = malloc(limit + 16);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    memset(text, 'x', limit + 1);
    text[limit] = 0;
    sw_yaml_free(good(text));
    text[limit] = 'x', text[limit + 1] = 0;
    bad(text, "a scalar over 1 MiB");
    free(text);
    sw_yaml *doc = NULL;
    sw_error err = {0};
    CHECK(sw_yaml_parse("x", (64u << 20) + 1, "t.yaml", &doc, &err) == SW_INPUT);
    check_text(&err, "over 64 MiB");
}

/* Byte order mark, Windows line ends, and the last definition of an anchor. */
static void odd_files(void) {
    sw_yaml *doc = good("\xef\xbb\xbf"
                        "a: &x 1\r\nb: [*x,\r\n &x 2, *x]\r\n");
    const sw_node *b = sw_node_get(sw_yaml_root(doc), "b");
    CHECK_STR(b->items[0]->text, "1");
    CHECK_STR(b->items[2]->text, "2");
    sw_yaml_free(doc);
}

static void files(void) {
    sw_yaml *doc = NULL;
    sw_error err = {0};
    const char *path = scratch("a.yaml");
    CHECK(sw_yaml_load(path, &doc, &err) == SW_INPUT);
    check_text(&err, "cannot open");
    CHECK(sw_yaml_load("/", &doc, &err) == SW_INPUT);
    check_text(&err, "/: cannot");
    write_bytes(path, "", 0);
    CHECK(sw_yaml_load(path, &doc, &err) == SW_INPUT);
    check_text(&err, "empty");
    write_bytes(path, "a: 1\n", 5);
    CU_ASSERT_EQUAL_FATAL(sw_yaml_load(path, &doc, &err), SW_OK);
    CHECK_STR(sw_node_get(sw_yaml_root(doc), "a")->mark.file, path);
    sw_yaml_free(doc);
    unlink(path);
    rmdir(scratch_dir());
}

SW_TESTS("yaml", {"places", places}, {"plain text", plain_text}, {"refused", refused},
         {"raw NUL", raw_nul}, {"depth", depth}, {"depth of aliases", depth_of_aliases},
         {"bombs", bombs}, {"limits", limits}, {"tag lines", tag_lines},
         {"long scalars", long_scalars}, {"odd files", odd_files}, {"files", files})
