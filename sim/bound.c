/* The bound (see bound.h): follows the trace, finds the chain, prices each step.
 *
 * chain    groups of ops; every op of a group starts after all ops of the group before have ended
 * wait     the last group of which an op is sure to start after the whole; from the activations
 *          that it reads and the op that made it known
 * member   an op of the last two groups, by its place there; `in` until it is moved aside
 * side     an op that is no link of the chain. It counts in the step only if the chain waits for it
 *          (else it may run in another step)
 * step     a run of groups from one STEP to the next. If the next is not chained to it, the step
 *          goes on; if a whole STEP passes beside the chain, another chain begins, and the longer
 *          one counts
 *
 * Order comes from activations only: they are the one kind of block that every part of an op reads
 * when a policy splits it. Beside the chain, the order of the GPU's queue gives a bound for the
 * whole trace (bound_queue.h); the larger of the two is the answer. */
#include "sim/bound.h"
#include "sim/bound_queue.h"
#include "sim/bound_touch.h"
#include <math.h>

enum { KNOWN_RING = 256, STEP_USES_MAX = 1 << 21 };

typedef struct writer {   /* who wrote a block, or made something known */
    int64_t group, wait;  /* group -1: side */
    uint32_t place, step; /* place in the group, or index of the op in the step */
} writer;

typedef struct blk {
    bool is_act;
    writer by; /* by.step 0: nobody yet */
} blk;

