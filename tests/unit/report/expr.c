/* Do the expressions of claims mean what is written, and are errors placed? */
#include "sim/report/expr.h"
#include "check.h"
#include <stdio.h>
#include <stdlib.h>

static sw_status value(void *arg, const char *name, double *out, sw_error *err) {
    (void)arg;
    if (!strcmp(name, "a.x")) return *out = 3, SW_OK;
    if (!strcmp(name, "b.tier.vram0.peak_bytes")) return *out = 1e9, SW_OK;
    if (!strcmp(name, "a.zero")) return *out = 0, SW_OK;
    if (!strcmp(name, "a.nan")) return *out = NAN, SW_OK;
    if (!strcmp(name, "a.gone")) return sw_fail(err, SW_FIT, "run a does not fit");
    return sw_fail(err, SW_INPUT, "no %s", name);
}
static const sw_expr_env env = {value, NULL};

static double eval(const char *text) {
    double x = -12345;
    sw_error err = {0};
    if (sw_expr_eval(text, (sw_mark){"f.yaml", 4, 10}, &env, &x, &err))
        printf("\n  %s: %s\n", text, err.text);
    return x;
}

static void arithmetic(void) {
    CHECK(eval("1 + 2 * 3") == 7);
    CHECK(eval("(1 + 2) * 3") == 9);
    CHECK(eval("8 - 3 - 2") == 3);
    CHECK(eval("16 / 4 / 2") == 2);
    CHECK(eval("-2 * -3") == 6);
    CHECK(eval("--2") == 2);
    CHECK(eval("1.5e3") == 1500);
    CHECK(eval("2 - -2") == 4);
    CHECK(eval("min(2, 1+0.5) + max(1, 4) + abs(-3)") == 8.5);
}

static void names(void) {
    CHECK(eval("a.x") == 3);
    CHECK(eval("b.tier.vram0.peak_bytes / 1e9") == 1);
    CHECK(eval("a.x*a.x-a.x") == 6);
}

static void logic(void) {
    CHECK(eval("1 < 2") == 1);
    CHECK(eval("2 <= 1") == 0);
    CHECK(eval("a.x == 3 and a.x != 4") == 1);
    CHECK(eval("0 or 2") == 1);
    CHECK(eval("not 0") == 1);
    CHECK(eval("!(1 > 2) && 1") == 1);
    CHECK(eval("1 or 0 and 0") == 1); /* `and` binds tighter */
    CHECK(eval("not a.x == 4") == 1); /* `not` binds looser than the comparison */
    CHECK(eval("not not 5") == 1);
}

/* What does not decide is not evaluated, but still parsed. */
static void skips(void) {
    CHECK(eval("a.zero and a.gone > 3") == 0);
    CHECK(eval("a.x or a.gone") == 1);
    CHECK(eval("a.zero and 1 / a.zero") == 0);
    CHECK(eval("0 and (0 or a.gone)") == 0);
    double x;
    CHECK(sw_expr_eval("0 and (", (sw_mark){0}, &env, &x, NULL) == SW_INPUT);
}

static void fails(const char *text, sw_status want, const char *message) {
    double x = 7;
    sw_error err = {0};
    CHECK_INT(sw_expr_eval(text, (sw_mark){"f.yaml", 4, 10}, &env, &x, &err), want);
    CHECK_STR(err.text, message);
    CHECK(x == 7);
}

static void errors(void) {
    fails("", SW_INPUT,
          "f.yaml:4:10: expected a number, a figure or \"(\", but the expression ends");
    fails("1 +", SW_INPUT,
          "f.yaml:4:13: expected a number, a figure or \"(\", but the expression ends");
    fails("1 2", SW_INPUT, "f.yaml:4:12: expected an operator at \"2\"");
    fails("(1", SW_INPUT, "f.yaml:4:12: expected \")\", but the expression ends");
    fails("1 < 2 < 3", SW_INPUT, "f.yaml:4:16: comparisons do not chain at \"<\"");
    fails("1 / a.zero", SW_INPUT, "f.yaml:4:12: division by zero at \"/\"");
    fails("a.y", SW_INPUT, "f.yaml:4:10: no a.y");
    fails("2 * a.gone", SW_FIT, "f.yaml:4:14: run a does not fit");
    fails("a.nan", SW_INPUT, "f.yaml:4:10: a.nan has no value");
    fails("3x", SW_INPUT, "f.yaml:4:10: a number runs into a name at \"3x\"");
    fails("1e308 * 1e308", SW_INPUT, "f.yaml:4:10: the result is not finite");
    fails("min(1)", SW_INPUT, "f.yaml:4:15: expected \",\" at \")\"");
}

static void deep(void) {
    char text[4001];
    for (int i = 0; i < 2000; i++) text[i] = '(', text[4000 - 1 - i] = ')';
    text[2000] = '1';
    text[4000] = 0;
    double x;
    sw_error err = {0};
    CHECK_INT(sw_expr_eval(text, (sw_mark){0}, &env, &x, &err), SW_INPUT);
    CHECK(strstr(err.text, "nested too deeply") != NULL);
}

SW_TESTS("expr", {"arithmetic", arithmetic}, {"names", names}, {"logic", logic}, {"skips", skips},
         {"errors", errors}, {"deep", deep})
