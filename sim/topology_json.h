/* The composed machine as JSON: what a scenario's `machine:` came to, in base units. */
#ifndef SW_TOPOLOGY_JSON_H
#define SW_TOPOLOGY_JSON_H

#include "sim/base/json.h"
#include "sim/topology.h"

/** {name, tiers, units, links, ports, routes, queues}; bytes, bytes/s, op/s and s.
 *  *out is a new reference. Fails SW_MEMORY. */
sw_status sw_topology_json(const sw_topology *t, json_t **out, sw_error *err);

#endif
