/* Is JSON read within its limits, with the path of a key in every message, and written so that it
 * reads back equal? */
#include "sim/base/json.h"
#include "base.h"
#include "sim/base/rng.h"

static json_t *good(const char *text) {
    json_t *doc = NULL;
    sw_error err = {0};
    if (sw_json_parse(text, strlen(text), "t.json", &doc, &err)) printf("\n  %s\n", err.text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(doc);
    return doc;
}

static void bad_n(const char *text, size_t n, const char *why) {
    json_t *doc = NULL;
    sw_error err = {0};
    CHECK(sw_json_parse(text, n, "t.json", &doc, &err) == SW_INPUT);
    CHECK(doc == NULL);
    check_text(&err, why);
}

static void bad(const char *text, const char *why) {
    bad_n(text, strlen(text), why);
}

static void refused(void) {
    bad("", "t.json");
    bad("12", "t.json:1:");
    bad("{\"a\": 1,\n \"b\": 2,\n \"a\": 3}", "t.json:3:");
    bad("{\"a\": 1} x", "t.json:1:");
    bad("{\"a\": [1, 2", "t.json:1:");
    bad("{'a': 1}", "t.json:1:");
    bad("[NaN]", "t.json:1:");
    bad("[Infinity]", "t.json:1:");
    bad("[1e999]", "t.json:1:");
    bad("[-1e999]", "t.json:1:");
    bad("[9223372036854775808]", "t.json:1:");
    bad("[01]", "t.json:1:");
    bad("[0x10]", "t.json:1:");
    bad("[\"\\u0000\"]", "t.json:1:");
    bad("[\"\\ud800\"]", "t.json:1:");
    bad("[\"\xe9\"]", "t.json:1:");
    bad("[\"a\nb\"]", "t.json:");
    bad_n("[1]\0", 4, "t.json:1:");
    bad_n("[\"a\0b\"]", 7, "t.json:1:");
}

static char *nested(int n) {
    char *text = calloc(1, (size_t)n * 2 + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    memset(text, '[', (size_t)n);
    memset(text + n, ']', (size_t)n);
    return text;
}

static void depth(void) {
    char *ok = nested(256), *over = nested(257), *far = nested(1000000);
    json_decref(good(ok));
    bad(over, "t.json:1:257: nested deeper than 256");
    bad(far, "nested deeper than 256");
    free(ok), free(over), free(far);
    json_decref(good("[\"[[[[\\\"[[[[{{{{\"]")); /* brackets in text are none */
    char *closed = nested(2000);
    memset(closed, ']', 2000), memset(closed + 2000, '[', 2000);
    bad(closed, "t.json:1:"); /* a negative depth buys nothing */
    free(closed);
    json_t *doc = NULL;
    sw_error err = {0};
    CHECK(sw_json_parse("[]", (256u << 20) + 1, "t.json", &doc, &err) == SW_INPUT);
    check_text(&err, "over 256 MiB");
}

/* Memory is bounded before it is taken: a value of two bytes of text takes up to 150. */
static void values(void) {
    size_t n = 4000000;
    char *text = malloc(5 * n + 8), *p = text + 1;
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    *text = '[';
    for (size_t i = 0; i < n; i++, p += 5) memcpy(p, "true,", 5);
    strcpy(p - 1, "]");
    json_t *doc = good(text);
    CHECK_INT(json_array_size(doc), n);
    json_decref(doc);
    strcpy(p - 1, ",[]]");
    bad(text, "more than 4,000,000 values");
    memset(text + 1, ',', 5 * n), text[1] = '"', strcpy(text + 5 * n, "\"]");
    json_decref(good(text)); /* commas in text are none */
    free(text);
}

static void ints(void) {
    json_t *doc =
        good("{\"a\": 5, \"b\": 4096.0, \"c\": 1.5, \"d\": \"7\", \"e\": null, \"f\": 1e16,"
             "\"g\": 9223372036854775807, \"h\": -9223372036854775808, \"i\": true}");
    sw_jobj o = sw_jobj_root(doc, "t.json");
    sw_error err = {0};
    int64_t x = 77;
    CHECK(sw_jobj_int(o, "a", 5, 5, &x, &err) == SW_OK && x == 5);
    CHECK(sw_jobj_int(o, "b", 0, 4096, &x, &err) == SW_OK && x == 4096);
    CHECK(sw_jobj_int(o, "g", 0, INT64_MAX, &x, &err) == SW_OK && x == INT64_MAX);
    CHECK(sw_jobj_int(o, "h", INT64_MIN, 0, &x, &err) == SW_OK && x == INT64_MIN);
    x = 77;
    CHECK(sw_jobj_int(o, "e", 0, 1, &x, &err) == SW_OK && x == 77); /* null is absence */
    CHECK(sw_jobj_int(o, "z", 0, 1, &x, &err) == SW_OK && x == 77);
    CHECK(sw_jobj_int(o, "a", 6, 9, &x, &err) == SW_INPUT);
    CHECK_STR(err.text, "t.json: a: 5 is below the minimum 6");
    CHECK(sw_jobj_int(o, "a", 0, 4, &x, &err) == SW_INPUT);
    CHECK_STR(err.text, "t.json: a: 5 is above the maximum 4");
    static const char *const keys[] = {"c", "d", "f", "i"};
    for (int i = 0; i < 4; i++) {
        CHECK(sw_jobj_int(o, keys[i], INT64_MIN, INT64_MAX, &x, &err) == SW_INPUT);
        check_text(&err, "expected a whole number");
    }
    CHECK(sw_jobj_int_need(o, "e", 0, 1, &x, &err) == SW_INPUT);
    CHECK_STR(err.text, "t.json: e: is missing");
    CHECK(x == 77);
    json_decref(doc);
}

static void paths(void) {
    json_t *doc =
        good("{\"text_config\": {\"rope\": {\"n\": -1, \"s\": 3, \"b\": 0}}, \"l\": [1]}");
    sw_jobj root = sw_jobj_root(doc, "t.json"), text, rope, none;
    sw_error err = {0};
    int64_t x;
    double d;
    bool flag;
    const char *s;
    CU_ASSERT_EQUAL_FATAL(sw_jobj_sub(root, "text_config", &text, &err), SW_OK);
    CU_ASSERT_EQUAL_FATAL(sw_jobj_sub(text, "rope", &rope, &err), SW_OK);
    CHECK(sw_jobj_int(rope, "n", 0, 9, &x, &err) == SW_INPUT);
    CHECK_STR(err.text, "t.json: text_config.rope.n: -1 is below the minimum 0");
    CHECK(sw_jobj_str(rope, "s", &s, &err) == SW_INPUT);
    CHECK_STR(err.text, "t.json: text_config.rope.s: expected text");
    CHECK(sw_jobj_bool(rope, "b", &flag, &err) == SW_INPUT);
    CHECK_STR(err.text, "t.json: text_config.rope.b: expected true or false");
    CHECK(sw_jobj_num(text, "rope", &d, &err) == SW_INPUT);
    CHECK_STR(err.text, "t.json: text_config.rope: expected a number");
    CHECK(sw_jobj_num(rope, "s", &d, &err) == SW_OK && d == 3);
    CHECK(sw_jobj_sub(root, "l", &none, &err) == SW_INPUT);
    CHECK_STR(err.text, "t.json: l: expected an object");
    CU_ASSERT_EQUAL_FATAL(sw_jobj_sub(root, "absent", &none, &err), SW_OK);
    CHECK(none.obj == NULL);
    CHECK(sw_jobj_int_need(none, "n", 0, 9, &x, &err) == SW_INPUT);
    CHECK_STR(err.text, "t.json: absent.n: is missing");
    char key[200];
    memset(key, 'k', 199), key[199] = 0;
    CHECK(sw_jobj_sub(root, key, &none, &err) == SW_INPUT);
    check_text(&err, "nested too deeply");
    json_decref(doc);
}

static void one_double(double x, const char *due) {
    char buf[32];
    CHECK(strtod(sw_json_double(buf, x), NULL) == x);
    if (due) CHECK_STR(buf, due);
}

static void doubles(void) {
    one_double(0.1, "0.1");
    one_double(1e20, "1e+20");
    one_double(0, "0");
    one_double(-0.0, "-0");
    one_double(1.0 / 3, "0.3333333333333333");
    one_double(0.1 + 0.2, "0.30000000000000004");
    one_double(5e-324, "5e-324");
    one_double(1.7976931348623157e308, "1.7976931348623157e+308");
    one_double(-2.2250738585072014e-308, "-2.2250738585072014e-308");
    one_double(9007199254740993.0, NULL);
    sw_rng r = sw_rng_seed(7);
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = sw_rng_next(&r);
        double x;
        memcpy(&x, &bits, sizeof x);
        if (isfinite(x)) one_double(x, NULL);
    }
}

static void texts(void) {
    json_t *doc = good("{\"z\": 1, \"a\": [], \"m\": {}, \"r\": 2.0, \"t\": \"\\u00e9\\n\\\"\","
                       "\"l\": [true, null, -0.0, 1e300]}");
    char *text = sw_json_text(doc);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CHECK_STR(text, "{\n  \"z\": 1,\n  \"a\": [],\n  \"m\": {},\n  \"r\": 2.0,\n"
                    "  \"t\": \"\xc3\xa9\\n\\\"\",\n"
                    "  \"l\": [\n    true,\n    null,\n    -0.0,\n    1e+300\n  ]\n}\n");
    json_t *again = good(text);
    CHECK(json_equal(doc, again));
    free(text);
    json_decref(doc);
    json_decref(again);
}

static void files(void) {
    json_t *doc = NULL;
    sw_error err = {0};
    const char *path = scratch("a.json");
    CHECK(sw_json_load(path, &doc, &err) == SW_INPUT);
    check_text(&err, "cannot open");
    CHECK(sw_json_load("/", &doc, &err) == SW_INPUT && doc == NULL);
    write_bytes(path, "", 0);
    CHECK(sw_json_load(path, &doc, &err) == SW_INPUT);
    check_text(&err, path);
    write_bytes(path, "{\"a\": 1}", 8);
    CHECK(sw_json_load(path, &doc, &err) == SW_OK);
    json_decref(doc);
    unlink(path);
    rmdir(scratch_dir());
}

SW_TESTS("json", {"refused", refused}, {"depth", depth}, {"values", values}, {"ints", ints},
         {"paths", paths}, {"doubles", doubles}, {"texts", texts}, {"files", files})
