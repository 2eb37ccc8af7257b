/* Reading the op log (see oplog.h). The text is untrusted: every number is checked against its
 * range, every list against its limit, and an error names line and column. */
#include "sim/base/stream.h"
#include "sim/base/vec.h"
#include "sim/report/oplog.h"
#include <inttypes.h>
#include <stdio.h>

typedef struct parser {
    sw_reader *r;
    char *line, *at; /* the line and the place in it */
    const sw_observer *obs;
    sw_topology *topo;
    bool told, ended; /* begin has been called; the last line was seen */
    uint64_t n_ops;
    SW_VEC(uint64_t) after;
    SW_VEC(sw_use) uses;
    sw_error *err;
} parser;

#define FAIL(p, ...) sw_fail_at((p)->err, SW_INPUT, place(p), NULL, __VA_ARGS__)

static sw_mark place(const parser *p) {
    sw_mark m = sw_reader_mark(p->r);
    m.col = (int)(p->at - p->line) + 1;
    return m;
}

/* --- pieces of a line ------------------------------------------------------------------------ */

static bool skip(parser *p, const char *text) {
    size_t n = strlen(text);
    if (strncmp(p->at, text, n)) return false;
    p->at += n;
    return true;
}

static sw_status need(parser *p, const char *text) {
    return skip(p, text) ? SW_OK : FAIL(p, "\"%s\" is expected here", text);
}

static sw_status number(parser *p, uint64_t max, const char *what, uint64_t *out) {
    uint64_t x = 0;
    char *start = p->at;
    for (; *p->at >= '0' && *p->at <= '9'; p->at++) {
        uint64_t digit = (uint64_t)(*p->at - '0');
        if (x > (UINT64_MAX - digit) / 10) {
            p->at = start;
            return FAIL(p, "%s: the number is too large", what);
        }
        x = x * 10 + digit;
    }
    if (p->at == start) return FAIL(p, "%s: a whole number is expected here", what);
    if (x > max) {
        p->at = start;
        return FAIL(p, "%s: %" PRIu64 " is above the limit of %" PRIu64, what, x, max);
    }
    *out = x;
    return SW_OK;
}

/* A finite decimal number; strtod alone would also take "nan", "inf" and hexadecimal. */
static sw_status real(parser *p, const char *what, double *out) {
    size_t n = strspn(p->at, "+-.0123456789eE");
    char buf[64], *end;
    if (n == 0 || n >= sizeof buf) return FAIL(p, "%s: a number is expected here", what);
    memcpy(buf, p->at, n);
    buf[n] = 0;
    double x = strtod(buf, &end);
    if (*end || !(x - x == 0)) return FAIL(p, "%s: a finite number is expected here", what);
    p->at += n;
    *out = x;
    return SW_OK;
}

static sw_status word(parser *p, const char *const *words, int n, const char *what, int *out) {
    size_t len = strcspn(p->at, " ");
    for (int i = 0; i < n; i++)
        if (strlen(words[i]) == len && !strncmp(words[i], p->at, len)) {
            p->at += len;
            *out = i;
            return SW_OK;
        }
    return FAIL(p, "%s: \"%.*s\" is none", what, (int)(len < 32 ? len : 32), p->at);
}

