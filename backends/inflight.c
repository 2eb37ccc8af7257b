/* Ops in flight (see inflight.h): a ring of records, and for each op a list of those that wait for
 * it. */
#include "backends/inflight.h"
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#define NIL UINT32_MAX

static inline sw_inflight_rec *rec(const sw_inflight *f, uint64_t id) {
    return &f->ring[id & f->mask];
}

sw_status sw_inflight_open(sw_inflight *f, sw_error *err) {
    *f = (sw_inflight){.mask = 8191, .first = 1, .next = 1, .free_edge = NIL};
    f->ring = sw_zalloc(f->mask + 1, sizeof *f->ring);
    return f->ring ? SW_OK : sw_fail(err, SW_MEMORY, "out of memory");
}

void sw_inflight_close(sw_inflight *f) {
    sw_vec_free(&f->edges);
    free(f->ring);
    f->ring = NULL;
}

/* --- taking ops in --------------------------------------------------------------------------- */

static sw_status grow(sw_inflight *f, uint64_t need, sw_error *err) {
    uint64_t mask = f->mask;
    while (mask < need) mask = mask * 2 + 1;
    sw_inflight_rec *ring = sw_zalloc(mask + 1, sizeof *ring);
    if (!ring) return sw_fail(err, SW_MEMORY, "out of memory");
    for (uint64_t id = f->first; id < f->next; id++) ring[id & mask] = *rec(f, id);
    free(f->ring);
    f->ring = ring;
    f->mask = mask;
    return SW_OK;
}

/* `id` waits for `on`. An op that has not been added yet never ends as far as this one can see: the
 * run stalls, and sw_inflight_stuck says so. */
static bool depend(sw_inflight *f, uint64_t on, uint64_t id) {
    if (on < f->first) return true;
    if (on < f->next && rec(f, on)->done) {
        rec(f, id)->ready_s = fmax(rec(f, id)->ready_s, rec(f, on)->end_s);
        return true;
    }
    rec(f, id)->pending++;
    if (on >= f->next) return true;
    uint32_t e = f->free_edge;
    if (e != NIL)
        f->free_edge = f->edges.v[e].next;
    else {
        if (!sw_vec_push(&f->edges, ((sw_inflight_edge){0}))) return false;
        e = (uint32_t)f->edges.n - 1;
    }
    f->edges.v[e] = (sw_inflight_edge){id, rec(f, on)->edges};
    rec(f, on)->edges = e;
    return true;
}

static void enqueue(sw_inflight *f, const sw_op *op) {
    if (f->head[op->queue])
        rec(f, f->tail[op->queue])->next = op->id;
    else
        f->head[op->queue] = op->id;
    f->tail[op->queue] = op->id;
}

sw_status sw_inflight_add(sw_inflight *f, const sw_op *ops, uint32_t n, uint64_t *ready,
                          sw_error *err) {
    if (f->next + n - f->first > f->mask) SW_TRY(grow(f, f->next + n - f->first, err));
    for (uint32_t i = 0; i < n; i++) {
        const sw_op *op = &ops[i];
        *rec(f, op->id) = (sw_inflight_rec){.op = op, .edges = NIL, .ready_s = -INFINITY};
        f->next = op->id + 1;
        bool ok = !op->issued_by || depend(f, op->issued_by, op->id);
        for (uint32_t k = 0; k < op->n_after; k++) ok = ok && depend(f, op->after[k], op->id);
        if (!ok) return sw_fail(err, SW_MEMORY, "out of memory");
        enqueue(f, op);
        if (sw_inflight_ready(f, op->queue)) *ready |= UINT64_C(1) << op->queue;
    }
    return SW_OK;
}

/* --- running ------------------------------------------------------------------------------- */

const sw_op *sw_inflight_ready(const sw_inflight *f, int queue) {
    if (!f->head[queue]) return NULL;
    const sw_inflight_rec *r = rec(f, f->head[queue]);
    return r->pending || r->started ? NULL : r->op;
}

void sw_inflight_start(sw_inflight *f, int queue, double now_s) {
    sw_inflight_rec *r = rec(f, f->head[queue]);
    r->started = true;
    r->start_s = now_s;
}

