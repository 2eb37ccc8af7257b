/* Expressions of claims: any text either has a finite value or fails with one line. */
#include "sim/report/expr.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static sw_status value(void *arg, const char *name, double *out, sw_error *err) {
    (void)arg;
    if (name[0] == 'f') return sw_fail(err, SW_FIT, "does not fit");
    *out = name[0] == 'n' ? NAN : (double)strlen(name) - 3;
    return SW_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static const sw_expr_env env = {value, NULL};
    char *text = malloc(n + 1);
    if (!text) return 0;
    memcpy(text, data, n);
    text[n] = 0;
    double x = 0;
    sw_error err = {0};
    sw_status st = sw_expr_eval(text, (sw_mark){"f", 1, 1}, &env, &x, &err);
    if (st == SW_OK ? !isfinite(x) : !err.text[0] || strchr(err.text, '\n')) abort();
    free(text);
    return 0;
}