static int hex(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The rest of the line, unescaped in place. */
static sw_status name(parser *p, const char **out) {
    char *to = p->at;
    *out = to;
    while (*p->at) {
        if (*p->at != '\\') {
            *to++ = *p->at++;
            continue;
        }
        int high = p->at[1] == 'x' ? hex(p->at[2]) : -1, low = high < 0 ? -1 : hex(p->at[3]);
        if (low < 0 || !(high | low)) return FAIL(p, "a backslash begins \\x and two digits");
        *to++ = (char)(high * 16 + low);
        p->at += 4;
    }
    *to = 0;
    return SW_OK;
}

/* --- records --------------------------------------------------------------------------------- */

static sw_status index_of(parser *p, uint16_t *n, uint64_t max, const char *what) {
    uint64_t i;
    char *start = p->at;
    SW_TRY(number(p, UINT16_MAX, what, &i));
    if (i == *n && i < max) {
        (*n)++;
        return need(p, " ");
    }
    p->at = start;
    if (i < max) return FAIL(p, "%s: number %u is expected here", what, *n);
    return FAIL(p, "%s: at most %" PRIu64 " are possible", what, max);
}

static sw_status tier_line(parser *p) {
    static const char *const kinds[] = {"vram", "ram", "nvme", "unified"};
    const char *text;
    int kind = 0;
    SW_TRY(index_of(p, &p->topo->n_tiers, SW_TIERS_MAX, "tier"));
    sw_tier *t = &p->topo->tiers[p->topo->n_tiers - 1];
    SW_TRY(word(p, kinds, 4, "kind of tier", &kind));
    t->kind = (sw_tier_kind)kind;
    SW_TRY(need(p, " "));
    SW_TRY(number(p, UINT64_MAX, "capacity", &t->capacity_bytes));
    t->nominal_bytes = t->capacity_bytes;
    t->unit = -1;
    SW_TRY(need(p, " "));
    SW_TRY(name(p, &text));
    snprintf(t->name, sizeof t->name, "%s", text);
    return SW_OK;
}

static sw_status queue_line(parser *p) {
    static const char *const kinds[] = {"host", "compute", "copy", "io"};
    const char *text;
    int kind = 0;
    SW_TRY(index_of(p, &p->topo->n_queues, SW_QUEUES_MAX, "queue"));
    sw_queue *q = &p->topo->queues[p->topo->n_queues - 1];
    SW_TRY(word(p, kinds, 4, "kind of queue", &kind));
    q->kind = (sw_queue_kind)kind;
    q->unit = -1;
    SW_TRY(need(p, " "));
    SW_TRY(name(p, &text));
    snprintf(q->name, sizeof q->name, "%s", text);
    return SW_OK;
}

static sw_status res_line(parser *p) {
    static const char *const kinds[] = {"tier", "link", "unit"};
    const char *text;
    int kind = 0;
    SW_TRY(index_of(p, &p->topo->n_res, SW_RES_MAX, "resource"));
    sw_resource *r = &p->topo->res[p->topo->n_res - 1];
    SW_TRY(word(p, kinds, 3, "kind of resource", &kind));
    r->kind = (sw_res_kind)kind;
    SW_TRY(need(p, " "));
    SW_TRY(real(p, "rate", &r->rate));
    SW_TRY(need(p, " "));
    SW_TRY(name(p, &text));
    snprintf(r->name, sizeof r->name, "%s", text);
    return SW_OK;
}

static sw_status tell_begin(parser *p) {
    if (p->told) return SW_OK;
    p->told = true;
    if (!p->topo->n_tiers || !p->topo->n_queues)
        return FAIL(p, "the machine has no tiers or no queues");
    return p->obs->begin ? p->obs->begin(p->obs->arg, p->topo, p->err) : SW_OK;
}

static sw_status placed_line(parser *p) {
    sw_block b = {.layer = -1, .expert = -1};
    uint64_t block, tier, addr;
    SW_TRY(number(p, UINT32_MAX - 1, "block", &block));
    SW_TRY(need(p, " "));
    SW_TRY(number(p, p->topo->n_tiers - 1u, "tier", &tier));
    SW_TRY(need(p, " "));
    SW_TRY(number(p, UINT64_MAX, "address", &addr));
    SW_TRY(need(p, " "));
    SW_TRY(number(p, UINT64_MAX, "bytes", &b.bytes));
    SW_TRY(need(p, " "));
    SW_TRY(name(p, &b.name));
    b.id = (uint32_t)block;
    return p->obs->placed ? p->obs->placed(p->obs->arg, &b, (int)tier, addr, p->err) : SW_OK;
}

static sw_status field(parser *p, const char *key, uint64_t max, uint64_t *out) {
    SW_TRY(need(p, key));
    return number(p, max, key + 1, out);
}

static sw_status real_field(parser *p, const char *key, double *out) {
    SW_TRY(need(p, key));
    return real(p, key + 1, out);
}

static sw_status after_list(parser *p) {
    SW_TRY(need(p, " after="));
    p->after.n = 0;
    while (*p->at && *p->at != ' ') {
        uint64_t id;
        if (p->after.n == SW_OPLOG_AFTER_MAX)
            return FAIL(p, "after: more than %d ids", SW_OPLOG_AFTER_MAX);
        if (p->after.n) SW_TRY(need(p, ","));
        SW_TRY(number(p, UINT64_MAX, "after", &id));
        if (!sw_vec_push(&p->after, id)) return sw_fail(p->err, SW_MEMORY, "out of memory");
    }
    return SW_OK;
}

static sw_status use_list(parser *p) {
    SW_TRY(need(p, " uses="));
    p->uses.n = 0;
    while (*p->at && *p->at != ' ') {
        sw_use u = {0};
        uint64_t block, version, tier;
        if (p->uses.n == SW_OPLOG_USES_MAX) return FAIL(p, "uses: more than %d", SW_OPLOG_USES_MAX);
        if (p->uses.n) SW_TRY(need(p, ","));
        u.mode = *p->at == 'r' ? SW_READ : *p->at == 'w' ? SW_WRITE : *p->at == 'x' ? SW_RW : 0;
        if (!u.mode) return FAIL(p, "uses: r, w or x is expected here");
        p->at++;
        SW_TRY(field(p, ":", UINT32_MAX - 1, &block));
        SW_TRY(field(p, ":", UINT32_MAX, &version));
        SW_TRY(field(p, ":", p->topo->n_tiers - 1u, &tier));
        SW_TRY(field(p, ":", UINT64_MAX, &u.addr));
        SW_TRY(field(p, ":", UINT64_MAX, &u.bytes));
        SW_TRY(field(p, ":", UINT64_MAX, &u.touched));
        u.block = (uint32_t)block;
        u.version = (uint32_t)version;
        u.tier = (int16_t)tier;
        if (!sw_vec_push(&p->uses, u)) return sw_fail(p->err, SW_MEMORY, "out of memory");
    }
    return SW_OK;
}

static sw_status op_line(parser *p) {
    const char *kinds[SW_OP_COLLECTIVE + 1];
    sw_op op = {0};
    sw_done done;
    uint64_t queue, unit, step;
    int kind = 0;
    for (int i = 0; i <= SW_OP_COLLECTIVE; i++) kinds[i] = sw_op_kind_name((sw_op_kind)i);
    SW_TRY(number(p, UINT64_MAX - 1, "id", &op.id));
    SW_TRY(need(p, " "));
    SW_TRY(word(p, kinds, SW_OP_COLLECTIVE + 1, "kind of op", &kind));
    op.kind = (uint8_t)kind;
    SW_TRY(field(p, " q=", p->topo->n_queues - 1u, &queue));
    op.queue = (uint16_t)queue;
    op.unit = -1;
    SW_TRY(need(p, " u="));
    if (!skip(p, "-1")) {
        SW_TRY(number(p, SW_UNITS_MAX - 1, "u", &unit));
        op.unit = (int16_t)unit;
    }
    SW_TRY(field(p, " step=", UINT32_MAX, &step));
    op.step = (uint32_t)step;
    SW_TRY(field(p, " event=", UINT64_MAX, &op.event));
    SW_TRY(field(p, " by=", UINT64_MAX, &op.issued_by));
    SW_TRY(field(p, " known=", UINT64_MAX, &op.needs_known));
    SW_TRY(real_field(p, " fixed=", &op.fixed_s));
    SW_TRY(real_field(p, " start=", &done.start_s));
    SW_TRY(real_field(p, " end=", &done.end_s));
    SW_TRY(after_list(p));
    SW_TRY(use_list(p));
    SW_TRY(need(p, " name="));
    SW_TRY(name(p, &op.name));
    done.id = op.id;
    op.after = p->after.v;
    op.n_after = (uint32_t)p->after.n;
    op.uses = p->uses.v;
    op.n_uses = (uint32_t)p->uses.n;
    p->n_ops++;
    return p->obs->op ? p->obs->op(p->obs->arg, &op, &done, p->err) : SW_OK;
}

static sw_status end_line(parser *p) {
    uint64_t n;
    char *start = p->at;
    SW_TRY(number(p, UINT64_MAX, "end", &n));
    if (*p->at) return FAIL(p, "nothing more is expected on this line");
    p->ended = true;
    p->at = start;
    return n == p->n_ops
               ? SW_OK
               : FAIL(p, "end: %" PRIu64 " ops were written, %" PRIu64 " are here", n, p->n_ops);
}

static sw_status body_line(parser *p) {
    if (p->ended) return FAIL(p, "nothing is expected after the end line");
    bool head = !p->told;
    if (head && skip(p, "tier ")) return tier_line(p);
    if (head && skip(p, "queue ")) return queue_line(p);
    if (head && skip(p, "res ")) return res_line(p);
    SW_TRY(tell_begin(p));
    if (skip(p, "op ")) return op_line(p);
    if (!p->n_ops && skip(p, "placed ")) return placed_line(p);
    if (skip(p, "end ")) return end_line(p);
    return FAIL(p, head ? "tier, queue, res, placed, op or end is expected here"
                        : "placed (before the first op), op or end is expected here");
}

static sw_status next_line(parser *p) {
    size_t bytes;
    sw_status st = sw_reader_line(p->r, &p->line, &bytes, p->err);
    p->at = p->line;
    return st;
}

static sw_status lines(parser *p) {
    uint64_t version;
    const char *text;
    sw_status st = next_line(p);
    if (st == SW_END) return sw_fail(p->err, SW_INPUT, "%s: the file is empty", place(p).file);
    SW_TRY(st);
    if (!skip(p, "spillway-oplog ")) return FAIL(p, "this is not an op log");
    SW_TRY(number(p, UINT64_MAX, "version", &version));
    if (version != SW_OPLOG_VERSION)
        return FAIL(p, "version %" PRIu64 " is not known; %d is", version, SW_OPLOG_VERSION);
    st = next_line(p);
    if (st == SW_END)
        return sw_fail(p->err, SW_INPUT, "%s: the log breaks off after its first line",
                       sw_reader_mark(p->r).file);
    SW_TRY(st);
    SW_TRY(need(p, "machine "));
    SW_TRY(name(p, &text));
    snprintf(p->topo->name, sizeof p->topo->name, "%s", text);
    while ((st = next_line(p)) == SW_OK) SW_TRY(body_line(p));
    if (st != SW_END) return st;
    if (!p->ended)
        return sw_fail(p->err, SW_INPUT, "%s: the log breaks off: it has no end line",
                       sw_reader_mark(p->r).file);
    return SW_OK;
}

sw_status sw_oplog_read(const char *path, const sw_observer *obs, sw_error *err) {
    parser p = {.obs = obs, .err = err};
    p.topo = sw_zalloc(1, sizeof *p.topo);
    if (!p.topo) return sw_fail(err, SW_MEMORY, "out of memory");
    sw_status st = sw_reader_open(path, &p.r, err);
    if (st == SW_OK) {
        st = lines(&p);
        sw_reader_close(p.r);
    }
    sw_vec_free(&p.after);
    sw_vec_free(&p.uses);
    free(p.topo);
    return st;
}
