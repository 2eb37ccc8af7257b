/* Streams that run side by side for ever, and how long their ops then take (see calibrate.h): a
 * fluid simulation of a few ops of each. */
#include "validate/calibrate.h"
#include <math.h>

enum { OPS = 24 }; /* of the slowest stream */

typedef struct lane {
    sw_op op;
    double wait_s, left[SW_FLOWS_MAX]; /* of the op at hand */
    uint32_t at, end;                  /* its flows of this stage */
    double first_s, last_s;
    int n_done;
} lane;

static void begin(lane *l) {
    l->wait_s = l->op.fixed_s;
    for (int k = 0; k < l->op.n_flows; k++) l->left[k] = l->op.flows[k].amount;
    l->at = 0, l->end = sw_op_stage(&l->op, 0);
}

static bool open(const lane *l, uint32_t k) {
    return l->left[k] > l->op.flows[k].amount * 1e-9;
}

/* Goes on to the next stage if this one is over. */
static bool ended(lane *l) {
    if (l->wait_s > 1e-15) return false;
    for (; l->at < l->end; l->at = l->end, l->end = sw_op_stage(&l->op, l->at))
        for (uint32_t k = l->at; k < l->end; k++)
            if (open(l, k)) return false;
    return true;
}

sw_status sw_steady(const sw_topology *t, const sw_stream *streams, int n, double *op_s,
                    sw_error *err) {
    lane lanes[SW_STREAMS_MAX] = {0};
    double now = 0;
    int fewest = 0;
    for (int i = 0; i < n; i++) {
        SW_TRY(sw_stream_op(t, &streams[i], &lanes[i].op, err));
        begin(&lanes[i]);
    }
    for (int guard = 0; fewest < OPS && guard < 1000000; guard++) {
        sw_flow flows[SW_STREAMS_MAX * SW_FLOWS_MAX] = {0};
        double *left[SW_STREAMS_MAX * SW_FLOWS_MAX], rate[SW_STREAMS_MAX * SW_FLOWS_MAX];
        double dt = INFINITY;
        uint32_t m = 0;
        for (int i = 0; i < n; i++) {
            lane *l = &lanes[i];
            if (l->wait_s > 0) {
                dt = fmin(dt, l->wait_s);
                continue;
            }
            for (uint32_t k = l->at; k < l->end; k++)
                if (open(l, k)) flows[m] = l->op.flows[k], left[m++] = &l->left[k];
        }
        sw_fair_share(t, flows, m, rate);
        for (uint32_t k = 0; k < m; k++) dt = fmin(dt, *left[k] / rate[k]);
        if (!isfinite(dt)) return sw_fail(err, SW_RUN, "a stream's op takes no time");
        now += dt;
        for (uint32_t k = 0; k < m; k++) *left[k] -= rate[k] * dt;
        fewest = OPS;
        for (int i = 0; i < n; i++) {
            lane *l = &lanes[i];
            if (l->wait_s > 0) l->wait_s -= dt;
            if (ended(l)) {
                l->last_s = now;
                if (!l->n_done++) l->first_s = now;
                begin(l);
            }
            if (l->n_done < fewest) fewest = l->n_done;
        }
    }
    for (int i = 0; i < n; i++)
        op_s[i] = (lanes[i].last_s - lanes[i].first_s) / (lanes[i].n_done - 1);
    return SW_OK;
}
