/* A run as a Chrome trace (JSON object format), which Perfetto and chrome://tracing open: one track
 * a queue, one counter a tier, and arrows to an op from the op on another queue that it waited for
 * (the last one to end, the first 50 000 of them). The events of a queue, and the points of a
 * counter, come in the order of time, in whole nanoseconds. A join, which takes no time, is not
 * shown.
 *
 * The counters show bytes held in each tier over the run's own time: a replica's bytes count from
 * the start of the op that first writes it there until the start of the op that first writes
 * another block over any of its bytes (the log of a run does not tell when an extent was given
 * back, so memory that nobody has reused yet still counts). */
#ifndef SW_CHROME_H
#define SW_CHROME_H

#include "sim/observe.h"

typedef struct sw_chrome sw_chrome;

/** Nothing appears under `path` before commit; ".gz" compresses. Fails SW_IO, SW_MEMORY. */
sw_status sw_chrome_open(const char *path, sw_chrome **out, sw_error *err);
/** Borrowed: valid until commit or abort. */
sw_observer sw_chrome_observer(sw_chrome *c);
/** Ends the trace and frees it in every case. */
sw_status sw_chrome_commit(sw_chrome *c, sw_error *err);
void sw_chrome_abort(sw_chrome *c); /* NULL is fine */

#endif
