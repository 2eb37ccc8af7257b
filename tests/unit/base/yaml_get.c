/* Do the typed getters take their type only, and do overrides change one place or nothing? */
#include "base.h"
#include "sim/base/yaml.h"

static sw_yaml *good(const char *text) {
    sw_yaml *doc = NULL;
    sw_error err = {0};
    if (sw_yaml_parse(text, strlen(text), "t.yaml", &doc, &err)) printf("\n  %s\n", err.text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(doc);
    return doc;
}

/* The scalar that `text` is, for one call of a getter. */
static const sw_node *one(const char *text) {
    static sw_yaml *doc;
    sw_yaml_free(doc);
    doc = NULL;
    if (!text) return NULL;
    doc = good(text);
    return sw_yaml_root(doc);
}

static void no_int(const char *text, int64_t min, int64_t max, const char *why) {
    int64_t x = 77;
    sw_error err = {0};
    CHECK(sw_node_int(one(text), "key", min, max, &x, &err) == SW_INPUT);
    CHECK(x == 77);
    check_text(&err, why);
    check_text(&err, "t.yaml:1:1: key: ");
}

static void an_int(const char *text, int64_t min, int64_t max, int64_t due) {
    int64_t x = 77;
    CHECK(sw_node_int(one(text), "key", min, max, &x, NULL) == SW_OK);
    CHECK(x == due);
}

static void ints(void) {
    an_int("-3", -3, 5, -3);
    an_int("5", -3, 5, 5);
    no_int("-4", -3, 5, "-4 is below the minimum -3");
    no_int("6", -3, 5, "6 is above the maximum 5");
    an_int("9223372036854775807", INT64_MIN, INT64_MAX, INT64_MAX);
    an_int("-9223372036854775808", INT64_MIN, INT64_MAX, INT64_MIN);
    no_int("9223372036854775808", INT64_MIN, INT64_MAX, "above the maximum");
    no_int("-9223372036854775809", INT64_MIN, INT64_MAX, "below the minimum");
    no_int("99999999999999999999999999", 0, 9, "above the maximum 9");
    no_int("-99999999999999999999999999", 0, 9, "below the minimum 0");
    an_int("0000000000000000000000007", 0, 9, 7);
    an_int("-0", 0, 9, 0);
    static const char *const texts[] = {"1.0", "1e3", "0x10",  "+1",  "--1", "-",     "1_000",
                                        "one", "~",   "\"1\"", "[1]", "{}",  "1 GiB", "''"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        no_int(texts[i], 0, 9, "expected a whole number");
    one(NULL);
}

static void no_num(const char *text, const char *why) {
    double x = 77;
    sw_error err = {0};
    CHECK(sw_node_num(one(text), "key", -1, 1, &x, &err) == SW_INPUT);
    CHECK(x == 77);
    check_text(&err, why);
}

static void nums(void) {
    double x = 77;
    CHECK(sw_node_num(one("1"), "key", -1, 1, &x, NULL) == SW_OK && x == 1);
    CHECK(sw_node_num(one("-1.0"), "key", -1, 1, &x, NULL) == SW_OK && x == -1);
    no_num("1.0000001", "above the maximum 1");
    no_num("-1.0000001", "below the minimum -1");
    no_num("\"0.5\"", "in quotes");
    no_num(".nan", "is no number");
    no_num("nan", "is no number");
    no_num(".inf", "is no number");
    no_num("0x1", "without a unit");
    no_num("1 s", "without a unit");
    no_num("1e999", "too large");
    no_num("[1]", "found a list");
    one(NULL);
}

static void bools(void) {
    static const char *const yes[] = {"true", "yes", "on"}, *const no[] = {"false", "no", "off"};
    static const char *const other[] = {"True", "1", "0", "\"true\"", "y", "[true]", "~", "''"};
    for (int i = 0; i < 3; i++) {
        bool b = false;
        CHECK(sw_node_bool(one(yes[i]), "key", &b, NULL) == SW_OK && b);
        CHECK(sw_node_bool(one(no[i]), "key", &b, NULL) == SW_OK && !b);
    }
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        bool b = true;
        sw_error err = {0};
        CHECK(sw_node_bool(one(other[i]), "key", &b, &err) == SW_INPUT && b);
        check_text(&err, "key: expected true or false");
    }
    one(NULL);
}

static void quantities(void) {
    sw_error err = {0};
    double x = 77;
    uint64_t b = 77;
    CHECK(sw_node_quantity(one("0 s"), "k", SW_DIM_SECONDS, true, &x, &err) == SW_OK && x == 0);
    CHECK(sw_node_quantity(one("0 s"), "k", SW_DIM_SECONDS, false, &x, &err) == SW_INPUT);
    check_text(&err, "must be above zero");
    CHECK(sw_node_quantity(one("-1 s"), "k", SW_DIM_SECONDS, true, &x, &err) == SW_INPUT);
    check_text(&err, "must be at least zero");
    CHECK(x == 0);
    CHECK(sw_node_quantity(one("{value: 25 GB/s, kind: datasheet, source: s, note: n}"), "k",
                           SW_DIM_RATE, false, &x, &err) == SW_OK);
    CHECK(x == 25e9);
    CHECK(sw_node_bytes(one("{value: 1 KiB}"), "k", &b, &err) == SW_OK && b == 1024);
    CHECK(sw_node_bytes(one("{kind: guess}"), "k", &b, &err) == SW_INPUT);
    check_text(&err, "value: is missing");
    CHECK(sw_node_bytes(one("{value: {value: 1 B}}"), "k", &b, &err) == SW_INPUT);
    check_text(&err, "found a map");
    CHECK(sw_node_bytes(one("{valu: 1 B}"), "k", &b, &err) == SW_INPUT);
    check_text(&err, "did you mean \"value\"?");
    CHECK(sw_node_bytes(one("[1 B]"), "k", &b, &err) == SW_INPUT);
    CHECK(b == 1024);
    one(NULL);
}

static void texts(void) {
    const char *text = NULL;
    sw_error err = {0};
    const sw_node *root = one("{a: , b: '', c: x}");
    CHECK(sw_node_str(sw_node_get(root, "a"), "a", &text, &err) == SW_INPUT);
    check_text(&err, "a: is empty");
    CHECK(sw_node_str(sw_node_get(root, "b"), "b", &text, &err) == SW_OK && !*text);
    CHECK(sw_node_str(root, "root", &text, &err) == SW_INPUT);
    check_text(&err, "found a map");
    const sw_node *got = NULL;
    CHECK(sw_node_need(root, "c", &got, &err) == SW_OK && got == sw_node_get(root, "c"));
    CHECK(sw_node_need(root, "d", &got, &err) == SW_INPUT);
    check_text(&err, "t.yaml:1:1: d: is missing");
    CHECK(sw_node_need(NULL, "d", &got, &err) == SW_INPUT);
    one(NULL);
}

static void known_keys(void) {
    static const char *const allowed[] = {"policy", "machine", "seed"};
    sw_error err = {0};
    CHECK(sw_node_keys(NULL, "scenario", allowed, 3, &err) == SW_OK);
    CHECK(sw_node_keys(one("{seed: 1, policy: x}"), "scenario", allowed, 3, &err) == SW_OK);
    CHECK(sw_node_keys(one("{}"), "scenario", allowed, 0, &err) == SW_OK);
    CHECK(sw_node_keys(one("{seed: 1, polcy: x}"), "scenario", allowed, 3, &err) == SW_INPUT);
    CHECK_STR(err.text, "t.yaml:1:11: scenario: unknown key \"polcy\"; did you mean \"policy\"?");
    CHECK(sw_node_keys(one("{something: 1}"), "scenario", allowed, 3, &err) == SW_INPUT);
    CHECK(!strstr(err.text, "did you mean"));
    CHECK(sw_node_keys(one("[policy]"), "scenario", allowed, 3, &err) == SW_INPUT);
    check_text(&err, "expected a map of keys");
    one(NULL);
}

SW_TESTS("yaml getters", {"ints", ints}, {"nums", nums}, {"bools", bools},
         {"quantities", quantities}, {"texts", texts}, {"known keys", known_keys})
