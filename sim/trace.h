/* A trace is a stream of events; a source (generator or importer) produces it lazily.
 *
 * Weights are declared first (BLOCK), then life begins: blocks are allocated and freed (KV cache,
 * activations), ops access blocks, steps begin. Events are numbered from 1 in stream order (`seq`),
 * by whoever reads the source. Ids of blocks are dense from 0; an id that was freed may be
 * allocated again. */
#ifndef SW_TRACE_H
#define SW_TRACE_H

#include "sim/model.h"
#include "sim/op.h"
#include "sim/plugin.h"

typedef enum sw_block_kind {
    SW_BLOCK_WEIGHT, /* read-only, exists before the run; a copy lies on NVMe where the machine has
                        one */
    SW_BLOCK_EXPERT, /* as WEIGHT: one routed expert */
    SW_BLOCK_KV,
    SW_BLOCK_STATE, /* recurrent state, optimizer state */
    SW_BLOCK_ACT,   /* activations, logits, workspaces */
    SW_BLOCK_OTHER,
    SW_BLOCK_EMBED /* as WEIGHT: rows are gathered from it, it is never streamed whole */
} sw_block_kind;

typedef struct sw_block {
    uint32_t id;
    sw_block_kind kind;
    int32_t layer, expert; /* -1 none */
    uint64_t bytes;        /* > 0 */
    const char *name;      /* interned */
} sw_block;

typedef enum sw_event_kind {
    SW_EV_BLOCK,  /* block: declares a block that exists from the start; only before the first other
                     kind */
    SW_EV_ALLOC,  /* block: a new block, contents undefined until written */
    SW_EV_FREE,   /* block.id */
    SW_EV_ACCESS, /* work, uses: one op of the model */
    SW_EV_STEP,   /* step begins: tokens, phase */
    SW_EV_PREDICT, /* uses: blocks that may be accessed soon (a guess; may be wrong) */
    SW_EV_HOST,    /* host_s: the host thread is busy */
    SW_EV_MARK,    /* name: for people */
    SW_EV_RELEASE, /* block.id: freed by the program while another stream may still use it; FREE
                      follows when no stream does */
    SW_EV_SEGMENT, /* segment: what the recorded allocator did to its own memory */
    SW_EV_ARRIVE,  /* request: a request arrives */
    SW_EV_RECORDED /* recorded: an op as a profiler saw it, without blocks */
} sw_event_kind;
enum { SW_EVENT_KINDS = SW_EV_RECORDED + 1 };

typedef enum sw_phase {
    SW_PHASE_PREFILL,
    SW_PHASE_DECODE,
    SW_PHASE_TRAIN,
    SW_PHASE_OTHER
} sw_phase;

typedef struct sw_ev_use {
    uint32_t block;
    uint8_t mode;           /* sw_mode */
    uint64_t offset, bytes; /* extent inside the block */
    uint64_t touched;       /* bytes that really move */
} sw_ev_use;

/* How an op goes through the bytes of its uses. */
typedef enum sw_pattern {
    SW_PATTERN_SEQUENTIAL, /* also where the source says nothing */
    SW_PATTERN_STRIDED,
    SW_PATTERN_RANDOM
} sw_pattern;

/* ALLOC, RELEASE and FREE of an allocator's recording; zeros elsewhere. */
typedef struct sw_placement {
    uint64_t addr;   /* as recorded; 0: not in the source */
    uint32_t stream; /* a small number for each CUDA stream, from 0 */
    uint32_t pool;   /* a small number for each private pool; 0: the default one */
} sw_placement;

typedef enum sw_segment_action {
    SW_SEGMENT_ALLOC,
    SW_SEGMENT_FREE,
    SW_SEGMENT_MAP, /* expandable segments: physical memory into a reserved range */
    SW_SEGMENT_UNMAP,
    SW_SEGMENT_OOM,     /* bytes: what was asked when memory ran out; addr: free device memory */
    SW_SEGMENT_SNAPSHOT /* the recording was taken here */
} sw_segment_action;

typedef struct sw_segment {
    sw_segment_action action;
    uint64_t addr, bytes;
    uint32_t stream, pool;
} sw_segment;

typedef struct sw_request {
    uint64_t id, session; /* session: 0 none */
    double arrival_s;     /* from the start of the trace; never descending */
    uint64_t prompt_tokens, output_tokens;
    uint32_t n_hashes,
        hash_tokens;        /* identities of the prompt's blocks of hash_tokens tokens: equal
                                       ones share a prefix; none: 0 */
    const uint64_t *hashes; /* owned by the source, valid until its next call of next */
} sw_request;

