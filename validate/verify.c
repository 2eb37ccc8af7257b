/* The verifier (see verify.h): form, order, time and dependencies. What the bytes hold is followed
 * in verify_data.c. */
#include "validate/verify.h"
#include "sim/base/vec.h"
#include "sim/report/oplog.h"
#include "validate/verify_data.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum {
    GAP_MAX = 4096
}; /* missing ids that are stepped over; beyond, they are refused one by one */

struct sw_verifier {
    uint32_t n_tiers, n_queues;
    bool real;
    sw_data *data;
    SW_VEC(double) end_s; /* by id - 1; NAN: missing */
    SW_VEC(uint8_t) kind;
    uint64_t queue_last[SW_QUEUES_MAX];
    sw_verify_report report;
};

const char *sw_rule_name(sw_rule rule) {
    static const char *const names[] = {
#define X(name, text) text,
        SW_RULE_LIST(X)
#undef X
    };
    return (unsigned)rule < SW_RULE_COUNT ? names[rule] : "?";
}

bool sw_verify_early(double now_s, double due_s) {
    return now_s + 1e-9 * fabs(due_s) + 1e-9 < due_s;
}

static void complain(void *arg, sw_rule rule, uint64_t op, uint64_t other, const char *fmt, ...) {
    sw_verify_report *r = &((sw_verifier *)arg)->report;
    r->n_violations++;
    r->by_rule[rule]++;
    if (r->n_kept == SW_VIOLATIONS_KEPT) return;
    sw_violation *v = &r->kept[r->n_kept++];
    v->rule = rule;
    v->op = op;
    v->other = other;
    va_list args;
    va_start(args, fmt);
    vsnprintf(v->text, sizeof v->text, fmt, args);
    va_end(args);
}

/* --- checks of one op --------------------------------------------------------------------------
 */

static bool well_formed(sw_verifier *v, const sw_op *op) {
    const char *why = NULL;
    if (op->kind > SW_OP_COLLECTIVE)
        why = "is of no known kind";
    else if (op->queue >= v->n_queues)
        why = "is on a queue that does not exist";
    for (uint32_t i = 0; i < op->n_uses && !why; i++) {
        const sw_use *u = &op->uses[i];
        if (u->mode < SW_READ || u->mode > SW_RW)
            why = "has a use of no known mode";
        else if (u->tier < 0 || (uint32_t)u->tier >= v->n_tiers)
            why = "uses a tier that does not exist";
        else if (!u->bytes)
            why = "has a use of no bytes";
    }
    if (why) complain(v, SW_RULE_FORM, op->id, 0, "op %" PRIu64 " %s", op->id, why);
    return !why;
}

/* Enters the op under its id; ids that were passed over are noted as missing. */
static bool enter(sw_verifier *v, const sw_op *op, const sw_done *done) {
    uint64_t due = v->end_s.n + 1;
    if (op->id != due || done->id != op->id)
        complain(v, SW_RULE_IDS, op->id, 0, "op %" PRIu64 " comes where op %" PRIu64 " is due",
                 op->id, due);
    if (op->id < due || op->id > due + GAP_MAX) return true;
    while (v->end_s.n + 1 < op->id)
        if (!sw_vec_push(&v->end_s, NAN) || !sw_vec_push(&v->kind, SW_OP_JOIN)) return false;
    return sw_vec_push(&v->end_s, done->end_s) && sw_vec_push(&v->kind, op->kind);
}

/* The op waits for `id`: is that an earlier op, and had it ended? */
static void wait_for(sw_verifier *v, sw_rule rule, const sw_op *op, const sw_done *done,
                     uint64_t id, const char *how) {
    if (id == 0 || id >= op->id || id > v->end_s.n) {
        complain(v, rule, op->id, id, "op %" PRIu64 " %s op %" PRIu64 ", which is not before it",
                 op->id, how, id);
        return;
    }
    double end_s = v->end_s.v[id - 1];
    if (sw_verify_early(done->start_s, end_s)) /* false for NAN */
        complain(v, rule, op->id, id,
                 "op %" PRIu64 " %s op %" PRIu64 ", but starts at %.9g s, before its end at %.9g s",
                 op->id, how, id, done->start_s, end_s);
}