typedef struct op {
    double read_bytes, flops;
    int64_t group, wait;
    size_t first_use, n_uses; /* in chain_touch */
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

typedef struct sums {
    double total_s, prefill_s, decode_s, limit_s[SW_RES_MAX];
} sums;

struct sw_bounder {
    sw_bound_machine m;
    SW_VEC(blk) blocks;
    SW_VEC(op) ops;              /* of the chain's step */
    SW_VEC(sw_bound_item) items; /* scratch */
    sw_touch chain_touch;        /* of the chain's step */
    group prev, tail;
    int64_t at, base, step_first; /* the tail's number; the chain's and the step's first */
    uint32_t step;                /* from 1 */
    bool step_due;
    size_t n_joined; /* ops that joined the chain since the last STEP */
    sw_phase phase, next_phase;
    uint64_t seq, n_ops;
    uint64_t known_seq[KNOWN_RING];
    writer known[KNOWN_RING];
    sums now, best; /* this chain's, and the longest's before it */
    double res_bytes[SW_RES_MAX];
    SW_VEC(sw_bound_item) trace_items; /* ops since the last STEP; spared_bytes comes at its end */
    SW_VEC(size_t) trace_first;        /* their first uses in trace_touch */
    sw_touch trace_touch;
    sw_bound_queue queue;
};

static sw_status no_memory(sw_error *err) {
    return sw_fail(err, SW_MEMORY, "out of memory");
}

/* --- the price of a step -----------------------------------------------------------------------
 */

static int by_group(const void *a, const void *b) {
    const sw_bound_item *x = a, *y = b;
    return x->group < y->group ? -1 : x->group > y->group;
}

/* Is the side op sure to run within the step? */
static bool belongs(const sw_bounder *b, const op *o) {
    bool linked = o->awaited && b->ops.v[o->awaited - 1].group >= 0;
    return linked && (o->wait >= b->step_first - 1 || b->step_first == b->base);
}

static sw_status close_step(sw_bounder *b, sw_error *err) {
    double distinct = 0;
    b->items.n = 0;
    for (size_t i = 0; i < b->ops.n; i++) {
        const op *o = &b->ops.v[i];
        if (o->group >= 0) distinct += sw_touch_count(&b->chain_touch, o->first_use, o->n_uses);
    }
    for (size_t i = 0; i < b->ops.n; i++) {
        const op *o = &b->ops.v[i];
        if (o->group < 0 && !belongs(b, o)) continue;
        sw_bound_item item = {
            .read_bytes = o->read_bytes, .flops = o->flops, .cls = o->cls, .math = o->math};
        item.group = o->group < 0 ? SW_BOUND_SIDE : (uint32_t)(o->group - b->step_first);
        if (o->group >= 0)
            item.spared_bytes = sw_touch_spared(&b->chain_touch, o->first_use, o->n_uses);
        sw_bound_price(&b->m, &item);
        if (!sw_vec_push(&b->items, item)) return no_memory(err);
    }
    if (b->items.n) {
        qsort(b->items.v, b->items.n, sizeof *b->items.v, by_group);
        sw_bound_step s;
        if (!sw_bound_solve(&b->m, b->items.v, b->items.n, distinct, &s)) return no_memory(err);
        b->now.total_s += s.time_s;
        if (b->phase == SW_PHASE_PREFILL) b->now.prefill_s += s.time_s;
        if (b->phase == SW_PHASE_DECODE) b->now.decode_s += s.time_s;
        if (s.limit >= 0) b->now.limit_s[s.limit] += s.time_s;
        sw_bound_spread(&b->m, &s, b->res_bytes);
    }
    b->ops.n = 0;
    sw_touch_next(&b->chain_touch);
    b->phase = b->next_phase;
    b->step_due = false;
    b->step++;
    return SW_OK;
}

/* What the GPU's queue did since the last STEP. */
static void close_trace_step(sw_bounder *b, sw_phase phase) {
    double distinct = 0;
    size_t n = b->trace_items.n;
    for (size_t i = 0; i < n; i++) {
        size_t first = b->trace_first.v[i];
        size_t end = i + 1 < n ? b->trace_first.v[i + 1] : b->trace_touch.uses.n;
        distinct += sw_touch_count(&b->trace_touch, first, end - first);
    }
    for (size_t i = 0; i < n; i++) {
        size_t first = b->trace_first.v[i];
        size_t end = i + 1 < n ? b->trace_first.v[i + 1] : b->trace_touch.uses.n;
        b->trace_items.v[i].spared_bytes = sw_touch_spared(&b->trace_touch, first, end - first);
    }
    if (n) sw_bound_queue_step(&b->queue, b->trace_items.v, n, distinct, (int)phase);
    b->trace_items.n = b->trace_first.n = 0;
    sw_touch_next(&b->trace_touch);
}

/* Nothing waits for the chain any more: another begins. */
static sw_status restart(sw_bounder *b, sw_error *err) {
    SW_TRY(close_step(b, err));
    if (b->now.total_s > b->best.total_s) b->best = b->now;
    b->now = (sums){0};
    b->base = b->step_first = b->at += 2;
    b->prev.v.n = b->prev.n_in = b->tail.v.n = b->tail.n_in = 0;
    b->tail.step = b->step;
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
    bool joins = o->wait >= b->at - 1 || b->at == b->base;
    b->n_joined += joins;
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

/* --- events ----------------------------------------------------------------------------------- */

/* The op as the chain and as the queue see it. */
static sw_status access_event(sw_bounder *b, const sw_event *ev, sw_error *err) {
    op o = {.flops = ev->work.flops, .cls = ev->work.cls, .math = ev->work.math};
    writer me;
    size_t first;
    for (uint32_t i = 0; i < ev->n_uses; i++) {
        if (ev->uses[i].block >= b->blocks.n)
            return sw_fail(err, SW_INPUT, "event %llu uses block %u, which does not exist",
                           (unsigned long long)b->seq, ev->uses[i].block);
        if (ev->uses[i].mode != SW_WRITE) o.read_bytes += (double)ev->uses[i].touched;
    }
    if (b->chain_touch.uses.n + ev->n_uses > STEP_USES_MAX || b->ops.n >= STEP_USES_MAX)
        SW_TRY(overflow(b, err));
    if (b->trace_touch.uses.n + ev->n_uses > STEP_USES_MAX) /* a step may be cut anywhere */
        close_trace_step(b, b->next_phase);
    SW_TRY(enter(b, ev, &o, &me, err));
    if (!sw_touch_op(&b->chain_touch, ev, &o.first_use)) return no_memory(err);
    o.n_uses = b->chain_touch.uses.n - o.first_use;
    for (uint32_t i = 0; i < ev->n_uses; i++)
        if (ev->uses[i].mode != SW_READ) b->blocks.v[ev->uses[i].block].by = me;
    if (ev->makes_known) {
        b->known_seq[b->seq % KNOWN_RING] = b->seq;
        b->known[b->seq % KNOWN_RING] = me;
    }
    sw_bound_item item = {
        .read_bytes = o.read_bytes, .flops = o.flops, .cls = o.cls, .math = o.math};
    sw_bound_price(&b->m, &item);
    if (!sw_touch_op(&b->trace_touch, ev, &first) || !sw_vec_push(&b->trace_first, first) ||
        !sw_vec_push(&b->trace_items, item) || !sw_vec_push(&b->ops, o))
        return no_memory(err);
    return SW_OK;
}

static sw_status new_block(sw_bounder *b, const sw_block *block, bool is_static, sw_error *err) {
    if (block->id >= b->blocks.n) {
        size_t n = (size_t)block->id + 1;
        if (!sw_vec_reserve(&b->blocks, n)) return no_memory(err);
        memset(b->blocks.v + b->blocks.n, 0, (n - b->blocks.n) * sizeof *b->blocks.v);
        b->blocks.n = n;
    }
    b->blocks.v[block->id] = (blk){.is_act = block->kind == SW_BLOCK_ACT};
    return sw_touch_block(&b->chain_touch, block->id, block->bytes, is_static) &&
                   sw_touch_block(&b->trace_touch, block->id, block->bytes, is_static)
               ? SW_OK
               : no_memory(err);
}

static sw_status step_event(sw_bounder *b, sw_phase phase, sw_error *err) {
    close_trace_step(b, b->next_phase);
    b->next_phase = phase;
    if (b->ops.n && !b->n_joined) SW_TRY(restart(b, err));
    if (!b->ops.n) b->phase = phase;
    b->step_due = b->ops.n > 0;
    b->n_joined = 0;
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
        return step_event(b, ev->phase, err);
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
    sw_bound_queue_init(&b->queue, &b->m);
    b->step = 1;
    b->phase = b->next_phase = SW_PHASE_OTHER;
    *out = b;
    return SW_OK;
}

sw_status sw_bounder_finish(sw_bounder *b, sw_bound *out, sw_error *err) {
    double phase_s[SW_BOUND_PHASES];
    int limit = -1;
    close_trace_step(b, b->next_phase);
    SW_TRY(restart(b, err)); /* the last chain may be the longest */
    *out = (sw_bound){
        .total_s = b->best.total_s, .prefill_s = b->best.prefill_s, .decode_s = b->best.decode_s};
    memcpy(out->res_bytes, b->res_bytes, sizeof out->res_bytes);
    double queue_s = sw_bound_queue_total(&b->queue, phase_s, &limit);
    if (queue_s > b->best.total_s) {
        out->total_s = queue_s;
        out->prefill_s = phase_s[SW_PHASE_PREFILL];
        out->decode_s = phase_s[SW_PHASE_DECODE];
    } else {
        limit = -1;
        for (int r = 0; r < SW_RES_MAX; r++)
            if (b->best.limit_s[r] > 0 &&
                (limit < 0 || b->best.limit_s[r] > b->best.limit_s[limit]))
                limit = r;
    }
    if (limit >= 0)
        memcpy(out->limit, b->m.topo->res[limit].name, sizeof b->m.topo->res[limit].name);
    return SW_OK;
}

void sw_bounder_free(sw_bounder *b) {
    if (!b) return;
    sw_vec_free(&b->blocks);
    sw_vec_free(&b->ops);
    sw_vec_free(&b->items);
    sw_vec_free(&b->prev.v);
    sw_vec_free(&b->tail.v);
    sw_vec_free(&b->trace_items);
    sw_vec_free(&b->trace_first);
    sw_touch_free(&b->chain_touch);
    sw_touch_free(&b->trace_touch);
    free(b);
}
