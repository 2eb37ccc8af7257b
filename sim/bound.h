/* The physical bound: no policy can be faster, and why.
 *
 * A stated relaxation, step by step (an autoregressive step cannot begin before the one before has
 * ended, since the hidden state and the token chain all its ops): blocks are fractional, the future
 * is known, transfers overlap perfectly and may be spread over the whole step, each op's work may
 * be split freely over the units that can do it, setup and host time are zero. What it respects:
 * each unit's arithmetic and each port's, tier's and link's rate, op by op along the chain (an op
 * takes at least the longest of its parts), each step's bytes that cannot be in the fast tier when
 * the step begins (capacity), and for tiers below, the bytes that cannot be in RAM either.
 * Where steps are not chained, the order of the GPU's queue keeps them apart. docs/bound.md has the
 * linear program and its closed solution. */
#ifndef SW_BOUND_H
#define SW_BOUND_H

#include "sim/result.h"
#include "sim/trace.h"

typedef struct sw_bounder sw_bounder;

/** topo is borrowed. Feed it the events of the trace in order, then finish. Memory O(blocks + ops
 * of one step). */
sw_status sw_bounder_new(const sw_topology *topo, sw_bounder **out, sw_error *err);
sw_status sw_bounder_event(sw_bounder *b, const sw_event *ev, sw_error *err);
sw_status sw_bounder_finish(sw_bounder *b, sw_bound *out, sw_error *err); /* b stays; free it */
void sw_bounder_free(sw_bounder *b);

#endif
