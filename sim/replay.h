/* The loop: event -> policy -> plan -> backend -> completions -> result. */
#ifndef SW_REPLAY_H
#define SW_REPLAY_H

#include "sim/alloc.h"
#include "sim/backend.h"
#include "sim/base/stream.h"
#include "sim/bound.h"
#include "sim/observe.h"
#include "sim/pager.h"
#include "sim/policy.h"
#include "sim/result.h"
#include "sim/runtime.h"

typedef struct sw_replay {
    const sw_topology *topo; /* runtime applied */
    const sw_runtime *runtime;
    const sw_source_ops *source;
    const sw_node *source_map;
    sw_source_env source_env;
    const sw_policy_ops *policy;
    const sw_node *policy_map;
    const sw_alloc_ops *alloc; /* for every tier but NVMe (which is bump allocated) */
    const sw_node *alloc_map;
    const sw_pager_ops *pager; /* for policies that page; NULL: uvm */
    const sw_node *pager_map;
    const sw_backend_ops *backend;
    const sw_node *backend_map;
    uint32_t chunk_ops, window_chunks; /* 0: 512 and 8 */
    sw_writer *decisions;              /* the decision log goes here; NULL: only its hash is kept */
    const sw_observer *observers;
    uint32_t n_observers;
    void (*progress)(void *arg, uint64_t events,
                     uint64_t of); /* may be NULL; called now and then */
    void *progress_arg;
} sw_replay;

/** Runs it. out is written on SW_OK only.
 *  Fails SW_FIT (one sentence: what is missing, in which tier), SW_INPUT, SW_RUN. */
sw_status sw_replay_run(const sw_replay *r, sw_result *out, sw_error *err);

#endif
