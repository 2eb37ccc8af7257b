/* Ops in flight on `cuda` (see cuda_sched.h). */
#include "backends/cuda_sched.h"
#include <inttypes.h>
#include <math.h>

enum { POLL_NS = 50000, ANCHOR_S = 4 };

static sw_cuda_job *job_of(const sw_cuda_sched *c, uint64_t id) {
    return &c->jobs[id & c->mask];
}

static sw_cuda_queue *queue_of(sw_cuda_sched *c, const sw_cuda_job *j) {
    return &c->queues[j->op->queue];
}

/* The ids that an op waits for: `after`, then issued_by. */
static uint64_t waits_for(const sw_op *op, uint32_t k) {
    return k < op->n_after ? op->after[k] : op->issued_by;
}

static bool has_ended(const sw_cuda_sched *c, uint64_t id) {
    return id < c->ops.first || job_of(c, id)->ended;
}

/* --- sleeping and waking ----------------------------------------------------------------------- */

static void wake_if(sw_cuda_sleeper *s, uint64_t id) {
    if (s->waits == id) pthread_cond_signal(&s->wake);
}

static void wake(sw_cuda_sched *c, uint64_t id) {
    for (int q = 0; q < c->topo->n_queues; q++) wake_if(&c->queues[q].sleeper, id);
    wake_if(&c->waiter, id);
}

static void fall_asleep(sw_cuda_sched *c, sw_cuda_sleeper *me, uint64_t id) {
    me->waits = id;
    pthread_cond_wait(&me->wake, &c->lock);
    me->waits = SW_CUDA_NOBODY;
}

static bool stopped(const sw_cuda_sched *c) {
    return atomic_load(&c->work.stop);
}

static void stop_all(sw_cuda_sched *c) {
    atomic_store(&c->work.stop, true);
    for (int q = 0; q < c->topo->n_queues; q++) pthread_cond_signal(&c->queues[q].sleeper.wake);
    pthread_cond_signal(&c->waiter.wake);
}

static void fail(sw_cuda_sched *c, const sw_error *why) {
    if (!c->failure.status) c->failure = *why;
    stop_all(c);
}

static sw_status failed(const sw_cuda_sched *c, sw_error *err) {
    if (!c->failure.status) return sw_fail(err, SW_RUN, "cuda: the run was stopped");
    if (err) *err = c->failure;
    return c->failure.status;
}

/* --- time -------------------------------------------------------------------------------------- */

static double clock_since(const struct timespec *zero) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)(t.tv_sec - zero->tv_sec) + 1e-9 * (double)(t.tv_nsec - zero->tv_nsec);
}

double sw_cuda_sched_now(const sw_cuda_sched *c) {
    return c->timed ? clock_since(&c->zero) : 0;
}

/* The event's instant lies somewhere in the time that it took to record it and to see it happen: so
 * that time is made short, and zero is its middle. */
sw_status sw_cuda_sched_begin(sw_cuda_sched *c, sw_error *err) {
    double width = 1;
    for (int i = 0; i < 8 && width > 15e-6; i++) {
        clock_gettime(CLOCK_MONOTONIC, &c->zero);
        SW_CUDA("cannot record an event", cudaEventRecord(c->anchor, c->side), err);
        SW_CUDA("the first event", cudaEventSynchronize(c->anchor), err);
        width = clock_since(&c->zero);
    }
    c->zero.tv_nsec += (long)(width / 2 * 1e9);
    c->zero.tv_sec += c->zero.tv_nsec / 1000000000;
    c->zero.tv_nsec %= 1000000000;
    c->anchor_s = 0;
    c->timed = true;
    return SW_OK;
}

static sw_status time_of(const sw_cuda_sched *c, cudaEvent_t e, double *out, sw_error *err) {
    float ms = 0;
    SW_CUDA("cannot read an event's time", cudaEventElapsedTime(&ms, c->anchor, e), err);
    *out = c->anchor_s + 1e-3 * (double)ms;
    return SW_OK;
}

/* Times come as float: far from the anchor they grow coarse, so it is moved on. What is still to be
 * read may have been before it; such times are negative. */
