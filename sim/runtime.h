/* A software stack's own costs: what it launches, how long its host thread takes, what it holds in
 * memory. From models/runtimes/NAME.yaml; never fitted to one scenario. */
#ifndef SW_RUNTIME_H
#define SW_RUNTIME_H

#include "sim/topology.h"

typedef struct sw_runtime {
    char name[64], version[64];
    double launch_host_s;   /* host thread, once a kernel */
    double launch_device_s; /* gap between kernels on the device, once a kernel */
    double copy_host_s;     /* host thread, once an asynchronous copy */
    double sync_host_s;  /* host thread, once a blocking wait, after what it waits for has ended */
    double step_host_s;  /* host thread, once a step (sampling, scheduling, Python) */
    double event_host_s; /* host thread, once an event (hooks of an eager framework) */
    double
        alloc_host_s;   /* host thread, once an allocation the allocator reports as a system call */
    uint32_t run_ahead; /* kernels that may be queued before the host blocks; 0: unbounded */
    bool pinned;        /* host copies of weights are pinned */
    uint64_t vram_reserved_bytes;         /* context, libraries, workspaces, on each GPU */
    sw_efficiency factor[SW_CLASS_COUNT]; /* multiplies the device's own efficiency; fixed_s adds */
} sw_runtime;

/** `runtime: NAME` or `runtime: {use: NAME, launch_host: 3 us, …}`; NULL: "ideal" (no cost at all).
 *  Fails SW_INPUT at the key's place. */
sw_status sw_runtime_open(const sw_node *node, const char *dir, const char *data_dir,
                          sw_runtime *out, sw_error *err);

/** Applies a runtime to a machine: efficiencies of its units, reserves of its VRAM. Call once. */
void sw_runtime_apply(const sw_runtime *rt, sw_topology *topo);

#endif
