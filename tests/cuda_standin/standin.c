/* The runtime API on the CPU, work in random order (see standin.h). */
#include "standin.h"
#include "cuda_runtime_api.h"
#include "sim/base/rng.h"
#include "sim/base/vec.h"
#include <pthread.h>
#include <time.h>

typedef struct item { /* a piece of work */
    struct item *next;
    enum { DO, RECORD, WAIT } what;
    void (*fn)(void *arg);
    cudaEvent_t event;
    uint64_t turn; /* of the event: which recording is meant */
    double not_before, seconds;
    max_align_t arg[];
} item;

struct standin_stream {
    item *first, *last;
    double clock;
};

struct standin_event {
    uint64_t asked, done; /* recordings put on streams, and reached */
    double time;
    unsigned flags;
};

typedef struct piece { /* of the device's memory */
    void *at;
    uint64_t bytes;
} piece;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static standin_options how;
static sw_rng rng;
static SW_VEC(cudaStream_t) streams;
static SW_VEC(piece) pieces;
static uint64_t n_calls, n_left, n_done, n_deadlocks, n_waits, n_syncs, used_bytes, most_bytes,
    prefetched_bytes;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void standin_reset(const standin_options *o) {
    how = *o;
    rng = sw_rng_seed(o->seed);
    n_calls = n_left = n_done = n_deadlocks = n_waits = n_syncs = 0;
    used_bytes = most_bytes = prefetched_bytes = 0;
    sw_vec_free(&streams);
}

uint64_t standin_calls(void) {
    return n_calls;
}
uint64_t standin_left(void) {
    return n_left;
}
uint64_t standin_free(void) {
    return how.memory_bytes - most_bytes;
}
uint64_t standin_prefetched(void) {
    return prefetched_bytes;
}
uint64_t standin_done(void) {
    return n_done;
}
uint64_t standin_deadlocks(void) {
    return n_deadlocks;
}

/* With the lock held: should this call fail? */
static int unlucky(void) {
    return ++n_calls == how.fail_at;
}

/* --- doing work: with the lock held ------------------------------------------------------------ */

static int runnable(const item *x) {
    return x && (x->what != WAIT || x->event->done >= x->turn);
}

static void do_first(cudaStream_t s) {
    item *x = s->first;
    if (x->not_before > s->clock) s->clock = x->not_before;
    if (x->what == DO) x->fn(x->arg);
    s->clock += x->seconds;
    if (x->what == WAIT && x->event->done == x->turn && x->event->time > s->clock)
        s->clock = x->event->time;
    if (x->what == RECORD) x->event->done = x->turn, x->event->time = s->clock;
    s->first = x->next;
    if (!s->first) s->last = NULL;
    free(x);
    n_done++;
}

/* Does one piece of work, of a stream drawn by lot; 0: there is none that can be done. */
static int step(void) {
    size_t n = 0;
    cudaStream_t lucky = NULL;
    for (size_t i = 0; i < streams.n; i++)
        if (runnable(streams.v[i]->first) && sw_rng_below(&rng, ++n) == 0) lucky = streams.v[i];
    if (lucky) do_first(lucky);
    return lucky != NULL;
}

static cudaError_t stuck(void) {
    n_deadlocks++;
    return cudaErrorUnknown;
}

/* --- putting it there -------------------------------------------------------------------------- */

static item *new_item(int what, uint64_t bytes, double seconds) {
    item *x = calloc(1, sizeof *x + bytes);
    if (!x) abort();
    x->what = what;
    x->seconds = seconds;
    x->not_before = now();
    return x;
}

static void append(cudaStream_t s, item *x) {
    if (s->last)
        s->last->next = x;
    else
        s->first = x;
    s->last = x;
}

int standin_put(struct standin_stream *s, void (*fn)(void *arg), const void *arg, uint64_t bytes,
                double seconds) {
    pthread_mutex_lock(&lock);
    int bad = unlucky();
    if (!bad) {
        item *x = new_item(DO, bytes, seconds);
        x->fn = fn;
        memcpy(x->arg, arg, bytes);
        append(s, x);
    }
    pthread_mutex_unlock(&lock);
    return bad ? cudaErrorUnknown : cudaSuccess;
}

typedef struct copy {
    void *to;
    const void *from;
    size_t bytes;
    int value;
} copy;