static sw_status move_anchor(sw_cuda_sched *c, sw_error *err) {
    double at = 0;
    cudaEvent_t e = NULL;
    if (sw_cuda_sched_now(c) - c->anchor_s < ANCHOR_S) return SW_OK;
    SW_CUDA("cannot make an event", cudaEventCreateWithFlags(&e, cudaEventDefault), err);
    cudaError_t st = cudaEventRecord(e, c->side);
    if (st == cudaSuccess) st = cudaEventSynchronize(e);
    sw_status ok = st == cudaSuccess ? time_of(c, e, &at, err)
                                     : sw_cuda_fail(err, "cannot record an event", st);
    cudaEventDestroy(ok == SW_OK ? c->anchor : e);
    if (ok != SW_OK) return ok;
    c->anchor = e;
    c->anchor_s = at;
    return SW_OK;
}

/* --- ending ------------------------------------------------------------------------------------ */

/* The first op of its queue has ended. The two clocks differ by microseconds, and events are read
 * to half of one: times are moved up to what the order of ops says. */
static void end_job(sw_cuda_sched *c, sw_cuda_job *j, double start, double end) {
    const sw_op *op = j->op;
    sw_cuda_queue *q = queue_of(c, j);
    start = fmax(fmax(start, j->since_s), q->last_end_s);
    for (uint32_t k = 0; k <= op->n_after; k++) {
        const sw_cuda_job *on = job_of(c, waits_for(op, k));
        if (on->id && on->id == waits_for(op, k) && on->ended) start = fmax(start, on->end_s);
    }
    end = fmax(start, end);
    sw_inflight_start(&c->ops, op->queue, start);
    sw_inflight_end(&c->ops, op->queue, end);
    j->end_s = q->last_end_s = end;
    j->ended = true;
    free(j->expect);
    j->expect = NULL;
    wake(c, op->id);
    wake_if(&c->waiter, 0);
}

/* The GPU has done this op, and so all before it on the stream and all that these waited for. */
static sw_status settle(sw_cuda_sched *c, uint64_t id, sw_error *err) {
    int queue = job_of(c, id)->op->queue;
    while (!has_ended(c, id)) {
        const sw_op *op = sw_inflight_first(&c->ops, queue);
        sw_cuda_job *j = job_of(c, op->id);
        double start = 0, end = 0;
        for (uint32_t k = 0; k <= op->n_after; k++)
            if (waits_for(op, k) && !has_ended(c, waits_for(op, k)))
                SW_TRY(settle(c, waits_for(op, k), err));
        SW_TRY(time_of(c, j->begin, &start, err));
        SW_TRY(time_of(c, j->end, &end, err));
        end_job(c, j, start, end);
    }
    return SW_OK;
}

sw_status sw_cuda_sched_wait(sw_cuda_sched *c, sw_cuda_sleeper *me, uint64_t id, sw_error *err) {
    while (!stopped(c)) {
        if (has_ended(c, id)) return SW_OK;
        sw_cuda_job *j = job_of(c, id);
        if (!j->enqueued) {
            fall_asleep(c, me, id);
            continue;
        }
        cudaEvent_t e = j->end;
        j->n_watchers++;
        pthread_mutex_unlock(&c->lock);
        cudaError_t st = cudaEventSynchronize(e);
        pthread_mutex_lock(&c->lock);
        j = job_of(c, id); /* the ring may have moved */
        if (--j->n_watchers == 0) wake_if(&c->waiter, id);
        if (st != cudaSuccess) return sw_cuda_fail(err, "the GPU's work failed", st);
        SW_TRY(settle(c, id, err));
    }
    return failed(c, err);
}

static sw_status poll_streams(sw_cuda_sched *c, sw_error *err) {
    for (int q = 0; q < c->topo->n_queues; q++) {
        const sw_op *op;
        while (c->queues[q].is_stream && (op = sw_inflight_first(&c->ops, q)) &&
               job_of(c, op->id)->enqueued) {
            cudaError_t st = cudaEventQuery(job_of(c, op->id)->end);
            if (st == cudaErrorNotReady) break;
            if (st != cudaSuccess) return sw_cuda_fail(err, "the GPU's work failed", st);
            SW_TRY(settle(c, op->id, err));
        }
    }
    return SW_OK;
}

/* No event says "any of these": so the streams are looked at now and then. */
sw_status sw_cuda_sched_wait_any(sw_cuda_sched *c, sw_done *out, uint32_t cap, uint32_t *n,
                                 sw_error *err) {
    while (!stopped(c)) {
        SW_TRY(poll_streams(c, err));
        if ((*n = sw_inflight_fresh(&c->ops, out, cap))) return SW_OK;
        if (c->ops.n_done + 1 == c->ops.next)
            return sw_fail(err, SW_RUN, "cuda: nothing is in flight to wait for");
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        t.tv_nsec += POLL_NS;
        if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
        c->waiter.waits = 0;
        pthread_cond_timedwait(&c->waiter.wake, &c->lock, &t);
        c->waiter.waits = SW_CUDA_NOBODY;
    }
    return failed(c, err);
}

