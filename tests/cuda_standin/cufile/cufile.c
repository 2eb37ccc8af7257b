/* As much of cuFile as backends/cuda_gds.c uses, for the stand-in, whose device memory is this
 * machine's: a library of its own, to be loaded by name. It moves less at a time than it is asked. */
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

typedef struct status {
    int err, cuda_err;
} status;

typedef struct descr {
    int type;
    union {
        int fd;
        void *handle;
    } handle;
    const void *fs_ops;
} descr;

extern uint64_t standin_cufile_bytes;
uint64_t standin_cufile_bytes;

status cuFileDriverOpen(void);
status cuFileDriverClose(void);
status cuFileHandleRegister(void **file, descr *d);
void cuFileHandleDeregister(void *file);
status cuFileBufRegister(const void *base, size_t bytes, int flags);
status cuFileBufDeregister(const void *base);
ssize_t cuFileRead(void *file, void *base, size_t bytes, off_t at, off_t off);
ssize_t cuFileWrite(void *file, const void *base, size_t bytes, off_t at, off_t off);

enum { MOST = 16384 };

status cuFileDriverOpen(void) {
    return (status){0};
}
status cuFileDriverClose(void) {
    return (status){0};
}

/* The real one takes any address; for us the page cache has to. */
status cuFileHandleRegister(void **file, descr *d) {
    int flags = fcntl(d->handle.fd, F_GETFL);
    *file = (void *)(intptr_t)(d->handle.fd + 1);
    return (status){.err = d->type != 1 || fcntl(d->handle.fd, F_SETFL, flags & ~O_DIRECT) != 0};
}
void cuFileHandleDeregister(void *file) {
    (void)file;
}

status cuFileBufRegister(const void *base, size_t bytes, int flags) {
    return (status){.err = !base || !bytes || flags};
}
status cuFileBufDeregister(const void *base) {
    return (status){.err = !base};
}

static int fd_of(void *file) {
    return (int)(intptr_t)file - 1;
}

ssize_t cuFileRead(void *file, void *base, size_t bytes, off_t at, off_t off) {
    ssize_t n = pread(fd_of(file), (char *)base + off, bytes < MOST ? bytes : MOST, at);
    if (n > 0) __atomic_add_fetch(&standin_cufile_bytes, n, __ATOMIC_RELAXED);
    return n;
}
ssize_t cuFileWrite(void *file, const void *base, size_t bytes, off_t at, off_t off) {
    ssize_t n = pwrite(fd_of(file), (const char *)base + off, bytes < MOST ? bytes : MOST, at);
    if (n > 0) __atomic_add_fetch(&standin_cufile_bytes, n, __ATOMIC_RELAXED);
    return n;
}
