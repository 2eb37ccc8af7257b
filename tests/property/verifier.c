/* Question: does the verifier pass every valid run, and catch every run that could not have been?
 *
 * Valid logs come from tinylog.h. Each kind of mistake is planted where it must show, and must be
 * caught by the check that is named for it. Then fields are changed at random, thousands of times;
 * an oracle that plays the log byte by byte in time says whether some read now finds other bytes
 * than in the original, or bytes in motion: then the verifier must have something to say. */
#include "check.h"
#include "sim/report/oplog.h"
#include "tinylog.h"
#include "validate/verify.h"
#include <unistd.h>

static void verify(tiny *t, sw_verify_report *out) {
    sw_verifier *v = NULL;
    CHECK(sw_verifier_new(&v, NULL) == SW_OK);
    sw_observer obs = sw_verifier_observer(v);
    CHECK(tell(t, &obs) == SW_OK);
    *out = *sw_verifier_finish(v);
    sw_verifier_free(v);
}

static void say(const sw_verify_report *r, const char *what) {
    printf("\n  %s: %llu violations\n", what, (unsigned long long)r->n_violations);
    for (uint32_t i = 0; i < r->n_kept && i < 4; i++)
        printf("    %s: %s\n", sw_rule_name(r->kept[i].rule), r->kept[i].text);
}

static void valid_logs_pass(void) {
    static tiny t;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        sw_verify_report r;
        make_log(&t, seed, 20 + (int)(seed % 80));
        verify(&t, &r);
        if (r.n_violations) say(&r, "a valid log");
        CHECK(r.n_violations == 0);
        CHECK(r.n_ops == (uint64_t)t.n);
    }
}

/* --- mistakes that are planted ------------------------------------------------------------------
 */

static void drop_edge(rec *x, uint64_t id) {
    uint32_t k = 0;
    for (uint32_t i = 0; i < x->op.n_after; i++)
        if (x->after[i] != id) x->after[k++] = x->after[i];
    x->op.n_after = k;
    if (x->op.issued_by == id) x->op.issued_by = 0;
    if (x->op.needs_known == id) x->op.needs_known = 0;
}

static double queue_free(const tiny *t, int i) {
    double end = 0;
    for (int k = 0; k < i; k++)
        if (t->v[k].op.queue == t->v[i].op.queue) end = t->v[k].done.end_s;
    return end;
}

/* Op i now starts a tick before op k ends, without a trace of an edge; false if its queue, or
 * another edge, would show it. */
static bool start_early(tiny *t, int i, int k) {
    rec *x = &t->v[i];
    double start = t->v[k].done.end_s - TICK;
    if (start < 0 || x->op.queue == t->v[k].op.queue || queue_free(t, i) > start) return false;
    drop_edge(x, t->v[k].op.id);
    for (uint32_t a = 0; a < x->op.n_after; a++)
        if (t->v[x->after[a] - 1].done.end_s > start) return false;
    if (x->op.issued_by && t->v[x->op.issued_by - 1].done.end_s > start) return false;
    x->done.start_s = start;
    return true;
}

static bool overlap(const sw_use *a, const sw_use *b) {
    return a->tier == b->tier && a->addr < b->addr + b->bytes && b->addr < a->addr + a->bytes;
}

/* Is there a use of op i and one of op k of these modes on the same bytes? */
static bool meet(const tiny *t, int i, int mode_i, int k, int mode_k) {
    for (uint32_t a = 0; a < t->v[i].op.n_uses; a++)
        for (uint32_t b = 0; b < t->v[k].op.n_uses; b++)
            if ((t->v[i].uses[a].mode & mode_i) && (t->v[k].uses[b].mode & mode_k) &&
                overlap(&t->v[i].uses[a], &t->v[k].uses[b]))
                return true;
    return false;
}

