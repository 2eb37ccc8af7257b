/* The bound (see bound.h): follows the trace, finds the chain, prices each step.
 *
 * chain    groups of ops; every op of a group starts after all ops of the group before have ended
 * wait     the last group of which an op is sure to start after the whole; from the activations
 *          that it reads and the op that made it known
 * member   an op of the last two groups, by its place there; `in` until it is moved aside
 * side     an op that is no link of the chain. It counts in the step only if the chain waits for it
 *          (else it may run in another step), and always in the whole
 * step     a run of groups from one STEP to the next; only the chain's steps follow each other, so
 *          a trace whose steps are not chained is one step
 *
 * Order comes from activations only: they are the one kind of block that every part of an op reads
 * when a policy splits it. */
#include "sim/bound.h"
#include "sim/bound_solve.h"
#include <math.h>

enum { KNOWN_RING = 256, LAMBDAS = 65, STEP_USES_MAX = 1 << 21 };

typedef struct writer {   /* who wrote a block, or made something known */
    int64_t group, wait;  /* group -1: side */
    uint32_t place, step; /* place in the group, or index of the op in the step */
} writer;

typedef struct blk {
    bool is_act;
    uint64_t old_lo, old_hi; /* hull of what existed before step `step` */
    uint64_t lo, hi;         /* hull of what that step wrote */
    uint32_t step;
    writer by;                 /* by.step 0: nobody yet */
    uint32_t stamp, n_touched; /* while a step is priced */
    bool same;                 /* all touched the same extent */
    uint64_t t_lo, t_hi, most; /* that extent or the union; most rows gathered by one op */
} blk;

typedef struct use {
    uint32_t block;
    uint64_t lo, hi, rows; /* bytes that existed before the step; rows > 0: so many, anywhere */
} use;

typedef struct op {
    double read_bytes, flops;
    int64_t group, wait;
    size_t first_use, n_uses;
    uint8_t cls, math;
    uint32_t awaited; /* 1 + the op of the chain that waits for it; 0: none */
} op;

typedef struct member {
    uint32_t op; /* in this step's ops; meaningless for the group before */
    bool in;
    uint64_t stamp; /* the op that was last seen to wait for it */
} member;

typedef struct group {
    SW_VEC(member) v;
    size_t n_in;
    uint32_t step; /* older writers are not among the members, whatever their place */
} group;

struct sw_bounder {
    sw_bound_machine m;
    SW_VEC(blk) blocks;
    SW_VEC(op) ops; /* of the step */
    SW_VEC(use) uses;
    SW_VEC(sw_bound_item) items;
    group prev, tail;
    int64_t at; /* the tail's number */
    int64_t step_first;
    uint32_t step; /* from 1 */
    bool step_due;
    sw_phase phase, next_phase;
    uint64_t seq, n_ops;
    uint64_t known_seq[KNOWN_RING];
    writer known[KNOWN_RING];
    double side_by[LAMBDAS], all_bytes, best_reach; /* the whole trace as one heap of work */
    double limit_s[SW_RES_MAX];
    sw_bound sum;
};

static sw_status no_memory(sw_error *err) {
    return sw_fail(err, SW_MEMORY, "out of memory");
}

/* --- the price of a step -----------------------------------------------------------------------
 */

/* Adds [lo, hi) to what the step touches of the block. A hull only where the pieces meet, else the
 * larger piece: never more than the truth. */
static void touch(blk *b, const use *u) {
    if (u->rows) {
        b->same = false;
        if (u->rows > b->most) b->most = u->rows;
        return;
    }
    b->n_touched++;
    if (b->t_lo == b->t_hi) {
        b->t_lo = u->lo, b->t_hi = u->hi;
        return;
    }
    if (u->lo == b->t_lo && u->hi == b->t_hi) return;
    b->same = false;
    if (u->lo <= b->t_hi && u->hi >= b->t_lo) {
        if (u->lo < b->t_lo) b->t_lo = u->lo;
        if (u->hi > b->t_hi) b->t_hi = u->hi;
    } else if (u->hi - u->lo > b->t_hi - b->t_lo) {
        b->t_lo = u->lo, b->t_hi = u->hi;
    }
}

