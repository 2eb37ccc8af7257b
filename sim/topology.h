/* The machine: tiers, units, links, and the queues on which ops run. Built once from YAML, then
 * const.
 *
 * tier      a memory: vram0, ram, nvme0, unified; its bandwidth is one resource shared by all who
 *           use it
 * unit      a processor: gpu0, cpu; its arithmetic is one resource (SW_UNIT_RATE = the whole unit
 *           for a second)
 * link      bandwidth; a duplex link is two resources and, where both directions share a ceiling, a
 *           third
 * resource  anything that flows share by max-min fairness: tiers, links, units, all in one array
 * path      the resources that a flow holds at once, in order; a resource named twice is used twice
 *           (a copy that reads and writes DRAM)
 * port      how a unit reaches a tier: path and ceiling to read, path and ceiling to write
 * route     how a copy goes from tier to tier: path, ceiling, setup latency, queue (the copy
 *           engine), driver
 * queue     a serial lane: a CUDA stream, a copy engine, an I/O thread, the host thread
 *
 * Indices are dense; -1 means none. A topology holds no pointers: it can be copied and scaled. */
#ifndef SW_TOPOLOGY_H
#define SW_TOPOLOGY_H

#include "sim/base/yaml.h"
#include "sim/dtype.h"

enum {
    SW_TIERS_MAX = 16,
    SW_UNITS_MAX = 12,
    SW_RES_MAX = 96,
    SW_PATHS_MAX = 256,
    SW_PATH_LEN = 8,
    SW_QUEUES_MAX = 64,
    SW_ROUTES_MAX = 256
};

/* A unit's arithmetic as a resource: this many units of work a second. Amounts stay in the
 * magnitude of bytes, which is what SimGrid's precision is made for. */
#define SW_UNIT_RATE 1e12

typedef enum sw_tier_kind { SW_TIER_VRAM, SW_TIER_RAM, SW_TIER_NVME, SW_TIER_UNIFIED } sw_tier_kind;
typedef enum sw_res_kind { SW_RES_TIER, SW_RES_LINK, SW_RES_UNIT } sw_res_kind;
typedef enum sw_unit_kind { SW_UNIT_GPU, SW_UNIT_CPU } sw_unit_kind;
typedef enum sw_queue_kind {
    SW_QUEUE_HOST,
    SW_QUEUE_COMPUTE,
    SW_QUEUE_COPY,
    SW_QUEUE_IO
} sw_queue_kind;

/* Classes of kernels: what an efficiency is given for, and what times are broken down by. */
/* clang-format off */
#define SW_CLASS_LIST(X)                 \
    X(GENERIC, "generic")                \
    X(GEMM, "gemm")                      \
    X(ATTN_PREFILL, "attention prefill") \
    X(ATTN_DECODE, "attention decode")   \
    X(EMBED, "embedding")                \
    X(ELEMENTWISE, "elementwise")        \
    X(ROUTER, "router")                  \
    X(EXPERT, "expert gemm")             \
    X(SAMPLE, "sample")
/* clang-format on */
typedef enum sw_class {
#define X(name, text) SW_CLASS_##name,
    SW_CLASS_LIST(X)
#undef X
        SW_CLASS_COUNT
} sw_class;
const char *sw_class_name(sw_class c);

typedef struct sw_resource {
    char name[32]; /* "vram0", "pcie0.h2d", "pcie0.both", "gpu0", "nvme0.read" */
    sw_res_kind kind;
    double rate; /* bytes/s, or SW_UNIT_RATE for a unit; > 0 */
} sw_resource;

typedef struct sw_tier {
    char name[24];
    sw_tier_kind kind;
    uint64_t capacity_bytes; /* what allocations may use: reserves are already taken off */
    uint64_t nominal_bytes;  /* as on the box */
    double nominal_Bps;      /* datasheet */
    int16_t res;             /* its bandwidth (reads) */
    int16_t write_res;       /* its write bandwidth; the same resource for DRAM and VRAM */
    int16_t unit; /* the unit that it is local to (vram0 -> gpu0, ram -> cpu); first if several */
    int16_t
        time_path; /* a disk whose reads and writes share its time, each as much as it would take
                          alone: the path that is just that time (SW_UNIT_RATE); -1: they do not */
} sw_tier;

/* How well kernels of one class use a unit: time = fixed + max(bytes / (memory * ceiling), flops /
 * (compute * peak)) */
typedef struct sw_efficiency {
    double memory, compute; /* in (0, 1] (over 1 where a card boosts past its datasheet) */
    double fixed_s;         /* a kernel's ramp-up and tail, once a kernel */
} sw_efficiency;

typedef struct sw_unit {
    char name[24];
    sw_unit_kind kind;
    double peak[SW_MATH_COUNT]; /* op/s, dense; a class the unit lacks carries the rate it runs at
                                   instead */
    double cores;    /* as many as whose work adds up: two threads of one core count less than 2 */
    double core_Bps; /* CPU: what one core can stream (a copying thread) */
    sw_efficiency eff[SW_CLASS_COUNT];
    int16_t res;     /* its arithmetic */
    int16_t path;    /* the path that is just its arithmetic */
    int16_t tier;    /* local tier */
    int16_t queue;   /* compute queue */
    int16_t core_of; /* the CPU on one core of which a kernel runs, as one thread; -1: a kernel has
                        the whole unit */
} sw_unit;

