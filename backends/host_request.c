/* Requests of a transfer (see host_request.h). */
#include "backends/host_request.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SECTOR_MASK ((uint64_t)SW_HOST_SECTOR - 1)

bool sw_host_transfer_over(const sw_host_transfer *t) {
    return t->err.status || (t->stop && atomic_load_explicit(t->stop, memory_order_relaxed));
}

bool sw_host_request_take(sw_host_transfer *t, sw_host_request *r) {
    uint64_t mask = t->direct ? SECTOR_MASK : 0, end = (t->end + mask) & ~mask;
    if (!t->n_requests) t->next = t->at & ~mask;
    if (t->next >= end || sw_host_transfer_over(t)) return false;
    uint64_t lo = t->next, hi = end - lo < t->block ? end : lo + t->block;
    uint64_t from = lo < t->at ? t->at : lo, to = hi < t->end ? hi : t->end;
    char *mem = t->mem + (from - t->at);
    bool straight = from == lo && to == hi && !((uintptr_t)mem & mask);
    r->at = lo;
    r->left = (struct iovec){straight ? mem : NULL, hi - lo};
    r->home = straight ? NULL : mem;
    r->skip = from - lo;
    r->n = to - from;
    t->next = hi;
    t->n_requests++;
    t->n_bounced += !straight;
    return true;
}

sw_status sw_host_request_begin(const sw_host_transfer *t, sw_host_request *r, sw_error *err) {
    void *p = NULL;
    if (!r->home) return SW_OK;
    if (!r->buf && posix_memalign(&p, SW_HOST_SECTOR, t->block) != 0)
        return sw_fail(err, SW_MEMORY, "out of memory");
    if (!r->buf) r->buf = p;
    r->left.iov_base = r->buf;
    if (t->write) memcpy(r->buf + r->skip, r->home, r->n);
    return SW_OK;
}

sw_status sw_host_request_ended(const sw_host_transfer *t, sw_host_request *r, int64_t res,
                                bool *again, sw_error *err) {
    bool retry = res == -EINTR || res == -EAGAIN;
    /* A direct request that goes on must do so at a sector. */
    uint64_t n = res > 0 ? (uint64_t)res : 0;
    if (t->direct && n < r->left.iov_len) n &= ~SECTOR_MASK;
    *again = false;
    if (!n && !retry)
        return sw_fail(err, SW_RUN, "host: %s %llu bytes at %llu of the file: %s",
                       t->write ? "writing" : "reading", (unsigned long long)r->left.iov_len,
                       (unsigned long long)r->at, res < 0 ? strerror((int)-res) : "it ends there");
    r->at += n;
    r->left.iov_base = (char *)r->left.iov_base + n;
    r->left.iov_len -= n;
    *again = r->left.iov_len > 0;
    if (!r->left.iov_len && r->home && !t->write) memcpy(r->home, r->buf + r->skip, r->n);
    return SW_OK;
}

void sw_host_transfer_fail(sw_host_transfer *t, const sw_error *err) {
    if (!t->err.status) t->err = *err;
}
