/* A topology as a SimGrid platform (XML), with the facts of SimGrid that shape it:
 *
 * - A flow is a transfer between two hosts; which links it holds is the route between them. So each
 * pair of (queue, path) that can occur gets two hosts of its own and a route: a private link that
 * caps the flow, then a link for each resource of the path. A link that stands twice in a route is
 * used twice.
 * - Links have no latency: SimGrid shares a link in inverse proportion to the latencies of the
 * routes, which DMA engines do not. Setup latency is a sleep in the op.
 * - Nothing is ever sent within one host: the implicit loopback has a speed of its own. */
#ifndef SW_BACKEND_PLATFORM_H
#define SW_BACKEND_PLATFORM_H

#include "sim/topology.h"

typedef struct sw_platform {
    int16_t pair[SW_QUEUES_MAX][SW_PATHS_MAX]; /* number of the pair, -1 none: hosts "s<n>" and
                                                  "d<n>", cap link "c<n>" */
    int n_pairs;
    bool exclusive[SW_RES_MAX]; /* only one queue ever uses the resource */
} sw_platform;

/** Which pairs there are. */
void sw_platform_plan(sw_platform *p, const sw_topology *topo);
/** The XML in an anonymous file; its descriptor, -1 with err set when it could not be made. Load
 * "/proc/self/fd/N". */
int sw_platform_file(const sw_platform *p, const sw_topology *topo, sw_error *err);
/** The command line with the settings that SimGrid needs (NULL-terminated, static). */
char **sw_platform_argv(int *argc);

#endif
