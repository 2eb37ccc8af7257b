/* Ops in flight on `cuda`, and who waits for whom. One lock for all of it.
 *
 * lane      a queue: a stream of the GPU (compute and copy queues of a GPU), or a thread
 * enqueued  put on its stream, behind the events of the ops of other streams that it waits for
 * ended     its times are known; everything that it waited for ended before
 *
 * An op of a stream is put there as soon as each op that it waits for has ended or is itself on a
 * stream. Whoever makes that come true does it: the submitter, or the thread whose op has ended. An
 * op of a thread waits for the ops before it one by one, for those on streams by their events.
 *
 * Nothing on a stream ever waits for a thread, so all that is enqueued ends by itself; and of the
 * ops that have not ended, the one with the smallest id waits for none: it is on its stream, or its
 * thread runs it. So there is no deadlock. */
#ifndef SW_BACKEND_CUDA_SCHED_H
#define SW_BACKEND_CUDA_SCHED_H

#include "backends/cuda_work.h"
#include "backends/inflight.h"
#include <time.h>

#define SW_CUDA_NOBODY UINT64_MAX /* a sleeper that waits for nothing */

typedef struct sw_cuda_job {
    const sw_op *op;
    uint64_t id, next; /* next: behind it on its stream */
    sw_host_span *expect;
    size_t n_expect;
    cudaEvent_t begin, end;
    double since_s, end_s; /* since: when it was submitted */
    uint32_t n_watchers;   /* threads that wait on the event `end` just now */
    bool enqueued, ended;
} sw_cuda_job;

typedef struct sw_cuda_sleeper { /* a thread that waits for an op: 0 any, SW_CUDA_NOBODY none */
    pthread_cond_t wake;
    uint64_t waits;
} sw_cuda_sleeper;

typedef struct sw_cuda_queue {
    struct sw_cuda_sched *sched;
    int number;
    bool is_stream, running;
    double last_end_s;
    cudaStream_t stream;
    uint64_t first, last; /* that are not yet on the stream; 0: none */
    pthread_t thread;
    sw_cuda_sleeper sleeper;
    sw_cuda_lane lane;
} sw_cuda_queue;

typedef struct sw_cuda_sched {
    const sw_topology *topo;
    sw_cuda_work work;
    sw_cuda_queue queues[SW_QUEUES_MAX];
    sw_cuda_sleeper waiter; /* the submitter */
    pthread_mutex_t lock;
    bool open, timed;
    sw_inflight ops;
    sw_cuda_job *jobs; /* by id & mask; those taken stay until they are written over */
    uint64_t mask;
    SW_VEC(cudaEvent_t) pool;
    cudaStream_t side; /* for what is no op */
    struct timespec zero;
    cudaEvent_t anchor; /* an instant that both clocks know */
    double anchor_s, enqueue_s;
    uint64_t n_events, n_enqueues;
    sw_error failure; /* the first */
} sw_cuda_sched;

/** topo and work.store's options are set. Makes streams, no thread. Close it in every case. */
sw_status sw_cuda_sched_open(sw_cuda_sched *c, sw_error *err);
void sw_cuda_sched_close(sw_cuda_sched *c);
sw_status sw_cuda_sched_start(sw_cuda_sched *c, sw_error *err);
void sw_cuda_sched_stop(sw_cuda_sched *c);

/** Seconds since time began; 0 before. */
double sw_cuda_sched_now(const sw_cuda_sched *c);
/** Time begins: sets both clocks to 0. */
sw_status sw_cuda_sched_begin(sw_cuda_sched *c, sw_error *err);

/* With the lock held. */

/** Takes ops in, in the order of ids; expect[i] becomes the job's. */
sw_status sw_cuda_sched_add(sw_cuda_sched *c, const sw_op *ops, uint32_t n, sw_host_span **expect,
                            const size_t *n_expect, sw_error *err);
/** Waits until the op has ended. Fails with what the run has failed with. */
sw_status sw_cuda_sched_wait(sw_cuda_sched *c, sw_cuda_sleeper *me, uint64_t id, sw_error *err);
/** Waits until an op has ended that sw_inflight_fresh has not told. */
sw_status sw_cuda_sched_wait_any(sw_cuda_sched *c, sw_done *out, uint32_t cap, uint32_t *n,
                                 sw_error *err);
/** Forgets the ops up to `upto`, which have all ended. */
uint32_t sw_cuda_sched_take(sw_cuda_sched *c, uint64_t upto, sw_done *out, uint32_t cap);

#endif
