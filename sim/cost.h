/* What an op asks of the machine: set-up time, flows, and the category of its time. Used by the plan
 * for what a policy decides, and by the calibration for what it measures.
 *
 * copy     the route's bytes; a copying thread also holds a core
 * kernel   the roofline: arithmetic over the unit, bytes over the ports, at once. On a unit whose
 *          kernels run as one thread (sw_unit.core_of) they come one after the other: the thread
 *          holds a core for the sum of them, while the bytes compete for the memory */
#ifndef SW_COST_H
#define SW_COST_H

#include "sim/op.h"

/** Sets fixed_s, the flows, cat, and unit (a copying thread's). */
void sw_cost_copy(const sw_topology *t, const sw_route *route, uint64_t bytes, sw_op *op);

/** Sets fixed_s, the flows and cat from op->unit, op->work and the bytes of each tier (arrays of
 * n_tiers). device_s: what the runtime adds to each launch on a GPU.
 * Fails SW_RUN when it needs more than SW_FLOWS_MAX flows. */
sw_status sw_cost_kernel(const sw_topology *t, double device_s, const double *read,
                         const double *write, sw_op *op, sw_error *err);

/** What a copy on the route gets when nothing else runs, bytes/s. */
double sw_cost_route_Bps(const sw_topology *t, const sw_route *r);

#endif