static bool writes_between(const tiny *t, int from, int to, const sw_use *u) {
    for (int k = from + 1; k < to; k++)
        for (uint32_t b = 0; b < t->v[k].op.n_uses; b++)
            if ((t->v[k].uses[b].mode & SW_WRITE) && overlap(&t->v[k].uses[b], u)) return true;
    return false;
}

/* The kernel that reads what copy i brought, before anything else is written there; -1 none. */
static int reader_of(const tiny *t, int i, const sw_use *u) {
    for (int k = i + 1; k < t->n; k++)
        for (uint32_t b = 0; b < t->v[k].op.n_uses; b++) {
            const sw_use *x = &t->v[k].uses[b];
            if ((x->mode & SW_READ) && x->block == u->block && x->tier == u->tier &&
                overlap(x, u) && !writes_between(t, i, k, u))
                return k;
        }
    return -1;
}

static bool early_read(tiny *t, int i) {
    for (int k = 0; k < i; k++)
        if (meet(t, i, SW_READ, k, SW_WRITE)) {
            bool last = true;
            for (uint32_t a = 0; a < t->v[i].op.n_uses; a++)
                if (overlap(&t->v[i].uses[a], &t->v[k].uses[t->v[k].op.n_uses - 1]))
                    last = !writes_between(t, k, i, &t->v[i].uses[a]);
            if (last && start_early(t, i, k)) return true;
        }
    return false;
}

static bool early_write(tiny *t, int i) {
    for (int k = 0; k < i; k++)
        if (meet(t, i, SW_WRITE, k, SW_READ)) {
            bool last = true;
            for (uint32_t b = 0; b < t->v[k].op.n_uses; b++)
                last = last && !writes_between(t, k, i, &t->v[k].uses[b]);
            if (last && start_early(t, i, k)) return true;
        }
    return false;
}

static bool two_writes(tiny *t, int i) {
    for (int k = i - 1; k >= 0; k--)
        for (uint32_t b = 0; b < t->v[k].op.n_uses; b++)
            if ((t->v[k].uses[b].mode & SW_WRITE) && t->v[i].op.kind == SW_OP_COPY &&
                overlap(&t->v[k].uses[b], &t->v[i].uses[1]) &&
                !writes_between(t, k, i, &t->v[k].uses[b]))
                return start_early(t, i, k);
    return false;
}

static bool kept_edge(tiny *t, int i) { /* the edge stays, the start does not heed it */
    rec *x = &t->v[i];
    for (uint32_t a = 0; a < x->op.n_after; a++) {
        double end = t->v[x->after[a] - 1].done.end_s;
        if (end < 2 * TICK || x->after[a] == x->op.needs_known) continue;
        x->done.start_s = end - TICK;
        return true;
    }
    return false;
}

static bool before_router(tiny *t, int i) {
    rec *x = &t->v[i];
    uint64_t router = x->op.needs_known;
    if (!router) return false;
    double start = t->v[router - 1].done.end_s - TICK;
    if (start < queue_free(t, i)) return false;
    x->done.start_s = start;
    return true;
}

static bool router_not_awaited(tiny *t, int i) {
    rec *x = &t->v[i];
    uint64_t router = x->op.needs_known;
    if (!router || router == x->op.issued_by) return false;
    drop_edge(x, router);
    x->op.needs_known = router;
    return true;
}

static bool shifted(tiny *t, int i) {
    rec *x = &t->v[i];
    if (!x->op.n_uses || !(x->uses[0].mode & SW_READ)) return false;
    if (x->op.kind == SW_OP_COPY && x->uses[0].block >= WEIGHTS) return false; /* half defined */
    x->uses[0].addr += x->uses[0].addr >= SLOT ? (uint64_t)-3 : 3;
    return true;
}

static bool stale(tiny *t, int i) {
    rec *x = &t->v[i];
    if (x->op.kind == SW_OP_COPY || !x->op.n_uses || !x->uses[0].version) return false;
    x->uses[0].version--;
    return true;
}

