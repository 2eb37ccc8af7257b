/* io_uring: one ring a queue, the requests of one transfer in flight at a time. Registered buffers
 * were measured to be no faster at 1 MiB a request, and would pin a whole tier: plain ones it is. */
#ifndef SW_BACKEND_HOST_URING_H
#define SW_BACKEND_HOST_URING_H

#include "backends/host_request.h"

typedef struct sw_host_uring sw_host_uring;

/** For `depth` requests in flight. Fails SW_RUN: the kernel or a sandbox refuses it, or this
 * program was built without liburing. */
sw_status sw_host_uring_new(uint32_t depth, sw_host_uring **out, sw_error *err);
void sw_host_uring_free(sw_host_uring *u);
/** Carries out the whole transfer, failures into t->err. When it returns nothing is in flight.
 *  slots  `depth` of them. */
void sw_host_uring_move(sw_host_uring *u, sw_host_request *slots, sw_host_transfer *t);

#endif
