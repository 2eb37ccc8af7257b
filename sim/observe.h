/* Whoever wants to see the run op by op: the stats, the op log, the Chrome trace, the verifier.
 * Ops come in id order, each once, after it has ended. */
#ifndef SW_OBSERVE_H
#define SW_OBSERVE_H

#include "sim/trace.h"

typedef struct sw_observer {
    void *arg;
    /* Each optional. `begin` comes first, then `placed` for every replica that exists when time
     * starts (the whole block, version 0), then ops. Nobody is told when an extent is given back:
     * an address is claimed by writing to it. */
    sw_status (*begin)(void *arg, const sw_topology *topo, sw_error *err);
    sw_status (*placed)(void *arg, const sw_block *block, int tier, uint64_t addr, sw_error *err);
    sw_status (*op)(void *arg, const sw_op *op, const sw_done *done, sw_error *err);
} sw_observer;

#endif