static bool skipped_version(tiny *t, int i) {
    rec *x = &t->v[i];
    sw_use *u = x->op.n_uses ? &x->uses[x->op.n_uses - 1] : NULL;
    if (x->op.kind == SW_OP_COPY || !u || u->mode == SW_READ) return false;
    u->version++;
    return true;
}

static bool reordered(tiny *t, int i) {
    for (int k = i - 1; k >= 0; k--)
        if (t->v[k].op.queue == t->v[i].op.queue) {
            sw_done a = t->v[k].done, b = t->v[i].done;
            t->v[k].done.start_s = b.start_s, t->v[k].done.end_s = b.end_s;
            t->v[i].done.start_s = a.start_s, t->v[i].done.end_s = a.end_s;
            return true;
        }
    return false;
}

static bool overflows(tiny *t, int i) {
    rec *x = &t->v[i];
    if (!x->op.n_uses) return false;
    x->uses[0].addr = t->topo.tiers[x->uses[0].tier].capacity_bytes - x->uses[0].bytes + 1;
    return true;
}

static bool wraps(tiny *t, int i) {
    if (!t->v[i].op.n_uses) return false;
    t->v[i].uses[0].addr = UINT64_MAX - 2;
    return true;
}

static void forget(rec *x) { /* the op does nothing any more */
    x->op.kind = SW_OP_DELAY;
    x->op.n_uses = 0;
}

static bool lost_write_back(tiny *t, int i) {
    rec *x = &t->v[i];
    if (x->op.kind != SW_OP_COPY || x->op.queue != DOWN_Q || reader_of(t, i, &x->uses[1]) < 0)
        return false;
    forget(x);
    return true;
}

static bool lost_fetch(tiny *t, int i) { /* into a slot that held another block, or nothing */
    rec *x = &t->v[i];
    if (x->op.kind != SW_OP_COPY || x->op.queue != UP_Q || reader_of(t, i, &x->uses[1]) < 0)
        return false;
    for (int k = i - 1; k >= 0; k--)
        for (uint32_t b = 0; b < t->v[k].op.n_uses; b++)
            if ((t->v[k].uses[b].mode & SW_WRITE) && overlap(&t->v[k].uses[b], &x->uses[1])) {
                if (t->v[k].uses[b].block == x->uses[1].block) return false;
                forget(x);
                return true;
            }
    return false;
}

static bool two_copies(tiny *t, int i) { /* both into the extent of the earlier one */
    rec *x = &t->v[i];
    if (x->op.kind != SW_OP_COPY || x->op.queue != UP_Q || reader_of(t, i, &x->uses[1]) < 0)
        return false;
    for (int k = i - 1; k >= 0; k--)
        if (t->v[k].op.kind == SW_OP_COPY && t->v[k].op.queue == UP_Q &&
            t->v[k].uses[1].addr != x->uses[1].addr) {
            x->uses[1].addr = t->v[k].uses[1].addr;
            return true;
        }
    return false;
}

static bool half_copy(tiny *t, int i) {
    rec *x = &t->v[i];
    if (x->op.kind != SW_OP_COPY || x->op.queue != UP_Q || x->uses[0].block >= WEIGHTS)
        return false;
    x->uses[0].bytes = x->uses[1].bytes = SLOT / 2;
    return true;
}

