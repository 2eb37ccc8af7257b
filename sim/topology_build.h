/* Putting a topology together, piece by piece: what sw_topology_simple and the machines of
 * models/machine.c share. Limits (SW_RES_MAX and so on) are asserted: the callers bound the number
 * of GPUs and disks so that they hold. */
#ifndef SW_TOPOLOGY_BUILD_H
#define SW_TOPOLOGY_BUILD_H

#include "sim/topology.h"

/** Empties the topology: all indices -1, and queue 0 is the host. */
void sw_topo_init(sw_topology *t, const char *name);

/* Each returns the new index; `name` is cut to fit. */
int16_t sw_topo_res(sw_topology *t, const char *name, sw_res_kind kind, double rate);
int16_t sw_topo_queue(sw_topology *t, const char *name, sw_queue_kind kind, int16_t unit);
int16_t sw_topo_unit(sw_topology *t, const char *name, sw_unit_kind kind);
int16_t sw_topo_tier(sw_topology *t, const char *name, sw_tier_kind kind, uint64_t capacity_bytes,
                     double nominal_Bps, int16_t res, int16_t write_res);

/** A path of n resources; -1 among them is left out, an equal path is shared. */
int16_t sw_topo_path(sw_topology *t, const int16_t *res, int n);
#define SW_TOPO_PATH(t, ...)                                                                       \
    sw_topo_path(t, (const int16_t[]){__VA_ARGS__},                                                \
                 (int)(sizeof((const int16_t[]){__VA_ARGS__}) / sizeof(int16_t)))

/** Adds a route and enters it in route_of; an older one of the same ends and kind gives way. */
int16_t sw_topo_route(sw_topology *t, sw_route route);

#endif
