/* Everything that takes time is an op on a queue. A queue runs its ops in order; an op may also
 * wait for earlier ops.
 *
 * block    the unit of residency (a layer's weights, an expert, a piece of KV cache), a dense id
 * use      what an op does to a block: which replica, which bytes of it, read or write
 * flow     what the op asks of the machine while it runs: an amount over a path at up to a rate
 * An op starts when its queue is free, every op in `after` and the host op `issued_by` have ended,
 * and the window admits it (see backend.h). It then spends fixed_s, waits for its pager if it has
 * paged uses (pager.h), then all its flows start at once; it ends when the last ends. (They may
 * come in two stages: what a thread reads, then what it computes.)
 *
 * Ops, their uses and after lists are owned by the plan and valid until the op has been waited for.
 */
#ifndef SW_OP_H
#define SW_OP_H

#include "sim/topology.h"

enum { SW_FLOWS_MAX = 8 };

typedef enum sw_op_kind {
    SW_OP_COPY,      /* bytes from tier to tier: uses[0] is read, uses[1] is written */
    SW_OP_COMPUTE,   /* a kernel, or several launched as one event, on a unit */
    SW_OP_HOST,      /* the host thread: launching, waiting, Python */
    SW_OP_JOIN,      /* takes no time: an edge, or a slot held on another queue */
    SW_OP_DELAY,     /* takes fixed_s and nothing else */
    SW_OP_COLLECTIVE /* flows over several links at once, fixed_s = alpha */
} sw_op_kind;

/* Where a moment of the critical path goes. */
/* clang-format off */
#define SW_CAT_LIST(X)                                      \
    X(GPU_COMPUTE, "gpu_compute", "GPU arithmetic")         \
    X(GPU_MEMORY, "gpu_memory", "GPU memory-bound kernel")  \
    X(CPU_COMPUTE, "cpu_compute", "CPU arithmetic")         \
    X(CPU_MEMORY, "cpu_memory", "CPU memory-bound kernel")  \
    X(IN_PLACE, "in_place", "kernel reading over the link") \
    X(H2D, "h2d", "copy to the GPU")                        \
    X(D2H, "d2h", "copy from the GPU")                      \
    X(PEER, "peer", "copy between GPUs or within a tier")   \
    X(NVME_READ, "nvme_read", "NVMe read")                  \
    X(NVME_WRITE, "nvme_write", "NVMe write")               \
    X(FAULT, "page_faults", "page faults")                  \
    X(ALLOC, "allocation", "allocation calls")              \
    X(SETUP, "setup", "copy and kernel set-up")             \
    X(HOST, "host", "host thread")                          \
    X(COLLECTIVE, "collective", "collective")               \
    X(IDLE, "idle", "idle")
/* clang-format on */
typedef enum sw_cat {
#define X(name, key, text) SW_CAT_##name,
    SW_CAT_LIST(X)
#undef X
        SW_CAT_COUNT
} sw_cat;
const char *sw_cat_key(sw_cat c);
const char *sw_cat_text(sw_cat c);
const char *sw_op_kind_name(sw_op_kind k);

typedef enum sw_mode { SW_READ = 1, SW_WRITE = 2, SW_RW = 3 } sw_mode;

typedef struct sw_use {
    uint32_t block;
    uint32_t version; /* READ: the version that it must see; WRITE and RW: the version that it makes
                         (RW reads version-1) */
    int16_t tier;
    uint8_t mode;     /* sw_mode */
    bool paged;       /* the extent is its pager's, which lies where tier and addr say */
    uint64_t addr;    /* byte address of the extent in the tier */
    uint64_t bytes;   /* length of the extent, > 0 */
    uint64_t touched; /* bytes that really move (>= 0; a gather touches less, a re-read more) */
} sw_use;

typedef struct sw_work {
    double flops;      /* operations */
    uint8_t math;      /* sw_math */
    uint8_t cls;       /* sw_class */
    uint32_t launches; /* kernels launched; >= 1 for COMPUTE */
} sw_work;

typedef struct sw_flow {
    int16_t path;
    double amount; /* bytes, or unit work (SW_UNIT_RATE = 1 s of the whole unit); > 0 */
    double cap;    /* ceiling in amount per second; > 0 */
} sw_flow;

struct sw_paging; /* pager.h */

typedef struct sw_op {
    uint64_t id;        /* 1, 2, 3 … in plan order */
    uint64_t issued_by; /* the host op after which it may start; 0: from the beginning */
    const char *name;   /* interned: lives as long as the run */
    const sw_use *uses;
    const uint64_t *after; /* smaller ids, ascending, no doubles */
    uint32_t n_uses, n_after;
    uint16_t queue;
    int16_t unit;           /* COMPUTE: the unit; -1 */
    uint8_t kind;           /* sw_op_kind */
    uint8_t cat, cat_fixed; /* sw_cat of its flows and of fixed_s */
    uint8_t n_flows;
    uint8_t second; /* flows from this one on begin when all before it have ended; 0: all at once */
    uint8_t phase;  /* sw_phase (trace.h) of that step */
    uint32_t step;  /* step that it serves, from 0 */
    uint64_t event; /* sequence number of the trace event that caused it; 0 none */
    uint64_t needs_known; /* causality: the op whose end made this op's cause known; 0 none; also in
                             after */
    sw_work work;
    double fixed_s;
    const struct sw_paging *paging; /* whom paged uses are to be asked of; NULL: none are paged */
    sw_flow flows[SW_FLOWS_MAX];
} sw_op;

typedef struct sw_done {
    uint64_t id;
    double start_s, end_s;
    double paged_s; /* of that, spent waiting for the pager */
} sw_done;

/** Seconds that the op takes when nothing else runs: fixed_s plus the max-min fair completion of
 * its own flows, stage by stage (they can share resources with each other). Exact; O(flows^2 * path). This is the
 * whole of `null`'s model and the reference for simgrid without contention. */
double sw_op_solo_s(const sw_topology *topo, const sw_op *op);

/** The first flow behind those of the stage that begins at flow `from`. */
uint32_t sw_op_stage(const sw_op *op, uint32_t from);

/** Max-min fair rates of n flows over the topology's resources with per-flow caps, by progressive
 * filling. rate[i] written, amount per second. A path that names a resource k times weighs k. n
 * <= 64. */
void sw_fair_share(const sw_topology *topo, const sw_flow *flows, uint32_t n, double *rate);

#endif