typedef struct sw_path {
    uint16_t n;
    int16_t res[SW_PATH_LEN];
} sw_path;

typedef struct sw_port {
    int16_t read_path, write_path; /* -1: this unit cannot reach the tier in place */
    double read_Bps, write_Bps;    /* ceilings of this unit on this tier */
} sw_port;

typedef struct sw_route {
    int16_t src, dst; /* tiers */
    int16_t queue;    /* copy engine or I/O queue that runs it */
    int16_t path;
    int16_t driver;   /* unit whose core a copying thread occupies; -1: DMA */
    double cap_Bps;   /* ceiling of one copy on this route */
    double latency_s; /* setup, paid by each copy */
    bool pageable;    /* the variant for unpinned host memory */
    bool staged;      /* bounced through pinned buffers in RAM (NVMe to VRAM without GPUDirect) */
    double core_Bps;  /* what a core of the driver moves if it does nothing else; 0: as its unit */
    double traffic; /* bytes over the path for each byte copied: 2 where one thread reads and writes
                         the same memory, and gets a thread's share of it; 0: 1 */
} sw_route;

typedef struct sw_queue {
    char name[32]; /* "gpu0.compute", "gpu0.h2d", "gpu0.d2h", "cpu.compute", "nvme0.read", "host" */
    sw_queue_kind kind;
    int16_t unit; /* the unit that it belongs to; -1 */
} sw_queue;

typedef struct sw_topology {
    char name[96];
    uint16_t n_tiers, n_units, n_res, n_paths, n_queues, n_routes;
    sw_tier tiers[SW_TIERS_MAX];
    sw_unit units[SW_UNITS_MAX];
    sw_resource res[SW_RES_MAX];
    sw_path paths[SW_PATHS_MAX];
    sw_queue queues[SW_QUEUES_MAX]; /* queue 0 is the host thread */
    sw_route routes[SW_ROUTES_MAX];
    sw_port ports[SW_UNITS_MAX][SW_TIERS_MAX];
    int16_t route_of[SW_TIERS_MAX][SW_TIERS_MAX][2]; /* [src][dst][pageable] -> routes[]; -1 none */
    double
        wake_s; /* from the end of an op to the start of one on another queue that waits for it */
    double price_usd, power_w; /* sums of the parts; 0: unknown */
    bool measured;             /* every figure that the run uses was measured on this machine */
} sw_topology;

/** Builds the machine that a scenario's `machine:` map describes.
 *    machine: {gpu: NAME|map, gpus: N, cpu: NAME|map, ram: BYTES, link: NAME|map, nvme: NAME|map}
 *    machine: {soc: NAME|map, memory: BYTES, nvme: …}     unified memory
 *    machine: NAME                                        a whole machine in models/devices
 *  A part is a file models/devices/NAME.yaml, or a map; a map with `use: NAME` starts from the file
 *  and overrides what it names. docs/machines.md has every key.
 *  Fails SW_INPUT at the key's place in the scenario or the device file. */
sw_status sw_topology_open(const sw_node *machine, const char *dir, const char *data_dir,
                           sw_topology *out, sw_error *err);

/** A small machine for tests and closed forms: one GPU with VRAM, RAM with a CPU, an NVMe, one
 * duplex link, efficiencies 1, latencies 0. Change the fields you need afterwards. */
void sw_topology_simple(sw_topology *out, double vram_Bps, uint64_t vram_bytes, double link_Bps,
                        double ram_Bps, uint64_t ram_bytes, double nvme_Bps, double gpu_flops,
                        double cpu_flops);

/** What sensitivity scales, by name: "vram size", "pcie", "ram bandwidth" and the others of the
 * list. Multiplies by `factor` every figure that follows from it (resources, ceilings, port and
 * route caps, peaks; docs/machines.md).
 * Returns false if the machine has no such thing. */
extern const char *const sw_topology_knobs[];
extern const size_t sw_topology_knobs_n;
bool sw_topology_scale(sw_topology *t, const char *knob, double factor);

/** The first tier of a kind, the first unit of a kind; -1 if none. The primary fast tier is the
 * first VRAM, else UNIFIED, else RAM; the primary unit is its unit. */
int sw_topology_tier(const sw_topology *t, sw_tier_kind kind);
int sw_topology_unit(const sw_topology *t, sw_unit_kind kind);
int sw_topology_fast_tier(const sw_topology *t);
int sw_topology_primary_unit(const sw_topology *t);

/** Checks the invariants that the rest relies on (indices in range, rates finite and > 0, queue 0
 * is the host, every tier has a unit or a route). Fails SW_INPUT with the part's name. Tests call
 * it too. */
sw_status sw_topology_check(const sw_topology *t, sw_error *err);

#endif
