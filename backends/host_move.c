/* Transfers, and the engine made of threads (see host_move.h). */
#include "backends/host_move.h"
#include "backends/host_uring.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef struct sw_host_pool {
    pthread_mutex_t lock; /* everything below, and what is cut off the transfer */
    pthread_cond_t work, idle;
    sw_host_transfer *now; /* NULL: nothing left to take */
    sw_host_request *slots;
    uint32_t n_threads, n_named, n_busy;
    double cpu_s;
    bool quit;
    pthread_t thread[];
} sw_host_pool;

static double cpu_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- threads ------------------------------------------------------------------------------------ */

static sw_status carry_out(const sw_host_transfer *t, sw_host_request *r, sw_error *err) {
    bool again = true;
    SW_TRY(sw_host_request_begin(t, r, err));
    while (again && !(t->stop && atomic_load(t->stop))) {
        ssize_t n = t->write ? pwritev(t->fd, &r->left, 1, (off_t)r->at)
                             : preadv(t->fd, &r->left, 1, (off_t)r->at);
        SW_TRY(sw_host_request_ended(t, r, n < 0 ? -errno : n, &again, err));
    }
    return SW_OK;
}

/* Called and returns with the lock held. */
static void serve(sw_host_pool *p, sw_host_transfer *t, sw_host_request *r) {
    sw_error err;
    while (sw_host_request_take(t, r)) {
        pthread_mutex_unlock(&p->lock);
        sw_status st = carry_out(t, r, &err);
        pthread_mutex_lock(&p->lock);
        if (st != SW_OK) sw_host_transfer_fail(t, &err);
    }
    p->now = NULL;
}

static void *thread_main(void *arg) {
    sw_host_pool *p = arg;
    pthread_mutex_lock(&p->lock);
    sw_host_request *r = &p->slots[++p->n_named]; /* the first is the caller's */
    while (!p->quit) {
        if (!p->now) {
            pthread_cond_wait(&p->work, &p->lock);
            continue;
        }
        double start = cpu_s();
        p->n_busy++;
        serve(p, p->now, r);
        p->cpu_s += cpu_s() - start;
        if (!--p->n_busy) pthread_cond_signal(&p->idle);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void pool_move(sw_host_pool *p, sw_host_transfer *t) {
    uint64_t more = (t->end - t->at - 1) / t->block;
    pthread_mutex_lock(&p->lock);
    p->now = t;
    for (uint64_t i = 0; i < more && i < p->n_threads; i++) pthread_cond_signal(&p->work);
    serve(p, t, &p->slots[0]);
    while (p->n_busy) pthread_cond_wait(&p->idle, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

static void pool_free(sw_host_pool *p) {
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    p->quit = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (uint32_t i = 0; i < p->n_threads; i++) pthread_join(p->thread[i], NULL);
    pthread_cond_destroy(&p->idle);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

static sw_status pool_new(sw_host_request *slots, uint32_t n, sw_host_pool **out, sw_error *err) {
    sw_host_pool *p = *out = calloc(1, sizeof *p + n * sizeof *p->thread);
    if (!p) return sw_fail(err, SW_MEMORY, "out of memory");
    p->slots = slots;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->idle, NULL);
    for (; p->n_threads < n; p->n_threads++)
        if (pthread_create(&p->thread[p->n_threads], NULL, thread_main, p) != 0)
            return sw_fail(err, SW_RUN, "host: cannot start %u threads for a file", n);
    return SW_OK;
}

/* --- either ------------------------------------------------------------------------------------- */

static sw_status start_engine(sw_host_mover *m, sw_error *err) {
    if (m->how.engine != SW_HOST_THREADS) {
        bool must = m->how.engine == SW_HOST_URING;
        sw_status st = sw_host_uring_new(m->how.depth, &m->ring, must ? err : NULL);
        if (st == SW_OK || must) {
            m->how.engine = SW_HOST_URING;
            return st;
        }
    }
    m->how.engine = SW_HOST_THREADS;
    return pool_new(m->slots, m->how.depth - 1, &m->pool, err);
}

sw_status sw_host_mover_open(sw_host_mover *m, const sw_host_how *how, sw_error *err) {
    *m = (sw_host_mover){.how = *how};
    m->slots = calloc(how->depth, sizeof *m->slots);
    if (!m->slots) return sw_fail(err, SW_MEMORY, "out of memory");
    sw_status st = start_engine(m, err);
    if (st != SW_OK) sw_host_mover_close(m);
    return st;
}

void sw_host_mover_close(sw_host_mover *m) {
    pool_free(m->pool);
    sw_host_uring_free(m->ring);
    for (uint32_t i = 0; m->slots && i < m->how.depth; i++) free(m->slots[i].buf);
    free(m->slots);
    *m = (sw_host_mover){0};
}

sw_status sw_host_move(sw_host_mover *m, sw_host_transfer *t, sw_error *err) {
    double start = cpu_s();
    if (t->at >= t->end) return SW_OK;
    t->block = m->how.block;
    t->stop = m->how.stop;
    if (m->ring) {
        sw_host_uring_move(m->ring, m->slots, t);
    } else {
        double theirs = m->pool->cpu_s;
        pool_move(m->pool, t);
        m->cpu_s += m->pool->cpu_s - theirs;
    }
    m->cpu_s += cpu_s() - start;
    m->n_requests += t->n_requests;
    m->n_bounced += t->n_bounced;
    if (t->err.status && err) *err = t->err;
    return t->err.status;
}
