/* synthetic: access patterns without a model, for tests, claims and the study of policies. Blocks
 * of equal (or random) size, read pass after pass in a given order; each op may also hold a scratch
 * block while it runs. */
#include "sim/base/rng.h"
#include "sim/base/vec.h"
#include "sim/trace.h"
#include <math.h>
#include <stdio.h>

enum { CYCLIC, RANDOM, ZIPF, HOT_COLD, STRIDED };

typedef struct ctx {
    int64_t blocks, passes, uses, stride, seed_offset;
    uint64_t block_bytes, scratch_bytes;
    double flops_per_byte, touched, skew, hot_share, hot_use;
    int pattern;
    bool chained, vary;
    sw_rng rng;
    uint64_t *bytes; /* by block */
    double *zipf;    /* cumulative */
    sw_ev_use *list;
    uint32_t *taken, *skip; /* by block: the op that took it; where to look for the next free one */
    uint32_t n_ops;
    int64_t declared, pass, op, ops_per_pass;
    int stage; /* what comes next inside an op */
    const char *name, *scratch, *token;
} ctx;

static const sw_param params[] = {
    {"blocks", SW_PARAM_INT, "16", 1, 1 << 24, NULL, offsetof(ctx, blocks),
     "how many blocks exist"},
    {"block_bytes", SW_PARAM_BYTES, "256 MiB", 1, 1e15, NULL, offsetof(ctx, block_bytes),
     "size of a block"},
    {"vary", SW_PARAM_BOOL, "false", 0, 0, NULL, offsetof(ctx, vary),
     "sizes vary at random between half and the whole"},
    {"passes", SW_PARAM_INT, "4", 1, UINT32_MAX, NULL, offsetof(ctx, passes),
     "how often the blocks are gone through; each pass is a step"},
    {"pattern", SW_PARAM_CHOICE, "cyclic", 0, 0, "cyclic|random|zipf|hot_cold|strided",
     offsetof(ctx, pattern), "the order of accesses"},
    {"uses", SW_PARAM_INT, "1", 1, 1 << 20, NULL, offsetof(ctx, uses),
     "blocks that one op reads at once"},
    {"stride", SW_PARAM_INT, "7", 1, 1 << 24, NULL, offsetof(ctx, stride),
     "strided: distance between accesses, in blocks"},
    {"skew", SW_PARAM_NUM, "1", 0, 8, NULL, offsetof(ctx, skew), "zipf: exponent"},
    {"hot_share", SW_PARAM_NUM, "0.1", 0, 1, NULL, offsetof(ctx, hot_share),
     "hot_cold: share of the blocks that is hot"},
    {"hot_use", SW_PARAM_NUM, "0.9", 0, 1, NULL, offsetof(ctx, hot_use),
     "hot_cold: share of the accesses that goes to hot blocks"},
    {"flops_per_byte", SW_PARAM_NUM, "1", 0, 1e9, NULL, offsetof(ctx, flops_per_byte),
     "arithmetic of an op for each byte it reads"},
    {"touched", SW_PARAM_NUM, "1", 0, 1000, NULL, offsetof(ctx, touched),
     "bytes that move for each byte of a block"},
    {"chained", SW_PARAM_BOOL, "true", 0, 0, NULL, offsetof(ctx, chained),
     "each op needs the outcome of the one before"},
    {"scratch", SW_PARAM_BYTES, "0 B", 0, 1e15, NULL, offsetof(ctx, scratch_bytes),
     "memory that an op holds while it runs"},
};

static void drop(ctx *c) {
    free(c->bytes);
    free(c->zipf);
    free(c->list);
    free(c->taken);
    free(c->skip);
}

