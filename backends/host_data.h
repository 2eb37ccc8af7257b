/* What must lie where: the contents of all tiers as they would be if the ops were done one by one
 * in the order of their ids. `host` asks here, when ops are submitted, what each of them must find;
 * the queues then hold the real bytes against it. So a missing dependency shows as bytes that have
 * not come yet, without any lock while ops run.
 *
 * span   bytes of a tier that one write made: the pattern (host_kernel.h) of `seed` that would have
 *        begun at `origin`. A copy takes spans along, so partial writes (a KV cache that grows) and
 *        versions need no further care: each byte knows which write it must be from.
 *
 * Which reads are refused, whatever the bytes are (as by the verifier, but found on the way):
 * - a version that is not the newest, or is not what the tier holds;
 * - bytes that belong to another block or to none. A block that was never placed or written may
 *   be read as version 0: its contents are undefined and go unchecked.
 * One owner, no threads. */
#ifndef SW_BACKEND_HOST_DATA_H
#define SW_BACKEND_HOST_DATA_H

#include "sim/base/vec.h"
#include "sim/trace.h"

typedef struct sw_host_span {
    uint64_t lo, hi, origin; /* addresses in the tier; origin may lie outside, and wrap */
    uint64_t seed;
    uint32_t block, epoch; /* epoch: of the block in this tier; others are undefined contents */
    uint32_t use;          /* in an answer: which use of the op */
} sw_host_span;

typedef SW_VEC(sw_host_span) sw_host_spans;
typedef struct sw_host_data sw_host_data;

sw_status sw_host_data_new(const sw_topology *topo, sw_host_data **out, sw_error *err);
void sw_host_data_free(sw_host_data *d);

sw_status sw_host_data_placed(sw_host_data *d, const sw_block *block, int tier, uint64_t addr,
                              sw_error *err);
/** The next op. Adds to `expect` the spans that its reads must find (a copy reads unchecked), in
 * the order of uses and addresses.
 *  Fails SW_RUN with one line naming op, block and tier. */
sw_status sw_host_data_op(sw_host_data *d, const sw_op *op, sw_host_spans *expect, sw_error *err);

#endif