static bool other_length(tiny *t, int i) {
    if (t->v[i].op.kind != SW_OP_COPY) return false;
    t->v[i].uses[1].bytes--;
    return true;
}
static bool other_version(tiny *t, int i) {
    if (t->v[i].op.kind != SW_OP_COPY) return false;
    t->v[i].uses[1].version++;
    return true;
}
static bool other_block(tiny *t, int i) {
    if (t->v[i].op.kind != SW_OP_COPY) return false;
    t->v[i].uses[1].block = (t->v[i].uses[1].block + 1) % BLOCKS;
    return true;
}
static bool unknown_block(tiny *t, int i) {
    if (t->v[i].op.kind == SW_OP_COPY || !t->v[i].op.n_uses) return false;
    if (t->v[i].uses[0].mode != SW_READ) return false;
    t->v[i].uses[0].block = 4000000;
    return true;
}
static bool backwards(tiny *t, int i) {
    t->v[i].done.end_s = t->v[i].done.start_s - TICK;
    return true;
}
static bool not_a_number(tiny *t, int i) {
    t->v[i].done.end_s = NAN;
    return true;
}
static bool too_short(tiny *t, int i) {
    t->v[i].op.fixed_s = t->v[i].done.end_s - t->v[i].done.start_s + TICK;
    return true;
}
static bool same_id(tiny *t, int i) {
    if (i == 0) return false;
    t->v[i].op.id = t->v[i].done.id = (uint64_t)i;
    return true;
}
static bool missing_op(tiny *t, int i) {
    if (i + 1 == t->n) return false;
    memmove(&t->v[i], &t->v[i + 1], (size_t)(t->n - i - 1) * sizeof t->v[0]);
    t->n--;
    return true;
}
static bool future_edge(tiny *t, int i) {
    if (t->v[i].op.needs_known) return false;
    t->v[i].after[0] = t->v[i].op.id;
    t->v[i].op.n_after = 1;
    return true;
}
static bool issued_by_kernel(tiny *t, int i) {
    for (int k = 0; k < i; k++)
        if (t->v[k].op.kind == SW_OP_COMPUTE) {
            t->v[i].op.issued_by = t->v[k].op.id;
            return true;
        }
    return false;
}
static bool no_such_queue(tiny *t, int i) {
    t->v[i].op.queue = 4;
    return true;
}
static bool no_bytes(tiny *t, int i) {
    if (!t->v[i].op.n_uses) return false;
    t->v[i].uses[0].bytes = 0;
    return true;
}

static const struct plant {
    const char *name;
    bool (*make)(tiny *t, int i);
    sw_rule rule;
    bool alone; /* nothing else may be said */
} plants[] = {
    {"a dropped edge, and a read that starts too early", early_read, SW_RULE_HAZARD, true},
    {"a dropped edge, and a write while others read", early_write, SW_RULE_HAZARD, true},
    {"two writes at once", two_writes, SW_RULE_HAZARD, false},
    {"a start that does not heed an edge", kept_edge, SW_RULE_DEPENDENCY, false},
    {"an expert fetched before its router ended", before_router, SW_RULE_CAUSALITY, false},
    {"a router that is not waited for", router_not_awaited, SW_RULE_CAUSALITY, true},
    {"a shifted extent", shifted, SW_RULE_CONTENT, false},
    {"a stale version", stale, SW_RULE_VERSION, false},
    {"a skipped version", skipped_version, SW_RULE_VERSION, false},
    {"a reordered queue", reordered, SW_RULE_QUEUE, false},
    {"an overflowing extent", overflows, SW_RULE_CAPACITY, false},
    {"an extent that wraps around", wraps, SW_RULE_CAPACITY, false},
    {"a lost write-back", lost_write_back, SW_RULE_COUNT, false}, /* version or content */
    {"a lost fetch", lost_fetch, SW_RULE_CONTENT, false},
    {"two copies into one extent", two_copies, SW_RULE_CONTENT, false},
    {"half a copy", half_copy, SW_RULE_CONTENT, false},
    {"a copy of another length", other_length, SW_RULE_COPY, false},
    {"a copy to another version", other_version, SW_RULE_COPY, false},
    {"a copy to another block", other_block, SW_RULE_COPY, false},
    {"a block that never was", unknown_block, SW_RULE_CONTENT, true},
    {"an end before the start", backwards, SW_RULE_TIME, false},
    {"a time that is no number", not_a_number, SW_RULE_TIME, false},
    {"less than the fixed time", too_short, SW_RULE_DURATION, true},
    {"an id twice", same_id, SW_RULE_IDS, false},
    {"an op that is missing", missing_op, SW_RULE_IDS, false},
    {"an edge to the future", future_edge, SW_RULE_DEPENDENCY, false},
    {"an issuer that is no host op", issued_by_kernel, SW_RULE_DEPENDENCY, false},
    {"a queue that does not exist", no_such_queue, SW_RULE_FORM, false},
    {"a use of no bytes", no_bytes, SW_RULE_FORM, false},
};