static void do_copy(void *arg) {
    copy *c = arg;
    memmove(c->to, c->from, c->bytes);
}

static void do_set(void *arg) {
    copy *c = arg;
    memset(c->to, c->value, c->bytes);
}

static double time_for(size_t bytes) {
    return 1e-6 + (double)bytes * 1e-11;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream) {
    (void)kind;
    copy c = {.to = to, .from = from, .bytes = bytes};
    return standin_put(stream, do_copy, &c, sizeof c, time_for(bytes));
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream) {
    copy c = {.to = to, .bytes = bytes, .value = value};
    return standin_put(stream, do_set, &c, sizeof c, time_for(bytes));
}

static void nothing(void *arg) {
    (void)arg;
}

cudaError_t cudaMemPrefetchAsync(const void *p, size_t bytes, struct cudaMemLocation where,
                                 unsigned flags, cudaStream_t stream) {
    (void)p, (void)where, (void)flags;
    pthread_mutex_lock(&lock);
    prefetched_bytes += bytes;
    pthread_mutex_unlock(&lock);
    return standin_put(stream, nothing, "", 0, time_for(bytes));
}

/* --- the device -------------------------------------------------------------------------------- */

/* A call that only fails or does not. */
static cudaError_t call(void) {
    pthread_mutex_lock(&lock);
    int bad = unlucky();
    pthread_mutex_unlock(&lock);
    return bad ? cudaErrorUnknown : cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t e) {
    switch (e) {
    case cudaSuccess:
        return "no error";
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorNoDevice:
        return "no CUDA-capable device is detected";
    case cudaErrorNotReady:
        return "device not ready";
    default:
        return "unknown error";
    }
}

cudaError_t cudaGetLastError(void) {
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *n) {
    *n = how.devices;
    cudaError_t e = call();
    return e == cudaSuccess && !how.devices ? cudaErrorNoDevice : e;
}

cudaError_t cudaSetDevice(int device) {
    (void)device;
    return call();
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr a, int device) {
    (void)a, (void)device;
    *value = how.concurrent;
    return call();
}

cudaError_t cudaDeviceSynchronize(void) {
    pthread_mutex_lock(&lock);
    while (step()) {
    }
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

cudaError_t cudaMemAdvise(const void *p, size_t bytes, enum cudaMemoryAdvise advice,
                          struct cudaMemLocation where) {
    (void)p, (void)bytes, (void)advice, (void)where;
    return call();
}

/* --- memory ------------------------------------------------------------------------------------ */

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total) {
    pthread_mutex_lock(&lock);
    *total = how.memory_bytes;
    *free_bytes = how.memory_bytes - used_bytes;
    pthread_mutex_unlock(&lock);
    return call();
}

enum { RUBBISH = 32 << 20 }; /* what is larger is there to be occupied */

static cudaError_t take(void **p, size_t bytes, int device) {
    pthread_mutex_lock(&lock);
    cudaError_t e = unlucky() ? cudaErrorMemoryAllocation : cudaSuccess;
    if (device && bytes > how.memory_bytes - used_bytes) e = cudaErrorMemoryAllocation;
    if (e == cudaSuccess && posix_memalign(p, 4096, bytes)) e = cudaErrorMemoryAllocation;
    if (e == cudaSuccess) {
        memset(*p, 0xa5, bytes < RUBBISH ? bytes : RUBBISH);
        if (device && !sw_vec_push(&pieces, ((piece){*p, bytes}))) abort();
        if (device) used_bytes += bytes;
        if (used_bytes > most_bytes) most_bytes = used_bytes;
        n_left++;
    }
    pthread_mutex_unlock(&lock);
    return e;
}

static cudaError_t give(void *p) {
    pthread_mutex_lock(&lock);
    n_left -= p != NULL;
    for (size_t i = 0; i < pieces.n; i++)
        if (pieces.v[i].at == p) {
            used_bytes -= pieces.v[i].bytes;
            pieces.v[i] = pieces.v[--pieces.n];
        }
    if (!pieces.n) sw_vec_free(&pieces);
    pthread_mutex_unlock(&lock);
    free(p);
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **p, size_t bytes) {
    return take(p, bytes, 1);
}
cudaError_t cudaMallocManaged(void **p, size_t bytes, unsigned flags) {
    (void)flags;
    return take(p, bytes, 0);
}
cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned flags) {
    (void)flags;
    return take(p, bytes, 0);
}
cudaError_t cudaFree(void *p) {
    return give(p);
}
cudaError_t cudaFreeHost(void *p) {
    return give(p);
}

