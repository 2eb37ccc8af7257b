/* The file that stands in for an NVMe tier of `host`: sparse, and gone when the run ends.
 *
 * With O_DIRECT the page cache takes no part, and what is timed is the device. It wants offsets,
 * lengths and addresses in multiples of SW_HOST_SECTOR; whatever else is asked for goes through an
 * aligned buffer of the calling thread. */
#ifndef SW_BACKEND_HOST_IO_H
#define SW_BACKEND_HOST_IO_H

#include "sim/base/error.h"
#include <pthread.h>
#include <stdbool.h>

enum { SW_HOST_SECTOR = 4096, SW_HOST_BOUNCE = 1 << 20 };

typedef struct sw_host_file {
    int fd;
    bool open, direct;
    uint64_t bytes; /* its length: a multiple of the sector */
    pthread_mutex_t
        edges; /* held while a sector that is written in part is read and written back */
} sw_host_file;

typedef struct sw_host_bounce { /* one a thread; zeroed to begin with */
    char *buf;
    uint64_t n_used;
} sw_host_bounce;

/** Opens a new file at `path`, or without a name in the folder `path` (empty: $TMPDIR, else
 * /var/tmp). Refuses a file that holds something. The name is removed at once.
 *  direct  O_DIRECT is asked for; f->direct says whether the file system grants it.
 *  Fails SW_RUN. */
sw_status sw_host_file_open(sw_host_file *f, const char *path, bool direct, sw_error *err);
/** Makes it at least so long. One caller at a time. */
sw_status sw_host_file_reach(sw_host_file *f, uint64_t bytes, sw_error *err);
/** From any thread; the range lies within what was reached. Fail SW_RUN. */
sw_status sw_host_file_read(sw_host_file *f, sw_host_bounce *b, uint64_t at, void *to,
                            uint64_t bytes, sw_error *err);
sw_status sw_host_file_write(sw_host_file *f, sw_host_bounce *b, uint64_t at, const void *from,
                             uint64_t bytes, sw_error *err);
void sw_host_file_close(sw_host_file *f);

#endif
