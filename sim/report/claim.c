/* Reading and deciding claims (see claim.h). */
#include "sim/report/claim.h"
#include "sim/base/vec.h"
#include "sim/report/expr.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const verdicts[] = {"holds", "partly", "fails"};

const char *sw_verdict_name(sw_verdict v) {
    return verdicts[v];
}

/* --- reading ------------------------------------------------------------------------------- */

static sw_status text(const sw_node *map, const char *key, const char **out, sw_error *err) {
    const sw_node *n = sw_node_get(map, key);
    *out = "";
    return n ? sw_node_str(n, key, out, err) : SW_OK;
}

static sw_status need(const sw_node *map, const char *key, const char **out, sw_error *err) {
    const sw_node *n;
    SW_TRY(sw_node_need(map, key, &n, err));
    return sw_node_str(n, key, out, err);
}

static sw_status expression(const sw_node *map, const char *key, bool needed, const sw_node **out,
                            sw_error *err) {
    const char *ignored;
    *out = sw_node_get(map, key);
    if (!*out && !needed) return SW_OK;
    SW_TRY(sw_node_need(map, key, out, err));
    return sw_node_str(*out, key, &ignored, err);
}

static sw_status list(const sw_node *map, const char *key, size_t max, const sw_node **out,
                      sw_error *err) {
    SW_TRY(sw_node_need(map, key, out, err));
    if ((*out)->kind != SW_NODE_LIST || !(*out)->n || (*out)->n > max)
        return sw_fail_at(err, SW_INPUT, (*out)->mark, key, "expected a list of 1 to %zu maps",
                          max);
    return SW_OK;
}

static sw_status read_runs(const sw_node *map, sw_claim *c, sw_error *err) {
    static const char *const keys[] = {"name", "set"};
    const sw_node *runs;
    SW_TRY(list(map, "runs", SW_CLAIM_RUNS_MAX, &runs, err));
    for (size_t i = 0; i < runs->n; i++) {
        const sw_node *run = runs->items[i], *set = sw_node_get(run, "set");
        const char *name;
        SW_TRY(sw_node_keys(run, "run", keys, 2, err));
        SW_TRY(need(run, "name", &name, err));
        if (!isalpha((unsigned char)name[0]))
            return sw_fail_at(err, SW_INPUT, run->mark, "name",
                              "\"%.40s\" must begin with a letter", name);
        for (const char *p = name; *p; p++)
            if (!isalnum((unsigned char)*p) && *p != '_')
                return sw_fail_at(err, SW_INPUT, run->mark, "name",
                                  "\"%.40s\" may hold letters, digits and '_'", name);
        for (int k = 0; k < c->n_runs; k++)
            if (!strcmp(c->runs[k].name, name))
                return sw_fail_at(err, SW_INPUT, run->mark, "name", "a second run \"%.40s\"", name);
        if (set && set->kind != SW_NODE_MAP)
            return sw_fail_at(err, SW_INPUT, set->mark, "set", "expected a map of keys and values");
        c->runs[c->n_runs].name = name;
        c->runs[c->n_runs++].set = set;
    }
    return SW_OK;
}

static sw_status read_shows(const sw_node *map, sw_claim *c, sw_error *err) {
    static const char *const keys[] = {"label", "value", "unit"};
    const sw_node *shows;
    SW_TRY(list(map, "show", SW_CLAIM_SHOWS_MAX, &shows, err));
    for (size_t i = 0; i < shows->n; i++) {
        const sw_node *show = shows->items[i];
        SW_TRY(sw_node_keys(show, "show", keys, 3, err));
        SW_TRY(need(show, "label", &c->shows[i].label, err));
        SW_TRY(text(show, "unit", &c->shows[i].unit, err));
        SW_TRY(expression(show, "value", true, &c->shows[i].value, err));
        c->n_shows++;
    }
    return SW_OK;
}

sw_status sw_claim_read(const sw_node *root, sw_claim *out, sw_error *err) {
    static const char *const keys[] = {"id",    "text",   "source", "runs", "show",
                                       "holds", "partly", "when",   "note", "expect"};
    sw_claim c = {.expect = -1};
    const sw_node *map;
    const char *expect;
    SW_TRY(sw_node_need(root, "claim", &map, err));
    SW_TRY(sw_node_keys(map, "claim", keys, sizeof keys / sizeof *keys, err));
    SW_TRY(need(map, "id", &c.id, err));
    SW_TRY(need(map, "text", &c.text, err));
    SW_TRY(text(map, "source", &c.source, err));
    SW_TRY(text(map, "when", &c.when, err));
    SW_TRY(text(map, "note", &c.note, err));
    SW_TRY(read_runs(map, &c, err));
    SW_TRY(read_shows(map, &c, err));
    SW_TRY(expression(map, "holds", true, &c.holds, err));
    SW_TRY(expression(map, "partly", false, &c.partly, err));
    SW_TRY(text(map, "expect", &expect, err));
    for (int v = 0; v < 3 && *expect; v++)
        if (!strcmp(expect, verdicts[v])) c.expect = v;
    if (*expect && c.expect < 0)
        return sw_fail_at(err, SW_INPUT, sw_node_get(map, "expect")->mark, "expect",
                          "\"%.40s\" is none of holds, partly, fails", expect);
    *out = c;
    return SW_OK;
}

