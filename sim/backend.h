/* A backend runs queues: it gives ops a start and an end, in simulated or real time.
 *
 * The window. Ops come in chunks. The replay keeps at most a fixed number of chunks in flight:
 * before it submits a chunk it waits for every op of an older one (`wait` with its last id). So
 * memory does not grow with the trace, and the rule is a dependency like any other: an op cannot
 * start before the instant at which `wait` returned to the submitter, on every backend alike.
 * (null: ops submitted after a wait start no earlier than the latest end that the wait returned.)
 */
#ifndef SW_BACKEND_H
#define SW_BACKEND_H

#include "sim/pager.h"
#include "sim/plugin.h"
#include "sim/trace.h"

#define SW_BACKEND_VIRTUAL_TIME 1u /* time is simulated: same bytes out every time */
#define SW_BACKEND_MOVES_BYTES  2u /* really moves and checks data */
#define SW_BACKEND_WORKER       4u /* must run in the worker executable, once a process */

typedef sw_status sw_body_fn(void *arg, sw_error *err);

typedef struct sw_backend_ops {
    sw_plugin plugin;
    /* Once, before run. The topology is const and outlives the backend. */
    sw_status (*open)(void *be, const sw_topology *topo, sw_error *err);
    /* Once. Calls body(arg) in a context from which submit, wait and now_s may be called (SimGrid:
     * an actor), and returns body's status, or its own failure (SW_RUN naming the ops that never
     * finished). */
    sw_status (*run)(void *be, sw_body_fn *body, void *arg, sw_error *err);
    /* From body, before place. Optional: for real pagers. The run pages: memory of its home tier
     * moves by itself, and the pool in its near tier is where to. Valid for the whole run. */
    sw_status (*page)(void *be, const sw_paging *paging, sw_error *err);
    /* From body, before the first submit. Optional: for backends that move bytes. A replica that
     * exists when time starts: the whole block, version 0. */
    sw_status (*place)(void *be, const sw_block *block, int tier, uint64_t addr, sw_error *err);
    /* From body. Ids ascend without gaps from 1. The ops stay where they are until waited for. */
    sw_status (*submit)(void *be, const sw_op *ops, uint32_t n, sw_error *err);
    /* From body. Blocks until every op with id <= upto has ended, then returns the completions of
     * the ids not yet returned, up to upto, in id order. upto = 0: blocks until at least one op not
     * yet returned by an upto = 0 call has ended, and returns those ended (sorted by end, id): for
     * reactive policies; they are returned again by the next call with upto > 0. cap is large
     * enough for a whole window. */
    sw_status (*wait)(void *be, uint64_t upto, sw_done *out, uint32_t cap, uint32_t *n,
                      sw_error *err);
    /* From body. Seconds since run began. */
    double (*now_s)(void *be);
    /* Always, also after a failed open. */
    void (*close)(void *be);
} sw_backend_ops;

extern const sw_plugin *const sw_backend_table[];
extern const size_t sw_backend_table_n;

#endif
