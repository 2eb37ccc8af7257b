/* The op log: everything that a run did, one line a record, for the verifier, for diffs, for
 * people. docs/op-log.md has the format. Written through an observer while the run goes on; a name
 * ending in ".gz" is compressed. Reading replays the records into any observer. */
#ifndef SW_OPLOG_H
#define SW_OPLOG_H

#include "sim/observe.h"

enum { SW_OPLOG_VERSION = 1, SW_OPLOG_USES_MAX = 1 << 20, SW_OPLOG_AFTER_MAX = 1 << 16 };

typedef struct sw_oplog sw_oplog;

/** Nothing appears under `path` before commit. Fails SW_IO, SW_MEMORY. */
sw_status sw_oplog_open(const char *path, sw_oplog **out, sw_error *err);
/** Borrowed: valid until commit or abort. */
sw_observer sw_oplog_observer(sw_oplog *log);
/** Ends the log and frees it in every case. Fails SW_IO, leaving no file behind. */
sw_status sw_oplog_commit(sw_oplog *log, sw_error *err);
void sw_oplog_abort(sw_oplog *log); /* NULL is fine */

/** Reads a log (untrusted) and tells `obs` what is in it, in its order.
 *  The topology that `begin` sees has names, tiers (kind, capacity), queues (kind) and resources
 *  (kind, rate), and nothing else. Ops have no flows and no work. Strings and arrays live until the
 *  callback returns, the topology until sw_oplog_read does.
 *  Fails SW_INPUT at the line and column: bad syntax, a limit, a number out of range, a log without
 *  its last line. Records before that line have been told. What the observer returns is passed on.
 *  Cost O(bytes); memory of one line. */
sw_status sw_oplog_read(const char *path, const sw_observer *obs, sw_error *err);

/** Text of a double that strtod reads back to the bit. Returns buf (at least 32 bytes). */
char *sw_oplog_double(char *buf, double x);

#endif
