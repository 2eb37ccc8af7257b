/* The verifier: was this run possible? It reads only the op log of a run, of any backend, and
 * shares no code with the plan or the ledger that made it.
 *
 * It executes the ops in the order of their ids, keeping for each tier which bytes hold which
 * version of which block, and holds against that what the ops say and when they ran:
 *
 * ids         1, 2, 3 …
 * time        0 <= start <= end, finite
 * queue       an op starts when the op before it on its queue has ended, not earlier
 * dependency  likewise for `after` (smaller ids, ascending) and issued_by (a host op)
 * causality   likewise for needs_known, which is also among those it waits for
 * duration    an op takes at least its fixed_s; of a real run only host and delay ops, since the
 *             others' fixed_s is what the model thinks
 * capacity    an extent lies inside its tier, and no two blocks are placed over each other
 * copy        one read, one write, of the same block, version and length
 * version     a read names the newest version of the block, and that version is the newest in the
 *             tier; a write makes the next one (RW reads the one before)
 * content     every byte that a read names is there, written by that block
 * hazard      an op that reads or writes bytes starts after whoever wrote them has ended, and one
 *             that writes them also after all who have read them since; no op writes over what it
 *             reads of another block
 * form        indices, modes and lengths that make sense
 *
 * "Newest", "before" and "since" mean the order of ids. If none of these is violated, then at every
 * moment of the run's own time each read found exactly its bytes, no write ran while another op
 * used the same bytes, and so the contents over time are those of the ops done one by one.
 *
 * Partial writes. A write makes the next version of the block but defines only the bytes of its
 * extent; the others stay readable if the tier held the version before. A read names the newest
 * version while its extent may cover bytes that older ones wrote. So each byte must have been
 * written by this block (in this life of it) and the newest version in the tier must be the one
 * named. A block freed and allocated again begins a new life with a WRITE of version 1: nothing of
 * the former is left. A copy takes whatever is defined of the block; it must take all of it.
 *
 * An address is claimed by writing to it, and the log does not tell when an extent is given back: a
 * block that is overwritten while it is still wanted shows when it is read.
 *
 * Times are compared with a tolerance of 1e-9 of the later one plus 1 ns.
 * Cost: O(log n) an extent, and a step for each separately written piece in it. Memory: 9 bytes an
 * op, and what the tiers hold. */
#ifndef SW_VERIFY_H
#define SW_VERIFY_H

#include "sim/observe.h"

#define SW_RULE_LIST(X)                                                                            \
    X(IDS, "ids")                                                                                  \
    X(TIME, "time")                                                                                \
    X(QUEUE, "queue")                                                                              \
    X(DEPENDENCY, "dependency")                                                                    \
    X(CAUSALITY, "causality")                                                                      \
    X(DURATION, "duration")                                                                        \
    X(CAPACITY, "capacity")                                                                        \
    X(COPY, "copy")                                                                                \
    X(VERSION, "version") X(CONTENT, "content") X(HAZARD, "hazard") X(FORM, "form")
typedef enum sw_rule {
#define X(name, text) SW_RULE_##name,
    SW_RULE_LIST(X)
#undef X
        SW_RULE_COUNT
} sw_rule;
const char *sw_rule_name(sw_rule rule);

typedef struct sw_violation {
    sw_rule rule;
    uint64_t op, other; /* other: the op that it clashes with; 0 none */
    char text[224];     /* one sentence with the ids in it */
} sw_violation;

enum { SW_VIOLATIONS_KEPT = 32 };

typedef struct sw_verify_report {
    uint64_t n_ops, n_violations, by_rule[SW_RULE_COUNT];
    uint32_t n_kept; /* the first ones */
    sw_violation kept[SW_VIOLATIONS_KEPT];
} sw_verify_report;

typedef struct sw_verifier sw_verifier;

sw_status sw_verifier_new(sw_verifier **out, sw_error *err);
/** The ops ran for real (a backend without SW_BACKEND_VIRTUAL_TIME). */
void sw_verifier_real(sw_verifier *v);
/** What to attach to a run, or to sw_oplog_read. Borrowed from v. Its callbacks fail only when
 * memory is out. */
sw_observer sw_verifier_observer(sw_verifier *v);
/** What was found so far; owned by v. */
const sw_verify_report *sw_verifier_finish(const sw_verifier *v);
void sw_verifier_free(sw_verifier *v);

/** Verifies a log file, of a real run or a simulated one. SW_OK means that it could be read: look at out->n_violations.
 *  Fails SW_INPUT as sw_oplog_read does. */
sw_status sw_verify_log(const char *path, bool real, sw_verify_report *out, sw_error *err);

#endif
