/* The file behind an NVMe tier (see host_io.h). */
#include "backends/host_io.h"
#include "sim/base/vec.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTOR_MASK ((uint64_t)SW_HOST_SECTOR - 1)

/* --- opening ----------------------------------------------------------------------------------- */

static sw_status trouble(sw_error *err, const char *what, const char *path) {
    return sw_fail(err, SW_RUN, "host: cannot %s %s: %s", what, path, strerror(errno));
}

static bool is_folder(const char *path) {
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static sw_status open_named(sw_host_file *f, const char *path, sw_error *err) {
    struct stat s;
    f->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (f->fd < 0) return trouble(err, "open", path);
    f->open = true;
    if (fstat(f->fd, &s) != 0) return trouble(err, "look at", path);
    if (!S_ISREG(s.st_mode) || s.st_size)
        return sw_fail(err, SW_RUN, "host: %s is not a new or empty file; it stays as it is", path);
    return unlink(path) == 0 ? SW_OK : trouble(err, "remove the name", path);
}

static sw_status open_in(sw_host_file *f, const char *folder, sw_error *err) {
    char path[512];
    int n = snprintf(path, sizeof path, "%s/spillway-XXXXXX", folder);
    if (n < 0 || (size_t)n >= sizeof path)
        return sw_fail(err, SW_RUN, "host: the folder's name is too long");
    f->fd = mkostemp(path, O_CLOEXEC);
    if (f->fd < 0) return trouble(err, "make a file in", folder);
    f->open = true;
    return unlink(path) == 0 ? SW_OK : trouble(err, "remove the name", path);
}

/* Some file systems refuse the flag, others the first transfer. */
static bool grants_direct(int fd) {
    int flags = fcntl(fd, F_GETFL);
    void *page = NULL;
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_DIRECT) != 0) return false;
    bool ok = posix_memalign(&page, SW_HOST_SECTOR, SW_HOST_SECTOR) == 0;
    if (ok) {
        memset(page, 0, SW_HOST_SECTOR);
        ok = pwrite(fd, page, SW_HOST_SECTOR, 0) == SW_HOST_SECTOR &&
             pread(fd, page, SW_HOST_SECTOR, 0) == SW_HOST_SECTOR;
    }
    free(page);
    return (ok || fcntl(fd, F_SETFL, flags) != 0) && ok;
}

sw_status sw_host_file_open(sw_host_file *f, const char *path, bool direct, sw_error *err) {
    const char *tmp = getenv("TMPDIR");
    if (!*path) path = tmp && *tmp ? tmp : "/var/tmp";
    *f = (sw_host_file){.edges = PTHREAD_MUTEX_INITIALIZER};
    SW_TRY(is_folder(path) ? open_in(f, path, err) : open_named(f, path, err));
    f->direct = direct && grants_direct(f->fd);
    return SW_OK;
}

sw_status sw_host_file_reach(sw_host_file *f, uint64_t bytes, sw_error *err) {
    uint64_t to = (bytes + SECTOR_MASK) & ~SECTOR_MASK;
    if (to <= f->bytes) return SW_OK;
    if (ftruncate(f->fd, (off_t)to) != 0)
        return sw_fail(err, SW_RUN, "host: cannot make the file %llu bytes long: %s",
                       (unsigned long long)to, strerror(errno));
    f->bytes = to;
    return SW_OK;
}

void sw_host_file_close(sw_host_file *f) {
    if (f->open) close(f->fd);
    f->open = false;
}

/* --- transfers ---------------------------------------------------------------------------------- */

static sw_status move(sw_host_file *f, bool write, uint64_t at, char *mem, uint64_t bytes,
                      sw_error *err) {
    while (bytes) {
        ssize_t n =
            write ? pwrite(f->fd, mem, bytes, (off_t)at) : pread(f->fd, mem, bytes, (off_t)at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0)
            return sw_fail(err, SW_RUN, "host: %s %llu bytes at %llu of the file: %s",
                           write ? "writing" : "reading", (unsigned long long)bytes,
                           (unsigned long long)at, n < 0 ? strerror(errno) : "it ends there");
        at += (uint64_t)n, mem += n, bytes -= (uint64_t)n;
    }
    return SW_OK;
}

