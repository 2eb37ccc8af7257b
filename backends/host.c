/* host: really runs the ops, on any Linux machine. Memory tiers are mapped memory, NVMe is a file,
 * a queue is a thread, time is the clock's; copies copy and kernels read, write and compute.
 *
 * - A queue's thread waits until the queue's first op is ready (inflight.h), runs it without the
 *   lock, and wakes the queues that became ready. One lock for all of it.
 * - Contents are checked: host_data.h says at submission what a kernel must find, and its thread
 *   holds the bytes against that. A run that lacks a dependency, reads another block or an older
 *   version fails, and says where.
 * - The first failure is kept, every queue stops, and wait returns it.
 * - Time begins with the first submission: what is placed before is written before that.
 * - A copy or a kernel costs what it costs here; the fixed_s of the model is not added. What a GPU
 *   would do runs on this machine's cores. */
#include "backends/host.h"
#include "backends/host_work.h"
#include "backends/inflight.h"
#include "sim/backend.h"
#include <math.h>
#include <stdio.h>
#include <time.h>

#define NOBODY UINT64_MAX

typedef struct job { /* an op, and what it must find */
    struct job *next;
    size_t n;
    sw_host_span expect[];
} job;

typedef struct queue {
    struct host_ctx *host;
    int number;
    bool running;
    pthread_t thread;
    pthread_cond_t wake;
    job *first, *last; /* of the ops that have not started, as in sw_inflight */
    sw_host_lane lane;
} queue;

typedef struct host_ctx {
    char file[64]; /* options */
    bool direct, verify;
    int io;
    uint64_t block;
    int64_t depth;
    const sw_topology *topo;
    sw_host_work work;
    sw_host_data *data;
    sw_host_spans spans; /* of the op at hand */
    sw_host_lane lane;   /* of the submitter */
    queue queues[SW_QUEUES_MAX];
    pthread_mutex_t lock; /* everything below, and the queues' lists */
    pthread_cond_t waiter;
    bool has_lock, timed;
    struct timespec zero;
    sw_inflight ops;
    uint64_t want; /* the submitter waits for this id and all before; 0: for any; NOBODY: it does
                      not wait */
    int n_busy;    /* queues that run an op */
    sw_error failure;
} host_ctx;

/* --- time ------------------------------------------------------------------------------------- */

static double now(const host_ctx *c) {
    struct timespec t;
    if (!c->timed) return 0;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)(t.tv_sec - c->zero.tv_sec) + 1e-9 * (double)(t.tv_nsec - c->zero.tv_nsec);
}

/* Takes `seconds`, or less if the run stops. A timer may be late by this much: so the end is spent
 * looking at the clock. */
static void pass(host_ctx *c, queue *q, double seconds) {
    const double spin_s = 50e-6;
    double until = now(c) + seconds, asleep = until - spin_s, whole;
    double frac = modf(asleep, &whole);
    struct timespec t = c->zero;
    t.tv_sec += (time_t)whole;
    t.tv_nsec += (long)(frac * 1e9);
    if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
    if (seconds > spin_s) {
        pthread_mutex_lock(&c->lock);
        while (!atomic_load(&c->work.stop) && now(c) < asleep)
            pthread_cond_timedwait(&q->wake, &c->lock, &t);
        pthread_mutex_unlock(&c->lock);
    }
    while (!atomic_load(&c->work.stop) && now(c) < until) {
    }
}

/* --- queues ------------------------------------------------------------------------------------ */

static void wake(host_ctx *c, uint64_t queues) {
    for (; queues; queues &= queues - 1)
        pthread_cond_signal(&c->queues[__builtin_ctzll(queues)].wake);
}

static void stop_all(host_ctx *c) {
    atomic_store(&c->work.stop, true);
    for (int q = 0; q < c->topo->n_queues; q++) pthread_cond_signal(&c->queues[q].wake);
    pthread_cond_signal(&c->waiter);
}

static bool any_ready(const host_ctx *c) {
    for (int q = 0; q < c->topo->n_queues; q++)
        if (sw_inflight_ready(&c->ops, q)) return true;
    return false;
}

static sw_status run_op(host_ctx *c, queue *q, const sw_op *op, const job *j, sw_error *err) {
    if (op->kind == SW_OP_HOST || op->kind == SW_OP_DELAY) pass(c, q, op->fixed_s);
    return sw_host_work_run(&c->work, &q->lane, op, j->expect, j->n, err);
}