void sw_inflight_paged(sw_inflight *f, int queue, double waited_s) {
    f->ring[f->head[queue] & f->mask].paged_s = waited_s;
}

uint64_t sw_inflight_end(sw_inflight *f, int queue, double now_s) {
    sw_inflight_rec *r = rec(f, f->head[queue]);
    uint64_t ready = 0;
    r->end_s = now_s;
    r->done = true;
    f->n_done++;
    f->head[queue] = r->next;
    for (uint32_t e = r->edges, next; e != NIL; e = next) {
        next = f->edges.v[e].next;
        const sw_inflight_rec *to = rec(f, f->edges.v[e].to);
        rec(f, f->edges.v[e].to)->pending--;
        rec(f, f->edges.v[e].to)->ready_s = now_s;
        if (sw_inflight_ready(f, to->op->queue) == to->op) ready |= UINT64_C(1) << to->op->queue;
        f->edges.v[e].next = f->free_edge;
        f->free_edge = e;
    }
    if (sw_inflight_ready(f, queue)) ready |= UINT64_C(1) << queue;
    while (f->done_upto + 1 < f->next && rec(f, f->done_upto + 1)->done) f->done_upto++;
    return ready;
}

/* --- handing completions out ----------------------------------------------------------------- */

uint32_t sw_inflight_take(sw_inflight *f, uint64_t upto, sw_done *out, uint32_t cap) {
    uint32_t n = 0;
    for (; f->first <= upto && f->first < f->next && n < cap; f->first++) {
        const sw_inflight_rec *r = rec(f, f->first);
        out[n++] = (sw_done){f->first, r->start_s, r->end_s, r->paged_s};
    }
    return n;
}

static int by_end(const void *a, const void *b) {
    const sw_done *x = a, *y = b;
    if (x->end_s != y->end_s) return x->end_s < y->end_s ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

uint32_t sw_inflight_fresh(sw_inflight *f, sw_done *out, uint32_t cap) {
    uint32_t n = 0;
    for (uint64_t id = f->first; id < f->next && n < cap; id++) {
        sw_inflight_rec *r = rec(f, id);
        if (!r->done || r->told) continue;
        r->told = true;
        out[n++] = (sw_done){id, r->start_s, r->end_s, r->paged_s};
    }
    qsort(out, n, sizeof *out, by_end);
    return n;
}

/* --- who is stuck -------------------------------------------------------------------------- */

typedef struct text {
    char *buf;
    size_t n, at;
} text;

__attribute__((format(printf, 2, 3))) static void say(text *t, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int k = vsnprintf(t->buf + t->at, t->n - t->at, fmt, ap);
    va_end(ap);
    if (k > 0) t->at = t->at + (size_t)k < t->n ? t->at + (size_t)k : t->n - 1;
}

static bool open_op(const sw_inflight *f, uint64_t id) {
    return id && id >= f->first && (id >= f->next || !rec(f, id)->done);
}

/* Up to four of the ops that it waits for. */
static void say_waits(const sw_inflight *f, const sw_op *op, text *t) {
    int shown = 0;
    for (uint32_t k = 0; k <= op->n_after && shown < 4; k++) {
        uint64_t on = k < op->n_after ? op->after[k] : op->issued_by;
        if (open_op(f, on)) say(t, "%s%" PRIu64, shown++ ? ", " : "waits for ", on);
    }
    if (!shown) say(t, "waits for %" PRIu64 " of its queue", f->head[op->queue]);
}

char *sw_inflight_stuck(const sw_inflight *f, char *buf, size_t n) {
    text t = {buf, n, 0};
    int shown = 0;
    buf[0] = 0;
    for (uint64_t id = f->first; id < f->next && shown < 5; id++) {
        const sw_inflight_rec *r = rec(f, id);
        if (r->done) continue;
        say(&t, "%s%" PRIu64 " (%.40s) ", shown++ ? "; " : "", id,
            r->op->name ? r->op->name : sw_op_kind_name((sw_op_kind)r->op->kind));
        if (r->started)
            say(&t, "has started");
        else
            say_waits(f, r->op, &t);
    }
    return buf;
}