/* Distinct bytes that the chain reads and that existed before the step. */
static double distinct_bytes(sw_bounder *b) {
    double sum = 0;
    for (size_t i = 0; i < b->ops.n; i++) {
        const op *o = &b->ops.v[i];
        for (size_t k = 0; o->group >= 0 && k < o->n_uses; k++) {
            const use *u = &b->uses.v[o->first_use + k];
            blk *x = &b->blocks.v[u->block];
            if (x->stamp != b->step) {
                x->stamp = b->step;
                x->n_touched = 0;
                x->same = true;
                x->t_lo = x->t_hi = x->most = 0;
            }
            double before = (double)(x->t_hi - x->t_lo > x->most ? x->t_hi - x->t_lo : x->most);
            touch(x, u);
            sum += (double)(x->t_hi - x->t_lo > x->most ? x->t_hi - x->t_lo : x->most) - before;
        }
    }
    return sum;
}

/* What need not move if the CPU does the whole op. An extent that k ops read is spared only when
 * the CPU does all k. */
static double spared_bytes(const sw_bounder *b, const op *o) {
    double sum = 0;
    for (size_t k = 0; k < o->n_uses; k++) {
        const use *u = &b->uses.v[o->first_use + k];
        const blk *x = &b->blocks.v[u->block];
        double bytes = (double)(u->rows ? u->rows : u->hi - u->lo);
        sum += x->same ? bytes / x->n_touched : bytes;
    }
    return sum;
}

static int by_group(const void *a, const void *b) {
    const sw_bound_item *x = a, *y = b;
    return x->group < y->group ? -1 : x->group > y->group;
}

static sw_status close_step(sw_bounder *b, sw_error *err) {
    double distinct = distinct_bytes(b);
    b->items.n = 0;
    for (size_t i = 0; i < b->ops.n; i++) {
        const op *o = &b->ops.v[i];
        bool linked = o->awaited && b->ops.v[o->awaited - 1].group >= 0;
        if (o->group < 0 && !(linked && o->wait >= b->step_first - 1)) continue;
        sw_bound_item item = {
            .read_bytes = o->read_bytes, .flops = o->flops, .cls = o->cls, .math = o->math};
        item.group = o->group < 0 ? SW_BOUND_SIDE : (uint32_t)(o->group - b->step_first);
        if (o->group >= 0) item.spared_bytes = spared_bytes(b, o);
        sw_bound_price(&b->m, &item);
        if (!sw_vec_push(&b->items, item)) return no_memory(err);
    }
    if (b->items.n) {
        qsort(b->items.v, b->items.n, sizeof *b->items.v, by_group);
        sw_bound_step s;
        if (!sw_bound_solve(&b->m, b->items.v, b->items.n, distinct, &s)) return no_memory(err);
        b->sum.total_s += s.time_s;
        if (b->phase == SW_PHASE_PREFILL) b->sum.prefill_s += s.time_s;
        if (b->phase == SW_PHASE_DECODE) b->sum.decode_s += s.time_s;
        if (s.limit >= 0) b->limit_s[s.limit] += s.time_s;
        sw_bound_spread(&b->m, &s, b->sum.res_bytes);
    }
    b->ops.n = b->uses.n = 0;
    b->phase = b->next_phase;
    b->step_due = false;
    b->step++;
    return SW_OK;
}

/* --- the chain -----------------------------------------------------------------------------------
 */

static group *group_of(sw_bounder *b, const writer *w) {
    group *g = w->group == b->at ? &b->tail : w->group == b->at - 1 ? &b->prev : NULL;
    return w->group >= 0 && g && w->step >= g->step && w->place < g->v.n ? g : NULL;
}

/* Marks that op number `stamp` waits for w; counts the members of the last two groups it waits for.
 */
