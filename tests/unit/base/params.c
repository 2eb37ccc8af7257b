/* Do tables of options take defaults, ranges and types from their rows, and name the key that is
 * wrong? */
#include "sim/base/params.h"
#include "base.h"

typedef struct options {
    int64_t depth, any;
    double ratio, free_num, rate, time;
    bool pin;
    char label[64], none[64];
    int order;
    uint64_t chunk;
} options;

#define AT(field) offsetof(options, field)
static const sw_param table[] = {
    {"depth", SW_PARAM_INT, "1", 0, 64, NULL, AT(depth), "How far ahead."},
    {"any", SW_PARAM_INT, "-5", 0, 0, NULL, AT(any), "No range."},
    {"ratio", SW_PARAM_NUM, "0.5", 0, 1, NULL, AT(ratio), "A part."},
    {"free_num", SW_PARAM_NUM, "-1e9", 0, 0, NULL, AT(free_num), "No range."},
    {"pin", SW_PARAM_BOOL, "true", 0, 0, NULL, AT(pin), "Whether."},
    {"label", SW_PARAM_STRING, "x", 0, 0, NULL, AT(label), "A word."},
    {"none", SW_PARAM_STRING, "", 0, 0, NULL, AT(none), "Empty by default."},
    {"order", SW_PARAM_CHOICE, "last", 0, 0, "auto|first|last", AT(order), "Which."},
    {"chunk", SW_PARAM_BYTES, "2 MiB", 4096, 1 << 30, NULL, AT(chunk), "Bytes."},
    {"rate", SW_PARAM_RATE, "25 GB/s", 0, 0, NULL, AT(rate), "Bytes per second."},
    {"time", SW_PARAM_SECONDS, "10 us", 0, 1, NULL, AT(time), "Seconds."},
};
enum { N = sizeof table / sizeof *table };
static const char *const ignored[] = {"name"};

static sw_status read_flow(const char *flow, options *o, sw_error *err) {
    sw_yaml *doc = NULL;
    CU_ASSERT_EQUAL_FATAL(sw_yaml_parse(flow, strlen(flow), "t.yaml", &doc, err), SW_OK);
    sw_status st = sw_params_read(table, N, sw_yaml_root(doc), "policy", ignored, 1, o, err);
    sw_yaml_free(doc);
    return st;
}

static options good(const char *flow) {
    options o;
    sw_error err = {0};
    memset(&o, 0x55, sizeof o);
    CHECK(read_flow(flow, &o, &err) == SW_OK);
    if (*err.text) printf("\n  %s: %s\n", flow, err.text);
    return o;
}

static void bad(const char *flow, const char *why) {
    options o;
    sw_error err = {0};
    CHECK(read_flow(flow, &o, &err) == SW_INPUT);
    check_text(&err, why);
    check_text(&err, "t.yaml:1:");
}

static void defaults(void) {
    options o;
    memset(&o, 0x55, sizeof o);
    CHECK(sw_params_read(table, N, NULL, "policy", NULL, 0, &o, NULL) == SW_OK);
    CHECK(o.depth == 1 && o.any == -5 && o.ratio == 0.5 && o.free_num == -1e9 && o.pin);
    CHECK_STR(o.label, "x");
    CHECK_STR(o.none, "");
    CHECK_INT(o.order, 2);
    CHECK(o.chunk == 2 << 20 && o.rate == 25e9);
    CHECK_REL(o.time, 1e-5, 1e-15);
    o = good("{}");
    CHECK(o.depth == 1);
    CHECK(sw_params_read(NULL, 0, NULL, "policy", NULL, 0, &o, NULL) == SW_OK);
}

static void ranges(void) {
    CHECK(good("{depth: 0}").depth == 0);
    CHECK(good("{depth: 64, name: x}").depth == 64);
    bad("{depth: 65}", "depth: 65 is above the maximum 64");
    bad("{depth: -1}", "depth: -1 is below the minimum 0");
    CHECK(good("{any: 9223372036854775807}").any == INT64_MAX);
    CHECK(good("{ratio: 1}").ratio == 1);
    bad("{ratio: 1.0000001}", "above the maximum 1");
    bad("{ratio: -1e-9}", "below the minimum 0");
    bad("{ratio: .nan}", "is no number");
    bad("{free_num: .inf}", "is no number");
    CHECK(good("{chunk: 4 KiB}").chunk == 4096);
    bad("{chunk: 4095 B}", "4095 B is below the minimum 4096");
    CHECK(good("{chunk: 1 GiB}").chunk == 1 << 30);
    bad("{chunk: 1073741825 B}", "above the maximum 1073741824");
    bad("{chunk: {value: 1 B}}", "chunk: 1 B is below");
    bad("{time: 2 s}", "2 s is above the maximum 1");
    CHECK(good("{time: 0 s}").time == 0);
    CHECK(good("{rate: 1e300 B/s}").rate == 1e300);
    CHECK(good("{free_num: 1e305}").free_num == 1e305);
}