static sw_status synthetic_open(void *so, const sw_source_env *env, sw_error *err) {
    ctx *c = so;
    size_t n = (size_t)c->blocks;
    if (c->uses > c->blocks)
        return sw_fail(err, SW_INPUT, "workload: an op uses %lld of %lld blocks",
                       (long long)c->uses, (long long)c->blocks);
    if ((double)c->blocks * (double)c->block_bytes + (double)c->scratch_bytes > 0x1p59)
        return sw_fail(err, SW_INPUT, "workload: more than 2^59 bytes of blocks");
    c->rng = sw_rng_seed(env->seed);
    c->bytes = malloc(n * sizeof *c->bytes);
    c->zipf = malloc(n * sizeof *c->zipf);
    c->list = malloc(((size_t)c->uses + 2) * sizeof *c->list);
    c->taken = sw_zalloc(n, sizeof *c->taken);
    c->skip = malloc(n * sizeof *c->skip);
    if (!c->bytes || !c->zipf || !c->list || !c->taken || !c->skip)
        return sw_fail(err, SW_MEMORY, "out of memory");
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t half = c->block_bytes / 2 + 1;
        c->bytes[i] =
            c->vary ? half + sw_rng_below(&c->rng, c->block_bytes - half + 1) : c->block_bytes;
        c->zipf[i] = sum += pow((double)(i + 1), -c->skew);
    }
    c->ops_per_pass = (c->blocks + c->uses - 1) / c->uses;
    c->name = sw_intern("op");
    c->scratch = sw_intern("scratch");
    c->token = sw_intern("token");
    return c->name && c->scratch && c->token ? SW_OK : sw_fail(err, SW_MEMORY, "out of memory");
}

static uint32_t pick(ctx *c, int64_t i) {
    uint64_t n = (uint64_t)c->blocks;
    switch (c->pattern) {
    case RANDOM:
        return (uint32_t)sw_rng_below(&c->rng, n);
    case ZIPF: {
        double x = sw_rng_unit(&c->rng) * c->zipf[n - 1];
        uint64_t lo = 0, hi = n - 1;
        while (lo < hi) {
            uint64_t mid = (lo + hi) / 2;
            if (c->zipf[mid] <= x)
                lo = mid + 1;
            else
                hi = mid;
        }
        return (uint32_t)lo;
    }
    case HOT_COLD: {
        uint64_t hot = (uint64_t)ceil(c->hot_share * (double)n);
        hot = hot < 1 ? 1 : hot > n ? n : hot;
        bool in = hot == n || sw_rng_unit(&c->rng) < c->hot_use;
        return (uint32_t)(in ? sw_rng_below(&c->rng, hot) : hot + sw_rng_below(&c->rng, n - hot));
    }
    case STRIDED:
        return (uint32_t)((unsigned __int128)(uint64_t)i * (uint64_t)c->stride % n);
    default:
        return (uint32_t)((uint64_t)i % n);
    }
}

/* The first block from b on, round about, that this op has not taken. Each that it has taken points
 * on; the way is halved as it is gone, so that even an op that takes all blocks is fast. */
static uint32_t free_from(ctx *c, uint32_t b) {
    while (c->taken[b] == c->n_ops) {
        uint32_t next = c->skip[b];
        if (c->taken[next] == c->n_ops) c->skip[b] = c->skip[next];
        b = next;
    }
    return b;
}

/* The blocks of one op, no block twice. */
static uint32_t choose(ctx *c) {
    uint32_t k = 0;
    if (++c->n_ops == 0) memset(c->taken, 0, (size_t)c->blocks * sizeof *c->taken), c->n_ops = 1;
    for (int64_t j = 0; j < c->uses && (c->pattern != CYCLIC || c->op * c->uses + j < c->blocks);
         j++) {
        uint32_t b = free_from(c, pick(c, c->op * c->uses + j));
        uint64_t bytes = c->bytes[b];
        c->taken[b] = c->n_ops;
        c->skip[b] = (b + 1) % (uint32_t)c->blocks;
        c->list[k++] = (sw_ev_use){b, SW_READ, 0, bytes, (uint64_t)((double)bytes * c->touched)};
    }
    return k;
}