uint32_t sw_cuda_sched_take(sw_cuda_sched *c, uint64_t upto, sw_done *out, uint32_t cap) {
    for (uint64_t id = c->ops.first; id <= upto; id++) {
        while (job_of(c, id)->n_watchers) fall_asleep(c, &c->waiter, id); /* they need its event */
        sw_cuda_job *j = job_of(c, id);
        if (!j->enqueued) continue;
        c->pool.v[c->pool.n++] = j->begin; /* there is room: that was seen to when it was made */
        c->pool.v[c->pool.n++] = j->end;
        j->enqueued = false;
    }
    return sw_inflight_take(&c->ops, upto, out, cap);
}

/* --- putting ops on streams -------------------------------------------------------------------- */

static sw_status take_event(sw_cuda_sched *c, cudaEvent_t *out, sw_error *err) {
    if (c->pool.n) {
        *out = c->pool.v[--c->pool.n];
        return SW_OK;
    }
    if (!sw_vec_reserve(&c->pool, c->n_events + 1)) return sw_fail(err, SW_MEMORY, "out of memory");
    SW_CUDA("cannot make an event", cudaEventCreateWithFlags(out, cudaEventDefault), err);
    c->n_events++;
    return SW_OK;
}

static bool can_enqueue(sw_cuda_sched *c, const sw_op *op) {
    for (uint32_t k = 0; k <= op->n_after; k++) {
        uint64_t id = waits_for(op, k);
        if (id && !has_ended(c, id) && !job_of(c, id)->enqueued) return false;
    }
    return true;
}

static sw_status put(sw_cuda_sched *c, sw_cuda_queue *q, sw_cuda_job *j, sw_error *err) {
    const sw_op *op = j->op;
    for (uint32_t k = 0; k <= op->n_after; k++) {
        uint64_t id = waits_for(op, k);
        if (!id || has_ended(c, id) || job_of(c, id)->op->queue == op->queue) continue;
        SW_CUDA("cannot make a stream wait", cudaStreamWaitEvent(q->stream, job_of(c, id)->end, 0),
                err);
    }
    SW_CUDA("cannot record an event", cudaEventRecord(j->begin, q->stream), err);
    SW_TRY(sw_cuda_work_enqueue(&c->work, q->stream, op, j->expect, j->n_expect, err));
    SW_CUDA("cannot record an event", cudaEventRecord(j->end, q->stream), err);
    return SW_OK;
}

static sw_status enqueue(sw_cuda_sched *c, sw_cuda_queue *q, sw_cuda_job *j, sw_error *err) {
    struct timespec since;
    clock_gettime(CLOCK_MONOTONIC, &since);
    SW_TRY(take_event(c, &j->begin, err));
    sw_status st = take_event(c, &j->end, err);
    if (st != SW_OK) {
        c->pool.v[c->pool.n++] = j->begin;
        return st;
    }
    j->enqueued = true; /* also if that fails: its events are in use */
    q->first = j->next;
    SW_TRY(put(c, q, j, err));
    c->n_enqueues++;
    c->enqueue_s += clock_since(&since);
    wake(c, j->id);
    return SW_OK;
}

/* All that can be put on a stream by now. */
static sw_status dispatch(sw_cuda_sched *c, sw_error *err) {
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < c->topo->n_queues; i++) {
            sw_cuda_queue *q = &c->queues[i];
            while (q->is_stream && q->first && can_enqueue(c, job_of(c, q->first)->op)) {
                SW_TRY(enqueue(c, q, job_of(c, q->first), err));
                more = true;
            }
        }
    }
    return SW_OK;
}

/* --- taking ops in ----------------------------------------------------------------------------- */

static sw_status grow(sw_cuda_sched *c, uint64_t need, sw_error *err) {
    uint64_t mask = c->mask;
    while (mask < need) mask = mask * 2 + 1;
    sw_cuda_job *jobs = sw_zalloc(mask + 1, sizeof *jobs);
    if (!jobs) return sw_fail(err, SW_MEMORY, "out of memory");
    for (uint64_t id = c->ops.next > c->mask ? c->ops.next - c->mask : 1; id < c->ops.next; id++)
        jobs[id & mask] = *job_of(c, id);
    free(c->jobs);
    c->jobs = jobs;
    c->mask = mask;
    return SW_OK;
}

