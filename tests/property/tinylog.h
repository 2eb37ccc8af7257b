/* Valid op logs at random, from a scheduler of a page: the test's own idea of what a run is.
 *
 * Two tiers cut into slots, four queues. Weights lie in RAM and are fetched into slots of VRAM; KV
 * blocks grow in VRAM, are written back and fetched again, freed and begun anew; a hidden block
 * chains the kernels; some fetches wait for a router. Every op waits for the ops that used its
 * bytes before. All times are multiples of TICK, so that "just before" is exact. */
#ifndef SW_TESTS_TINYLOG_H
#define SW_TESTS_TINYLOG_H

#include "sim/base/rng.h"
#include "sim/observe.h"
#include <stdlib.h>
#include <string.h>

enum {
    OPS_MAX = 120,
    USES_MAX = 6,
    AFTER_MAX = 40,
    SLOT = 16, /* bytes */
    SLOTS = 6, /* in VRAM */
    WEIGHTS = 7,
    KVS = 3,
    HIDDEN = WEIGHTS + KVS,
    BLOCKS = HIDDEN + 1,
    RAM = 0,
    VRAM = 1,
    HOST_Q = 0,
    GPU_Q,
    UP_Q,
    DOWN_Q
};
#define TICK (1.0 / 1024)

typedef struct rec {
    sw_op op;
    sw_done done;
    sw_use uses[USES_MAX];
    uint64_t after[AFTER_MAX];
} rec;

typedef struct tiny {
    sw_topology topo;
    sw_block blocks[BLOCKS];
    struct {
        uint32_t block;
        int tier;
        uint64_t addr;
    } placed[2 * BLOCKS];
    int n_placed, n;
    rec v[OPS_MAX];
} tiny;

/* --- the scheduler --------------------------------------------------------------------------- */

typedef struct slot_state {
    int block; /* -1: nothing that is wanted */
    uint64_t writer, readers[OPS_MAX];
    int n_readers;
} slot_state;

typedef struct maker {
    tiny *t;
    sw_rng r;
    slot_state ram[BLOCKS], vram[SLOTS]; /* a block's place in RAM is its own */
    int at[BLOCKS];                      /* slot in VRAM; -1 */
    bool in_ram[BLOCKS];                 /* RAM holds the newest version */
    uint32_t version[BLOCKS];
    uint64_t filled[BLOCKS]; /* defined bytes */
    uint64_t queue_end[4];
    uint64_t router, host, ends[OPS_MAX + 1];
    uint64_t needs[256];
    int n_needs;
} maker;

static inline uint64_t pick(maker *m, uint64_t n) {
    return sw_rng_below(&m->r, n);
}
static inline void need(maker *m, uint64_t id) {
    if (id) m->needs[m->n_needs++] = id;
}

static inline void use(maker *m, rec *x, int block, int mode, int tier, uint64_t off,
                       uint64_t bytes) {
    slot_state *s = tier == RAM ? &m->ram[block] : &m->vram[m->at[block]];
    uint64_t base = (uint64_t)(tier == RAM ? block : m->at[block]) * SLOT;
    bool copy = x->op.kind == SW_OP_COPY;
    x->uses[x->op.n_uses++] = (sw_use){.block = (uint32_t)block,
                                       .version = m->version[block] + (mode != SW_READ && !copy),
                                       .tier = (int16_t)tier,
                                       .mode = (uint8_t)mode,
                                       .addr = base + off,
                                       .bytes = bytes,
                                       .touched = bytes};
    need(m, s->writer);
    if (mode != SW_READ) {
        for (int i = 0; i < s->n_readers; i++) need(m, s->readers[i]);
        s->writer = x->op.id;
        s->n_readers = 0;
    }
    if (mode != SW_WRITE) s->readers[s->n_readers++] = x->op.id;
}

static inline rec *begin_op(maker *m, sw_op_kind kind, int queue) {
    rec *x = &m->t->v[m->t->n++];
    *x = (rec){0};
    x->op = (sw_op){.id = (uint64_t)m->t->n, .kind = (uint8_t)kind, .queue = (uint16_t)queue};
    x->op.unit = -1;
    x->op.name = "op";
    x->op.issued_by = pick(&*m, 3) ? m->host : 0;
    m->n_needs = 0;
    return x;
}

static inline void end_op(maker *m, rec *x) {
    uint64_t start = m->queue_end[x->op.queue], id = x->op.id;
    need(m, x->op.needs_known);
    for (uint64_t a = 1; a < id; a++) { /* ascending, no doubles */
        bool wanted = false;
        for (int i = 0; i < m->n_needs; i++) wanted = wanted || m->needs[i] == a;
        if (!wanted) continue;
        if (m->ends[a] > start) start = m->ends[a];
        if (x->op.n_after < AFTER_MAX) x->after[x->op.n_after++] = a;
    }
    if (x->op.issued_by && m->ends[x->op.issued_by] > start) start = m->ends[x->op.issued_by];
    if (!pick(m, 4)) start += pick(m, 5);
    uint64_t took = 1 + pick(m, 30);
    m->ends[id] = m->queue_end[x->op.queue] = start + took;
    x->done = (sw_done){
        .id = id, .start_s = (double)start * TICK, .end_s = (double)(start + took) * TICK};
    x->op.fixed_s = (double)pick(m, took + 1) * TICK;
    if (x->op.kind == SW_OP_HOST) m->host = id;
}

/* A slot in VRAM whose content may go; -1 none. */
static inline int room(maker *m) {
    int start = (int)pick(m, SLOTS);
    for (int i = 0; i < SLOTS; i++) {
        int s = (start + i) % SLOTS, b = m->vram[s].block;
        if (b >= 0 && (b == HIDDEN || (b >= WEIGHTS && !m->in_ram[b]))) continue;
        if (b >= 0) m->at[b] = -1;
        m->vram[s].block = -1;
        return s;
    }
    return -1;
}

