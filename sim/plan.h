/* The plan: turns a policy's intents into ops, adds the hazards, keeps the ledger. Internal to the
 * core: policies see policy.h, the replay sees this.
 *
 * chunk   a run of ops handed to the backend together; owns their uses and after lists (an arena)
 * need    an op that the op being built must wait for; one a queue suffices, since queues run in
 * order */
#ifndef SW_PLAN_H
#define SW_PLAN_H

#include "sim/base/stream.h"
#include "sim/ledger.h"
#include "sim/observe.h"
#include "sim/pager.h"
#include "sim/policy.h"
#include "sim/runtime.h"

typedef struct sw_arena_block {
    struct sw_arena_block *next;
    size_t used, cap;
    char data[];
} sw_arena_block;

typedef struct sw_chunk {
    sw_op *ops;
    uint32_t n, cap;
    uint64_t last_id;
    sw_arena_block *arena;
} sw_chunk;

typedef struct sw_launch { /* a device op that the host has queued, for the run-ahead limit */
    uint64_t id, total;    /* total: kernels launched up to and including it */
    uint16_t queue;
} sw_launch;

enum { SW_KNOWN_RING = 256 };

struct sw_plan {
    const sw_topology *topo;
    const sw_runtime *rt;
    const sw_scan *scan;
    const sw_policy_ops *policy;
    void *policy_ctx;
    sw_writer *decisions; /* NULL: hash only */
    sw_ledger ledger;
    const sw_pager_ops *pager; /* what sw_plan_pager opens, with options pager_map */
    const sw_node *pager_map;
    sw_paging paging; /* ops NULL: none opened */
    sw_chunk *chunk;  /* being filled */
    bool opening;     /* inside the policy's open */
    uint64_t next_id, host_last, seq;
    uint64_t queue_last[SW_QUEUES_MAX];
    /* the event at hand */
    const sw_event *ev;
    uint64_t known_op;     /* op that makes it known; 0 */
    bool known_on_host;    /* the host has waited for it */
    uint64_t last_compute; /* op that ran it (the join, when in parts) */
    SW_VEC(uint64_t) parts;
    uint32_t step;
    uint8_t phase;
    /* needs of the op being built */
    uint64_t need[SW_QUEUES_MAX], need_mask;
    uint64_t known_seq[SW_KNOWN_RING], known_id[SW_KNOWN_RING];
    SW_VEC(sw_launch) launched; /* a queue: from launched_at */
    size_t launched_at;
    uint64_t launched_total;
    uint64_t dynamic_bytes;
    uint64_t *use_cursor; /* offline: by block */
    /* counts */
    uint64_t n_fetches, n_evictions, n_writebacks, n_fetches_decode;
    double fetched_bytes, written_back_bytes;
    double step_fast_bytes,
        least_bytes; /* of weights, touched by fast units in this step; summed least copies */
    SW_VEC(struct {
        const char *name;
        double value;
    })
    counters;
    uint64_t log_hash;
};

sw_status sw_plan_open(const sw_topology *topo, const sw_runtime *rt, const sw_scan *scan,
                       const sw_policy_ops *policy, const sw_node *policy_map,
                       const sw_alloc_ops *alloc, const sw_node *alloc_map, sw_plan **out,
                       sw_error *err);
void sw_plan_close(sw_plan *p);
/** Lets the policy place blocks, and gives the rest their homes. */
sw_status sw_plan_begin(sw_plan *p, sw_error *err);
/** Tells an observer of every replica there is. */
sw_status sw_plan_tell(const sw_plan *p, const sw_observer *obs, sw_error *err);
/** Handles one event. Ops go to p->chunk. */
sw_status sw_plan_event(sw_plan *p, uint64_t seq, const sw_event *ev, sw_error *err);
/** Closes the last step's figures. */
void sw_plan_end(sw_plan *p);

/* Shared by plan*.c. */
void *sw_plan_arena(sw_plan *p, size_t bytes);
void sw_chunk_reset(sw_chunk *c); /* keeps its memory */
void sw_chunk_free(sw_chunk *c);
sw_op *sw_plan_op(sw_plan *p, sw_op_kind kind, int queue, const char *name);
sw_status sw_plan_seal(sw_plan *p, sw_op *op, sw_error *err); /* writes the needs into op->after */
void sw_plan_need(sw_plan *p, int queue, uint64_t id);
void sw_plan_need_refs(sw_plan *p, const sw_refs *refs);
void sw_plan_need_queues(sw_plan *p, int unit, bool compute_only);
sw_status sw_plan_host(sw_plan *p, double seconds, sw_cat cat, const char *name, sw_error *err);
sw_status sw_plan_effects(sw_plan *p, uint32_t effects, sw_error *err);
sw_status sw_plan_take(sw_plan *p, sw_entry *e, int tier, bool evict, sw_replica **out,
                       sw_error *err);
void sw_plan_log(sw_plan *p, const char *intent, uint32_t block, int tier, uint64_t addr);
/* Ends an event that ran in parts; nothing otherwise. */
sw_status sw_plan_join(sw_plan *p, const sw_event *ev, sw_error *err);
/* The copy op that fills replica `dst` of e from `src`. */
sw_status sw_plan_copy(sw_plan *p, sw_entry *e, int src, int dst, sw_error *err);

#endif
