/* Moves bytes between memory and a file with several requests in flight: by io_uring, or by threads
 * where that is not to be had. One mover a queue.
 *
 * After a failure or a stop no further request begins, and those in flight are waited for: once the
 * call has returned nothing touches the memory. */
#ifndef SW_BACKEND_HOST_MOVE_H
#define SW_BACKEND_HOST_MOVE_H

#include "backends/host_request.h"

typedef enum sw_host_engine { SW_HOST_AUTO, SW_HOST_URING, SW_HOST_THREADS } sw_host_engine;

typedef struct sw_host_how {
    sw_host_engine engine;
    uint64_t block;          /* bytes of a request: a multiple of the sector */
    uint32_t depth;          /* requests in flight, from 1; threads: the caller is one of them */
    const atomic_bool *stop; /* NULL: never */
} sw_host_how;

typedef struct sw_host_mover { /* zeroed: closed */
    sw_host_how how;           /* engine: the one in use */
    struct sw_host_uring *ring;
    struct sw_host_pool *pool;
    sw_host_request *slots;
    uint64_t n_requests, n_bounced;
    double cpu_s; /* of the caller and of our threads; the kernel's own helpers are not in it */
} sw_host_mover;

/** Fails SW_RUN: io_uring was asked for and is refused, or no threads are to be had. */
sw_status sw_host_mover_open(sw_host_mover *m, const sw_host_how *how, sw_error *err);
void sw_host_mover_close(sw_host_mover *m);
/** t: fd, write, direct, at, end, mem; the rest is filled in. Returns SW_OK as well when it was
 * stopped. Fails SW_RUN, SW_MEMORY; part of it may have been moved. One caller at a time. */
sw_status sw_host_move(sw_host_mover *m, sw_host_transfer *t, sw_error *err);

#endif