static sw_status make_buffer(sw_host_bounce *b, sw_error *err) {
    void *p = NULL;
    if (b->buf) return SW_OK;
    if (posix_memalign(&p, SW_HOST_SECTOR, SW_HOST_BOUNCE) != 0)
        return sw_fail(err, SW_MEMORY, "out of memory");
    b->buf = p;
    return SW_OK;
}

static bool aligned(uint64_t at, const void *mem) {
    return !((at | (uint64_t)(uintptr_t)mem) & SECTOR_MASK);
}

/* The next piece that goes at once: whole sectors straight from memory, else what the buffer
 * holds. `lo` and `hi` are the sectors around it. */
static uint64_t piece(uint64_t at, const void *mem, uint64_t bytes, bool *straight, uint64_t *lo,
                      uint64_t *hi) {
    *lo = at & ~SECTOR_MASK;
    *straight = aligned(at, mem) && bytes >= SW_HOST_SECTOR;
    uint64_t n = *straight ? bytes & ~SECTOR_MASK : SW_HOST_BOUNCE - (at - *lo);
    if (n > bytes) n = bytes;
    *hi = (at + n + SECTOR_MASK) & ~SECTOR_MASK;
    return n;
}

sw_status sw_host_file_read(sw_host_file *f, sw_host_bounce *b, uint64_t at, void *to,
                            uint64_t bytes, sw_error *err) {
    char *mem = to;
    if (!f->direct) return move(f, false, at, mem, bytes, err);
    while (bytes) {
        bool straight;
        uint64_t lo, hi, n = piece(at, mem, bytes, &straight, &lo, &hi);
        if (straight) {
            SW_TRY(move(f, false, at, mem, n, err));
        } else {
            SW_TRY(make_buffer(b, err));
            SW_TRY(move(f, false, lo, b->buf, hi - lo, err));
            memcpy(mem, b->buf + (at - lo), n);
            b->n_used++;
        }
        at += n, mem += n, bytes -= n;
    }
    return SW_OK;
}

/* Two blocks may share a sector: whoever writes a part of it must not undo the other's. */
static sw_status write_bounced(sw_host_file *f, sw_host_bounce *b, uint64_t at, const char *from,
                               uint64_t n, uint64_t lo, uint64_t hi, sw_error *err) {
    bool head = at != lo, tail = at + n != hi;
    sw_status st = make_buffer(b, err);
    if (st != SW_OK) return st;
    b->n_used++;
    if (head || tail) pthread_mutex_lock(&f->edges);
    if (head) st = move(f, false, lo, b->buf, SW_HOST_SECTOR, err);
    if (st == SW_OK && tail && !(head && hi - lo == SW_HOST_SECTOR))
        st = move(f, false, hi - SW_HOST_SECTOR, b->buf + (hi - lo - SW_HOST_SECTOR),
                  SW_HOST_SECTOR, err);
    if (st == SW_OK) {
        memcpy(b->buf + (at - lo), from, n);
        st = move(f, true, lo, b->buf, hi - lo, err);
    }
    if (head || tail) pthread_mutex_unlock(&f->edges);
    return st;
}

sw_status sw_host_file_write(sw_host_file *f, sw_host_bounce *b, uint64_t at, const void *from,
                             uint64_t bytes, sw_error *err) {
    const char *mem = from;
    if (!f->direct) return move(f, true, at, (char *)(uintptr_t)mem, bytes, err);
    while (bytes) {
        bool straight;
        uint64_t lo, hi, n = piece(at, mem, bytes, &straight, &lo, &hi);
        SW_TRY(straight ? move(f, true, at, (char *)(uintptr_t)mem, n, err)
                        : write_bounced(f, b, at, mem, n, lo, hi, err));
        at += n, mem += n, bytes -= n;
    }
    return SW_OK;
}
