/* Option tables (see params.h). */
#include "sim/base/params.h"
#include "sim/base/vec.h"
#include <float.h>
#include <string.h>

enum { STRING_BYTES = 64 };

static bool bounded(const sw_param *p) {
    return p->min != p->max;
}

/* Index of a word among "a|b|c", -1 if it is none. */
static int choice(const char *choices, const char *word) {
    size_t n = strlen(word);
    int i = 0;
    for (const char *p = choices;; p++, i++) {
        size_t len = strcspn(p, "|");
        if (len == n && !memcmp(p, word, n)) return i;
        p += len;
        if (!*p) return -1;
    }
}

static sw_dim dim_of(sw_param_type t) {
    return t == SW_PARAM_RATE ? SW_DIM_RATE : t == SW_PARAM_SECONDS ? SW_DIM_SECONDS : SW_DIM_BYTES;
}

static sw_status in_range(const sw_param *p, double x, sw_mark at, const char *text,
                          sw_error *err) {
    if (!bounded(p)) return SW_OK;
    if (x < p->min)
        return sw_fail_at(err, SW_INPUT, at, p->name, "%.40s is below the minimum %.15g", text,
                          p->min);
    if (x > p->max)
        return sw_fail_at(err, SW_INPUT, at, p->name, "%.40s is above the maximum %.15g", text,
                          p->max);
    return SW_OK;
}

/* A quantity as it was written, also in a figure {value, …}. */
static const char *shown(const sw_node *node) {
    const sw_node *value = node->kind == SW_NODE_MAP ? sw_node_get(node, "value") : node;
    return value && value->text ? value->text : "";
}

static sw_status set(const sw_param *p, const sw_node *node, char *at, sw_error *err) {
    const char *text;
    switch (p->type) {
    case SW_PARAM_INT: {
        int64_t lo = bounded(p) && p->min > -0x1p63 ? (int64_t)p->min : INT64_MIN,
                hi = bounded(p) && p->max < 0x1p63 ? (int64_t)p->max : INT64_MAX;
        return sw_node_int(node, p->name, lo, hi, (int64_t *)at, err);
    }
    case SW_PARAM_NUM: {
        double lo = bounded(p) ? p->min : -DBL_MAX, hi = bounded(p) ? p->max : DBL_MAX;
        return sw_node_num(node, p->name, lo, hi, (double *)at, err);
    }
    case SW_PARAM_BOOL:
        return sw_node_bool(node, p->name, (bool *)at, err);
    case SW_PARAM_STRING:
        SW_TRY(sw_node_str(node, p->name, &text, err));
        if (strlen(text) >= STRING_BYTES)
            return sw_fail_at(err, SW_INPUT, node->mark, p->name, "longer than %d bytes",
                              STRING_BYTES - 1);
        snprintf(at, STRING_BYTES, "%s", text);
        return SW_OK;
    case SW_PARAM_CHOICE: {
        SW_TRY(sw_node_str(node, p->name, &text, err));
        int i = choice(p->choices, text);
        if (i < 0)
            return sw_fail_at(err, SW_INPUT, node->mark, p->name, "\"%.40s\" is none of %s", text,
                              p->choices);
        *(int *)at = i;
        return SW_OK;
    }
    case SW_PARAM_BYTES: {
        uint64_t b;
        SW_TRY(sw_node_bytes(node, p->name, &b, err));
        SW_TRY(in_range(p, (double)b, node->mark, shown(node), err));
        *(uint64_t *)at = b;
        return SW_OK;
    }
    case SW_PARAM_RATE:
    case SW_PARAM_SECONDS: {
        double x;
        SW_TRY(sw_node_quantity(node, p->name, dim_of(p->type), true, &x, err));
        SW_TRY(in_range(p, x, node->mark, shown(node), err));
        *(double *)at = x;
        return SW_OK;
    }
    }
    return SW_OK;
}

