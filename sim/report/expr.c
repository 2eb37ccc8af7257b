/* A recursive-descent evaluator (see expr.h). One function a level of precedence, loosest first. */
#include "sim/report/expr.h"
#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 64, NAME_BYTES = 160 };

typedef struct parser {
    const char *text, *at;
    sw_mark mark;
    const sw_expr_env *env;
    sw_error *err;
    int depth;
    bool skip; /* parse only: this side does not decide */
} parser;

static sw_status any(parser *p, double *out);

static sw_mark here(const parser *p, const char *at) {
    sw_mark m = p->mark;
    if (m.col > 0) m.col += (int)(at - p->text);
    return m;
}

static sw_status bad(const parser *p, const char *at, const char *what) {
    int shown = (int)strcspn(at, " \t\n");
    if (!*at)
        return sw_fail_at(p->err, SW_INPUT, here(p, at), NULL, "%s, but the expression ends", what);
    return sw_fail_at(p->err, SW_INPUT, here(p, at), NULL, "%s at \"%.*s\"", what,
                      shown > 30 ? 30 : shown, at);
}

static void blanks(parser *p) {
    while (isspace((unsigned char)*p->at)) p->at++;
}

static bool is_name(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* Takes the symbol or the word if it comes next. */
static bool take(parser *p, const char *token) {
    size_t n = strlen(token);
    blanks(p);
    if (strncmp(p->at, token, n)) return false;
    if (is_name(token[0]) && is_name(p->at[n])) return false;
    p->at += n;
    return true;
}

/* --- names, numbers, parentheses ----------------------------------------------------------- */

static sw_status call(parser *p, const char *name, double *out) {
    double x, y = 0;
    bool two = name[0] == 'm';
    SW_TRY(any(p, &x));
    if (two) {
        if (!take(p, ",")) return bad(p, p->at, "expected \",\"");
        SW_TRY(any(p, &y));
    }
    if (!take(p, ")")) return bad(p, p->at, "expected \")\"");
    *out = !strcmp(name, "min") ? fmin(x, y) : !strcmp(name, "max") ? fmax(x, y) : fabs(x);
    return SW_OK;
}

static sw_status name(parser *p, double *out) {
    const char *start = p->at;
    char word[NAME_BYTES];
    size_t n = 0;
    while (is_name(start[n])) n++;
    if (n >= sizeof word) return bad(p, start, "a name is too long");
    memcpy(word, start, n);
    word[n] = 0;
    p->at += n;
    if ((!strcmp(word, "min") || !strcmp(word, "max") || !strcmp(word, "abs")) && take(p, "("))
        return call(p, word, out);
    if (p->skip) return *out = 1, SW_OK;
    sw_error inner = {0};
    sw_status st = p->env->value(p->env->arg, word, out, &inner);
    if (!st && isfinite(*out)) return SW_OK;
    if (!st) return sw_fail_at(p->err, SW_INPUT, here(p, start), NULL, "%s has no value", word);
    return sw_fail_at(p->err, st, here(p, start), NULL, "%s", inner.text);
}

static sw_status number(parser *p, double *out) {
    char *end;
    *out = strtod(p->at, &end);
    if (end == p->at || !isfinite(*out)) return bad(p, p->at, "expected a number");
    if (is_name(*end)) return bad(p, p->at, "a number runs into a name");
    p->at = end;
    return SW_OK;
}

static sw_status primary(parser *p, double *out) {
    blanks(p);
    if (take(p, "(")) {
        SW_TRY(any(p, out));
        return take(p, ")") ? SW_OK : bad(p, p->at, "expected \")\"");
    }
    if (isdigit((unsigned char)*p->at)) return number(p, out);
    if (isalpha((unsigned char)*p->at) || *p->at == '_') return name(p, out);
    return bad(p, p->at, "expected a number, a figure or \"(\"");
}

static sw_status unary(parser *p, double *out) {
    if (++p->depth > DEPTH_MAX) return bad(p, p->at, "nested too deeply");
    bool minus = take(p, "-");
    SW_TRY(minus ? unary(p, out) : primary(p, out));
    p->depth--;
    if (minus) *out = -*out;
    return SW_OK;
}

/* --- operators ----------------------------------------------------------------------------- */

static sw_status product(parser *p, double *out) {
    SW_TRY(unary(p, out));
    for (double rhs;;) {
        blanks(p);
        const char *at = p->at;
        if (take(p, "*")) {
            SW_TRY(unary(p, &rhs));
            *out *= rhs;
        } else if (take(p, "/")) {
            SW_TRY(unary(p, &rhs));
            if (rhs == 0 && !p->skip) return bad(p, at, "division by zero");
            *out = rhs == 0 ? 0 : *out / rhs;
        } else {
            return SW_OK;
        }
    }
}

static sw_status sum(parser *p, double *out) {
    SW_TRY(product(p, out));
    for (double rhs;;) {
        if (take(p, "+")) {
            SW_TRY(product(p, &rhs));
            *out += rhs;
        } else if (take(p, "-")) {
            SW_TRY(product(p, &rhs));
            *out -= rhs;
        } else {
            return SW_OK;
        }
    }
}

static sw_status comparison(parser *p, double *out) {
    static const char *const ops[] = {"<=", ">=", "==", "!=", "<", ">"};
    SW_TRY(sum(p, out));
    for (int i = 0; i < 6; i++) {
        double rhs, lhs = *out;
        if (!take(p, ops[i])) continue;
        SW_TRY(sum(p, &rhs));
        bool is[] = {lhs <= rhs, lhs >= rhs, lhs == rhs, lhs != rhs, lhs<rhs, lhs> rhs};
        *out = is[i];
        blanks(p);
        for (int k = 0; k < 6; k++)
            if (!strncmp(p->at, ops[k], strlen(ops[k])))
                return bad(p, p->at, "comparisons do not chain");
        return SW_OK;
    }
    return SW_OK;
}

/* Looser than a comparison: `not a < b` is `not (a < b)`. */
static sw_status negation(parser *p, double *out) {
    if (++p->depth > DEPTH_MAX) return bad(p, p->at, "nested too deeply");
    blanks(p);
    bool no = take(p, "not") || (p->at[0] == '!' && p->at[1] != '=' && take(p, "!"));
    SW_TRY(no ? negation(p, out) : comparison(p, out));
    p->depth--;
    if (no) *out = *out == 0;
    return SW_OK;
}

/* One side of `and`, or `or`: the rest is skipped once it is decided. */
static sw_status both(parser *p, double *out) {
    SW_TRY(negation(p, out));
    while (take(p, "and") || take(p, "&&")) {
        bool outer = p->skip;
        double rhs = 0;
        p->skip = outer || *out == 0;
        SW_TRY(negation(p, &rhs));
        *out = *out != 0 && (p->skip || rhs != 0);
        p->skip = outer;
    }
    return SW_OK;
}

static sw_status any(parser *p, double *out) {
    if (++p->depth > DEPTH_MAX) return bad(p, p->at, "nested too deeply");
    SW_TRY(both(p, out));
    while (take(p, "or") || take(p, "||")) {
        bool outer = p->skip;
        double rhs = 0;
        p->skip = outer || *out != 0;
        SW_TRY(both(p, &rhs));
        *out = *out != 0 || (!p->skip && rhs != 0);
        p->skip = outer;
    }
    p->depth--;
    return SW_OK;
}

sw_status sw_expr_eval(const char *text, sw_mark mark, const sw_expr_env *env, double *out,
                       sw_error *err) {
    parser p = {text, text, mark, env, err, 0, false};
    double x;
    SW_TRY(any(&p, &x));
    blanks(&p);
    if (*p.at) return bad(&p, p.at, "expected an operator");
    if (!isfinite(x)) return sw_fail_at(err, SW_INPUT, mark, NULL, "the result is not finite");
    *out = x;
    return SW_OK;
}