/* --- streams ----------------------------------------------------------------------------------- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags) {
    (void)flags;
    cudaStream_t fresh = calloc(1, sizeof *fresh);
    pthread_mutex_lock(&lock);
    int ok = !unlucky() && fresh && sw_vec_push(&streams, fresh);
    n_left += (uint64_t)ok;
    pthread_mutex_unlock(&lock);
    if (ok)
        *s = fresh;
    else
        free(fresh);
    return ok ? cudaSuccess : cudaErrorUnknown;
}

/* CUDA lets the work end first, and so does this. */
cudaError_t cudaStreamDestroy(cudaStream_t s) {
    pthread_mutex_lock(&lock);
    while (s->first && step()) {
    }
    for (size_t i = 0; i < streams.n; i++)
        if (streams.v[i] == s) streams.v[i--] = streams.v[--streams.n];
    if (!streams.n) sw_vec_free(&streams);
    n_left--;
    pthread_mutex_unlock(&lock);
    free(s);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t s) {
    pthread_mutex_lock(&lock);
    cudaError_t e = unlucky() ? cudaErrorUnknown : cudaSuccess;
    while (e == cudaSuccess && s->first)
        if (!step()) e = stuck();
    pthread_mutex_unlock(&lock);
    return e;
}

/* Which recording is meant is settled now; an event that was never recorded holds nobody up. */
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags) {
    (void)flags;
    pthread_mutex_lock(&lock);
    int bad = unlucky();
    if (!bad && ++n_waits != how.lose_wait && e->asked) {
        item *x = new_item(WAIT, 0, 0);
        x->event = e;
        x->turn = e->asked;
        append(s, x);
    }
    pthread_mutex_unlock(&lock);
    return bad ? cudaErrorUnknown : cudaSuccess;
}

/* --- events ------------------------------------------------------------------------------------ */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags) {
    if (call() != cudaSuccess) return cudaErrorUnknown;
    *e = calloc(1, sizeof **e);
    if (!*e) return cudaErrorMemoryAllocation;
    (*e)->flags = flags;
    pthread_mutex_lock(&lock);
    n_left++;
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t e) {
    pthread_mutex_lock(&lock);
    while (e->done < e->asked && step()) { /* work on a stream still names it */
    }
    n_left--;
    pthread_mutex_unlock(&lock);
    free(e);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) {
    pthread_mutex_lock(&lock);
    int bad = unlucky();
    if (!bad) {
        item *x = new_item(RECORD, 0, 0);
        x->event = e;
        x->turn = ++e->asked;
        append(s, x);
    }
    pthread_mutex_unlock(&lock);
    return bad ? cudaErrorUnknown : cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t e) {
    pthread_mutex_lock(&lock);
    cudaError_t st = unlucky() ? cudaErrorUnknown : cudaSuccess;
    bool lost = e->flags & cudaEventDisableTiming && ++n_syncs == how.lose_sync;
    uint64_t turn = lost ? 0 : e->asked;
    while (st == cudaSuccess && e->done < turn)
        if (!step()) st = stuck();
    pthread_mutex_unlock(&lock);
    return st;
}

/* Asking is what makes time pass. */
cudaError_t cudaEventQuery(cudaEvent_t e) {
    pthread_mutex_lock(&lock);
    cudaError_t st = unlucky() ? cudaErrorUnknown : cudaSuccess;
    for (uint64_t n = sw_rng_below(&rng, 4); st == cudaSuccess && n; n--) step();
    if (st == cudaSuccess && e->done < e->asked) st = cudaErrorNotReady;
    pthread_mutex_unlock(&lock);
    return st;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to) {
    pthread_mutex_lock(&lock);
    cudaError_t st = unlucky() ? cudaErrorUnknown : cudaSuccess;
    if (!from->done || !to->done || to->done < to->asked || ((from->flags | to->flags) & 2))
        st = cudaErrorInvalidValue;
    else
        *ms = (float)(1e3 * (to->time - from->time));
    pthread_mutex_unlock(&lock);
    return st;
}