static void planted_mistakes(void) {
    static tiny t;
    for (size_t p = 0; p < sizeof plants / sizeof *plants; p++) {
        sw_rng r = sw_rng_seed(p + 100);
        int planted = 0, caught = 0;
        for (uint64_t seed = 0; seed < 2000 && planted < 150; seed++) {
            sw_verify_report report;
            make_log(&t, seed + 10000, OPS_MAX);
            int start = (int)sw_rng_below(&r, (uint64_t)t.n), k = 0;
            while (k < t.n && !plants[p].make(&t, (start + k) % t.n)) k++;
            if (k == t.n) continue;
            planted++;
            verify(&t, &report);
            bool ok = plants[p].rule == SW_RULE_COUNT ? report.n_violations > 0
                                                      : report.by_rule[plants[p].rule] > 0;
            if (plants[p].alone && report.n_violations != report.by_rule[plants[p].rule])
                ok = false;
            if (!ok && planted - caught < 3) say(&report, plants[p].name);
            caught += ok;
        }
        if (planted < 20 || caught < planted)
            printf("\n  %s: %d planted, %d caught\n", plants[p].name, planted, caught);
        CHECK(planted >= 20);
        CHECK(caught == planted);
    }
}

/* A real op may be faster than its modelled set-up; a delay is what was asked for. */
static void real_runs(void) {
    static tiny t;
    int excused = 0, held = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        make_log(&t, seed, OPS_MAX);
        for (int i = 0; i < t.n; i += 7) {
            sw_verifier *v = NULL;
            double was = t.v[i].op.fixed_s;
            bool delay = t.v[i].op.kind == SW_OP_HOST || t.v[i].op.kind == SW_OP_DELAY;
            too_short(&t, i);
            CHECK(sw_verifier_new(&v, NULL) == SW_OK);
            sw_verifier_real(v);
            sw_observer obs = sw_verifier_observer(v);
            CHECK(tell(&t, &obs) == SW_OK);
            CHECK(sw_verifier_finish(v)->n_violations == (delay ? 1 : 0));
            sw_verifier_free(v);
            t.v[i].op.fixed_s = was;
            *(delay ? &held : &excused) += 1;
        }
    }
    CHECK(held > 20 && excused > 20);
}

/* --- the oracle ------------------------------------------------------------------------------- */

typedef struct cell {
    int writer, block;    /* op; 0: placed; -1: nothing */
    int writing, reading; /* ops in motion on this byte: last writer, number of readers */
} cell;

typedef struct moment {
    double at;
    int kind, op; /* 0 end, 1 start */
} moment;

enum { SIGNS = OPS_MAX * USES_MAX * SLOT };

static int by_moment(const void *a, const void *b) {
    const moment *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    if (x->kind != y->kind) return x->kind - y->kind;
    return x->op - y->op;
}

/* Plays the log in time. sign[op][use][byte]: who wrote what it reads (-2: not of that block).
 * False: bytes in motion were used. */