static void wait_for(sw_bounder *b, const writer *w, uint64_t stamp, int64_t *wait, size_t n[2]) {
    group *g = group_of(b, w);
    if (w->wait > *wait) *wait = w->wait;
    if (!g) return;
    member *x = &g->v.v[w->place];
    if (!x->in || x->stamp == stamp) return;
    x->stamp = stamp;
    n[g == &b->tail]++;
}

/* Moves the tail's members that op `stamp` does not wait for aside, if they are the lesser part. */
static bool shrink(sw_bounder *b, uint64_t stamp) {
    double kept = 0, moved = 0;
    for (size_t i = 0; i < b->tail.v.n; i++) {
        const member *x = &b->tail.v.v[i];
        if (!x->in) continue;
        *(x->stamp == stamp ? &kept : &moved) += b->ops.v[x->op].read_bytes;
    }
    if (moved > kept / 2) return false;
    for (size_t i = 0; i < b->tail.v.n; i++) {
        member *x = &b->tail.v.v[i];
        if (!x->in || x->stamp == stamp) continue;
        x->in = false;
        b->tail.n_in--;
        b->ops.v[x->op].group = -1;
    }
    return true;
}

/* A side op that the op at hand waits for has ended before it starts: it belongs to this step. */
static void await_side(sw_bounder *b, const writer *w) {
    const group *g = group_of(b, w);
    if (w->step != b->step) return;
    if (w->group < 0)
        b->ops.v[w->place].awaited = (uint32_t)b->ops.n + 1;
    else if (g && !g->v.v[w->place].in)
        b->ops.v[g->v.v[w->place].op].awaited = (uint32_t)b->ops.n + 1;
}

static const writer *known_by(const sw_bounder *b, uint64_t seq) {
    size_t at = seq % KNOWN_RING;
    return seq && b->known_seq[at] == seq ? &b->known[at] : NULL;
}

static bool orders(const sw_bounder *b, const sw_ev_use *u) {
    const blk *x = &b->blocks.v[u->block];
    return x->is_act && u->mode != SW_WRITE && x->by.step > 0;
}

/* Too many ops in one step to keep: the open group goes to the side, the step ends before it. */
static sw_status overflow(sw_bounder *b, sw_error *err) {
    for (size_t i = 0; i < b->ops.n; i++)
        if (b->ops.v[i].group == b->at) b->ops.v[i].group = -1;
    SW_TRY(close_step(b, err));
    b->step_first = b->at;
    b->tail.v.n = b->tail.n_in = 0;
    b->tail.step = b->step;
    return SW_OK;
}

/* Finds the op's place: a new group after the tail, in the tail, or aside. */
static sw_status enter(sw_bounder *b, const sw_event *ev, op *o, writer *me, sw_error *err) {
    uint64_t stamp = ++b->n_ops;
    size_t n[2] = {0, 0};
    o->wait = -1;
    const writer *router = known_by(b, ev->known_after);
    if (router) wait_for(b, router, stamp, &o->wait, n);
    for (uint32_t i = 0; i < ev->n_uses; i++)
        if (orders(b, &ev->uses[i]))
            wait_for(b, &b->blocks.v[ev->uses[i].block].by, stamp, &o->wait, n);
    if (n[0] && n[0] == b->prev.n_in && o->wait < b->at - 1) o->wait = b->at - 1;
    if (n[1] && (n[1] == b->tail.n_in || shrink(b, stamp))) o->wait = b->at;
    if (o->wait == b->at && b->tail.n_in) {
        if (b->step_due) {
            SW_TRY(close_step(b, err));
            b->step_first = b->at + 1;
        }
        group old = b->prev;
        b->prev = b->tail;
        b->tail = old;
        b->tail.v.n = b->tail.n_in = 0;
        b->tail.step = b->step;
        b->at++;
    }
    me->step = b->step;
    me->wait = o->wait;
    bool joins = o->wait >= b->at - 1;
    o->group = me->group = joins ? b->at : -1;
    me->place = joins ? (uint32_t)b->tail.v.n : (uint32_t)b->ops.n;
    if (!joins) return SW_OK;
    member x = {.op = (uint32_t)b->ops.n, .in = true};
    if (!sw_vec_push(&b->tail.v, x)) return no_memory(err);
    b->tail.n_in++;
    if (router) await_side(b, router);
    for (uint32_t i = 0; i < ev->n_uses; i++)
        if (orders(b, &ev->uses[i])) await_side(b, &b->blocks.v[ev->uses[i].block].by);
    return SW_OK;
}

