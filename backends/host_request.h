/* A transfer between memory and a file, cut into requests. What the engines (host_uring.h, and the
 * threads of host_move.h) share: an engine takes requests, carries out what is left of each, and
 * tells how that ended, until `sw_host_request_ended` says that it is over.
 *
 * With O_DIRECT a request is made of whole sectors. A read of part of a sector, and whatever lies
 * unaligned in memory, goes through an aligned buffer that belongs to the request's slot. */
#ifndef SW_BACKEND_HOST_REQUEST_H
#define SW_BACKEND_HOST_REQUEST_H

#include "sim/base/error.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/uio.h>

enum { SW_HOST_SECTOR = 4096 };

typedef struct sw_host_transfer {
    int fd;
    bool write, direct; /* a direct write: at and end are whole sectors */
    uint64_t at, end;   /* of the file */
    char *mem;
    uint64_t block;          /* bytes of a request */
    const atomic_bool *stop; /* NULL: never */
    uint64_t next;           /* of the file: where the next request begins */
    uint64_t n_requests, n_bounced;
    sw_error err; /* the first failure */
} sw_host_transfer;

typedef struct sw_host_request { /* a slot: zeroed to begin with, used again and again */
    uint64_t at;
    struct iovec left; /* what is left of it */
    char *home;        /* bounced: where the wanted bytes lie, else NULL */
    uint64_t skip, n;  /* and which of the buffer's they are */
    char *buf;         /* of `block` bytes, made when first needed */
} sw_host_request;

/** Cuts off the next one. False: there is none, or no more are wanted (failure, stop). One caller
 * at a time. */
bool sw_host_request_take(sw_host_transfer *t, sw_host_request *r);
/** Before it is carried out. Fails SW_MEMORY. */
sw_status sw_host_request_begin(const sw_host_transfer *t, sw_host_request *r, sw_error *err);
/** After it was carried out: `res` bytes went, or it is -errno. *again: there is something left to
 * carry out. Fails SW_RUN. */
sw_status sw_host_request_ended(const sw_host_transfer *t, sw_host_request *r, int64_t res,
                                bool *again, sw_error *err);
void sw_host_transfer_fail(sw_host_transfer *t, const sw_error *err);
/** It failed, or the run is stopped: nothing more is to begin. */
bool sw_host_transfer_over(const sw_host_transfer *t);

#endif
