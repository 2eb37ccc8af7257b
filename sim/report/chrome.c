/* Chrome traces (see chrome.h). Streamed: an op is written when it has ended; what stays in memory
 * is which extents are held. */
#include "sim/report/chrome.h"
#include "sim/base/json.h"
#include "sim/base/stream.h"
#include "sim/base/vec.h"

typedef struct held {
    uint64_t lo, hi;
    uint32_t block;
} held;

typedef struct tier_state {
    SW_VEC(held) held; /* disjoint, ascending */
    uint64_t bytes;
} tier_state;

struct sw_chrome {
    sw_writer *w;
    const sw_topology *topo;
    tier_state tier[SW_TIERS_MAX];
    bool any;
};

static void begin_event(sw_chrome *c) {
    sw_writer_put(c->w, c->any ? ",\n" : "\n", c->any ? 2 : 1);
    c->any = true;
}

/* Names are ours or come from model files: escape what JSON needs. */
static void put_name(sw_chrome *c, const char *name) {
    char buf[8];
    for (const char *p = name ? name : ""; *p; p++) {
        if (*p == '"' || *p == '\\') sw_writer_put(c->w, "\\", 1);
        if ((unsigned char)*p < 0x20) {
            snprintf(buf, sizeof buf, "\\u%04x", (unsigned)*p);
            sw_writer_put(c->w, buf, 6);
        } else {
            sw_writer_put(c->w, p, 1);
        }
    }
}

/* --- what a tier holds
 * -------------------------------------------------------------------------------- */

/* [lo, hi) belongs to the block now; false when memory is out. */
static bool claim(tier_state *t, uint32_t block, uint64_t lo, uint64_t hi) {
    size_t a = 0, b = t->held.n;
    while (a < b) {
        size_t mid = (a + b) / 2;
        if (t->held.v[mid].hi <= lo)
            a = mid + 1;
        else
            b = mid;
    }
    size_t end = a;
    while (end < t->held.n && t->held.v[end].lo < hi) end++;
    if (end == a + 1 && t->held.v[a].block == block && t->held.v[a].lo <= lo &&
        t->held.v[a].hi >= hi)
        return true;
    if (!sw_vec_reserve(&t->held, t->held.n + 2)) return false;
    held *v = t->held.v;
    for (size_t i = a; i < end;
         i++) /* whole replicas of others go; pieces of the same block grow together */
        if (v[i].block == block) {
            if (v[i].lo < lo) lo = v[i].lo;
            if (v[i].hi > hi) hi = v[i].hi;
        }
    for (size_t i = a; i < end; i++) t->bytes -= v[i].hi - v[i].lo;
    memmove(v + a + 1, v + end, (t->held.n - end) * sizeof *v);
    v[a] = (held){lo, hi, block};
    t->held.n = t->held.n - (end - a) + 1;
    t->bytes += hi - lo;
    return true;
}

static void counter(sw_chrome *c, int tier, double us) {
    begin_event(c);
    sw_writer_printf(
        c->w,
        "{\"ph\":\"C\",\"pid\":2,\"name\":\"%s bytes\",\"ts\":%.3f,\"args\":{\"bytes\":%llu}}",
        c->topo->tiers[tier].name, us, (unsigned long long)c->tier[tier].bytes);
}

/* --- the observer
 * ------------------------------------------------------------------------------------------ */

static sw_status on_begin(void *arg, const sw_topology *topo, sw_error *err) {
    sw_chrome *c = arg;
    (void)err;
    c->topo = topo;
    static const char *const process[] = {"queues", "tiers"};
    for (int pid = 1; pid <= 2; pid++) {
        begin_event(c);
        sw_writer_printf(
            c->w, "{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":{\"name\":\"%s\"}}",
            pid, process[pid - 1]);
    }
    for (int q = 0; q < topo->n_queues; q++) {
        begin_event(c);
        sw_writer_printf(c->w,
                         "{\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"name\":\"thread_name\",\"args\":{"
                         "\"name\":\"%s\"}}",
                         q, topo->queues[q].name);
        begin_event(c);
        sw_writer_printf(c->w,
                         "{\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"name\":\"thread_sort_index\","
                         "\"args\":{\"sort_index\":%d}}",
                         q, q);
    }
    return SW_OK;
}

static sw_status on_placed(void *arg, const sw_block *block, int tier, uint64_t addr,
                           sw_error *err) {
    sw_chrome *c = arg;
    if (!claim(&c->tier[tier], block->id, addr, addr + block->bytes))
        return sw_fail(err, SW_MEMORY, "out of memory");
    return SW_OK;
}

static sw_status on_op(void *arg, const sw_op *op, const sw_done *done, sw_error *err) {
    sw_chrome *c = arg;
    double bytes = 0, us = done->start_s * 1e6;
    bool changed[SW_TIERS_MAX] = {false};
    for (uint32_t i = 0; i < op->n_uses; i++) {
        const sw_use *u = &op->uses[i];
        bytes += (double)u->touched;
        if (u->mode == SW_READ) continue;
        uint64_t before = c->tier[u->tier].bytes;
        if (!claim(&c->tier[u->tier], u->block, u->addr, u->addr + u->bytes))
            return sw_fail(err, SW_MEMORY, "out of memory");
        changed[u->tier] |= c->tier[u->tier].bytes != before;
    }
    if (op->kind == SW_OP_JOIN) return SW_OK;
    begin_event(c);
    sw_writer_printf(
        c->w,
        "{\"ph\":\"X\",\"pid\":1,\"tid\":%u,\"cat\":\"%s\",\"ts\":%.3f,\"dur\":%.3f,\"name\":\"",
        op->queue, sw_cat_key(op->cat), us, (done->end_s - done->start_s) * 1e6);
    put_name(c, op->name ? op->name : sw_op_kind_name(op->kind));
    sw_writer_printf(c->w, "\",\"args\":{\"op\":%llu,\"step\":%u,\"bytes\":%.0f",
                     (unsigned long long)op->id, op->step, bytes);
    if (op->work.flops > 0) sw_writer_printf(c->w, ",\"flops\":%.6g", op->work.flops);
    sw_writer_put(c->w, "}}", 2);
    for (int t = 0; t < c->topo->n_tiers; t++)
        if (changed[t]) counter(c, t, us);
    return SW_OK;
}

/* --- open and close
 * ----------------------------------------------------------------------------------------- */

sw_status sw_chrome_open(const char *path, sw_chrome **out, sw_error *err) {
    sw_chrome *c = sw_zalloc(1, sizeof *c);
    if (!c) return sw_fail(err, SW_MEMORY, "out of memory");
    sw_status st = sw_writer_open(path, &c->w, err);
    if (st) {
        free(c);
        return st;
    }
    static const char head[] = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
    sw_writer_put(c->w, head, sizeof head - 1);
    *out = c;
    return SW_OK;
}

sw_observer sw_chrome_observer(sw_chrome *c) {
    return (sw_observer){.arg = c, .begin = on_begin, .placed = on_placed, .op = on_op};
}

static void drop(sw_chrome *c) {
    for (int t = 0; t < SW_TIERS_MAX; t++) sw_vec_free(&c->tier[t].held);
    free(c);
}

sw_status sw_chrome_commit(sw_chrome *c, sw_error *err) {
    sw_writer_put(c->w, "\n]}\n", 4);
    sw_status st = sw_writer_commit(c->w, err);
    drop(c);
    return st;
}

void sw_chrome_abort(sw_chrome *c) {
    if (!c) return;
    sw_writer_abort(c->w);
    drop(c);
}