/* --- nodes as text --------------------------------------------------------------------------- */

typedef struct text_buf {
    char *v;
    size_t n, cap;
} text_buf;

static bool put(text_buf *b, const char *s, size_t n) {
    if (!sw_vec_reserve(b, b->n + n + 1)) return false;
    memcpy(b->v + b->n, s, n);
    b->n += n;
    b->v[b->n] = 0;
    return true;
}

static bool put_quoted(text_buf *b, const char *s) {
    bool ok = put(b, "\"", 1);
    for (; *s && ok; s++) {
        char hex[8];
        if (*s == '"' || *s == '\\')
            ok = put(b, "\\", 1) && put(b, s, 1);
        else if ((unsigned char)*s < 0x20)
            ok = put(b, hex, (size_t)snprintf(hex, sizeof hex, "\\x%02x", (unsigned char)*s));
        else
            ok = put(b, s, 1);
    }
    return ok && put(b, "\"", 1);
}

static bool flow(text_buf *b, const sw_node *n) {
    if (n->kind == SW_NODE_SCALAR)
        return n->quoted || strpbrk(n->text, ",[]{}:#\"'\\\n&*!|>%@`")
                   ? put_quoted(b, n->text)
                   : put(b, n->text, strlen(n->text));
    bool map = n->kind == SW_NODE_MAP, ok = put(b, map ? "{" : "[", 1);
    for (size_t i = 0; i < n->n && ok; i++) {
        if (i) ok = put(b, ", ", 2);
        if (map) ok = ok && put_quoted(b, n->keys[i]) && put(b, ": ", 2);
        ok = ok && flow(b, n->items[i]);
    }
    return ok && put(b, map ? "}" : "]", 1);
}

char *sw_node_flow(const sw_node *node) {
    text_buf b = {0};
    if (flow(&b, node) && (b.v || put(&b, "", 0))) return b.v;
    free(b.v);
    return NULL;
}

/* --- deciding ------------------------------------------------------------------------------ */

typedef struct scope {
    const sw_claim *claim;
    const sw_outcome *runs;
} scope;

static sw_status value(void *arg, const char *name, double *out, sw_error *err) {
    const scope *s = arg;
    const char *names[SW_CLAIM_RUNS_MAX];
    size_t n = strcspn(name, ".");
    char run[64];
    snprintf(run, sizeof run, "%.*s", (int)(n < 63 ? n : 63), name);
    for (int i = 0; i < s->claim->n_runs; i++) {
        names[i] = s->claim->runs[i].name;
        if (strcmp(names[i], run)) continue;
        if (name[n] != '.')
            return sw_fail(err, SW_INPUT, "a run's figure is written %s.FIGURE", run);
        return sw_stat_value(&s->runs[i], name + n + 1, out, err);
    }
    const char *near = sw_nearest(run, names, (size_t)s->claim->n_runs);
    return sw_fail(err, SW_INPUT, "no run \"%s\"%s%s%s", run, near ? "; did you mean \"" : "",
                   near ? near : "", near ? "\"?" : "");
}

static sw_status eval(const scope *s, const sw_node *n, double *out, sw_error *err) {
    sw_expr_env env = {value, (void *)(uintptr_t)s};
    sw_mark mark = n->mark;
    mark.col += n->quoted;
    return sw_expr_eval(n->text, mark, &env, out, err);
}

sw_status sw_claim_judge(const sw_claim *c, const sw_outcome *runs, sw_verdict *verdict,
                         double *shown, sw_error *err) {
    scope s = {c, runs};
    double x;
    for (int i = 0; i < c->n_shows; i++) {
        sw_status st = eval(&s, c->shows[i].value, &shown[i], err);
        if (st && sw_exit_code(st) != 4) return st;
        if (st) shown[i] = NAN;
    }
    SW_TRY(eval(&s, c->holds, &x, err));
    *verdict = x != 0 ? SW_VERDICT_HOLDS : SW_VERDICT_FAILS;
    if (x == 0 && c->partly) {
        SW_TRY(eval(&s, c->partly, &x, err));
        if (x != 0) *verdict = SW_VERDICT_PARTLY;
    }
    return SW_OK;
}