static bool play(const tiny *t, int *sign) {
    static cell mem[2][BLOCKS * SLOT];
    static moment m[2 * OPS_MAX];
    for (int i = 0; i < 2 * BLOCKS * SLOT; i++) (&mem[0][0])[i] = (cell){-1, -1, 0, 0};
    for (int i = 0; i < t->n_placed; i++)
        for (int b = 0; b < SLOT; b++) {
            cell *c = &mem[t->placed[i].tier][t->placed[i].addr + (uint64_t)b];
            c->writer = 0;
            c->block = (int)t->placed[i].block;
        }
    for (int i = 0; i < t->n; i++) {
        m[2 * i] = (moment){t->v[i].done.start_s, 1, i};
        m[2 * i + 1] = (moment){t->v[i].done.end_s, 0, i};
    }
    for (int i = 0; i < SIGNS; i++) sign[i] = -2;
    qsort(m, (size_t)(2 * t->n), sizeof *m, by_moment);
    for (int k = 0; k < 2 * t->n; k++) {
        const rec *x = &t->v[m[k].op];
        for (uint32_t a = 0; a < x->op.n_uses; a++)
            for (uint64_t b = 0; b < x->uses[a].bytes; b++) {
                const sw_use *u = &x->uses[a];
                cell *c = &mem[u->tier][u->addr + b];
                int id = m[k].op + 1, step = m[k].kind ? 1 : -1;
                if (m[k].kind && (u->mode & SW_READ)) {
                    if (c->writing && c->writing != id) return false;
                    if (c->block == (int)u->block)
                        sign[(m[k].op * USES_MAX + (int)a) * SLOT + (int)b] = c->writer;
                }
                if (u->mode & SW_READ) c->reading += step;
                if (!(u->mode & SW_WRITE)) continue;
                if (m[k].kind && (c->writing || c->reading > ((u->mode & SW_READ) != 0)))
                    return false;
                c->writing = m[k].kind ? id : 0;
                if (!m[k].kind) c->writer = id, c->block = (int)u->block;
            }
    }
    return true;
}

/* Changes something; what, is left to chance. */
static void mutate(tiny *t, sw_rng *r) {
    rec *x = &t->v[sw_rng_below(r, (uint64_t)t->n)], *y = &t->v[sw_rng_below(r, (uint64_t)t->n)];
    double by = TICK * (double)(1 + sw_rng_below(r, 40));
    uint64_t capacity;
    sw_use *u = x->op.n_uses ? &x->uses[sw_rng_below(r, x->op.n_uses)] : NULL;
    switch (sw_rng_below(r, 6)) {
    case 0:
        x->done.start_s = fmax(0, x->done.start_s - by);
        break;
    case 1:
        x->done.end_s += by;
        break;
    case 2:
        x->done.start_s = fmax(0, x->done.start_s - by);
        x->done.end_s = fmax(x->done.start_s + TICK, x->done.end_s - by);
        break;
    case 3: {
        sw_done d = x->done;
        x->done.start_s = y->done.start_s, x->done.end_s = y->done.end_s;
        y->done.start_s = d.start_s, y->done.end_s = d.end_s;
        break;
    }
    case 4:
        if (!u) break;
        capacity = t->topo.tiers[u->tier].capacity_bytes;
        u->addr = (u->addr + 1 + sw_rng_below(r, 2 * SLOT)) % (capacity - u->bytes + 1);
        break;
    default:
        if (x->op.kind == SW_OP_COPY) forget(x);
    }
    x->op.fixed_s = y->op.fixed_s = 0; /* not what is tested here: nor are the edges */
    x->op.n_after = y->op.n_after = 0;
    x->op.issued_by = y->op.issued_by = x->op.needs_known = y->op.needs_known = 0;
}

static void random_mutations(void) {
    static tiny t;
    static int before[SIGNS], after[SIGNS];
    sw_rng r = sw_rng_seed(1);
    int broken = 0, missed = 0, harmless = 0, silent = 0;
    for (uint64_t seed = 0; seed < 6000; seed++) {
        sw_verify_report report;
        make_log(&t, seed + 50000, 30 + (int)(seed % 90));
        CHECK(play(&t, before));
        mutate(&t, &r);
        bool whole = play(&t, after);
        for (int i = 0; i < t.n && whole; i++) /* only what still is read counts */
            for (uint32_t a = 0; a < t.v[i].op.n_uses && whole; a++)
                for (int b = 0; b < SLOT && whole; b++) {
                    int at = (i * USES_MAX + (int)a) * SLOT + b;
                    if (before[at] != -2 && before[at] != after[at]) whole = false;
                }
        verify(&t, &report);
        if (whole) {
            harmless++;
            silent += report.n_violations == 0;
            continue;
        }
        broken++;
        if (report.n_violations) continue;
        missed++;
        printf("\n  seed %llu: broken, and the verifier is silent\n", (unsigned long long)seed);
    }
    printf(
        "\n    %d mutations broke a run, %d of them missed; %d did no harm, %d of those passed\n",
        broken, missed, harmless, silent);
    CHECK(broken > 1000);
    CHECK(missed == 0);
}