/* --- events
 * --------------------------------------------------------------------------------------- */

/* Begins the block's account of this step. */
static blk *current(sw_bounder *b, uint32_t block) {
    blk *x = &b->blocks.v[block];
    if (x->step == b->step) return x;
    if (x->old_lo == x->old_hi) {
        x->old_lo = x->lo, x->old_hi = x->hi;
    } else if (x->lo < x->hi) {
        if (x->lo < x->old_lo) x->old_lo = x->lo;
        if (x->hi > x->old_hi) x->old_hi = x->hi;
    }
    x->lo = x->hi = 0;
    x->step = b->step;
    return x;
}

/* The part of a read that existed before the step; of two pieces the larger. */
static bool existing(sw_bounder *b, const sw_ev_use *u, use *out) {
    const blk *x = current(b, u->block);
    uint64_t lo = u->offset, hi = u->offset + u->bytes;
    if (lo < x->old_lo) lo = x->old_lo;
    if (hi > x->old_hi) hi = x->old_hi;
    if (x->lo < hi && x->hi > lo) {
        uint64_t left = x->lo > lo ? x->lo - lo : 0, right = hi > x->hi ? hi - x->hi : 0;
        if (left >= right)
            hi = lo + left;
        else
            lo = hi - right;
    }
    if (hi <= lo || !u->touched) return false;
    *out = (use){u->block, lo, hi, u->touched < hi - lo ? u->touched : 0};
    return true;
}

static void written(sw_bounder *b, const sw_ev_use *u, const writer *me) {
    blk *x = current(b, u->block);
    uint64_t lo = u->offset, hi = u->offset + u->bytes;
    if (x->lo == x->hi) x->lo = lo, x->hi = hi;
    if (lo < x->lo) x->lo = lo;
    if (hi > x->hi) x->hi = hi;
    x->by = *me;
}

/* The op counts in the whole, wherever it runs: for any weights of GPU and CPU time that sum to 1,
 * the sum of each op's cheaper side is a bound. */
static void count(sw_bounder *b, const op *o) {
    sw_bound_item item = {
        .read_bytes = o->read_bytes, .flops = o->flops, .cls = o->cls, .math = o->math};
    sw_bound_price(&b->m, &item);
    for (int k = 0; k < LAMBDAS; k++) {
        double w = (double)k / (LAMBDAS - 1);
        double gpu = isinf(item.gpu_s) ? INFINITY : w * item.gpu_s;
        double cpu = isinf(item.cpu_s) ? INFINITY : (1 - w) * item.cpu_s;
        if (isfinite(fmin(gpu, cpu))) b->side_by[k] += fmin(gpu, cpu);
    }
    b->all_bytes += o->read_bytes;
    b->best_reach = fmax(b->best_reach, b->m.reach_Bps[o->cls]);
}

