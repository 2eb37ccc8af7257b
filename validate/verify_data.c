/* Who lies where, op by op in the order of ids (see verify.h for the rules).
 *
 * An op reads first, then writes, then is noted as a reader: its own write does not wait for it. */
#include "validate/verify_data.h"
#include "sim/base/vec.h"
#include "validate/facts.h"
#include <inttypes.h>

typedef struct piece {
    uint64_t lo, hi;
    uint32_t version;
} piece;

struct sw_data {
    uint32_t n_tiers;
    struct {
        uint64_t capacity;
        const char *name;
    } tier[SW_TIERS_MAX];
    char names[SW_TIERS_MAX][24];
    sw_runs runs[SW_TIERS_MAX];
    sw_facts facts;
    SW_VEC(piece) pieces; /* of the copy at hand */
    sw_complain_fn *complain;
    void *arg;
};

/* --- reading ---------------------------------------------------------------------------------- */

typedef struct look {
    sw_data *d;
    const sw_op *op;
    const sw_done *done;
    const sw_use *use;
    const sw_fact *there; /* of the block in the tier */
    bool mark, collect, failed;
    uint64_t found; /* live bytes seen */
    bool gap;
    uint64_t gap_at;
    uint32_t gap_block;         /* what is there instead */
    uint64_t late, late_reader; /* ops that had not ended */
    double late_s, late_reader_s;
} look;

static void open_gap(look *k, uint64_t at, uint32_t block) {
    if (k->gap) return;
    k->gap = true;
    k->gap_at = at;
    k->gap_block = block;
}

static void see(void *arg, sw_run *r) {
    look *k = arg;
    if (r->writer != k->op->id && r->writer_end_s > k->late_s &&
        sw_verify_early(k->done->start_s, r->writer_end_s)) {
        k->late = r->writer;
        k->late_s = r->writer_end_s;
    }
    if (k->mark && k->done->end_s > r->reader_end_s) {
        r->reader_end_s = k->done->end_s;
        r->reader = k->op->id;
    }
    if (r->block != k->use->block || !sw_fact_live(k->there, r)) {
        uint32_t other = r->block;
        if (other != SW_RUN_NOTHING &&
            !sw_fact_live(sw_facts_find(&k->d->facts, other, k->use->tier), r))
            other = SW_RUN_NOTHING;
        open_gap(k, r->lo, other);
        return;
    }
    k->found += r->hi - r->lo;
    piece p = {r->lo - k->use->addr, r->hi - k->use->addr, r->version};
    if (k->collect && !sw_vec_push(&k->d->pieces, p)) k->failed = true;
}

static void mark(void *arg, sw_run *r) {
    look *k = arg;
    if (r->writer == k->op->id && r->block != k->use->block) k->gap = true;
    if (k->done->end_s <= r->reader_end_s) return;
    r->reader_end_s = k->done->end_s;
    r->reader = k->op->id;
}

static void say_gap(look *k, uint64_t bytes) {
    char instead[48] = "nothing that is defined";
    if (k->gap_block != SW_RUN_NOTHING) snprintf(instead, sizeof instead, "block %u", k->gap_block);
    const sw_use *u = k->use;
    k->d->complain(k->d->arg, SW_RULE_CONTENT, k->op->id, 0,
                   "op %" PRIu64 " reads block %u at %s+%" PRIu64 "; %" PRIu64 " of its %" PRIu64
                   " bytes are not there: at %" PRIu64 " lies %s",
                   k->op->id, u->block, k->d->tier[u->tier].name, u->addr, bytes - k->found, bytes,
                   k->gap_at, instead);
}

/* A copy takes the whole block: from where it is known to lie. */
static void check_source(sw_data *d, const sw_op *op, const sw_use *u, sw_fact *there,
                         uint64_t found) {
    const char *name = d->tier[u->tier].name;
    if (there->bytes && (there->addr != u->addr || there->bytes != u->bytes))
        d->complain(d->arg, SW_RULE_CONTENT, op->id, 0,
                    "op %" PRIu64 " copies %" PRIu64 " bytes of block %u from %s+%" PRIu64
                    "; it lies at %" PRIu64 ", %" PRIu64 " bytes",
                    op->id, u->bytes, u->block, name, u->addr, there->addr, there->bytes);
    else if (found < there->live)
        d->complain(d->arg, SW_RULE_CONTENT, op->id, 0,
                    "op %" PRIu64 " copies block %u from %s+%" PRIu64 ", where %" PRIu64
                    " of its %" PRIu64 " defined bytes are",
                    op->id, u->block, name, u->addr, found, there->live);
    there->addr = u->addr;
    there->bytes = u->bytes;
}

