/* The bound that needs no chain: a GPU does its share of the ops in the order of the trace, so the
 * times that it spends on consecutive steps add up, whatever waits for what; the CPU may do its
 * share at any time. Internal to the bound; docs/bound.md has the argument. */
#ifndef SW_BOUND_QUEUE_H
#define SW_BOUND_QUEUE_H

#include "sim/bound_solve.h"

enum { SW_BOUND_LAMBDAS = 17, SW_BOUND_WEIGHTS = 17, SW_BOUND_PHASES = 4 };

typedef struct sw_bound_queue {
    const sw_bound_machine *m;
    double near_Bps, far_Bps; /* into the GPU's memory, out of the disks; 0: no such term */
    double sum[SW_BOUND_LAMBDAS][SW_BOUND_PHASES];
    double limit_s[SW_BOUND_LAMBDAS][SW_RES_MAX];
    double all_bytes, reach_Bps;
} sw_bound_queue;

void sw_bound_queue_init(sw_bound_queue *q, const sw_bound_machine *m);
/** A step of the trace: its ops (priced, with what each spares) and its distinct bytes. */
void sw_bound_queue_step(sw_bound_queue *q, const sw_bound_item *items, size_t n, double distinct,
                         int phase);
/** The bound of all steps so far. phase_s: its parts; *limit: the resource that sets most of it, -1
 * none. */
double sw_bound_queue_total(const sw_bound_queue *q, double phase_s[SW_BOUND_PHASES], int *limit);

#endif
