/* Probes: streams of ops that a backend runs by themselves or side by side, and how long each op
 * took. What a calibration measures a machine with; no plan and no policy take part.
 *
 * stream   ops of one kind and size, one after the other on one queue. Each takes the next extent of
 *          a region of `span_bytes`, so that a stream longer than the caches does not live in them
 * warm-up  the first ops of a stream, which are not counted */
#ifndef SW_PROBE_H
#define SW_PROBE_H

#include "sim/backend.h"

typedef enum sw_stream_kind {
    SW_STREAM_COPY,  /* src to dst */
    SW_STREAM_READ,  /* a kernel of `unit` reads src (and computes `flops`) */
    SW_STREAM_WRITE, /* a kernel writes src */
    SW_STREAM_MATH,  /* a kernel computes; it reads nothing */
    SW_STREAM_EMPTY, /* nothing: what an op costs */
    SW_STREAM_TURNS  /* copies, and kernels of `unit` that read what came, by turns, each waiting
                        for the one before: what waiting for another queue costs */
} sw_stream_kind;

typedef struct sw_stream {
    const char *name;
    sw_stream_kind kind;
    int16_t src, dst, unit; /* those that the kind needs */
    uint8_t pageable;       /* COPY */
    uint8_t math, cls;      /* of kernels: sw_math, sw_class */
    uint64_t bytes;         /* an op's; 0: MATH, EMPTY, TURNS */
    double flops;           /* an op's */
    uint32_t n;             /* ops, without the warm-up */
} sw_stream;

typedef struct sw_probe {
    const sw_backend_ops *backend;
    const sw_node *backend_map; /* its options; NULL */
    const sw_topology *topo;    /* capacities matter; rates only to a simulated backend */
    uint64_t span_bytes;        /* of each stream's region; at least one op's */
} sw_probe;

enum { SW_STREAMS_MAX = 4, SW_STREAM_OPS_MAX = 8192 };

/** Runs the streams, all at once. op_s[i]: the mean seconds of an op of stream i while all streams
 * were running. Fails as the backend does, or SW_RUN when a stream ended before another began. */
sw_status sw_probe_run(const sw_probe *p, const sw_stream *streams, int n, double *op_s,
                       sw_error *err);

/** The op that a stream is made of, with its flows; uses, queue and id are left out. */
sw_status sw_stream_op(const sw_topology *t, const sw_stream *s, sw_op *op, sw_error *err);

#endif