/* The queue's first op, which is ready; called and returns with the lock held. */
static void run_first(host_ctx *c, queue *q, const sw_op *op) {
    sw_error err = {0};
    job *j = q->first;
    q->first = j->next;
    if (!q->first) q->last = NULL;
    sw_inflight_start(&c->ops, q->number, now(c));
    c->n_busy++;
    pthread_mutex_unlock(&c->lock);
    sw_status st = run_op(c, q, op, j, &err);
    free(j);
    pthread_mutex_lock(&c->lock);
    c->n_busy--;
    if (st != SW_OK && !c->failure.status) c->failure = err;
    if (st != SW_OK) stop_all(c);
    if (atomic_load(&c->work.stop)) return; /* it may have been cut short: it has not ended */
    wake(c, sw_inflight_end(&c->ops, q->number, now(c)) & ~(UINT64_C(1) << q->number));
    if (c->want == 0 || (c->want != NOBODY && c->ops.done_upto >= c->want) ||
        (!c->n_busy && !any_ready(c)))
        pthread_cond_signal(&c->waiter);
}

static void *queue_main(void *arg) {
    queue *q = arg;
    host_ctx *c = q->host;
    pthread_mutex_lock(&c->lock);
    while (!atomic_load(&c->work.stop)) {
        const sw_op *op = sw_inflight_ready(&c->ops, q->number);
        if (op)
            run_first(c, q, op);
        else
            pthread_cond_wait(&q->wake, &c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static sw_status start_queues(host_ctx *c, sw_error *err) {
    for (int i = 0; i < c->topo->n_queues; i++) {
        queue *q = &c->queues[i];
        if (pthread_create(&q->thread, NULL, queue_main, q) != 0)
            return sw_fail(err, SW_RUN, "host: cannot start a thread for %s",
                           c->topo->queues[i].name);
        q->running = true;
    }
    return SW_OK;
}

static void stop_queues(host_ctx *c) {
    pthread_mutex_lock(&c->lock);
    stop_all(c);
    pthread_mutex_unlock(&c->lock);
    for (int i = 0; i < c->topo->n_queues; i++) {
        if (c->queues[i].running) pthread_join(c->queues[i].thread, NULL);
        c->queues[i].running = false;
    }
}

/* --- submitting -------------------------------------------------------------------------------- */

static sw_status prepare(host_ctx *c, const sw_op *op, job **out, sw_error *err) {
    SW_TRY(sw_host_work_allows(&c->work, op, err));
    for (uint32_t i = 0; i < op->n_uses; i++)
        SW_TRY(sw_host_store_reach(&c->work.store, op->uses[i].tier, op->uses[i].addr,
                                   op->uses[i].bytes, err));
    c->spans.n = 0;
    if (c->data) SW_TRY(sw_host_data_op(c->data, op, &c->spans, err));
    job *j = malloc(sizeof *j + c->spans.n * sizeof *j->expect);
    if (!j) return sw_fail(err, SW_MEMORY, "out of memory");
    j->next = NULL;
    j->n = c->spans.n;
    if (j->n) memcpy(j->expect, c->spans.v, j->n * sizeof *j->expect);
    *out = j;
    return SW_OK;
}

static sw_status add(host_ctx *c, const sw_op *ops, uint32_t n, job *jobs, sw_error *err) {
    uint64_t ready = 0;
    pthread_mutex_lock(&c->lock);
    if (!c->timed) { /* once: from now on queues read it without the lock */
        clock_gettime(CLOCK_MONOTONIC, &c->zero);
        c->timed = true;
    }
    for (uint32_t i = 0; i < n; i++) {
        queue *q = &c->queues[ops[i].queue];
        job *j = jobs;
        jobs = j->next;
        j->next = NULL;
        if (q->last)
            q->last->next = j;
        else
            q->first = j;
        q->last = j;
    }
    sw_status st = sw_inflight_add(&c->ops, ops, n, &ready, err);
    if (st == SW_OK)
        wake(c, ready);
    else
        stop_all(c);
    pthread_mutex_unlock(&c->lock);
    return st;
}

static void drop(job *j) {
    for (job *next; j; j = next) {
        next = j->next;
        free(j);
    }
}

static sw_status host_submit(void *be, const sw_op *ops, uint32_t n, sw_error *err) {
    host_ctx *c = be;
    job *first = NULL, **end = &first;
    for (uint32_t i = 0; i < n; i++) {
        sw_status st = prepare(c, &ops[i], end, err);
        if (st != SW_OK) {
            drop(first);
            return st;
        }
        end = &(*end)->next;
    }
    return add(c, ops, n, first, err);
}

static sw_status host_place(void *be, const sw_block *block, int tier, uint64_t addr,
                            sw_error *err) {
    host_ctx *c = be;
    SW_TRY(sw_host_store_place(&c->work.store, &c->lane, block, tier, addr, err));
    return c->data ? sw_host_data_placed(c->data, block, tier, addr, err) : SW_OK;
}

/* --- waiting ----------------------------------------------------------------------------------- */

/* Sleeps until a queue has something to tell. Fails with what a queue failed with, or if nothing
 * can go on. */
static sw_status sleep_for(host_ctx *c, uint64_t want, sw_error *err) {
    if (c->failure.status) {
        if (err) *err = c->failure;
        return c->failure.status;
    }
    if (!c->n_busy && !any_ready(c)) {
        char text[600];
        sw_inflight_stuck(&c->ops, text, sizeof text);
        return sw_fail(err, SW_RUN, "host: %s%s",
                       *text ? "the run is stuck: " : "nothing is in flight to wait for", text);
    }
    c->want = want;
    pthread_cond_wait(&c->waiter, &c->lock);
    c->want = NOBODY;
    return SW_OK;
}

static sw_status host_wait(void *be, uint64_t upto, sw_done *out, uint32_t cap, uint32_t *n,
                           sw_error *err) {
    host_ctx *c = be;
    sw_status st = SW_OK;
    *n = 0;
    pthread_mutex_lock(&c->lock);
    if (!upto) {
        while (st == SW_OK && !(*n = sw_inflight_fresh(&c->ops, out, cap)))
            st = sleep_for(c, 0, err);
    } else {
        if (upto >= c->ops.next) upto = c->ops.next - 1;
        while (st == SW_OK && c->ops.done_upto < upto) st = sleep_for(c, upto, err);
        if (st == SW_OK) *n = sw_inflight_take(&c->ops, upto, out, cap);
    }
    pthread_mutex_unlock(&c->lock);
    return st;
}

static double host_now(void *be) {
    return now(be);
}

/* --- the run ----------------------------------------------------------------------------------- */

/* I/O queues keep several requests in flight; who else meets a file does one at a time. */
static sw_status open_movers(host_ctx *c, sw_error *err) {
    sw_host_how many = {(sw_host_engine)c->io, c->block, (uint32_t)c->depth, &c->work.stop};
    sw_host_how one = {SW_HOST_THREADS, c->block, 1, &c->work.stop};
    for (int q = 0; q < c->topo->n_queues; q++)
        SW_TRY(sw_host_mover_open(&c->queues[q].lane.mover,
                                  c->topo->queues[q].kind == SW_QUEUE_IO ? &many : &one, err));
    return sw_host_mover_open(&c->lane.mover, &one, err);
}

static sw_status host_open(void *be, const sw_topology *topo, sw_error *err) {
    host_ctx *c = be;
    pthread_condattr_t monotonic;
    c->topo = topo;
    c->want = NOBODY;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->waiter, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    for (int q = 0; q < topo->n_queues; q++) {
        c->queues[q].host = c;
        c->queues[q].number = q;
        pthread_cond_init(&c->queues[q].wake, &monotonic);
    }
    pthread_condattr_destroy(&monotonic);
    c->has_lock = true;
    SW_TRY(sw_inflight_open(&c->ops, err));
    if (c->block % SW_HOST_SECTOR)
        return sw_fail(err, SW_INPUT, "host: block: %llu bytes are not a multiple of %d",
                       (unsigned long long)c->block, SW_HOST_SECTOR);
    SW_TRY(open_movers(c, err));
    SW_TRY(sw_host_store_open(&c->work.store, topo, c->file, c->direct, err));
    if (c->work.store.n_buffered)
        fprintf(stderr, "host: the file system of %s refuses O_DIRECT; the page cache takes part\n",
                *c->file ? c->file : "the temporary file");
    return c->verify ? sw_host_data_new(topo, &c->data, err) : SW_OK;
}

static sw_status host_run(void *be, sw_body_fn *body, void *arg, sw_error *err) {
    host_ctx *c = be;
    sw_status st = start_queues(c, err);
    if (st == SW_OK) st = body(arg, err);
    stop_queues(c);
    if (st != SW_OK || !c->failure.status) return st;
    if (err) *err = c->failure; /* it happened when nobody waited any more */
    return c->failure.status;
}

static void host_close(void *be) {
    host_ctx *c = be;
    if (!c->has_lock) return;
    for (int q = 0; q < c->topo->n_queues; q++) {
        drop(c->queues[q].first);
        sw_host_mover_close(&c->queues[q].lane.mover);
        pthread_cond_destroy(&c->queues[q].wake);
    }
    sw_host_mover_close(&c->lane.mover);
    pthread_cond_destroy(&c->waiter);
    pthread_mutex_destroy(&c->lock);
    sw_inflight_close(&c->ops);
    sw_host_data_free(c->data);
    sw_vec_free(&c->spans);
    sw_host_store_close(&c->work.store);
    c->has_lock = false;
}

void sw_host_stats_of(const void *be, sw_host_stats *out) {
    const host_ctx *c = be;
    *out =
        (sw_host_stats){.n_files = c->work.store.n_files, .n_buffered = c->work.store.n_buffered};
    for (int q = 0; q < c->topo->n_queues; q++) {
        const sw_host_lane *l = &c->queues[q].lane;
        out->read_bytes += l->stats.read_bytes, out->read_s += l->stats.read_s;
        out->write_bytes += l->stats.write_bytes, out->write_s += l->stats.write_s;
        out->copy_bytes += l->stats.copy_bytes, out->copy_s += l->stats.copy_s;
        out->file_read_bytes += l->stats.file_read_bytes, out->file_s += l->stats.file_s;
        out->file_write_bytes += l->stats.file_write_bytes;
        out->flops += l->stats.flops, out->flops_s += l->stats.flops_s;
        out->checked_bytes += l->stats.checked_bytes;
        out->file_cpu_s += l->mover.cpu_s;
        out->n_requests += l->mover.n_requests, out->n_bounced += l->mover.n_bounced;
        if (c->topo->queues[q].kind == SW_QUEUE_IO)
            out->io = l->mover.how.engine == SW_HOST_URING ? "uring" : "threads";
    }
}

static const sw_param params[] = {
    {"file", SW_PARAM_STRING, "", 0, 0, NULL, offsetof(host_ctx, file),
     "what stands in for the NVMe: a new file, or a folder to make one in; removed at the end "
     "(empty: a temporary one)"},
    {"direct", SW_PARAM_BOOL, "true", 0, 0, NULL, offsetof(host_ctx, direct),
     "the file is read and written without the page cache (O_DIRECT) where it can be"},
    {"io", SW_PARAM_CHOICE, "auto", 0, 0, "auto|uring|threads", offsetof(host_ctx, io),
     "how requests are kept in flight: io_uring, or a thread each (auto: threads where io_uring is "
     "refused)"},
    {"block", SW_PARAM_BYTES, "1 MiB", SW_HOST_SECTOR, 64 << 20, NULL, offsetof(host_ctx, block),
     "the file is read and written in requests of so many bytes, a multiple of 4 KiB"},
    {"depth", SW_PARAM_INT, "32", 1, 256, NULL, offsetof(host_ctx, depth),
     "requests in flight, for each queue that reads or writes the file"},
    {"verify", SW_PARAM_BOOL, "true", 0, 0, NULL, offsetof(host_ctx, verify),
     "kernels check every byte that they read"},
};

const sw_backend_ops sw_backend_host = {
    .plugin = {.name = "host",
               .summary = "really runs it on this machine's memory, cores and disk",
               .doc = "Each queue is a thread. Memory tiers are memory of this machine, NVMe is a "
                      "file, kernels read, write and compute for real and check what they read. "
                      "It takes real time and real memory, and no two runs take the same. A GPU's "
                      "part is done by the cores: for that the times mean nothing, but order and "
                      "contents do.",
               .flags = SW_BACKEND_MOVES_BYTES,
               .ctx_bytes = sizeof(host_ctx),
               .params = params,
               .n_params = sizeof params / sizeof *params},
    .open = host_open,
    .run = host_run,
    .place = host_place,
    .submit = host_submit,
    .wait = host_wait,
    .now_s = host_now,
    .close = host_close,
};
