/* A trace for people and programs (see trace_text.h). */
#include "sim/report/trace_text.h"
#include "sim/report/report.h"
#include <inttypes.h>

static const char *const kinds[] = {
    [SW_BLOCK_WEIGHT] = "weights", [SW_BLOCK_EXPERT] = "experts",  [SW_BLOCK_KV] = "KV cache",
    [SW_BLOCK_STATE] = "state",    [SW_BLOCK_ACT] = "activations", [SW_BLOCK_OTHER] = "other",
    [SW_BLOCK_EMBED] = "embedding"};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct group {
    uint64_t n, bytes, largest;
} group;

/* Sums over blocks as the trace has them, ids that are used again counted once, at their
 * largest. */
static void gather(const sw_scan *s, group *by) {
    for (uint32_t i = 0; i < s->n_blocks; i++) {
        const sw_block *b = &s->blocks[i];
        group *g = &by[(unsigned)b->kind < KINDS ? (unsigned)b->kind : (unsigned)SW_BLOCK_OTHER];
        g->n++;
        g->bytes += b->bytes;
        if (b->bytes > g->largest) g->largest = b->bytes;
    }
}

static sw_status blocks(const sw_scan *s, const sw_style *style, FILE *out, sw_error *err) {
    static const sw_column cols[] = {{"blocks", NULL, SW_LEFT, false},
                                     {"number", NULL, SW_RIGHT, false},
                                     {"bytes", NULL, SW_RIGHT, false},
                                     {"the largest", NULL, SW_RIGHT, false}};
    group by[KINDS] = {{0}};
    char a[32], b[32];
    gather(s, by);
    fputc('\n', out);
    sw_table *t = sw_table_new(cols, 4, 2);
    for (int k = 0; k < KINDS; k++) {
        if (!by[k].n) continue;
        sw_table_row(t);
        sw_table_cell(t, SW_TONE_NONE, "%s", kinds[k]);
        sw_table_cell(t, SW_TONE_NONE, "%" PRIu64, by[k].n);
        sw_table_cell(t, SW_TONE_NONE, "%s", sw_format_bytes(a, sizeof a, (double)by[k].bytes));
        sw_table_cell(t, SW_TONE_NONE, "%s", sw_format_bytes(b, sizeof b, (double)by[k].largest));
    }
    return sw_table_print(t, style, out, err);
}

sw_status sw_trace_text(const sw_scan *s, const char *name, const sw_style *style, FILE *out,
                        sw_error *err) {
    static const sw_column cols[] = {{NULL, NULL, SW_LEFT, false}, {NULL, NULL, SW_RIGHT, false}};
    char line[400], a[32], b[32];
    snprintf(line, sizeof line,
             "%s: %" PRIu64 " events, %" PRIu64 " ops in %" PRIu64 " steps; %" PRIu64
             " tokens in, %" PRIu64 " out.",
             name, s->n_events, s->n_accesses, s->n_steps, s->n_tokens, s->n_outputs);
    sw_paragraph(style, out, 0, 0, SW_TONE_BOLD, line);
    SW_TRY(blocks(s, style, out, err));
    const struct {
        const char *text;
        uint64_t bytes;
    } rows[] = {{"there from the start (weights)", s->static_bytes},
                {"allocated later, at most at one time", s->peak_dynamic_bytes},
                {"of these, activations and the like", s->peak_act_bytes},
                {"used by one op at most, whole blocks", s->largest_access_bytes},
                {"used by one op at most, what it names", s->largest_access_extent}};
    fputc('\n', out);
    sw_table *t = sw_table_new(cols, 2, 2);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sw_table_row(t);
        sw_table_cell(t, SW_TONE_NONE, "%s", rows[i].text);
        sw_table_cell(t, SW_TONE_NONE, "%s", sw_format_bytes(a, sizeof a, (double)rows[i].bytes));
    }
    SW_TRY(sw_table_print(t, style, out, err));
    snprintf(line, sizeof line, "All of it at once takes %s; no op runs in less than %s.",
             sw_format_bytes(a, sizeof a, (double)(s->static_bytes + s->peak_dynamic_bytes)),
             sw_format_bytes(b, sizeof b, (double)s->largest_access_extent));
    fputc('\n', out);
    sw_paragraph(style, out, 0, 0, SW_TONE_NONE, line);
    return SW_OK;
}

json_t *sw_trace_json(const sw_scan *s, const char *name) {
    json_t *o = json_object(), *groups = json_object();
    group by[KINDS] = {{0}};
    const struct {
        const char *key;
        uint64_t value;
    } rows[] = {{"schema", SW_JSON_SCHEMA},
                {"events", s->n_events},
                {"ops", s->n_accesses},
                {"steps", s->n_steps},
                {"tokens", s->n_tokens},
                {"outputs", s->n_outputs},
                {"blocks", s->n_blocks},
                {"static_bytes", s->static_bytes},
                {"peak_dynamic_bytes", s->peak_dynamic_bytes},
                {"peak_activation_bytes", s->peak_act_bytes},
                {"largest_block_bytes", s->largest_block_bytes},
                {"largest_op_bytes", s->largest_access_bytes},
                {"largest_op_extent_bytes", s->largest_access_extent}};
    gather(s, by);
    json_object_set_new(o, "name", json_string(name));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        json_object_set_new(o, rows[i].key, json_integer((json_int_t)rows[i].value));
    for (int k = 0; k < KINDS; k++) {
        json_t *g = json_object();
        json_object_set_new(g, "blocks", json_integer((json_int_t)by[k].n));
        json_object_set_new(g, "bytes", json_integer((json_int_t)by[k].bytes));
        json_object_set_new(groups, kinds[k], g);
    }
    json_object_set_new(o, "by_kind", groups);
    return o;
}
