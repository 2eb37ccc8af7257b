/* A model for people and programs (see model_text.h). */
#include "sim/report/model_text.h"
#include "sim/report/report.h"
#include <string.h>

static const char *const roles[SW_ROLE_COUNT] = {
    [SW_ROLE_EMBED] = "embedding",       [SW_ROLE_NORM] = "norms",
    [SW_ROLE_ATTN] = "attention",        [SW_ROLE_MLP] = "feed-forward",
    [SW_ROLE_ROUTER] = "router",         [SW_ROLE_EXPERT] = "routed experts",
    [SW_ROLE_SHARED] = "shared experts", [SW_ROLE_OUTPUT] = "output",
    [SW_ROLE_UNUSED] = "unused",
};
static const char *const attentions[] = {"full", "window", "MLA", "state", "none"};

typedef struct sum {
    uint64_t n, bytes, elems;
} sum;

double sw_model_kv_bytes(const sw_model *m, uint64_t tokens, double bytes_per_elem) {
    double total = 0;
    for (uint32_t i = 0; i < m->n_layers; i++) {
        const sw_layer *l = &m->layers[i];
        uint64_t seen = l->attn == SW_ATTN_WINDOW && l->window < tokens ? l->window : tokens;
        if (l->attn == SW_ATTN_STATE) total += (double)l->state_bytes;
        total += (double)l->kv_elems_per_token * (double)seen * bytes_per_elem;
    }
    return total;
}

double sw_model_token_bytes(const sw_model *m) {
    double total = (double)m->output_bytes;
    for (uint32_t i = 0; i < m->n_layers; i++) {
        const sw_layer *l = &m->layers[i];
        total += (double)(l->attn_bytes + l->mlp_bytes + l->shared_bytes + l->router_bytes) +
                 (double)l->top_k * (double)l->expert_bytes;
    }
    return total;
}

/* --- text ---------------------------------------------------------------------------------- */

static void headline(const sw_model *m, const sw_style *s, FILE *out) {
    char line[900], a[32], b[32], c[32], d[32];
    snprintf(line, sizeof line,
             "%s%s%s (%s): %s of weights, %s parameters; a token reads %s of it (%s parameters).",
             m->name, *m->quant ? " " : "", m->quant, m->arch,
             sw_format_bytes(a, sizeof a, (double)m->bytes),
             sw_format_count(b, sizeof b, (double)m->params),
             sw_format_bytes(c, sizeof c, sw_model_token_bytes(m)),
             sw_format_count(d, sizeof d, (double)m->active_params));
    sw_paragraph(s, out, 0, 0, SW_TONE_BOLD, line);
    snprintf(
        line, sizeof line, "%u layers, hidden size %llu, vocabulary %llu, context up to %llu.%s",
        m->n_layers, (unsigned long long)m->hidden, (unsigned long long)m->vocab,
        (unsigned long long)m->max_context, m->tied ? " The output is the embedding (tied)." : "");
    sw_paragraph(s, out, 0, 0, SW_TONE_NONE, line);
}

static void row(sw_table *t, const char *name, const sum *x, const sw_model *m, const sw_style *s) {
    char a[32], b[32], bar[256];
    double share = m->bytes ? (double)x->bytes / (double)m->bytes : 0;
    sw_table_row(t);
    sw_table_cell(t, SW_TONE_NONE, "%s", name);
    sw_table_cell(t, SW_TONE_NONE, "%llu", (unsigned long long)x->n);
    sw_table_cell(t, SW_TONE_NONE, "%s", sw_format_count(b, sizeof b, (double)x->elems));
    sw_table_cell(t, SW_TONE_NONE, "%s", sw_format_bytes(a, sizeof a, (double)x->bytes));
    sw_table_cell(t, SW_TONE_NONE, "%.1f", share * 100);
    sw_table_cell(t, SW_TONE_NONE, "%s",
                  sw_bar(bar, sizeof bar, s, share, s->width >= 100 ? 30 : 20));
}

