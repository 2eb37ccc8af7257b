/* What one op does on `host`: the real reading, writing and arithmetic, in the calling thread. */
#ifndef SW_BACKEND_HOST_WORK_H
#define SW_BACKEND_HOST_WORK_H

#include "backends/host_data.h"
#include "backends/host_store.h"
#include <stdatomic.h>

typedef struct sw_host_work {
    sw_host_store store;
    atomic_bool stop; /* long kernels look at it now and then, and leave */
} sw_host_work;

/** Refuses what cannot be run here: an op that has no real counterpart, an index out of range, a
 * kernel on a file. Fails SW_RUN. */
sw_status sw_host_work_allows(const sw_host_work *w, const sw_op *op, sw_error *err);
/** Runs it, except for HOST and DELAY, which only take time. `expect`: what its reads must find
 * (host_data.h). Fails SW_RUN naming op, block, tier and address. */
sw_status sw_host_work_run(sw_host_work *w, sw_host_lane *l, const sw_op *op,
                           const sw_host_span *expect, size_t n, sw_error *err);

#endif
