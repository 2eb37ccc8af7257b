/* Transfers by io_uring (see host_uring.h). */
#include "backends/host_uring.h"

#ifdef SW_HAVE_URING
#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct sw_host_uring {
    struct io_uring ring;
    uint32_t depth, n_free;
    uint32_t queued, flying; /* requests that the kernel has not taken yet; those it has */
    bool broken;             /* it takes no more */
    uint32_t free[];
};

static sw_status refused(sw_error *err, int why) {
    return sw_fail(err, SW_RUN, "host: io_uring is refused: %s", strerror(-why));
}

/* One request that does nothing: some sandboxes give a ring that cannot be entered. */
static int try(struct io_uring *ring) {
    struct io_uring_cqe *cqe = NULL;
    io_uring_prep_nop(io_uring_get_sqe(ring));
    int rc = io_uring_submit_and_wait(ring, 1);
    if (rc >= 0) rc = io_uring_peek_cqe(ring, &cqe);
    if (rc == 0) io_uring_cqe_seen(ring, cqe);
    return rc;
}

sw_status sw_host_uring_new(uint32_t depth, sw_host_uring **out, sw_error *err) {
    sw_host_uring *u = calloc(1, sizeof *u + depth * sizeof *u->free);
    if (!u) return sw_fail(err, SW_MEMORY, "out of memory");
    u->depth = u->n_free = depth;
    for (uint32_t i = 0; i < depth; i++) u->free[i] = i;
    int rc = io_uring_queue_init(depth, &u->ring, 0);
    if (rc == 0 && (rc = try(&u->ring)) != 0) io_uring_queue_exit(&u->ring);
    if (rc != 0) {
        free(u);
        return refused(err, rc);
    }
    *out = u;
    return SW_OK;
}

void sw_host_uring_free(sw_host_uring *u) {
    if (!u) return;
    io_uring_queue_exit(&u->ring);
    free(u);
}

/* There is room: no more than `depth` are queued or in flight. */
static void queue(sw_host_uring *u, const sw_host_request *slots, uint32_t i,
                  const sw_host_transfer *t) {
    struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);
    const sw_host_request *r = &slots[i];
    if (t->write)
        io_uring_prep_writev(sqe, t->fd, &r->left, 1, r->at);
    else
        io_uring_prep_readv(sqe, t->fd, &r->left, 1, r->at);
    sqe->user_data = i;
    u->queued++;
}

static void fill(sw_host_uring *u, sw_host_request *slots, sw_host_transfer *t) {
    sw_error err;
    while (u->n_free && !u->broken) {
        uint32_t i = u->free[u->n_free - 1];
        if (!sw_host_request_take(t, &slots[i])) return;
        if (sw_host_request_begin(t, &slots[i], &err) != SW_OK) {
            sw_host_transfer_fail(t, &err);
            return;
        }
        u->n_free--;
        queue(u, slots, i, t);
    }
}

/* Hands over what is queued and sleeps until something has ended. If the ring itself fails, what is
 * in flight still ends and shows, at the latest when the kernel is entered again. */
static void enter(sw_host_uring *u, sw_host_transfer *t) {
    const struct timespec moment = {.tv_nsec = 100000};
    sw_error err;
    int rc = u->broken ? -EBUSY : io_uring_submit_and_wait(&u->ring, 1);
    if (rc >= 0) {
        u->queued -= (uint32_t)rc;
        u->flying += (uint32_t)rc;
    } else if (rc == -EINTR) {
        return;
    } else if (rc == -EAGAIN || rc == -EBUSY) {
        u->broken |= !u->flying && sw_host_transfer_over(t);
        nanosleep(&moment, NULL);
    } else {
        u->broken = true;
        refused(&err, rc);
        sw_host_transfer_fail(t, &err);
    }
}

static void reap(sw_host_uring *u, sw_host_request *slots, sw_host_transfer *t) {
    struct io_uring_cqe *cqe;
    sw_error err;
    while (io_uring_peek_cqe(&u->ring, &cqe) == 0) {
        uint32_t i = (uint32_t)cqe->user_data;
        int res = cqe->res;
        bool again = false;
        io_uring_cqe_seen(&u->ring, cqe);
        u->flying--;
        if (sw_host_request_ended(t, &slots[i], res, &again, &err) != SW_OK)
            sw_host_transfer_fail(t, &err);
        if (again && !sw_host_transfer_over(t))
            queue(u, slots, i, t);
        else
            u->free[u->n_free++] = i;
    }
}

void sw_host_uring_move(sw_host_uring *u, sw_host_request *slots, sw_host_transfer *t) {
    for (;;) {
        fill(u, slots, t);
        if (!u->flying && (u->broken || !u->queued)) return;
        enter(u, t);
        reap(u, slots, t);
    }
}

#else

sw_status sw_host_uring_new(uint32_t depth, sw_host_uring **out, sw_error *err) {
    (void)depth, (void)out;
    return sw_fail(err, SW_RUN, "host: this program was built without io_uring (liburing)");
}

void sw_host_uring_free(sw_host_uring *u) {
    (void)u;
}

void sw_host_uring_move(sw_host_uring *u, sw_host_request *slots, sw_host_transfer *t) {
    (void)u, (void)slots, (void)t;
}

#endif