/* Room for four windows, so that what an op waited for is still known when its times are set. */
static sw_status add(sw_cuda_sched *c, const sw_op *ops, uint32_t n, sw_host_span **expect,
                     const size_t *n_expect, sw_error *err) {
    uint64_t window = c->ops.next + n - c->ops.first, ready = 0;
    double now = sw_cuda_sched_now(c);
    if (stopped(c)) return failed(c, err);
    SW_TRY(move_anchor(c, err));
    if (4 * window > c->mask) SW_TRY(grow(c, 4 * window, err));
    SW_TRY(sw_inflight_add(&c->ops, ops, n, &ready, err));
    for (uint32_t i = 0; i < n; i++) {
        sw_cuda_queue *q = &c->queues[ops[i].queue];
        *job_of(c, ops[i].id) = (sw_cuda_job){.op = &ops[i],
                                              .id = ops[i].id,
                                              .expect = expect[i],
                                              .n_expect = n_expect[i],
                                              .since_s = now};
        expect[i] = NULL;
        if (!q->is_stream) {
            wake_if(&q->sleeper, 0);
            continue;
        }
        if (q->first)
            job_of(c, q->last)->next = ops[i].id;
        else
            q->first = ops[i].id;
        q->last = ops[i].id;
    }
    return dispatch(c, err);
}

sw_status sw_cuda_sched_add(sw_cuda_sched *c, const sw_op *ops, uint32_t n, sw_host_span **expect,
                            const size_t *n_expect, sw_error *err) {
    sw_status st = add(c, ops, n, expect, n_expect, err);
    if (st != SW_OK) stop_all(c); /* before a thread sees half of them */
    return st;
}

/* --- threads ----------------------------------------------------------------------------------- */

/* Takes `seconds`, or less if the run stops. A timer may be late: the end is spent looking at the
 * clock. */
static void pass(sw_cuda_sched *c, sw_cuda_queue *q, double seconds) {
    const double spin_s = 50e-6;
    double until = sw_cuda_sched_now(c) + seconds, asleep = until - spin_s, whole;
    double frac = modf(asleep, &whole);
    struct timespec t = c->zero;
    t.tv_sec += (time_t)whole;
    t.tv_nsec += (long)(frac * 1e9);
    if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
    if (seconds > spin_s) {
        pthread_mutex_lock(&c->lock);
        while (!stopped(c) && sw_cuda_sched_now(c) < asleep)
            pthread_cond_timedwait(&q->sleeper.wake, &c->lock, &t);
        pthread_mutex_unlock(&c->lock);
    }
    while (!stopped(c) && sw_cuda_sched_now(c) < until) {
    }
}

/* The queue's first op; called and returns with the lock held. */
static sw_status run_first(sw_cuda_sched *c, sw_cuda_queue *q, const sw_op *op, sw_error *err) {
    sw_status st = SW_OK;
    for (uint32_t k = 0; k <= op->n_after; k++)
        if (waits_for(op, k)) SW_TRY(sw_cuda_sched_wait(c, &q->sleeper, waits_for(op, k), err));
    const sw_host_span *expect = job_of(c, op->id)->expect;
    size_t n = job_of(c, op->id)->n_expect;
    double start = sw_cuda_sched_now(c);
    if (op->kind != SW_OP_JOIN) {
        pthread_mutex_unlock(&c->lock);
        if (op->kind == SW_OP_HOST || op->kind == SW_OP_DELAY) pass(c, q, op->fixed_s);
        st = sw_cuda_work_run(&c->work, &q->lane, op, expect, n, err);
        pthread_mutex_lock(&c->lock);
    }
    if (st != SW_OK) return st;
    if (stopped(c)) return failed(c, err); /* it may have been cut short */
    end_job(c, job_of(c, op->id), start, sw_cuda_sched_now(c));
    return dispatch(c, err);
}