static sw_status weights(const sw_model *m, const sw_style *s, FILE *out, sw_error *err) {
    static const sw_column by_role[] = {
        {"weights", NULL, SW_LEFT, false},   {"tensors", NULL, SW_RIGHT, false},
        {"elements", NULL, SW_RIGHT, false}, {"bytes", NULL, SW_RIGHT, false},
        {"share", "%", SW_RIGHT, false},     {"", NULL, SW_LEFT, false}};
    static sw_column by_type[6];
    sum role[SW_ROLE_COUNT] = {0}, type[SW_DTYPE_COUNT] = {0}, all = {0};
    for (uint64_t i = 0; i < m->n_tensors; i++) {
        const sw_tensor *x = &m->tensors[i];
        sum *to[] = {&role[x->role], &type[x->type], &all};
        for (int k = 0; k < 3; k++) to[k]->n++, to[k]->bytes += x->bytes, to[k]->elems += x->elems;
    }
    fputc('\n', out);
    sw_table *t = sw_table_new(by_role, 6, 2);
    for (int i = 0; i < SW_ROLE_COUNT; i++)
        if (role[i].n) row(t, roles[i], &role[i], m, s);
    sw_table_rule(t);
    row(t, "all", &all, m, s);
    SW_TRY(sw_table_print(t, s, out, err));
    memcpy(by_type, by_role, sizeof by_type);
    by_type[0].title = "format";
    fputc('\n', out);
    t = sw_table_new(by_type, 6, 2);
    for (int i = 0; i < SW_DTYPE_COUNT; i++)
        if (type[i].n) row(t, sw_dtype_name((sw_dtype)i), &type[i], m, s);
    return sw_table_print(t, s, out, err);
}

/* Two layers that a reader would call alike. */
static bool alike(const sw_layer *a, const sw_layer *b) {
    return a->attn == b->attn && a->ffn == b->ffn && a->heads == b->heads &&
           a->kv_heads == b->kv_heads && a->head_dim == b->head_dim && a->window == b->window &&
           a->kv_elems_per_token == b->kv_elems_per_token && a->ff_dim == b->ff_dim &&
           a->n_experts == b->n_experts && a->top_k == b->top_k;
}

static double layer_bytes(const sw_layer *l) {
    return (double)(l->attn_bytes + l->mlp_bytes + l->shared_bytes + l->router_bytes) +
           (double)l->n_experts * (double)l->expert_bytes;
}

static void describe(const sw_layer *l, char *attn, char *ffn, size_t n) {
    if (l->attn == SW_ATTN_FULL)
        snprintf(attn, n, "full, %u heads, %u KV x %u", l->heads, l->kv_heads, l->head_dim);
    else if (l->attn == SW_ATTN_WINDOW)
        snprintf(attn, n, "window %llu, %u heads, %u KV x %u", (unsigned long long)l->window,
                 l->heads, l->kv_heads, l->head_dim);
    else if (l->attn == SW_ATTN_MLA)
        snprintf(attn, n, "MLA, %u heads, latent %u + %u", l->heads, l->kv_latent, l->rope_dim);
    else
        snprintf(attn, n, "%s", attentions[l->attn]);
    if (l->ffn == SW_FFN_MOE)
        snprintf(ffn, n, "%u of %u experts", l->top_k, l->n_experts);
    else
        snprintf(ffn, n, "%s", l->ffn == SW_FFN_DENSE ? "dense" : "none");
}

/* The first layer that is like this one. */
static uint32_t first_alike(const sw_model *m, uint32_t i) {
    uint32_t k = 0;
    while (k < i && !alike(&m->layers[k], &m->layers[i])) k++;
    return k;
}

static sw_status layers(const sw_model *m, const sw_style *s, FILE *out, sw_error *err) {
    static const sw_column cols[] = {
        {"layers", NULL, SW_RIGHT, false},  {"first", NULL, SW_RIGHT, false},
        {"attention", NULL, SW_LEFT, true}, {"feed-forward", NULL, SW_LEFT, true},
        {"a layer", NULL, SW_RIGHT, false}, {"KV a token", "at FP16", SW_RIGHT, false}};
    enum { ROWS_MAX = 24 };
    char attn[64], ffn[64], a[32], b[32];
    sw_table *t = sw_table_new(cols, 6, 2);
    int rows = 0;
    for (uint32_t i = 0; i < m->n_layers; i++) {
        if (first_alike(m, i) < i) continue;
        uint32_t n = 0;
        double bytes = 0;
        for (uint32_t k = i; k < m->n_layers; k++)
            if (alike(&m->layers[i], &m->layers[k])) n++, bytes += layer_bytes(&m->layers[k]);
        sw_table_row(t);
        if (rows++ == ROWS_MAX) {
            sw_table_span(t, SW_TONE_DIM, "and other kinds of layers");
            break;
        }
        describe(&m->layers[i], attn, ffn, sizeof attn);
        sw_table_cell(t, SW_TONE_NONE, "%u", n);
        sw_table_cell(t, SW_TONE_DIM, "%u", i);
        sw_table_cell(t, SW_TONE_NONE, "%s", attn);
        sw_table_cell(t, SW_TONE_NONE, "%s", ffn);
        sw_table_cell(t, SW_TONE_NONE, "%s", sw_format_bytes(a, sizeof a, bytes / n));
        sw_table_cell(t, SW_TONE_NONE, "%s",
                      sw_format_bytes(b, sizeof b, 2.0 * (double)m->layers[i].kv_elems_per_token));
    }
    fputc('\n', out);
    return sw_table_print(t, s, out, err);
}