/* The default, then what the map says; ctx NULL tries both and keeps neither. */
static sw_status set_option(const sw_param *p, const sw_node *map, char *ctx, sw_error *err) {
    union {
        uint64_t u;
        double d;
        int i;
        bool b;
        char text[STRING_BYTES];
    } scratch;
    char *at = ctx ? ctx + p->offset : scratch.text;
    sw_node def = {.kind = SW_NODE_SCALAR, .text = p->def, .mark = {"built-in default", 0, 0}};
    def.quoted = !*p->def; /* an empty text is a default too */
    SW_TRY(set(p, &def, at, err));
    const sw_node *node = sw_node_get(map, p->name);
    return node ? set(p, node, at, err) : SW_OK;
}

sw_status sw_params_read(const sw_param *table, size_t n, const sw_node *map, const char *what,
                         const char *const *ignore, size_t n_ignore, void *ctx, sw_error *err) {
    const char **names = sw_zalloc(n + n_ignore + 1, sizeof *names);
    if (!names) return sw_fail(err, SW_MEMORY, "out of memory");
    for (size_t i = 0; i < n; i++) names[i] = table[i].name;
    for (size_t i = 0; i < n_ignore; i++) names[n + i] = ignore[i];
    sw_status st = sw_node_keys(map, what, names, n + n_ignore, err);
    free(names);
    for (size_t i = 0; i < n && !st; i++) st = set_option(&table[i], map, NULL, err);
    for (size_t i = 0; i < n && !st; i++) st = set_option(&table[i], map, ctx, err);
    return st;
}

/* --- showing ---------------------------------------------------------------------------------- */

static json_t *value_json(const sw_param *p, const char *at) {
    switch (p->type) {
    case SW_PARAM_INT:
        return json_integer((json_int_t) * (const int64_t *)at);
    case SW_PARAM_BYTES:
        return json_integer((json_int_t) * (const uint64_t *)at);
    case SW_PARAM_BOOL:
        return json_boolean(*(const bool *)at);
    case SW_PARAM_STRING:
        return json_string(at);
    case SW_PARAM_CHOICE: {
        const char *c = p->choices;
        for (int i = *(const int *)at; i > 0; i--) c = strchr(c, '|') + 1;
        return json_stringn(c, strcspn(c, "|"));
    }
    default:
        return json_real(*(const double *)at);
    }
}

json_t *sw_params_json(const sw_param *table, size_t n, const void *ctx) {
    json_t *o = json_object();
    for (size_t i = 0; i < n; i++)
        json_object_set_new(o, table[i].name,
                            value_json(&table[i], (const char *)ctx + table[i].offset));
    return o;
}

static void range_text(const sw_param *p, char *buf, size_t n) {
    if (p->type == SW_PARAM_CHOICE)
        snprintf(buf, n, "%s", p->choices);
    else if (p->type == SW_PARAM_BOOL)
        snprintf(buf, n, "true|false");
    else if (bounded(p))
        snprintf(buf, n, "%.15g … %.15g", p->min, p->max);
    else
        snprintf(buf, n, "-");
}

void sw_params_help(const sw_param *table, size_t n, FILE *out) {
    static const char *const types[] = {"integer", "number", "boolean", "text",
                                        "choice",  "bytes",  "bytes/s", "time"};
    int name_w = 6, def_w = 7, range_w = 5;
    char range[96];
    for (size_t i = 0; i < n; i++) {
        range_text(&table[i], range, sizeof range);
        if ((int)strlen(table[i].name) > name_w) name_w = (int)strlen(table[i].name);
        if ((int)strlen(table[i].def) > def_w) def_w = (int)strlen(table[i].def);
        if ((int)strlen(range) > range_w) range_w = (int)strlen(range);
    }
    fprintf(out, "  %-*s  %-7s  %-*s  %-*s  %s\n", name_w, "option", "type", def_w, "default",
            range_w, "range", "meaning");
    for (size_t i = 0; i < n; i++) {
        range_text(&table[i], range, sizeof range);
        int wide = strstr(range, "…") ? 2 : 0; /* three bytes, one column */
        fprintf(out, "  %-*s  %-7s  %-*s  %-*s  %s\n", name_w, table[i].name, types[table[i].type],
                def_w, table[i].def, range_w + wide, range, table[i].help);
    }
}