static sw_status access_event(sw_bounder *b, const sw_event *ev, sw_error *err) {
    op o = {.flops = ev->work.flops, .cls = ev->work.cls, .math = ev->work.math};
    writer me;
    for (uint32_t i = 0; i < ev->n_uses; i++)
        if (ev->uses[i].block >= b->blocks.n)
            return sw_fail(err, SW_INPUT, "event %llu uses block %u, which does not exist",
                           (unsigned long long)b->seq, ev->uses[i].block);
    if (b->uses.n + ev->n_uses > STEP_USES_MAX || b->ops.n >= STEP_USES_MAX)
        SW_TRY(overflow(b, err));
    SW_TRY(enter(b, ev, &o, &me, err));
    o.first_use = b->uses.n;
    for (uint32_t i = 0; i < ev->n_uses; i++) {
        use u;
        if (ev->uses[i].mode == SW_WRITE) continue;
        o.read_bytes += (double)ev->uses[i].touched;
        if (existing(b, &ev->uses[i], &u) && !sw_vec_push(&b->uses, u)) return no_memory(err);
    }
    o.n_uses = b->uses.n - o.first_use;
    for (uint32_t i = 0; i < ev->n_uses; i++)
        if (ev->uses[i].mode != SW_READ) written(b, &ev->uses[i], &me);
    if (ev->makes_known) {
        b->known_seq[b->seq % KNOWN_RING] = b->seq;
        b->known[b->seq % KNOWN_RING] = me;
    }
    count(b, &o);
    return sw_vec_push(&b->ops, o) ? SW_OK : no_memory(err);
}

static sw_status new_block(sw_bounder *b, const sw_block *block, bool is_static, sw_error *err) {
    if (block->id >= b->blocks.n) {
        size_t n = (size_t)block->id + 1;
        if (!sw_vec_reserve(&b->blocks, n)) return no_memory(err);
        memset(b->blocks.v + b->blocks.n, 0, (n - b->blocks.n) * sizeof *b->blocks.v);
        b->blocks.n = n;
    }
    uint32_t stamp = b->blocks.v[block->id].stamp;
    b->blocks.v[block->id] = (blk){.is_act = block->kind == SW_BLOCK_ACT,
                                   .old_hi = is_static ? block->bytes : 0,
                                   .step = b->step,
                                   .stamp = stamp};
    return SW_OK;
}

sw_status sw_bounder_event(sw_bounder *b, const sw_event *ev, sw_error *err) {
    b->seq++;
    switch (ev->kind) {
    case SW_EV_BLOCK:
        return new_block(b, &ev->block, true, err);
    case SW_EV_ALLOC:
        return new_block(b, &ev->block, false, err);
    case SW_EV_STEP:
        b->next_phase = ev->phase;
        if (!b->ops.n) b->phase = ev->phase;
        b->step_due = b->ops.n > 0;
        return SW_OK;
    case SW_EV_ACCESS:
        return access_event(b, ev, err);
    default:
        return SW_OK;
    }
}

sw_status sw_bounder_new(const sw_topology *topo, sw_bounder **out, sw_error *err) {
    sw_bounder *b = sw_zalloc(1, sizeof *b);
    if (!b) return no_memory(err);
    sw_bound_machine_init(&b->m, topo);
    b->step = 1;
    b->phase = b->next_phase = SW_PHASE_OTHER;
    *out = b;
    return SW_OK;
}

sw_status sw_bounder_finish(sw_bounder *b, sw_bound *out, sw_error *err) {
    SW_TRY(close_step(b, err));
    b->step_first = b->at;
    *out = b->sum;
    for (int k = 0; k < LAMBDAS; k++) out->total_s = fmax(out->total_s, b->side_by[k]);
    if (b->best_reach > 0) out->total_s = fmax(out->total_s, b->all_bytes / b->best_reach);
    int limit = -1;
    for (int r = 0; r < b->m.topo->n_res; r++)
        if (b->limit_s[r] > 0 && (limit < 0 || b->limit_s[r] > b->limit_s[limit])) limit = r;
    if (limit >= 0)
        memcpy(out->limit, b->m.topo->res[limit].name, sizeof b->m.topo->res[limit].name);
    return SW_OK;
}

void sw_bounder_free(sw_bounder *b) {
    if (!b) return;
    sw_vec_free(&b->blocks);
    sw_vec_free(&b->ops);
    sw_vec_free(&b->uses);
    sw_vec_free(&b->items);
    sw_vec_free(&b->prev.v);
    sw_vec_free(&b->tail.v);
    free(b);
}
