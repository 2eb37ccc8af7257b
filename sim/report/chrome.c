/* Chrome traces (see chrome.h). Streamed: an op is written when it has ended; what stays in memory
 * is which extents are held, the last few thousand ops (for arrows), and the changes of the
 * counters that may still have to be put into the order of time. */
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

enum { RECENT = 8192, CHANGES_MAX = 1 << 16, ARROWS_MAX = 50000 };

typedef struct recent { /* an op that an arrow may start from */
    uint64_t id;
    int64_t start_ns, end_ns;
    uint16_t queue;
} recent;

typedef struct change { /* of the bytes in a tier */
    int64_t ns;
    uint64_t order; /* ties: as they came */
    int64_t bytes;
    int tier;
} change;

struct sw_chrome {
    sw_writer *w;
    const sw_topology *topo;
    tier_state tier[SW_TIERS_MAX];
    recent recent[RECENT];  /* by id */
    SW_VEC(change) changes; /* a heap, earliest first */
    uint64_t n_changes;
    int64_t shown[SW_TIERS_MAX], shown_ns; /* the counters as written */
    uint32_t n_arrows;
    bool any;
};

/* Whole nanoseconds, so that an op's end and its successor's start round alike and no two ops of a
 * queue overlap. */
static int64_t to_ns(double s) {
    return (int64_t)(s * 1e9 + 0.5);
}

/* As Chrome wants it: microseconds. */
#define US_FORMAT "%lld.%03d"
#define US(ns)    (long long)((ns) / 1000), (int)((ns) % 1000)

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

/* --- what a tier holds ------------------------------------------------------------------------ */

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

/* --- counters, in the order of time ---------------------------------------------------------- */

static bool earlier(const change *a, const change *b) {
    return a->ns != b->ns ? a->ns < b->ns : a->order < b->order;
}

static change pop(sw_chrome *c) {
    change *v = c->changes.v, top = v[0], last = v[--c->changes.n];
    size_t i = 0, n = c->changes.n;
    for (size_t k; (k = 2 * i + 1) < n; i = k) {
        if (k + 1 < n && earlier(&v[k + 1], &v[k])) k++;
        if (!earlier(&v[k], &last)) break;
        v[i] = v[k];
    }
    v[i] = last;
    return top;
}

/* Writes changes until at most `keep` are left; those of one instant as one point. */
static void show(sw_chrome *c, size_t keep) {
    while (c->changes.n > keep) {
        change x = pop(c);
        if (x.ns > c->shown_ns) c->shown_ns = x.ns;
        c->shown[x.tier] += x.bytes;
        if (c->changes.n && c->changes.v[0].ns == x.ns && c->changes.v[0].tier == x.tier) continue;
        begin_event(c);
        sw_writer_printf(c->w,
                         "{\"ph\":\"C\",\"pid\":2,\"name\":\"%s bytes\",\"ts\":" US_FORMAT
                         ",\"args\":{\"bytes\":%lld}}",
                         c->topo->tiers[x.tier].name, US(c->shown_ns), (long long)c->shown[x.tier]);
    }
}

static bool note(sw_chrome *c, int tier, int64_t ns, int64_t bytes) {
    if (!bytes) return true;
    if (c->changes.n >= CHANGES_MAX) show(c, CHANGES_MAX / 2);
    if (!sw_vec_reserve(&c->changes, c->changes.n + 1)) return false;
    change x = {ns, c->n_changes++, bytes, tier}, *v = c->changes.v;
    size_t i = c->changes.n++;
    for (; i && earlier(&x, &v[(i - 1) / 2]); i = (i - 1) / 2) v[i] = v[(i - 1) / 2];
    v[i] = x;
    return true;
}

/* The arrow to this op from the one that it waited for, where that ran on another queue. */
static void arrow(sw_chrome *c, const sw_op *op, int64_t start_ns) {
    const recent *from = NULL;
    for (uint32_t i = 0; i < op->n_after; i++) {
        const recent *r = &c->recent[op->after[i] % RECENT];
        if (r->id == op->after[i] && (!from || r->end_ns > from->end_ns)) from = r;
    }
    if (!from || from->queue == op->queue || from->end_ns <= from->start_ns ||
        c->n_arrows >= ARROWS_MAX)
        return;
    int64_t mid = from->start_ns + (from->end_ns - from->start_ns) / 2;
    const struct {
        const char *head;
        unsigned queue;
        int64_t ns;
    } ends[] = {{"\"ph\":\"s\"", from->queue, mid},
                {"\"ph\":\"f\",\"bp\":\"e\"", op->queue, start_ns}};
    c->n_arrows++;
    for (int i = 0; i < 2; i++) {
        begin_event(c);
        sw_writer_printf(c->w,
                         "{%s,\"pid\":1,\"tid\":%u,\"cat\":\"after\",\"name\":\"after\",\"id\":%u,"
                         "\"ts\":" US_FORMAT "}",
                         ends[i].head, ends[i].queue, c->n_arrows, US(ends[i].ns));
    }
}

/* --- the observer ----------------------------------------------------------------------------- */

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
    uint64_t before = c->tier[tier].bytes;
    if (!claim(&c->tier[tier], block->id, addr, addr + block->bytes) ||
        !note(c, tier, 0, (int64_t)(c->tier[tier].bytes - before)))
        return sw_fail(err, SW_MEMORY, "out of memory");
    return SW_OK;
}

static sw_status on_op(void *arg, const sw_op *op, const sw_done *done, sw_error *err) {
    sw_chrome *c = arg;
    double bytes = 0;
    int64_t start = to_ns(done->start_s), end = to_ns(done->end_s);
    for (uint32_t i = 0; i < op->n_uses; i++) {
        const sw_use *u = &op->uses[i];
        tier_state *t = &c->tier[u->tier];
        uint64_t before = t->bytes;
        bytes += (double)u->touched;
        if (u->mode == SW_READ) continue;
        if (!claim(t, u->block, u->addr, u->addr + u->bytes) ||
            !note(c, u->tier, start, (int64_t)(t->bytes - before)))
            return sw_fail(err, SW_MEMORY, "out of memory");
    }
    c->recent[op->id % RECENT] = (recent){op->id, start, end, op->queue};
    if (op->kind == SW_OP_JOIN) return SW_OK;
    begin_event(c);
    sw_writer_printf(c->w,
                     "{\"ph\":\"X\",\"pid\":1,\"tid\":%u,\"cat\":\"%s\",\"ts\":" US_FORMAT
                     ",\"dur\":" US_FORMAT ",\"name\":\"",
                     op->queue, sw_cat_key(op->cat), US(start), US(end - start));
    put_name(c, op->name ? op->name : sw_op_kind_name(op->kind));
    sw_writer_printf(c->w, "\",\"args\":{\"op\":%llu,\"step\":%u,\"bytes\":%.0f",
                     (unsigned long long)op->id, op->step, bytes);
    if (op->work.flops > 0) sw_writer_printf(c->w, ",\"flops\":%.6g", op->work.flops);
    sw_writer_put(c->w, "}}", 2);
    arrow(c, op, start);
    return SW_OK;
}

/* --- open and close --------------------------------------------------------------------------- */

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
    sw_vec_free(&c->changes);
    free(c);
}

sw_status sw_chrome_commit(sw_chrome *c, sw_error *err) {
    show(c, 0);
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
