/* Do tables line up, whatever the letters, and do percentages add up? */
#include "check.h"
#include "sim/base/rng.h"
#include "sim/report/report.h"
#include <stdio.h>
#include <stdlib.h>

static const sw_style plain = {false, false, 60}, blocks = {true, false, 60},
                      colour = {true, true, 60};

static void widths(void) {
    CHECK_INT(sw_text_width("abc"), 3);
    CHECK_INT(sw_text_width("…"), 1);
    CHECK_INT(sw_text_width("Größe"), 5);
    CHECK_INT(sw_text_width("e\xcc\x81"), 1); /* e and a combining acute */
    CHECK_INT(sw_text_width("模型"), 4);
    CHECK_INT(sw_text_width("\xff\xfe"), 2); /* no UTF-8: bytes */
    CHECK_INT(sw_text_width(""), 0);
}

static char *printed(sw_table *t, const sw_style *s) {
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    CHECK_INT(sw_table_print(t, s, out, NULL), SW_OK);
    fclose(out);
    return text;
}

static void lines_up(void) {
    static const sw_column cols[] = {{"name", NULL, SW_LEFT, false},
                                     {"rate", "GB/s", SW_RIGHT, false}};
    sw_table *t = sw_table_new(cols, 2, 2);
    sw_table_row(t);
    sw_table_cell(t, SW_TONE_NONE, "Größe");
    sw_table_cell(t, SW_TONE_NONE, "%d", 7);
    sw_table_row(t);
    sw_table_cell(t, SW_TONE_NONE, "pcie0.h2d");
    sw_table_cell(t, SW_TONE_NONE, "12.5");
    sw_table_rule(t);
    sw_table_row(t);
    sw_table_cell(t, SW_TONE_NONE, "x");
    char *text = printed(t, &plain);
    CHECK_STR(text, "  name       rate\n"
                    "             GB/s\n"
                    "  ---------------\n"
                    "  Größe         7\n"
                    "  pcie0.h2d  12.5\n"
                    "  ---------------\n"
                    "  x\n");
    free(text);
}

static void span(void) {
    static const sw_column cols[] = {{NULL, NULL, SW_LEFT, false}, {NULL, NULL, SW_RIGHT, false}};
    sw_style narrow = {false, false, 40};
    sw_table *t = sw_table_new(cols, 2, 0);
    sw_table_row(t);
    sw_table_cell(t, SW_TONE_NONE, "policy");
    sw_table_span(t, SW_TONE_NONE, "does not fit: 17.6 GiB missing in vram0, which holds 24");
    char *text = printed(t, &narrow);
    CHECK_STR(text, "policy  does not fit: 17.6 GiB missing\n"
                    "        in vram0, which holds 24\n");
    free(text);
}

static void cut(void) {
    static const sw_column cols[] = {{NULL, NULL, SW_LEFT, true}, {NULL, NULL, SW_RIGHT, false}};
    sw_style narrow = {true, false, 20};
    sw_table *t = sw_table_new(cols, 2, 0);
    sw_table_row(t);
    sw_table_cell(t, SW_TONE_NONE, "a name that is much too long");
    sw_table_cell(t, SW_TONE_NONE, "100");
    char *text = printed(t, &narrow);
    CHECK_STR(text, "a name that is…  100\n");
    free(text);
}

static void tones(void) {
    static const sw_column cols[] = {{NULL, NULL, SW_LEFT, false}};
    sw_table *t = sw_table_new(cols, 1, 0);
    sw_table_row(t);
    sw_table_cell(t, SW_TONE_BAD, "no");
    char *text = printed(t, &colour);
    CHECK_STR(text, "\033[31mno\033[0m\n");
    free(text);
}

static void bars(void) {
    char buf[200];
    CHECK_STR(sw_bar(buf, sizeof buf, &plain, 0.5, 10), "#####");
    CHECK_STR(sw_bar(buf, sizeof buf, &plain, 0.001, 10), "#"); /* something is there */
    CHECK_STR(sw_bar(buf, sizeof buf, &plain, 0, 10), "");
    CHECK_STR(sw_bar(buf, sizeof buf, &plain, 7, 10), "##########");
    CHECK_STR(sw_bar(buf, sizeof buf, &plain, NAN, 10), "");
    CHECK_STR(sw_bar(buf, sizeof buf, &blocks, 0.25, 2), "▌");
    CHECK_STR(sw_bar(buf, sizeof buf, &blocks, 1, 2), "██");
    CHECK(strlen(sw_bar(buf, 8, &blocks, 1, 100)) < 8);
}

static void percent(void) {
    int out[SW_CAT_COUNT];
    sw_permille((double[]){1, 1, 1}, 3, out);
    CHECK_INT(out[0] + out[1] + out[2], 1000);
    CHECK_INT(out[0], 334);
    sw_permille((double[]){0, 0}, 2, out);
    CHECK_INT(out[0] + out[1], 0);
    sw_rng rng = sw_rng_seed(7);
    for (int round = 0; round < 2000; round++) {
        double parts[SW_CAT_COUNT];
        int sum = 0;
        for (int i = 0; i < SW_CAT_COUNT; i++) parts[i] = pow(sw_rng_unit(&rng), 9) * 1e3;
        sw_permille(parts, SW_CAT_COUNT, out);
        for (int i = 0; i < SW_CAT_COUNT; i++) sum += out[i];
        CHECK_INT(sum, 1000);
    }
}

static void numbers(void) {
    static const struct {
        double x;
        const char *text;
    } cases[] = {{9.806, "9.81"},    {98.06, "98.1"},  {425.3, "425"}, {1234.5, "1234"},
                 {0.0123, "0.0123"}, {0.534, "0.534"}, {0, "0"},       {99.96, "100"},
                 {9.999, "10.0"},    {1, "1.00"}};
    char buf[32];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_STR(sw_text_num(buf, sizeof buf, cases[i].x), cases[i].text);
    CHECK_STR(sw_text_bytes10(buf, sizeof buf, 35.2e9), "35.2 GB");
    CHECK_STR(sw_text_bytes10(buf, sizeof buf, 999.6e6), "1.00 GB");
    CHECK_STR(sw_text_bytes10(buf, sizeof buf, 12), "12 B");
    CHECK_STR(sw_text_bytes10(buf, sizeof buf, 0), "0 B");
}

static void paragraph(void) {
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    sw_style narrow = {false, false, 20};
    sw_paragraph(&narrow, out, 2, 4, SW_TONE_NONE, "It took about 17 s, or 100 % of the time.");
    fclose(out);
    CHECK_STR(
        text,
        "  It took about\n    17 s, or 100 %\n    of the time.\n"); /* units stay with numbers */
    free(text);
}

SW_TESTS("table", {"widths", widths}, {"lines up", lines_up}, {"span", span}, {"cut", cut},
         {"tones", tones}, {"bars", bars}, {"percent", percent}, {"numbers", numbers},
         {"paragraph", paragraph})