typedef enum sw_recorded_kind {
    SW_RECORDED_KERNEL,
    SW_RECORDED_H2D,
    SW_RECORDED_D2H,
    SW_RECORDED_D2D,
    SW_RECORDED_MEMSET,
    SW_RECORDED_HOST, /* a call on a host thread, such as a launch */
    SW_RECORDED_SYNC, /* a wait of the host, or of a stream: takes no time of its own */
    SW_RECORDED_COLLECTIVE,
    SW_RECORDED_KINDS
} sw_recorded_kind;

typedef struct sw_recorded {
    sw_recorded_kind kind;
    uint32_t lane; /* a stream or a host thread, small numbers from 0; ops of a lane run in order */
    double start_s;        /* as recorded, for comparison only: a replay never uses it */
    double seconds;        /* its duration */
    double gap_s;          /* host lanes: work of the thread between the op before and this one */
    uint64_t bytes;        /* copies and memsets; 0 unknown */
    const uint64_t *after; /* seqs of earlier RECORDED events that must have ended; owned by the
                              source, valid until its next call of next */
    uint32_t n_after;
} sw_recorded;

typedef struct sw_event {
    sw_event_kind kind;
    const char *name; /* interned by the source, lives until its close */
    sw_block block;   /* BLOCK, ALLOC, FREE (id only) */
    sw_work work;     /* ACCESS */
    const sw_ev_use
        *uses; /* ACCESS, PREDICT: owned by the source, valid until its next call of next */
    uint32_t n_uses;
    uint32_t step;    /* STEP: its number, from 0 */
    sw_phase phase;   /* STEP */
    uint64_t tokens;  /* STEP: token positions processed, all sequences together */
    uint64_t outputs; /* STEP: tokens produced by it (batch, or 0 for a prefill chunk that is not
                         the last) */
    uint64_t known_after; /* seq of the ACCESS event (the router) whose end makes this one known; 0
                             none */
    bool gather;          /* ACCESS: reads a few rows of a big block (embedding) */
    uint8_t pattern;      /* ACCESS: sw_pattern */
    bool makes_known;     /* ACCESS: later events name this one in known_after */
    double host_s;        /* HOST */
    sw_placement place;   /* ALLOC, RELEASE, FREE */
    /* SEGMENT, ARRIVE, RECORDED: owned by the source, valid until its next call of next */
    const sw_segment *segment;
    const sw_request *request;
    const sw_recorded *recorded;
} sw_event;

/* What a closed-loop source is told before each event. Open-loop sources ignore it. */
typedef struct sw_feedback {
    double now_s;
    const sw_done *done; /* finished since the last call, with the event of each */
    const uint64_t *done_event;
    uint32_t n_done;
    uint64_t free_bytes[SW_TIERS_MAX], evictable_bytes[SW_TIERS_MAX];
    uint64_t failed_allocs;
} sw_feedback;

#define SW_SOURCE_CLOSED_LOOP                                                                      \
    1u                        /* needs feedback: looks at what happened before it says what comes */
#define SW_SOURCE_IMPORTER 2u /* reads a file; else a generator */

/* What a source may use. All borrowed, outliving the source. */
typedef struct sw_source_env {
    const sw_model *model; /* NULL where the scenario has none */
    const char *path;      /* importer: the file */
    uint64_t seed;
} sw_source_env;

typedef struct sw_source_ops {
    sw_plugin plugin;
    /* Importers: how sure, 0..100, that a file starting with these bytes (uncompressed) is theirs.
     * Optional for generators. */
    int (*sniff)(const char *path, const void *head, size_t bytes);
    sw_status (*open)(void *so, const sw_source_env *env, sw_error *err);
    /* SW_OK and *ev, or SW_END. fb may be NULL for open-loop sources. */
    sw_status (*next)(void *so, const sw_feedback *fb, sw_event *ev, sw_error *err);
    void (*close)(void *so);
} sw_source_ops;

extern const sw_plugin *const sw_source_table[];
extern const size_t sw_source_table_n;

/** Interns text for the life of the process (block, kernel and step names: a few thousand). NULL
 * when memory is out. */
const char *sw_intern(const char *text);

#endif
