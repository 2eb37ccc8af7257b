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

/* What a disk gives by how it is asked: docs/machines.md, "Disks". */
typedef struct sw_disk_curve {
    double latency_s, stream_Bps; /* one request: latency + bytes/stream */
    double max_Bps, iops;         /* what many get together; iops 0: no such limit */
    double sharpness;             /* of the bend between the two */
} sw_disk_curve;
/** Bytes/s of requests of `block` bytes, `depth` at a time. */
double sw_disk_Bps(const sw_disk_curve *c, double block, double depth);

/** What a copy on the route gets when nothing else runs, bytes/s. */
double sw_cost_route_Bps(const sw_topology *t, const sw_route *r);

#endif
