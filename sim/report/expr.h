/* Expressions over the figures of runs: what a claim shows and what decides it.
 *
 *   a.decode_s / b.decode_s > 1.5 and not (a.fits == 0)
 *
 * Numbers, names (letters, digits, '_' and '.'), + - * /, < <= > >= == !=, and or not (also && ||
 * !), parentheses, min(x, y), max(x, y), abs(x). True is 1, false 0; anything but 0 counts as true.
 * The right side of `and` and `or` is evaluated only when it decides, so "a.fits and a.tokens_per_s
 * > 3" is safe. A comparison does not chain; `not` binds looser than it. */
#ifndef SW_REPORT_EXPR_H
#define SW_REPORT_EXPR_H

#include "sim/base/error.h"

typedef struct sw_expr_env {
    /* The value of a name. Fails with a message without position, which is added. */
    sw_status (*value)(void *arg, const char *name, double *out, sw_error *err);
    void *arg;
} sw_expr_env;

/** Evaluates text; `mark` is where its first character stands (col 0: unknown). *out is finite.
 *  Fails SW_INPUT at the place of the error: syntax, an unknown name, a division by zero; or as
 *  env->value does. Cost O(length). */
sw_status sw_expr_eval(const char *text, sw_mark mark, const sw_expr_env *env, double *out,
                       sw_error *err);

#endif