static void *queue_main(void *arg) {
    sw_cuda_queue *q = arg;
    sw_cuda_sched *c = q->sched;
    sw_error err = {0};
    cudaError_t e = cudaSetDevice((int)c->work.store.opt->device);
    pthread_mutex_lock(&c->lock);
    sw_status st = e == cudaSuccess ? SW_OK : sw_cuda_fail(&err, "cannot use the device", e);
    if (st != SW_OK) fail(c, &err); /* even if the run is over by now */
    while (st == SW_OK && !stopped(c)) {
        const sw_op *op = sw_inflight_first(&c->ops, q->number);
        if (op)
            st = run_first(c, q, op, &err);
        else
            fall_asleep(c, &q->sleeper, 0);
    }
    if (st != SW_OK && !stopped(c)) fail(c, &err);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

sw_status sw_cuda_sched_start(sw_cuda_sched *c, sw_error *err) {
    for (int i = 0; i < c->topo->n_queues; i++) {
        sw_cuda_queue *q = &c->queues[i];
        if (q->is_stream) continue;
        if (pthread_create(&q->thread, NULL, queue_main, q) != 0)
            return sw_fail(err, SW_RUN, "cuda: cannot start a thread for %s",
                           c->topo->queues[i].name);
        q->running = true;
    }
    return SW_OK;
}

void sw_cuda_sched_stop(sw_cuda_sched *c) {
    pthread_mutex_lock(&c->lock);
    stop_all(c);
    pthread_mutex_unlock(&c->lock);
    for (int i = 0; i < c->topo->n_queues; i++) {
        if (c->queues[i].running) pthread_join(c->queues[i].thread, NULL);
        c->queues[i].running = false;
    }
}

/* --- opening and closing ----------------------------------------------------------------------- */

static bool on_gpu(const sw_topology *t, int queue) {
    const sw_queue *q = &t->queues[queue];
    return (q->kind == SW_QUEUE_COMPUTE || q->kind == SW_QUEUE_COPY) && q->unit >= 0 &&
           t->units[q->unit].kind == SW_UNIT_GPU;
}

static void open_sleeper(sw_cuda_sleeper *s) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&s->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    s->waits = SW_CUDA_NOBODY;
}

sw_status sw_cuda_sched_open(sw_cuda_sched *c, sw_error *err) {
    pthread_mutex_init(&c->lock, NULL);
    open_sleeper(&c->waiter);
    for (int i = 0; i < c->topo->n_queues; i++) {
        c->queues[i].sched = c;
        c->queues[i].number = i;
        c->queues[i].is_stream = on_gpu(c->topo, i);
        open_sleeper(&c->queues[i].sleeper);
    }
    c->open = true;
    c->mask = 1023;
    c->jobs = sw_zalloc(c->mask + 1, sizeof *c->jobs);
    if (!c->jobs) return sw_fail(err, SW_MEMORY, "out of memory");
    SW_TRY(sw_inflight_open(&c->ops, err));
    for (int i = 0; i < c->topo->n_queues; i++)
        if (!c->queues[i].is_stream)
            SW_TRY(sw_cuda_lane_open(&c->queues[i].lane, c->work.store.opt,
                                     c->topo->queues[i].kind == SW_QUEUE_IO, &c->work.stop, err));
    for (int i = -1; i < c->topo->n_queues; i++) {
        cudaStream_t *s = i < 0 ? &c->side : &c->queues[i].stream;
        if (i >= 0 && !c->queues[i].is_stream) continue;
        SW_CUDA("cannot make a stream", cudaStreamCreateWithFlags(s, cudaStreamNonBlocking), err);
    }
    SW_CUDA("cannot make an event", cudaEventCreateWithFlags(&c->anchor, cudaEventDefault), err);
    return SW_OK;
}

void sw_cuda_sched_close(sw_cuda_sched *c) {
    if (!c->open) return;
    cudaDeviceSynchronize(); /* after a failure work may still be under way */
    for (uint64_t i = 0; c->jobs && i <= c->mask; i++) {
        free(c->jobs[i].expect);
        if (c->jobs[i].enqueued) cudaEventDestroy(c->jobs[i].begin);
        if (c->jobs[i].enqueued) cudaEventDestroy(c->jobs[i].end);
    }
    for (size_t i = 0; i < c->pool.n; i++) cudaEventDestroy(c->pool.v[i]);
    for (int i = 0; i < c->topo->n_queues; i++) {
        sw_cuda_lane_close(&c->queues[i].lane);
        if (c->queues[i].stream) cudaStreamDestroy(c->queues[i].stream);
        pthread_cond_destroy(&c->queues[i].sleeper.wake);
    }
    if (c->anchor) cudaEventDestroy(c->anchor);
    if (c->side) cudaStreamDestroy(c->side);
    sw_vec_free(&c->pool);
    free(c->jobs);
    sw_inflight_close(&c->ops);
    pthread_cond_destroy(&c->waiter.wake);
    pthread_mutex_destroy(&c->lock);
    c->open = false;
}