/* The contexts to show: powers of two times 1024 up to the model's own. */
static int contexts(const sw_model *m, uint64_t *out) {
    int n = 0;
    uint64_t max = m->max_context ? m->max_context : 32768;
    for (uint64_t c = 2048; c < max && n < 8; c *= 4) out[n++] = c;
    out[n++] = max;
    return n;
}

static sw_status memory(const sw_model *m, const sw_style *s, FILE *out, sw_error *err) {
    static const sw_column cols[] = {{"context", "tokens", SW_RIGHT, false},
                                     {"KV cache", "FP16", SW_RIGHT, false},
                                     {"and weights", NULL, SW_RIGHT, false},
                                     {"KV cache", "8 bit", SW_RIGHT, false},
                                     {"and weights", NULL, SW_RIGHT, false}};
    uint64_t list[10];
    char buf[4][32];
    double w = (double)(m->bytes - m->unused_bytes);
    fputc('\n', out);
    sw_table *t = sw_table_new(cols, 5, 2);
    for (int i = 0, n = contexts(m, list); i < n; i++) {
        double f16 = sw_model_kv_bytes(m, list[i], 2), q8 = sw_model_kv_bytes(m, list[i], 1);
        sw_table_row(t);
        sw_table_cell(t, SW_TONE_NONE, "%llu", (unsigned long long)list[i]);
        sw_table_cell(t, SW_TONE_NONE, "%s", sw_format_bytes(buf[0], 32, f16));
        sw_table_cell(t, SW_TONE_BOLD, "%s", sw_format_bytes(buf[1], 32, f16 + w));
        sw_table_cell(t, SW_TONE_NONE, "%s", sw_format_bytes(buf[2], 32, q8));
        sw_table_cell(t, SW_TONE_NONE, "%s", sw_format_bytes(buf[3], 32, q8 + w));
    }
    SW_TRY(sw_table_print(t, s, out, err));
    sw_paragraph(s, out, 2, 2, SW_TONE_DIM,
                 "One sequence; a runtime's context and compute buffers come on top.");
    return SW_OK;
}

sw_status sw_model_text(const sw_model *m, const sw_style *style, FILE *out, sw_error *err) {
    char line[400];
    headline(m, style, out);
    SW_TRY(weights(m, style, out, err));
    SW_TRY(layers(m, style, out, err));
    SW_TRY(memory(m, style, out, err));
    snprintf(line, sizeof line, "%s: %s.", m->bytes_exact ? "Exact, from the file" : "Source",
             m->source);
    fputc('\n', out);
    sw_paragraph(style, out, 0, 0, SW_TONE_DIM, line);
    return SW_OK;
}

/* --- JSON ---------------------------------------------------------------------------------- */

static void integer(json_t *o, const char *key, uint64_t x) {
    json_object_set_new(o, key, json_integer((json_int_t)x));
}

json_t *sw_model_json(const sw_model *m) {
    json_t *o = json_object(), *by = json_object(), *kv = json_array();
    uint64_t bytes[SW_ROLE_COUNT] = {0}, list[10];
    integer(o, "schema", SW_JSON_SCHEMA);
    json_object_set_new(o, "name", json_string(m->name));
    json_object_set_new(o, "arch", json_string(m->arch));
    json_object_set_new(o, "quant", json_string(m->quant));
    json_object_set_new(o, "source", json_string(m->source));
    json_object_set_new(o, "bytes_exact", json_boolean(m->bytes_exact));
    integer(o, "layers", m->n_layers);
    integer(o, "hidden", m->hidden);
    integer(o, "vocab", m->vocab);
    integer(o, "max_context", m->max_context);
    integer(o, "params", m->params);
    integer(o, "active_params", m->active_params);
    integer(o, "bytes", m->bytes);
    integer(o, "token_bytes", (uint64_t)sw_model_token_bytes(m));
    for (uint64_t i = 0; i < m->n_tensors; i++) bytes[m->tensors[i].role] += m->tensors[i].bytes;
    for (int i = 0; i < SW_ROLE_COUNT; i++) integer(by, roles[i], bytes[i]);
    json_object_set_new(o, "bytes_by_role", by);
    for (int i = 0, n = contexts(m, list); i < n; i++) {
        json_t *x = json_object();
        integer(x, "tokens", list[i]);
        integer(x, "kv_f16_bytes", (uint64_t)sw_model_kv_bytes(m, list[i], 2));
        json_array_append_new(kv, x);
    }
    json_object_set_new(o, "contexts", kv);
    return o;
}