/* A failure leaves the context as it was, whatever could be read before it. */
static void all_or_nothing(void) {
    static const char *const flows[] = {"{depth: 3, time: 2 s}", "{depth: 3, dept: 1}",
                                        "{label: abc, chunk: 1 B}", "[depth]"};
    for (size_t i = 0; i < sizeof flows / sizeof *flows; i++) {
        options o, was;
        memset(&o, 0x55, sizeof o), memset(&was, 0x55, sizeof was);
        CHECK(read_flow(flows[i], &o, NULL) == SW_INPUT);
        CHECK(memcmp(&o, &was, sizeof o) == 0);
    }
}

/* A range as wide as the type is none that a cast could break. */
static void wide_ranges(void) {
    static const sw_param wide = {"x", SW_PARAM_INT, "0", -0x1p63, 0x1p63, NULL, 0, "Any."};
    static const char *const texts[] = {"{x: 9223372036854775807}", "{x: -9223372036854775808}"};
    for (int i = 0; i < 2; i++) {
        int64_t x = 0;
        sw_yaml *doc = NULL;
        CU_ASSERT_EQUAL_FATAL(sw_yaml_parse(texts[i], strlen(texts[i]), "t", &doc, NULL), SW_OK);
        CHECK(sw_params_read(&wide, 1, sw_yaml_root(doc), "x", NULL, 0, &x, NULL) == SW_OK);
        CHECK(x == (i ? INT64_MIN : INT64_MAX));
        sw_yaml_free(doc);
    }
}

static void types(void) {
    bad("{depth: 1.5}", "expected a whole number");
    bad("{depth: \"1\"}", "expected a whole number");
    bad("{ratio: \"0.5\"}", "in quotes");
    bad("{pin: 1}", "expected true or false");
    bad("{label: [x]}", "expected text, found a list");
    bad("{order: middle}", "\"middle\" is none of auto|first|last");
    bad("{order: ''}", "\"\" is none of");
    bad("{order: fir}", "is none of");
    bad("{order: auto|first}", "is none of");
    CHECK_INT(good("{order: auto}").order, 0);
    CHECK_INT(good("{order: first}").order, 1);
    bad("{chunk: 4096}", "has no unit");
    bad("{rate: 25 Gb/s}", "bits are not taken");
    bad("{dept: 2}", "policy: unknown key \"dept\"; did you mean \"depth\"?");
    bad("[1]", "expected a map of keys");
    char flow[128] = "{label: ";
    memset(flow + 8, 'l', 64), strcpy(flow + 72, "}");
    bad(flow, "longer than 63 bytes");
    strcpy(flow + 71, "}");
    CHECK_INT(strlen(good(flow).label), 63);
}

static void as_json(void) {
    options o = good("{depth: 3, order: first, label: y, chunk: 1 MiB}");
    json_t *doc = sw_params_json(table, N, &o);
    CHECK_INT(json_object_size(doc), N);
    CHECK_INT(json_integer_value(json_object_get(doc, "depth")), 3);
    CHECK_INT(json_integer_value(json_object_get(doc, "chunk")), 1 << 20);
    CHECK_STR(json_string_value(json_object_get(doc, "order")), "first");
    CHECK_STR(json_string_value(json_object_get(doc, "label")), "y");
    CHECK_STR(json_string_value(json_object_get(doc, "none")), "");
    CHECK(json_is_true(json_object_get(doc, "pin")));
    CHECK(json_real_value(json_object_get(doc, "rate")) == 25e9);
    char *text = sw_json_text(doc); /* in the table's order */
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CHECK(strncmp(text, "{\n  \"depth\": 3,\n  \"any\": -5,\n  \"ratio\": 0.5,", 44) == 0);
    free(text);
    json_decref(doc);
}

static void as_help(void) {
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    sw_params_help(table, N, out);
    fclose(out);
    CHECK(strstr(text, "depth") && strstr(text, "auto|first|last") && strstr(text, "2 MiB"));
    CHECK(strstr(text, "integer") && strstr(text, "choice") && strstr(text, "bytes/s"));
    int lines = 0;
    for (const char *c = text; *c; c++) lines += *c == '\n';
    CHECK_INT(lines, N + 1);
    free(text);
}

SW_TESTS("options", {"defaults", defaults}, {"ranges", ranges}, {"all or nothing", all_or_nothing},
         {"wide ranges", wide_ranges}, {"types", types}, {"as JSON", as_json}, {"as help", as_help})
