/* Is a failure one line of valid UTF-8 with its place, its status an exit code, and a typing error
 * answered with the word that was meant? */
#include "base.h"

static void exit_codes(void) {
    CHECK_INT(sw_exit_code(SW_OK), 0);
    CHECK_INT(sw_exit_code(SW_END), 0);
    CHECK_INT(sw_exit_code(SW_RUN), 1);
    CHECK_INT(sw_exit_code(SW_MEMORY), 1);
    CHECK_INT(sw_exit_code(SW_IO), 1);
    CHECK_INT(sw_exit_code(SW_INPUT), 2);
    CHECK_INT(sw_exit_code(SW_TOLERANCE), 3);
    CHECK_INT(sw_exit_code(SW_FIT), 4);
    CHECK_INT(sw_exit_code(SW_SPACE), 4);
    CHECK_STR(sw_status_text(SW_FIT), "does not fit");
    CHECK_INT(sw_exit_code((sw_status)99), 1); /* from another process, say */
    CHECK_STR(sw_status_text((sw_status)99), "unknown status");
}

static void places(void) {
    sw_error err = {0};
    CHECK(sw_fail_at(&err, SW_INPUT, (sw_mark){"a.yaml", 3, 7}, "seed", "is %d", 5) == SW_INPUT);
    CHECK_STR(err.text, "a.yaml:3:7: seed: is 5");
    CHECK(err.status == SW_INPUT);
    sw_fail_at(&err, SW_INPUT, (sw_mark){"a.yaml", 3, 0}, NULL, "x");
    CHECK_STR(err.text, "a.yaml:3: x");
    sw_fail_at(&err, SW_INPUT, (sw_mark){"a.yaml", 0, 9}, NULL, "x");
    CHECK_STR(err.text, "a.yaml: x");
    sw_fail_at(&err, SW_INPUT, (sw_mark){NULL, 3, 7}, "k", "x");
    CHECK_STR(err.text, "k: x");
    sw_fail_at(&err, SW_INPUT, (sw_mark){0}, NULL, "x");
    CHECK_STR(err.text, "x");
    CHECK(sw_fail(NULL, SW_IO, "%s", "nobody listens") == SW_IO);
    CHECK(sw_fail_at(NULL, SW_IO, (sw_mark){0}, NULL, "x") == SW_IO);
}

/* Long parts are cut, and none pushes the message out. */
static void long_parts(void) {
    char file[5000], key[5000], text[5000];
    sw_error err = {0};
    memset(file, 'f', sizeof file - 1), file[sizeof file - 1] = 0;
    memset(key, 'k', sizeof key - 1), key[sizeof key - 1] = 0;
    memset(text, 't', sizeof text - 1), text[sizeof text - 1] = 0;
    sw_fail_at(&err, SW_INPUT, (sw_mark){file, 2147483647, 2147483647}, key, "%s", text);
    CHECK_INT(strlen(err.text), sizeof err.text - 1);
    check_text(&err, "f:2147483647:2147483647: kkk");
    check_text(&err, "k: ttt");
    sw_fail(&err, SW_RUN, "%s", text);
    CHECK_INT(strlen(err.text), sizeof err.text - 1);
}

static const char *cleaned(const char *text) {
    static sw_error err;
    sw_fail(&err, SW_INPUT, "%s", text);
    return err.text;
}

static void one_line(void) {
    CHECK_STR(cleaned("a\nb\rc\td\033[2Je\177f"), "a?b?c?d?[2Je?f");
    CHECK_STR(cleaned("\xc2\x9b"
                      "2J"),
              "??2J"); /* a terminal's CSI in one character */
    CHECK_STR(cleaned("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
              "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
    CHECK_STR(cleaned("\xc2\xa0"), "\xc2\xa0"); /* the first above C1 */
    CHECK_STR(cleaned("\xff\xfe\x80z"), "???z");
    CHECK_STR(cleaned("\xc0\xaf \xc1\xbf"), "?? ??");   /* overlong */
    CHECK_STR(cleaned("\xe0\x9f\xbf"), "???");          /* overlong */
    CHECK_STR(cleaned("\xe0\xa0\x80"), "\xe0\xa0\x80"); /* U+0800, the first of three */
    CHECK_STR(cleaned("\xed\xa0\x80"), "???");          /* a surrogate */
    CHECK_STR(cleaned("\xf0\x8f\xbf\xbf"), "????");     /* overlong */
    CHECK_STR(cleaned("\xf4\x90\x80\x80"), "????");     /* above U+10FFFF */
    CHECK_STR(cleaned("\xf4\x8f\xbf\xbf"), "\xf4\x8f\xbf\xbf");
    CHECK_STR(cleaned("cut \xe2\x82"), "cut ??"); /* at the end of the text */
    char full[1000] = "";
    memset(full, 'x', 766);
    strcpy(full + 766, "\xc3\xa9"); /* cut by the buffer of 768 */
    CHECK_INT(strlen(cleaned(full)), 767);
    CHECK(cleaned(full)[766] == '?');
}

static void nearest(void) {
    static const char *const words[] = {"prefetch", "demand", "resident", "lru"};
#define NEAR(word) sw_nearest(word, words, 4)
    CHECK(NEAR("prefetch") == words[0]);
    CHECK(NEAR("prefecth") == words[0]); /* a transposition counts one */
    CHECK(NEAR("PREFETCH") == words[0]);
    CHECK(NEAR("prefet") == words[0]);
    CHECK(NEAR("demnad") == words[1]);
    CHECK(NEAR("lrru") == words[3]);
    CHECK(NEAR("lr") == words[3]);
    CHECK(NEAR("zzzzzzzz") == NULL);
    CHECK(NEAR("") == NULL);
    CHECK(NEAR("residuals and more") == NULL);
    CHECK(sw_nearest("a", words, 0) == NULL);
    static const char *const short_words[] = {"a", "kv"};
    CHECK(sw_nearest("b", short_words, 2) == NULL); /* another word, not a typing error */
    CHECK(sw_nearest("A", short_words, 2) == short_words[0]);
    CHECK(sw_nearest("vk", short_words, 2) == short_words[1]);
    CHECK(sw_nearest("xy", short_words, 2) == NULL);
    char longer[200];
    memset(longer, 'l', 199), longer[199] = 0;
    CHECK(NEAR(longer) == NULL);
    /* One of six letters may differ and two; four may not. */
    CHECK(NEAR("demane") == words[1]);
    CHECK(NEAR("dexane") == words[1]);
    CHECK(NEAR("xxxxnd") == NULL);
}

SW_TESTS("error", {"exit codes", exit_codes}, {"places", places}, {"long parts", long_parts},
         {"one line", one_line}, {"nearest", nearest})
