/* A topology as a SimGrid platform (XML), with the facts of SimGrid that shape it:
 *
 * - A flow is a transfer between two hosts; which links it holds is the route between them. So each
 *   (queue, path) that can occur gets ends and a route of its own: a private link that caps the
 *   flow, then a link for each resource of the path. A link that stands twice in a route is used
 *   twice.
 * - An op may have two flows over one path, each with its own cap: each (queue, path) has two such
 *   *slots*, SW_PLATFORM_TWINS.
 * - Hosts are only the ends of routes, so that few serve many: k hosts give k (k - 1) slots.
 * - Links have no latency: SimGrid shares a link in inverse proportion to the latencies of the
 *   routes, which DMA engines do not. Setup latency is a sleep in the op.
 * - Nothing is ever sent within one host: the implicit loopback has a speed of its own. */
#ifndef SW_BACKEND_PLATFORM_H
#define SW_BACKEND_PLATFORM_H

#include "sim/topology.h"

enum { SW_PLATFORM_TWINS = 2 };

typedef struct sw_platform {
    int slot[SW_QUEUES_MAX][SW_PATHS_MAX]; /* the first of its slots; -1: the queue never uses the
                                              path */
    int n_slots, n_hosts;
    bool exclusive[SW_RES_MAX]; /* only one queue ever uses the resource */
} sw_platform;

/** Which slots there are. */
void sw_platform_plan(sw_platform *p, const sw_topology *topo);
/** The hosts between which a slot sends: "h<src>", "h<dst>"; its cap is the link "c<slot>". */
void sw_platform_ends(const sw_platform *p, int slot, int *src, int *dst);
/** The XML in an anonymous file; its descriptor, -1 with err set when it could not be made. Load
 * "/proc/self/fd/N". */
int sw_platform_file(const sw_platform *p, const sw_topology *topo, sw_error *err);
/** The command line with the settings that SimGrid needs (NULL-terminated, static). */
char **sw_platform_argv(int *argc);

#endif
