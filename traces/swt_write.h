/* Writing traces in Spillway's own format (docs/trace-format.md): any stream of events to a file.
 *
 *   sw_swt_text   turns events into lines; knows the sizes of living blocks, so that an op that
 *   uses
 *                 a whole block says no more than its id
 *   sw_swt_file   a file of such lines, plain or gzip by its name (.gz) */
#ifndef SW_SWT_WRITE_H
#define SW_SWT_WRITE_H

#include "sim/base/stream.h"
#include "sim/base/vec.h"
#include "sim/trace.h"

typedef struct sw_swt_text {
    SW_VEC(char) buf;       /* what was written so far; the caller may take it and set n to 0 */
    SW_VEC(uint64_t) bytes; /* by id, of living blocks; 0: none */
    uint64_t n_events;
} sw_swt_text;

/** Appends the header; `comment` (one line, may be NULL) says where the trace comes from. */
sw_status sw_swt_begin(sw_swt_text *t, const char *comment, sw_error *err);
/** Appends the event's line. Fails SW_INPUT, with nothing appended, when the event cannot be
 *  written:
 * an unknown kind or class, a number that is not finite, a name or id beyond the limits. */
sw_status sw_swt_event(sw_swt_text *t, const sw_event *ev, sw_error *err);
/** Appends the last line. */
sw_status sw_swt_end(sw_swt_text *t, sw_error *err);
void sw_swt_text_free(sw_swt_text *t);

typedef struct sw_swt_file sw_swt_file;
sw_status sw_swt_open(const char *path, const char *comment, sw_swt_file **out, sw_error *err);
sw_status sw_swt_put(sw_swt_file *f, const sw_event *ev, sw_error *err);
/** Ends the file, which appears now; frees f in every case. */
sw_status sw_swt_commit(sw_swt_file *f, sw_error *err);
/** Drops everything; NULL is fine. */
void sw_swt_abort(sw_swt_file *f);

/** Runs a fresh open-loop source from start to end into a file. `map` are its options.
 *  Fails as the source or the file does; then there is no file. */
sw_status sw_swt_record(const sw_source_ops *ops, const sw_node *map, const sw_source_env *env,
                        const char *path, const char *comment, sw_error *err);

#endif
