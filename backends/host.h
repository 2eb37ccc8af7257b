/* What a run on `host` did, for tests and for whoever measures. */
#ifndef SW_BACKEND_HOST_H
#define SW_BACKEND_HOST_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sw_host_stats {
    double read_bytes, read_s;   /* streamed by kernels, and checked where `checked` says so */
    double checked_bytes;        /* the part of it that was held against the pattern */
    double write_bytes, write_s; /* written by kernels */
    double copy_bytes, copy_s;   /* memory to memory */
    double file_read_bytes, file_write_bytes, file_s; /* copies from and to a file */
    double flops, flops_s;
    double file_cpu_s;            /* of these, without the kernel's own helper threads */
    const char *io;               /* "uring" or "threads"; NULL: no queue reads or writes a file */
    uint64_t n_requests;          /* that the copies were cut into */
    uint64_t n_bounced;           /* those that went through an aligned buffer */
    uint32_t n_files, n_buffered; /* files; those whose file system refused O_DIRECT */
} sw_host_stats;

/** Sums over all queues. `be`: the context of a sw_backend_host, when no op runs. */
void sw_host_stats_of(const void *be, sw_host_stats *out);

#endif
