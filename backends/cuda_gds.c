/* cuFile, loaded with dlopen (see cuda_gds.h). What is declared here is as in NVIDIA's cufile.h,
 * which not every toolkit has; source: the cuFile API reference. */
#include "backends/cuda_gds.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

typedef struct status { /* CUfileError_t */
    int err, cuda_err;
} status;

typedef struct descr { /* CUfileDescr_t */
    int type;
    union {
        int fd;
        void *handle;
    } handle;
    const void *fs_ops;
} descr;
enum { OPAQUE_FD = 1 }; /* CU_FILE_HANDLE_TYPE_OPAQUE_FD */

struct sw_cuda_gds {
    void *lib;
    status (*driver_open)(void);
    status (*driver_close)(void);
    status (*handle_register)(void **file, descr *d);
    void (*handle_deregister)(void *file);
    status (*buf_register)(const void *base, size_t bytes, int flags);
    status (*buf_deregister)(const void *base);
    ssize_t (*read)(void *file, void *base, size_t bytes, off_t at, off_t off);
    ssize_t (*write)(void *file, const void *base, size_t bytes, off_t at, off_t off);
};

/* ISO C has no cast from an object's to a function's pointer; POSIX says that they are alike. */
static bool find(void *lib, const char *name, void *fn) {
    void *p = dlsym(lib, name);
    memcpy(fn, &p, sizeof p);
    return p != NULL;
}

static bool load(sw_cuda_gds *g, const char *lib) {
    g->lib = dlopen(lib, RTLD_NOW | RTLD_LOCAL);
    return g->lib && find(g->lib, "cuFileDriverOpen", &g->driver_open) &&
           find(g->lib, "cuFileDriverClose", &g->driver_close) &&
           find(g->lib, "cuFileHandleRegister", &g->handle_register) &&
           find(g->lib, "cuFileHandleDeregister", &g->handle_deregister) &&
           find(g->lib, "cuFileBufRegister", &g->buf_register) &&
           find(g->lib, "cuFileBufDeregister", &g->buf_deregister) &&
           find(g->lib, "cuFileRead", &g->read) && find(g->lib, "cuFileWrite", &g->write) &&
           g->driver_open().err == 0;
}

/* The library stays loaded: it may have threads of its own. */
sw_status sw_cuda_gds_open(const char *lib, sw_cuda_gds **out, sw_error *err) {
    sw_cuda_gds *g = calloc(1, sizeof *g);
    *out = NULL;
    if (!g) return sw_fail(err, SW_MEMORY, "out of memory");
    if (load(g, lib))
        *out = g;
    else
        free(g);
    return SW_OK;
}

void sw_cuda_gds_close(sw_cuda_gds *g) {
    if (g) g->driver_close();
    free(g);
}

void sw_cuda_gds_join(sw_cuda_gds *g, int fd, void **file) {
    descr d = {.type = OPAQUE_FD, .handle.fd = fd};
    if (g->handle_register(file, &d).err != 0) *file = NULL;
}

void sw_cuda_gds_leave(sw_cuda_gds *g, void *file) {
    g->handle_deregister(file);
}

bool sw_cuda_gds_map(sw_cuda_gds *g, const void *base, uint64_t bytes) {
    return g->buf_register(base, bytes, 0).err == 0;
}

void sw_cuda_gds_unmap(sw_cuda_gds *g, const void *base) {
    g->buf_deregister(base);
}

/* -1: errno says why; less: an error of cuFile's own; 0: the end of the file. */
static sw_status fail(sw_error *err, const char *call, ssize_t got) {
    if (got == -1) return sw_fail(err, SW_RUN, "cuda: %s: %s", call, strerror(errno));
    if (!got) return sw_fail(err, SW_RUN, "cuda: %s: the file ends there", call);
    return sw_fail(err, SW_RUN, "cuda: %s: error %zd", call, -got);
}

sw_status sw_cuda_gds_read(sw_cuda_gds *g, void *file, uint64_t at, void *base, uint64_t off,
                           uint64_t bytes, sw_error *err) {
    for (uint64_t done = 0; done < bytes;) {
        ssize_t n = g->read(file, base, bytes - done, (off_t)(at + done), (off_t)(off + done));
        if (n <= 0) return fail(err, "cuFileRead", n);
        done += (uint64_t)n;
    }
    return SW_OK;
}

sw_status sw_cuda_gds_write(sw_cuda_gds *g, void *file, uint64_t at, const void *base, uint64_t off,
                            uint64_t bytes, sw_error *err) {
    for (uint64_t done = 0; done < bytes;) {
        ssize_t n = g->write(file, base, bytes - done, (off_t)(at + done), (off_t)(off + done));
        if (n <= 0) return fail(err, "cuFileWrite", n);
        done += (uint64_t)n;
    }
    return SW_OK;
}