static inline void kernel(maker *m) {
    rec *x = begin_op(m, SW_OP_COMPUTE, GPU_Q);
    x->op.unit = 0;
    for (int k = 0; k < 2; k++) {
        int w = (int)pick(m, WEIGHTS);
        bool twice = k && x->op.n_uses && x->uses[0].block == (uint32_t)w;
        if (m->at[w] >= 0 && !twice) use(m, x, w, SW_READ, VRAM, 0, SLOT);
    }
    int kv = WEIGHTS + (int)pick(m, KVS);
    if (m->at[kv] >= 0) {
        uint64_t more = pick(m, 4);
        if (m->filled[kv] + more > SLOT) more = SLOT - m->filled[kv];
        if (m->filled[kv]) use(m, x, kv, SW_READ, VRAM, 0, m->filled[kv]);
        if (more) {
            use(m, x, kv, SW_WRITE, VRAM, m->filled[kv], more);
            m->filled[kv] += more;
            m->version[kv]++;
            m->in_ram[kv] = false;
        }
    }
    use(m, x, HIDDEN, m->version[HIDDEN] ? SW_RW : SW_WRITE, VRAM, 0, SLOT);
    m->version[HIDDEN]++;
    end_op(m, x);
    if (!pick(m, 3)) m->router = x->op.id;
}

static inline void copy(maker *m, int b, bool up) {
    rec *x = begin_op(m, SW_OP_COPY, up ? UP_Q : DOWN_Q);
    if (up && pick(m, 2)) x->op.needs_known = m->router;
    use(m, x, b, SW_READ, up ? RAM : VRAM, 0, SLOT);
    use(m, x, b, SW_WRITE, up ? VRAM : RAM, 0, SLOT);
    if (!up) m->in_ram[b] = true;
    end_op(m, x);
}

static inline void act(maker *m) {
    int b = (int)pick(m, WEIGHTS + KVS), s;
    bool kv = b >= WEIGHTS;
    switch (pick(m, 8)) {
    case 0:
    case 1:
    case 2:
        kernel(m);
        return;
    case 3:
    case 4: /* fetch */
        if (m->at[b] >= 0 || !m->in_ram[b] || (kv && !m->filled[b])) return;
        if ((s = room(m)) < 0) return;
        m->vram[s].block = b;
        m->at[b] = s;
        copy(m, b, true);
        return;
    case 5: /* write back */
        if (kv && m->at[b] >= 0 && !m->in_ram[b] && m->filled[b]) copy(m, b, false);
        return;
    case 6: /* a KV block is freed, or begun (in a slot of VRAM) */
        if (!kv) return;
        if (m->at[b] >= 0) m->vram[m->at[b]].block = -1;
        m->at[b] = -1;
        m->version[b] = 0;
        m->filled[b] = 0;
        m->in_ram[b] = false;
        if (!pick(m, 3) || (s = room(m)) < 0) return;
        m->vram[s].block = b;
        m->at[b] = s;
        return;
    default:
        end_op(m, begin_op(m, SW_OP_HOST, HOST_Q));
    }
}

static inline void place(tiny *t, int block, int tier, uint64_t addr) {
    t->placed[t->n_placed].block = (uint32_t)block;
    t->placed[t->n_placed].tier = tier;
    t->placed[t->n_placed++].addr = addr;
}

static inline void make_log(tiny *t, uint64_t seed, int n) {
    maker *m = calloc(1, sizeof *m);
    memset(t, 0, sizeof *t);
    m->t = t;
    m->r = sw_rng_seed(seed);
    t->topo.n_tiers = 2;
    t->topo.n_queues = 4;
    strcpy(t->topo.tiers[RAM].name, "ram");
    strcpy(t->topo.tiers[VRAM].name, "vram0");
    t->topo.tiers[RAM].kind = SW_TIER_RAM;
    t->topo.tiers[RAM].capacity_bytes = BLOCKS * SLOT;
    t->topo.tiers[VRAM].capacity_bytes = SLOTS * SLOT;
    for (int s = 0; s < SLOTS; s++) m->vram[s].block = -1;
    for (int b = 0; b < BLOCKS; b++) {
        t->blocks[b] = (sw_block){.id = (uint32_t)b, .bytes = SLOT, .name = "block"};
        m->at[b] = -1;
        m->in_ram[b] = b < WEIGHTS;
        if (b < WEIGHTS) place(t, b, RAM, (uint64_t)b * SLOT), m->filled[b] = SLOT;
        if (b < 2 || b == HIDDEN) {
            m->at[b] = b == HIDDEN ? SLOTS - 1 : b;
            m->vram[m->at[b]].block = b;
            if (b < 2) place(t, b, VRAM, (uint64_t)b * SLOT);
        }
    }
    while (t->n < n) act(m);
    free(m);
}

/* Tells an observer what is in the log. */
static inline sw_status tell(tiny *t, const sw_observer *obs) {
    SW_TRY(obs->begin(obs->arg, &t->topo, NULL));
    for (int i = 0; i < t->n_placed; i++)
        SW_TRY(obs->placed(obs->arg, &t->blocks[t->placed[i].block], t->placed[i].tier,
                           t->placed[i].addr, NULL));
    for (int i = 0; i < t->n; i++) {
        t->v[i].op.uses = t->v[i].uses;
        t->v[i].op.after = t->v[i].after;
        SW_TRY(obs->op(obs->arg, &t->v[i].op, &t->v[i].done, NULL));
    }
    return SW_OK;
}

#endif
