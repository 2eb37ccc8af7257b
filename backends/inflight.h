/* Ops in flight: what each waits for, and which queue may go on when one ends. It has no clock and
 * starts nothing: a backend asks which op is next, runs it, and says when it has ended.
 *
 * - An op is *ready* when it is the first of its queue and nothing that it waits for is open.
 * - A set of queues is a bit mask: there are at most 64.
 * - Memory follows the window (the ids between the first not yet taken and the last added), not
 *   the length of the run.
 *
 * One owner, no threads. */
#ifndef SW_BACKEND_INFLIGHT_H
#define SW_BACKEND_INFLIGHT_H

#include "sim/base/vec.h"
#include "sim/op.h"

_Static_assert(SW_QUEUES_MAX <= 64, "a set of queues is a bit mask");

typedef struct sw_inflight_rec {
    const sw_op *op;
    double start_s, end_s, paged_s;
    double ready_s;   /* when the last one that it waits for ended; of those still kept */
    uint64_t next;    /* behind it in its queue; 0 none */
    uint32_t pending; /* ops that it still waits for */
    uint32_t edges;   /* first of the list of those that wait for it */
    bool started, done, told;
} sw_inflight_rec;

typedef struct sw_inflight_edge {
    uint64_t to;
    uint32_t next;
} sw_inflight_edge;

typedef struct sw_inflight {
    sw_inflight_rec *ring; /* by id & mask */
    uint64_t mask;
    uint64_t first, next; /* ids first … next-1 are kept */
    uint64_t done_upto;   /* every id up to this one has ended */
    uint64_t n_done;
    uint64_t head[SW_QUEUES_MAX], tail[SW_QUEUES_MAX]; /* ids; 0: the queue is empty */
    SW_VEC(sw_inflight_edge) edges;
    uint32_t free_edge;
} sw_inflight;

/** Fails SW_MEMORY. Close it in every case. */
sw_status sw_inflight_open(sw_inflight *f, sw_error *err);
void sw_inflight_close(sw_inflight *f);

/** Takes ops in; ids ascend without gaps from 1. Fails SW_MEMORY.
 *  ready  the queues whose first op became ready are added to it. */
sw_status sw_inflight_add(sw_inflight *f, const sw_op *ops, uint32_t n, uint64_t *ready,
                          sw_error *err);

/** The queue's first op if it is ready and has not started; else NULL. */
const sw_op *sw_inflight_ready(const sw_inflight *f, int queue);
/** The queue's first op; NULL: none. */
static inline const sw_op *sw_inflight_first(const sw_inflight *f, int queue) {
    return f->head[queue] ? f->ring[f->head[queue] & f->mask].op : NULL;
}
/** The queue's first op starts. */
void sw_inflight_start(sw_inflight *f, int queue, double now_s);
/** When the last op ended that the queue's first op had to wait for; -INFINITY if none. */
static inline double sw_inflight_ready_s(const sw_inflight *f, int queue) {
    return f->ring[f->head[queue] & f->mask].ready_s;
}
/** The queue's first op, which has started, has waited for its pager. */
void sw_inflight_paged(sw_inflight *f, int queue, double waited_s);
/** The queue's first op, which has started, ends. Returns the queues whose first op became ready.
 */
uint64_t sw_inflight_end(sw_inflight *f, int queue, double now_s);

/** Completions of the ids up to `upto` (all of them must have ended), in id order, which are then
 * forgotten. Returns how many. */
uint32_t sw_inflight_take(sw_inflight *f, uint64_t upto, sw_done *out, uint32_t cap);
/** Completions that this has not returned before and that have not been taken, by (end, id). */
uint32_t sw_inflight_fresh(sw_inflight *f, sw_done *out, uint32_t cap);

/** Says of up to five ops that have not ended what they wait for. Returns buf. */
char *sw_inflight_stuck(const sw_inflight *f, char *buf, size_t n);

#endif