/* --- through a file --------------------------------------------------------------------------- */

typedef struct again { /* holds what is read against the log that was written */
    tiny *t;
    int n_placed, n;
} again;

static sw_status same_begin(void *arg, const sw_topology *topo, sw_error *err) {
    const tiny *t = ((again *)arg)->t;
    (void)err;
    CHECK(topo->n_tiers == t->topo.n_tiers && topo->n_queues == t->topo.n_queues);
    CHECK_STR(topo->tiers[0].name, t->topo.tiers[0].name);
    CHECK(topo->tiers[1].capacity_bytes == t->topo.tiers[1].capacity_bytes);
    return SW_OK;
}

static sw_status same_placed(void *arg, const sw_block *b, int tier, uint64_t addr, sw_error *err) {
    again *a = arg;
    (void)err;
    CHECK(b->id == a->t->placed[a->n_placed].block && tier == a->t->placed[a->n_placed].tier);
    CHECK(addr == a->t->placed[a->n_placed].addr && b->bytes == SLOT);
    a->n_placed++;
    return SW_OK;
}

static sw_status same_op(void *arg, const sw_op *op, const sw_done *done, sw_error *err) {
    again *a = arg;
    const rec *x = &a->t->v[a->n++];
    (void)err;
    CHECK(op->id == x->op.id && op->kind == x->op.kind && op->queue == x->op.queue);
    CHECK(op->unit == x->op.unit && op->issued_by == x->op.issued_by);
    CHECK(op->needs_known == x->op.needs_known && op->fixed_s == x->op.fixed_s);
    CHECK(done->start_s == x->done.start_s && done->end_s == x->done.end_s);
    CHECK_STR(op->name, x->op.name);
    CHECK(op->n_after == x->op.n_after && op->n_uses == x->op.n_uses);
    CHECK(!op->n_after || !memcmp(op->after, x->after, op->n_after * sizeof *op->after));
    for (uint32_t i = 0; i < op->n_uses; i++) {
        const sw_use *p = &op->uses[i], *q = &x->uses[i];
        CHECK(p->block == q->block && p->version == q->version && p->tier == q->tier);
        CHECK(p->mode == q->mode && p->addr == q->addr && p->bytes == q->bytes);
        CHECK(p->touched == q->touched);
    }
    return SW_OK;
}

static void through_a_file(void) {
    static tiny t;
    sw_rng r = sw_rng_seed(9);
    for (uint64_t seed = 0; seed < 40; seed++) {
        char path[64];
        sw_oplog *log = NULL;
        sw_error err = {0};
        snprintf(path, sizeof path, "/tmp/spillway-test-%d.oplog%s", (int)getpid(),
                 seed % 2 ? ".gz" : "");
        make_log(&t, seed, 100);
        for (int i = 0; i < t.n; i++) { /* times of all magnitudes */
            t.v[i].done.start_s *= 1 + sw_rng_unit(&r);
            t.v[i].done.end_s = t.v[i].done.start_s + sw_rng_unit(&r) * 1e-7;
            t.v[i].op.name = i % 3 ? "a\\b\nc d" : "";
        }
        CHECK(sw_oplog_open(path, &log, &err) == SW_OK);
        sw_observer obs = sw_oplog_observer(log);
        CHECK(tell(&t, &obs) == SW_OK);
        CHECK(sw_oplog_commit(log, &err) == SW_OK);
        again a = {&t, 0, 0};
        CHECK(sw_oplog_read(path, &(sw_observer){&a, same_begin, same_placed, same_op}, &err) ==
              SW_OK);
        CHECK(a.n == t.n && a.n_placed == t.n_placed);
        make_log(&t, seed, 100);
        CHECK(sw_oplog_open(path, &log, &err) == SW_OK);
        obs = sw_oplog_observer(log);
        CHECK(tell(&t, &obs) == SW_OK);
        CHECK(sw_oplog_commit(log, &err) == SW_OK);
        sw_verify_report report;
        CHECK(sw_verify_log(path, false, &report, &err) == SW_OK);
        CHECK(report.n_violations == 0 && report.n_ops == (uint64_t)t.n);
        unlink(path);
    }
}