static void check_waits(sw_verifier *v, const sw_op *op, const sw_done *done) {
    bool known = !op->needs_known || op->needs_known == op->issued_by;
    for (uint32_t i = 0; i < op->n_after; i++) {
        wait_for(v, SW_RULE_DEPENDENCY, op, done, op->after[i], "waits for");
        known = known || op->after[i] == op->needs_known;
        if (i && op->after[i] <= op->after[i - 1])
            complain(v, SW_RULE_DEPENDENCY, op->id, op->after[i],
                     "op %" PRIu64 " does not list what it waits for in ascending order", op->id);
    }
    if (op->issued_by) {
        wait_for(v, SW_RULE_DEPENDENCY, op, done, op->issued_by, "is issued by");
        if (op->issued_by <= v->kind.n && v->kind.v[op->issued_by - 1] != SW_OP_HOST &&
            !isnan(v->end_s.v[op->issued_by - 1]))
            complain(v, SW_RULE_DEPENDENCY, op->id, op->issued_by,
                     "op %" PRIu64 " is issued by op %" PRIu64 ", which is no host op", op->id,
                     op->issued_by);
    }
    if (op->needs_known)
        wait_for(v, SW_RULE_CAUSALITY, op, done, op->needs_known, "acts on what is known after");
    if (!known)
        complain(v, SW_RULE_CAUSALITY, op->id, op->needs_known,
                 "op %" PRIu64 " acts on what is known after op %" PRIu64
                 " but does not wait for it",
                 op->id, op->needs_known);
}

static bool check_time(sw_verifier *v, const sw_op *op, const sw_done *done) {
    if (!isfinite(done->start_s) || !isfinite(done->end_s) || done->start_s < 0 ||
        done->end_s < done->start_s) {
        complain(v, SW_RULE_TIME, op->id, 0, "op %" PRIu64 " runs from %.9g s to %.9g s", op->id,
                 done->start_s, done->end_s);
        return false;
    }
    bool timed = !v->real || op->kind == SW_OP_HOST || op->kind == SW_OP_DELAY;
    if (!(op->fixed_s >= 0) || (timed && sw_verify_early(done->end_s, done->start_s + op->fixed_s)))
        complain(v, SW_RULE_DURATION, op->id, 0,
                 "op %" PRIu64 " takes %.9g s, less than its fixed %.9g s", op->id,
                 done->end_s - done->start_s, op->fixed_s);
    uint64_t last = v->queue_last[op->queue];
    if (last && last <= v->end_s.n && sw_verify_early(done->start_s, v->end_s.v[last - 1]))
        complain(v, SW_RULE_QUEUE, op->id, last,
                 "op %" PRIu64 " starts at %.9g s, before op %" PRIu64
                 " ahead of it on queue %u ends at %.9g s",
                 op->id, done->start_s, last, op->queue, v->end_s.v[last - 1]);
    return true;
}

/* --- observer -----------------------------------------------------------------------------------
 */

static sw_status no_memory(sw_error *err) {
    return sw_fail(err, SW_MEMORY, "out of memory");
}

static sw_status begin(void *arg, const sw_topology *topo, sw_error *err) {
    sw_verifier *v = arg;
    v->n_tiers = topo->n_tiers;
    v->n_queues = topo->n_queues;
    sw_data_free(v->data);
    v->data = sw_data_new(topo, complain, v);
    return v->data ? SW_OK : no_memory(err);
}

static sw_status placed(void *arg, const sw_block *block, int tier, uint64_t addr, sw_error *err) {
    sw_verifier *v = arg;
    if (tier < 0 || (uint32_t)tier >= v->n_tiers || !block->bytes) {
        complain(v, SW_RULE_FORM, 0, 0, "block %u is placed nowhere", block->id);
        return SW_OK;
    }
    return sw_data_placed(v->data, block, tier, addr) ? SW_OK : no_memory(err);
}

static sw_status observe_op(void *arg, const sw_op *op, const sw_done *done, sw_error *err) {
    sw_verifier *v = arg;
    v->report.n_ops++;
    bool formed = well_formed(v, op);
    bool timed = formed && check_time(v, op, done);
    if (!enter(v, op, done)) return no_memory(err);
    if (!timed) return SW_OK;
    check_waits(v, op, done);
    if (op->id <= v->end_s.n) v->queue_last[op->queue] = op->id;
    return sw_data_op(v->data, op, done) ? SW_OK : no_memory(err);
}

sw_status sw_verifier_new(sw_verifier **out, sw_error *err) {
    sw_verifier *v = sw_zalloc(1, sizeof *v);
    if (!v) return no_memory(err);
    *out = v;
    return SW_OK;
}

sw_observer sw_verifier_observer(sw_verifier *v) {
    return (sw_observer){v, begin, placed, observe_op};
}

const sw_verify_report *sw_verifier_finish(const sw_verifier *v) {
    return &v->report;
}

void sw_verifier_free(sw_verifier *v) {
    if (!v) return;
    sw_data_free(v->data);
    sw_vec_free(&v->end_s);
    sw_vec_free(&v->kind);
    free(v);
}

void sw_verifier_real(sw_verifier *v) {
    v->real = true;
}

sw_status sw_verify_log(const char *path, bool real, sw_verify_report *out, sw_error *err) {
    sw_verifier *v = NULL;
    SW_TRY(sw_verifier_new(&v, err));
    v->real = real;
    sw_observer obs = sw_verifier_observer(v);
    sw_status st = sw_oplog_read(path, &obs, err);
    if (st == SW_OK) *out = v->report;
    sw_verifier_free(v);
    return st;
}
