/* Files in and out: plain or gzip, by content on the way in and by name (".gz") on the way out.
 * The only file that includes <zlib.h> is stream.c.
 *
 * A writer writes to a temporary file beside the target and renames it on sw_writer_commit; without
 * commit nothing appears under the target's name. "-" is standard output; it, pipes and devices are
 * written as they are. */
#ifndef SW_BASE_STREAM_H
#define SW_BASE_STREAM_H

#include "sim/base/error.h"
#include <stdbool.h>

/** A whole file as it lies on disk (never unpacked), into memory that the caller frees.
 *  max_mib  the most that is read
 *  Fails    SW_INPUT: cannot open or read, larger than max_mib; nothing is allocated then. */
sw_status sw_file_load(const char *path, unsigned max_mib, char **text, size_t *bytes,
                       sw_error *err);

typedef struct sw_reader sw_reader;
typedef struct sw_writer sw_writer;

sw_status sw_reader_open(const char *path, sw_reader **out, sw_error *err);
/** The next line without its '\n' ("\r\n" too), NUL-terminated, valid until the next call; SW_END
 *  at the end. Fails SW_INPUT: a line over 16 MiB, a NUL byte, a corrupt or truncated gzip (with
 *  the offset in the compressed file). */
sw_status sw_reader_line(sw_reader *r, char **line, size_t *bytes, sw_error *err);
/** Up to n bytes; *got < n only at the end. */
sw_status sw_reader_read(sw_reader *r, void *buf, size_t n, size_t *got, sw_error *err);
/** Where the last line started, for messages: file and line number. */
sw_mark sw_reader_mark(const sw_reader *r);
/** Size of the (uncompressed or compressed) file in bytes as it lies on disk; 0 for a pipe. */
uint64_t sw_reader_file_bytes(const sw_reader *r);
void sw_reader_close(sw_reader *r);

sw_status sw_writer_open(const char *path, sw_writer **out, sw_error *err);
/** Errors are kept and reported by commit, so that the hot path need not look. */
void sw_writer_put(sw_writer *w, const void *data, size_t bytes);
void sw_writer_printf(sw_writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** Flushes, closes and renames; frees w in every case. Fails SW_IO, leaving no file behind. */
sw_status sw_writer_commit(sw_writer *w, sw_error *err);
/** Drops everything; NULL is fine. */
void sw_writer_abort(sw_writer *w);

#endif
