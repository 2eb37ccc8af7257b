/* The account of a run: critical path, step times, resource use. Fed op by op in id order,
 * streaming.
 *
 * Each op's record holds its end and where the time of the path that led to it went. The
 * predecessor that an op waited for is the one that ended last among: the op before it on its
 * queue, issued_by, after, and the window (the latest end that had been waited for when its chunk
 * was submitted). So the breakdown of the last op sums to the makespan, without keeping the ops: a
 * record lives as long as the window. */
#ifndef SW_ACCOUNT_H
#define SW_ACCOUNT_H

#include "sim/base/vec.h"
#include "sim/result.h"
#include "sim/trace.h"

typedef struct sw_path_rec {
    double end_s;
    double all[SW_CAT_COUNT], decode[SW_CAT_COUNT];
} sw_path_rec;

typedef struct sw_step_rec {
    uint32_t step;
    sw_phase phase;
    uint64_t tokens, outputs;
} sw_step_rec;

enum { SW_ITL_BINS = 512 };

typedef struct sw_account {
    const sw_topology *topo;
    sw_path_rec *ring; /* by id & mask */
    uint64_t mask, newest;
    uint64_t
        queue_last[SW_QUEUES_MAX]; /* ids; one that has left the ring is no later than the floor */
    uint64_t best_id;              /* the op that ended last so far, and its end */
    double best_end_s;
    sw_path_rec best;          /* its record, as of the last sw_account_settle */
    SW_VEC(sw_step_rec) steps; /* planned, not yet finished */
    size_t step_at;
    double step_end_s, prev_step_end_s;
    uint64_t n_ops;
    uint64_t itl_bins[SW_ITL_BINS];
    sw_result *out;
} sw_account;

sw_status sw_account_open(sw_account *a, const sw_topology *topo, sw_result *out, sw_error *err);
/** Room for records that `span` later ops may still refer to. */
sw_status sw_account_reserve(sw_account *a, uint64_t span, sw_error *err);
sw_status sw_account_step(sw_account *a, const sw_event *step, sw_error *err);
/** floor: the latest end waited for when the op's chunk was submitted, with its path. */
sw_status sw_account_op(sw_account *a, const sw_op *op, const sw_done *done,
                        const sw_path_rec *floor, sw_error *err);
/** After each chunk: keeps the record of the latest end, before the ring passes over it. */
void sw_account_settle(sw_account *a);
void sw_account_finish(sw_account *a);
void sw_account_close(sw_account *a);

#endif
