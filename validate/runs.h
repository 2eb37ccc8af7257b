/* Which bytes of a tier hold what: disjoint runs of bytes in order, each with its content, who
 * wrote it and who last read it. A treap over the runs' first bytes: every call is O(log runs) and
 * O(1) a run that it visits. The verifier's own: nothing of the simulator is used. */
#ifndef SW_RUNS_H
#define SW_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sw_run {
    uint64_t lo, hi;
    uint32_t block, version; /* block SW_RUN_NOTHING: bytes without meaning */
    uint32_t epoch;          /* of the block in this tier, when written (verify_data.c) */
    uint64_t writer, reader; /* op ids; 0: before the run, nobody */
    double writer_end_s;
    double reader_end_s; /* latest end of those that have read it since it was written */
} sw_run;

#define SW_RUN_NOTHING UINT32_MAX

typedef struct sw_run_node sw_run_node;
typedef struct sw_runs {
    sw_run_node *nodes; /* index 0 is nobody */
    uint32_t root, free, n, cap;
    uint64_t random;
} sw_runs;

/** Calls fn for each run in [lo, hi), in order, cut to that range; fn may change what the run
 * holds, not its ends. False when memory is out. */
bool sw_runs_visit(sw_runs *m, uint64_t lo, uint64_t hi, void (*fn)(void *arg, sw_run *run),
                   void *arg);
/** Puts one run in the place of all that [run.lo, run.hi) holds. False when memory is out. */
bool sw_runs_put(sw_runs *m, sw_run run);
void sw_runs_free(sw_runs *m);

#endif