static void access_event(ctx *c, sw_event *ev) {
    uint32_t k = choose(c), token = (uint32_t)c->blocks, scratch = token + 1;
    double bytes = 0;
    for (uint32_t i = 0; i < k; i++) bytes += (double)c->list[i].bytes;
    if (c->chained)
        c->list[k++] = (sw_ev_use){token, c->pass || c->op ? SW_RW : SW_WRITE, 0, 64, 0};
    if (c->scratch_bytes)
        c->list[k++] = (sw_ev_use){scratch, SW_WRITE, 0, c->scratch_bytes, c->scratch_bytes};
    *ev = (sw_event){.kind = SW_EV_ACCESS,
                     .name = c->name,
                     .uses = c->list,
                     .n_uses = k,
                     .work = {bytes * c->flops_per_byte, SW_FP16, SW_CLASS_GENERIC, 1}};
}

enum { STAGE_TOKEN, STAGE_STEP, STAGE_ALLOC, STAGE_OP, STAGE_FREE };

static sw_status synthetic_next(void *so, const sw_feedback *fb, sw_event *ev, sw_error *err) {
    ctx *c = so;
    (void)fb, (void)err;
    if (c->declared < c->blocks) {
        uint32_t id = (uint32_t)c->declared++;
        char name[32];
        snprintf(name, sizeof name, "block.%u", id < 65536 ? id : 65536);
        *ev = (sw_event){.kind = SW_EV_BLOCK,
                         .block = {id, SW_BLOCK_WEIGHT, (int32_t)(id < 65536 ? id : 65536), -1,
                                   c->bytes[id], sw_intern(name)}};
        return SW_OK;
    }
    for (;;) switch (c->stage) {
        case STAGE_TOKEN:
            c->stage = STAGE_STEP;
            if (!c->chained) break;
            *ev = (sw_event){.kind = SW_EV_ALLOC,
                             .block = {(uint32_t)c->blocks, SW_BLOCK_ACT, -1, -1, 64, c->token}};
            return SW_OK;
        case STAGE_STEP:
            if (c->pass == c->passes) return SW_END;
            *ev = (sw_event){.kind = SW_EV_STEP,
                             .name = c->name,
                             .step = (uint32_t)c->pass,
                             .phase = SW_PHASE_DECODE,
                             .tokens = 1,
                             .outputs = 1};
            c->op = 0;
            c->stage = STAGE_ALLOC;
            return SW_OK;
        case STAGE_ALLOC:
            if (c->op == c->ops_per_pass) {
                c->pass++;
                c->stage = STAGE_STEP;
                break;
            }
            c->stage = STAGE_OP;
            if (!c->scratch_bytes) break;
            *ev = (sw_event){.kind = SW_EV_ALLOC,
                             .block = {(uint32_t)c->blocks + 1, SW_BLOCK_ACT, -1, -1,
                                       c->scratch_bytes, c->scratch}};
            return SW_OK;
        case STAGE_OP:
            access_event(c, ev);
            c->stage = STAGE_FREE;
            return SW_OK;
        default:
            c->op++;
            c->stage = STAGE_ALLOC;
            if (!c->scratch_bytes) break;
            *ev = (sw_event){.kind = SW_EV_FREE, .block = {.id = (uint32_t)c->blocks + 1}};
            return SW_OK;
        }
}

static void synthetic_close(void *so) {
    drop(so);
}

const sw_source_ops sw_source_synthetic = {
    .plugin = {.name = "synthetic",
               .summary =
                   "access patterns without a model: cyclic, random, zipf, hot and cold, strided",
               .doc = "Blocks of equal or varied size, read pass after pass; each pass is a decode "
                      "step with one output. For the "
                      "study of policies and for closed forms.",
               .ctx_bytes = sizeof(ctx),
               .params = params,
               .n_params = sizeof params / sizeof *params},
    .open = synthetic_open,
    .next = synthetic_next,
    .close = synthetic_close,
};
