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

static sw_status move(sw_host_file *f, sw_host_mover *m, bool write, uint64_t at, const void *mem,
                      uint64_t bytes, sw_error *err) {
    sw_host_transfer t = {.fd = f->fd,
                          .write = write,
                          .direct = f->direct,
                          .at = at,
                          .end = at + bytes,
                          .mem = (char *)(uintptr_t)mem};
    return sw_host_move(m, &t, err);
}

sw_status sw_host_file_read(sw_host_file *f, sw_host_mover *m, uint64_t at, void *to,
                            uint64_t bytes, sw_error *err) {
    return move(f, m, false, at, to, bytes, err);
}

/* Part of a sector. Two blocks may share one: whoever writes a part of it must not undo the
 * other's. */
static sw_status write_edge(sw_host_file *f, sw_host_mover *m, uint64_t at, const char *from,
                            uint64_t n, sw_error *err) {
    _Alignas(SW_HOST_SECTOR) char sector[SW_HOST_SECTOR];
    uint64_t lo = at & ~SECTOR_MASK;
    pthread_mutex_lock(&f->edges);
    sw_status st = move(f, m, false, lo, sector, sizeof sector, err);
    if (st == SW_OK) {
        memcpy(sector + (at - lo), from, n);
        st = move(f, m, true, lo, sector, sizeof sector, err);
    }
    pthread_mutex_unlock(&f->edges);
    return st;
}

sw_status sw_host_file_write(sw_host_file *f, sw_host_mover *m, uint64_t at, const void *from,
                             uint64_t bytes, sw_error *err) {
    const char *mem = from;
    uint64_t head = f->direct ? -at & SECTOR_MASK : 0, tail;
    if (head > bytes) head = bytes;
    if (head) SW_TRY(write_edge(f, m, at, mem, head, err));
    at += head, mem += head, bytes -= head;
    tail = f->direct ? bytes & SECTOR_MASK : 0;
    SW_TRY(move(f, m, true, at, mem, bytes - tail, err));
    return tail ? write_edge(f, m, at + bytes - tail, mem + bytes - tail, tail, err) : SW_OK;
}