/* The read half of a use. `writes`: the op writes too, so readers are marked later. */
static bool read_use(sw_data *d, const sw_op *op, const sw_done *done, const sw_use *u,
                     bool writes) {
    if (!sw_facts_reserve(&d->facts)) return false;
    const sw_fact *b = sw_facts_get(&d->facts, u->block, SW_FACT_WHOLE);
    sw_fact *there = sw_facts_get(&d->facts, u->block, u->tier);
    uint32_t version = u->mode == SW_RW ? u->version - 1 : u->version;
    bool copy = op->kind == SW_OP_COPY;
    const char *name = d->tier[u->tier].name;
    if (!b->known) {
        d->complain(d->arg, SW_RULE_CONTENT, op->id, 0,
                    "op %" PRIu64 " reads block %u, which was never placed or written", op->id,
                    u->block);
        return true;
    }
    if (u->mode == SW_RW && u->version == 0) version = UINT32_MAX;
    if (version != b->newest)
        d->complain(d->arg, SW_RULE_VERSION, op->id, b->made_by,
                    "op %" PRIu64 " reads version %u of block %u; the newest is %u, by op %" PRIu64,
                    op->id, version, u->block, b->newest, b->made_by);
    if (!there->known || !there->live) {
        d->complain(d->arg, SW_RULE_CONTENT, op->id, 0,
                    "op %" PRIu64 " reads block %u in %s, where it is not", op->id, u->block, name);
        return true;
    }
    if (there->newest != version)
        d->complain(d->arg, SW_RULE_VERSION, op->id, there->made_by,
                    "op %" PRIu64 " reads version %u of block %u in %s, which holds version %u",
                    op->id, version, u->block, name, there->newest);
    look k = {.d = d,
              .op = op,
              .done = done,
              .use = u,
              .there = there,
              .mark = !writes,
              .collect = copy,
              .late_s = -1};
    d->pieces.n = 0;
    if (!sw_runs_visit(&d->runs[u->tier], u->addr, u->addr + u->bytes, see, &k) || k.failed)
        return false;
    if (!copy && k.found < u->bytes) say_gap(&k, u->bytes);
    if (copy) check_source(d, op, u, there, k.found);
    if (k.late_s >= 0)
        d->complain(d->arg, SW_RULE_HAZARD, op->id, k.late,
                    "op %" PRIu64 " reads block %u in %s at %.9g s, before op %" PRIu64
                    " has written it (%.9g s)",
                    op->id, u->block, name, done->start_s, k.late, k.late_s);
    return true;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* What goes when bytes are overwritten: whoever still used them must have ended. */
static void overwrite(void *arg, sw_run *r) {
    look *k = arg;
    sw_fact *owner =
        r->block == SW_RUN_NOTHING ? NULL : sw_facts_find(&k->d->facts, r->block, k->use->tier);
    if (sw_fact_live(owner, r)) owner->live -= r->hi - r->lo;
    if (r->writer == k->op->id && r->block != k->use->block) k->gap = true;
    if (r->writer != k->op->id && r->writer_end_s > k->late_s &&
        sw_verify_early(k->done->start_s, r->writer_end_s)) {
        k->late = r->writer;
        k->late_s = r->writer_end_s;
    }
    if (r->reader != k->op->id && r->reader_end_s > k->late_reader_s &&
        sw_verify_early(k->done->start_s, r->reader_end_s)) {
        k->late_reader = r->reader;
        k->late_reader_s = r->reader_end_s;
    }
}

/* The version that a write makes; false: it was said that it is none. */
static void next_version(sw_data *d, const sw_op *op, const sw_use *u, uint32_t *before) {
    sw_fact *b = sw_facts_get(&d->facts, u->block, SW_FACT_WHOLE);
    *before = b->newest;
    if (b->known && b->made_by == op->id) {
        if (u->version != b->newest)
            d->complain(d->arg, SW_RULE_VERSION, op->id, 0,
                        "op %" PRIu64 " writes versions %u and %u of block %u", op->id, b->newest,
                        u->version, u->block);
        return;
    }
    if (b->known && u->version == 1 && b->newest >= 1 && u->mode == SW_WRITE) {
        for (uint32_t t = 0; t < d->n_tiers; t++) { /* a new life */
            sw_fact *f = sw_facts_find(&d->facts, u->block, (int)t);
            if (f) sw_fact_begin_anew(f), f->newest = 0;
        }
        *before = 0;
    } else if (u->version != b->newest + 1) {
        d->complain(d->arg, SW_RULE_VERSION, op->id, b->made_by,
                    "op %" PRIu64 " writes version %u of block %u; %u is next", op->id, u->version,
                    u->block, b->newest + 1);
    }
    b->known = true;
    b->newest = u->version;
    b->made_by = op->id;
}

static bool write_use(sw_data *d, const sw_op *op, const sw_done *done, const sw_use *u) {
    if (!sw_facts_reserve(&d->facts)) return false;
    bool copy = op->kind == SW_OP_COPY;
    uint32_t before = u->version;
    if (!copy) next_version(d, op, u, &before);
    sw_fact *there = sw_facts_get(&d->facts, u->block, u->tier);
    look k = {.d = d, .op = op, .done = done, .use = u, .late_s = -1, .late_reader_s = -1};
    if (!sw_runs_visit(&d->runs[u->tier], u->addr, u->addr + u->bytes, overwrite, &k)) return false;
    if (k.late_s >= 0)
        d->complain(d->arg, SW_RULE_HAZARD, op->id, k.late,
                    "op %" PRIu64 " writes %s+%" PRIu64 " at %.9g s, before op %" PRIu64
                    " has written there (%.9g s)",
                    op->id, d->tier[u->tier].name, u->addr, done->start_s, k.late, k.late_s);
    if (k.late_reader_s >= 0)
        d->complain(d->arg, SW_RULE_HAZARD, op->id, k.late_reader,
                    "op %" PRIu64 " writes %s+%" PRIu64 " at %.9g s, while op %" PRIu64
                    " reads there (until %.9g s)",
                    op->id, d->tier[u->tier].name, u->addr, done->start_s, k.late_reader,
                    k.late_reader_s);
    if (k.gap)
        d->complain(d->arg, SW_RULE_HAZARD, op->id, op->id,
                    "op %" PRIu64 " writes two blocks to %s+%" PRIu64, op->id,
                    d->tier[u->tier].name, u->addr);
    bool same_op = there->known && there->made_by == op->id;
    bool moved = u->mode == SW_WRITE && u->bytes == there->bytes && u->addr != there->addr;
    if (copy || moved || !there->known || (there->newest != before && !same_op))
        sw_fact_begin_anew(there);
    there->known = true;
    there->newest = u->version;
    there->made_by = op->id;
    sw_run run = {u->addr, u->addr + u->bytes, u->block, u->version, there->epoch, op->id,
                  0,       done->end_s,        -1};
    if (!copy) {
        if (there->bytes &&
            (u->addr < there->addr || u->addr + u->bytes > there->addr + there->bytes))
            d->complain(d->arg, SW_RULE_CONTENT, op->id, 0,
                        "op %" PRIu64 " writes block %u at %s+%" PRIu64 ", %" PRIu64
                        " bytes; it lies at %" PRIu64 ", %" PRIu64 " bytes",
                        op->id, u->block, d->tier[u->tier].name, u->addr, u->bytes, there->addr,
                        there->bytes);
        there->live += u->bytes;
        return sw_runs_put(&d->runs[u->tier], run);
    }
    there->addr = u->addr;
    there->bytes = u->bytes;
    run.block = SW_RUN_NOTHING;
    if (!sw_runs_put(&d->runs[u->tier], run)) return false;
    run.block = u->block;
    for (size_t i = 0; i < d->pieces.n; i++) {
        run.lo = u->addr + d->pieces.v[i].lo;
        run.hi = u->addr + d->pieces.v[i].hi;
        run.version = d->pieces.v[i].version;
        there->live += run.hi - run.lo;
        if (!sw_runs_put(&d->runs[u->tier], run)) return false;
    }
    return true;
}

/* --- ops -------------------------------------------------------------------------------------- */

static bool inside(sw_data *d, uint64_t op, const char *what, uint32_t block, int tier,
                   uint64_t addr, uint64_t bytes) {
    uint64_t capacity = d->tier[tier].capacity;
    if (addr <= capacity && bytes <= capacity - addr) return true;
    d->complain(d->arg, SW_RULE_CAPACITY, op, 0,
                "%s %" PRIu64 ": block %u at %s+%" PRIu64 ", %" PRIu64
                " bytes, goes over the tier's %" PRIu64 " bytes",
                what, op, block, d->tier[tier].name, addr, bytes, capacity);
    return false;
}

static bool is_copy(sw_data *d, const sw_op *op) {
    const sw_use *u = op->uses;
    const char *why = NULL;
    if (op->n_uses != 2 || u[0].mode != SW_READ || u[1].mode != SW_WRITE)
        why = "is not one read and one write";
    else if (u[0].block != u[1].block)
        why = "reads one block and writes another";
    else if (u[0].version != u[1].version)
        why = "writes another version than it reads";
    else if (u[0].bytes != u[1].bytes)
        why = "writes another length than it reads";
    if (why)
        d->complain(d->arg, SW_RULE_COPY, op->id, 0, "op %" PRIu64 ", a copy, %s", op->id, why);
    return !why;
}

bool sw_data_op(sw_data *d, const sw_op *op, const sw_done *done) {
    bool writes = false, fits = true;
    for (uint32_t i = 0; i < op->n_uses; i++) {
        const sw_use *u = &op->uses[i];
        writes = writes || u->mode != SW_READ;
        fits = inside(d, op->id, "op", u->block, u->tier, u->addr, u->bytes) && fits;
    }
    if (!fits || (op->kind == SW_OP_COPY && !is_copy(d, op))) return true;
    for (uint32_t i = 0; i < op->n_uses; i++)
        if (op->uses[i].mode != SW_WRITE && !read_use(d, op, done, &op->uses[i], writes))
            return false;
    for (uint32_t i = 0; i < op->n_uses; i++)
        if (op->uses[i].mode != SW_READ && !write_use(d, op, done, &op->uses[i])) return false;
    for (uint32_t i = 0; writes && i < op->n_uses; i++) {
        const sw_use *u = &op->uses[i];
        look k = {.op = op, .done = done, .use = u};
        if (u->mode != SW_WRITE &&
            !sw_runs_visit(&d->runs[u->tier], u->addr, u->addr + u->bytes, mark, &k))
            return false;
        if (k.gap)
            d->complain(d->arg, SW_RULE_HAZARD, op->id, op->id,
                        "op %" PRIu64 " writes over block %u in %s, which it reads", op->id,
                        u->block, d->tier[u->tier].name);
    }
    return true;
}

typedef struct overlap {
    uint32_t block;
    bool any;
} overlap;

static void overlaps(void *arg, sw_run *r) {
    overlap *o = arg;
    if (r->block == SW_RUN_NOTHING) return;
    o->any = true;
    o->block = r->block;
}

bool sw_data_placed(sw_data *d, const sw_block *block, int tier, uint64_t addr) {
    if (!inside(d, 0, "placed", block->id, tier, addr, block->bytes)) return true;
    if (!sw_facts_reserve(&d->facts)) return false;
    sw_fact *b = sw_facts_get(&d->facts, block->id, SW_FACT_WHOLE),
            *there = sw_facts_get(&d->facts, block->id, tier);
    overlap o = {0};
    if (!sw_runs_visit(&d->runs[tier], addr, addr + block->bytes, overlaps, &o)) return false;
    if (o.any)
        d->complain(d->arg, SW_RULE_CAPACITY, 0, 0,
                    "block %u is placed at %s+%" PRIu64 ", over block %u", block->id,
                    d->tier[tier].name, addr, o.block);
    b->known = there->known = true;
    there->live += block->bytes;
    there->addr = addr;
    there->bytes = block->bytes;
    return sw_runs_put(&d->runs[tier], (sw_run){addr, addr + block->bytes, block->id, 0,
                                                there->epoch, 0, 0, 0, -1});
}

sw_data *sw_data_new(const sw_topology *topo, sw_complain_fn *complain, void *arg) {
    sw_data *d = sw_zalloc(1, sizeof *d);
    if (!d) return NULL;
    d->n_tiers = topo->n_tiers;
    for (uint32_t t = 0; t < d->n_tiers; t++) {
        memcpy(d->names[t], topo->tiers[t].name, sizeof d->names[t]);
        d->tier[t].name = d->names[t];
        d->tier[t].capacity = topo->tiers[t].capacity_bytes;
    }
    d->complain = complain;
    d->arg = arg;
    for (uint32_t t = 0; t < d->n_tiers; t++) { /* so that there are no gaps between runs */
        sw_run nothing = {0, d->tier[t].capacity, SW_RUN_NOTHING, 0, 0, 0, 0, 0, -1};
        if (nothing.hi && !sw_runs_put(&d->runs[t], nothing)) {
            sw_data_free(d);
            return NULL;
        }
    }
    return d;
}

void sw_data_free(sw_data *d) {
    if (!d) return;
    for (uint32_t t = 0; t < d->n_tiers; t++) sw_runs_free(&d->runs[t]);
    sw_facts_free(&d->facts);
    sw_vec_free(&d->pieces);
    free(d);
}