static const struct bad {
    const char *text, *message; /* what the reader says after the file's name */
} bads[] = {
    {"", ": the file is empty"},
    {"hello\n", ":1:1: this is not an op log"},
    {"spillway-oplog 2\n", ":1:17: version 2 is not known; 1 is"},
    {"spillway-oplog 1\n", ": the log breaks off after its first line"},
    {"spillway-oplog 1\nmachine m\nend 0\n", ":3:1: the machine has no tiers or no queues"},
    {"spillway-oplog 1\nmachine m\ntier 1 ram 5 ram\n", ":3:6: tier: number 0 is expected here"},
    {"spillway-oplog 1\nmachine m\ntier 0 rom 5 ram\n", ":3:8: kind of tier: \"rom\" is none"},
    {"spillway-oplog 1\nmachine m\ntier 0 ram 99999999999999999999 ram\n",
     ":3:12: capacity: the number is too large"},
    {"spillway-oplog 1\nmachine m\ntier 0 ram 5 ram\nqueue 0 host host\nplaced 0 1 0 5 x\n",
     ":5:10: tier: 1 is above the limit of 0"},
    {"spillway-oplog 1\nmachine m\ntier 0 ram 5 ram\nqueue 0 host host\n",
     ": the log breaks off: it has no end line"},
    {"spillway-oplog 1\nmachine m\ntier 0 ram 5 ram\nqueue 0 host host\nend 3\n",
     ":5:5: end: 3 ops were written, 0 are here"},
    {"spillway-oplog 1\nmachine m\ntier 0 ram 5 ram\nqueue 0 host host\nop 1 host q=0 u=-1 step=0 "
     "event=0 by=0 known=0 fixed=nan start=0 end=0 after= uses= name=\n",
     ":5:54: fixed=: a number is expected here"},
    {"spillway-oplog 1\nmachine m\ntier 0 ram 5 ram\nqueue 0 host host\nop 1 host q=0 u=-1 step=0 "
     "event=0 by=0 known=0 fixed=0 start=0 end=0 after= uses=q: name=\n",
     ":5:82: uses: r, w or x is expected here"},
};

static void bad_logs(void) {
    char path[64];
    snprintf(path, sizeof path, "/tmp/spillway-test-%d.bad", (int)getpid());
    for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
        FILE *f = fopen(path, "w");
        fputs(bads[i].text, f);
        fclose(f);
        sw_error err = {0};
        sw_verify_report report;
        CHECK(sw_verify_log(path, false, &report, &err) == SW_INPUT);
        const char *rest = strncmp(err.text, path, strlen(path)) ? "" : err.text + strlen(path);
        CHECK_STR(rest, bads[i].message);
        if (strcmp(rest, bads[i].message)) printf("\n  %s\n", err.text);
    }
    unlink(path);
}

SW_TESTS("verifier", {"valid logs pass", valid_logs_pass}, {"planted mistakes", planted_mistakes},
         {"real runs", real_runs}, {"random mutations", random_mutations},
         {"through a file", through_a_file}, {"bad logs are refused", bad_logs})
