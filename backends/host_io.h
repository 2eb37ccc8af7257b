/* The file that stands in for an NVMe tier of `host`: sparse, and gone when the run ends.
 *
 * With O_DIRECT the page cache takes no part, and what is timed is the device. It wants offsets,
 * lengths and addresses in multiples of SW_HOST_SECTOR; whatever else is asked for goes through
 * aligned buffers (host_request.h), and a sector that is written in part is read before. */
#ifndef SW_BACKEND_HOST_IO_H
#define SW_BACKEND_HOST_IO_H

#include "backends/host_move.h"
#include <pthread.h>

typedef struct sw_host_file {
    int fd;
    bool open, direct;
    uint64_t bytes; /* its length: a multiple of the sector */
    pthread_mutex_t
        edges; /* held while a sector that is written in part is read and written back */
} sw_host_file;

/** Opens a new file at `path`, or without a name in the folder `path` (empty: $TMPDIR, else
 * /var/tmp). Refuses a file that holds something. The name is removed at once.
 *  direct  O_DIRECT is asked for; f->direct says whether the file system grants it.
 *  Fails SW_RUN. */
sw_status sw_host_file_open(sw_host_file *f, const char *path, bool direct, sw_error *err);
/** Makes it at least so long. One caller at a time. */
sw_status sw_host_file_reach(sw_host_file *f, uint64_t bytes, sw_error *err);
/** With the calling thread's mover; the range lies within what was reached. Fail as sw_host_move. */
sw_status sw_host_file_read(sw_host_file *f, sw_host_mover *m, uint64_t at, void *to,
                            uint64_t bytes, sw_error *err);
sw_status sw_host_file_write(sw_host_file *f, sw_host_mover *m, uint64_t at, const void *from,
                             uint64_t bytes, sw_error *err);
void sw_host_file_close(sw_host_file *f);

#endif
