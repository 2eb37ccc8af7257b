/* What must lie where (see host_data.h). A tier is cut into slots of equal width, each with its
 * spans in order: a change moves only what lies in its slots. */
#include "backends/host_data.h"
#include "backends/host_kernel.h"
#include <inttypes.h>

enum { SLOTS = 1024, NOTHING = UINT32_MAX };

typedef struct place { /* of a block in a tier */
    uint32_t version, epoch;
    bool known;
} place;

typedef struct entry { /* of a block */
    uint32_t newest;
    bool known;
    uint64_t made_by;
    place in[SW_TIERS_MAX];
} entry;

struct sw_host_data {
    const sw_topology *topo;
    uint64_t width[SW_TIERS_MAX]; /* of a slot */
    sw_host_spans *slots[SW_TIERS_MAX];
    SW_VEC(entry) blocks; /* by id */
    sw_host_spans moved;  /* of the copy at hand */
};

static sw_status no_memory(sw_error *err) {
    return sw_fail(err, SW_MEMORY, "out of memory");
}

/* --- spans ------------------------------------------------------------------------------------ */

/* First span that ends after `at`. */
static size_t find(const sw_host_spans *s, uint64_t at) {
    size_t lo = 0, hi = s->n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (s->v[mid].hi <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* x takes the place of what lies in [x.lo, x.hi); block NOTHING: it is only cleared. */
static bool put_in_slot(sw_host_spans *s, sw_host_span x) {
    sw_host_span fresh[3];
    size_t from = find(s, x.lo), to = from, n = 0;
    while (to < s->n && s->v[to].lo < x.hi) to++;
    if (from < to && s->v[from].lo < x.lo) fresh[n] = s->v[from], fresh[n++].hi = x.lo;
    if (x.block != NOTHING) fresh[n++] = x;
    if (from < to && s->v[to - 1].hi > x.hi) fresh[n] = s->v[to - 1], fresh[n++].lo = x.hi;
    if (!sw_vec_reserve(s, s->n + n)) return false;
    if (s->n > to) memmove(s->v + from + n, s->v + to, (s->n - to) * sizeof *s->v);
    if (n) memcpy(s->v + from, fresh, n * sizeof *fresh);
    s->n = s->n - (to - from) + n;
    return true;
}

static bool put(sw_host_data *d, int tier, sw_host_span x) {
    uint64_t end = x.hi, width = d->width[tier];
    for (uint64_t i = x.lo / width; x.lo < end; i++, x.lo = x.hi) {
        x.hi = (i + 1) * width < end ? (i + 1) * width : end;
        if (!put_in_slot(&d->slots[tier][i], x)) return false;
    }
    return true;
}

/* Adds what lies in [lo, hi) of the block as it is now; *gap: the first byte that is not of it,
 * else hi, and *owner whose it is. False: memory is out. */
static bool look(sw_host_data *d, const sw_use *u, uint64_t hi, sw_host_spans *out, uint64_t *gap,
                 uint32_t *owner) {
    uint64_t width = d->width[u->tier], seen = u->addr;
    uint32_t epoch = d->blocks.v[u->block].in[u->tier].epoch;
    *gap = hi;
    *owner = NOTHING;
    for (uint64_t i = u->addr / width; i * width < hi; i++) {
        const sw_host_spans *s = &d->slots[u->tier][i];
        for (size_t k = find(s, u->addr); k < s->n && s->v[k].lo < hi; k++) {
            sw_host_span x = s->v[k];
            if (x.lo < u->addr) x.lo = u->addr;
            if (x.hi > hi) x.hi = hi;
            bool mine = x.block == u->block && x.epoch == epoch;
            if (*gap == hi && (x.lo > seen || !mine)) {
                *gap = seen;
                *owner = x.lo > seen ? NOTHING : x.block;
            }
            seen = x.hi;
            if (mine && !sw_vec_push(out, x)) return false;
        }
    }
    if (*gap == hi) *gap = seen;
    return true;
}

/* --- reading ---------------------------------------------------------------------------------- */

static const char *tier_name(const sw_host_data *d, const sw_use *u) {
    return d->topo->tiers[u->tier].name;
}

static const char *name_of(const sw_op *op) {
    return op->name ? op->name : sw_op_kind_name((sw_op_kind)op->kind);
}

/* Is it the version that is to be read? */
static sw_status check_version(const sw_host_data *d, const sw_op *op, const sw_use *u,
                               uint32_t version, sw_error *err) {
    const entry *e = &d->blocks.v[u->block];
    const place *p = &e->in[u->tier];
    if (!e->known || version != e->newest)
        return sw_fail(err, SW_RUN,
                       "op %" PRIu64 " (%s) reads version %u of block %u in %s+%" PRIu64
                       "; version %u is the newest%s",
                       op->id, name_of(op), version, u->block, tier_name(d, u), u->addr, e->newest,
                       e->known ? "" : ", and nobody has written it");
    if (!p->known)
        return sw_fail(err, SW_RUN,
                       "op %" PRIu64 " (%s) reads block %u in %s+%" PRIu64 ", where it never was",
                       op->id, name_of(op), u->block, tier_name(d, u), u->addr);
    if (p->version != version)
        return sw_fail(err, SW_RUN,
                       "op %" PRIu64 " (%s) reads version %u of block %u in %s+%" PRIu64
                       ", which holds version %u",
                       op->id, name_of(op), version, u->block, tier_name(d, u), u->addr,
                       p->version);
    return SW_OK;
}

static sw_status read_use(sw_host_data *d, const sw_op *op, uint32_t i, sw_host_spans *out,
                          sw_error *err) {
    const sw_use *u = &op->uses[i];
    uint32_t version = u->mode == SW_RW ? u->version - 1 : u->version, owner;
    uint64_t gap, hi = u->addr + u->bytes;
    size_t first = out->n;
    if (!d->blocks.v[u->block].known && version == 0) return SW_OK;
    SW_TRY(check_version(d, op, u, version, err));
    if (!look(d, u, hi, out, &gap, &owner)) return no_memory(err);
    for (size_t k = first; k < out->n; k++) out->v[k].use = i;
    if (op->kind == SW_OP_COPY || gap == hi) return SW_OK; /* copies take whatever there is */
    char whose[32] = "nobody's bytes";
    if (owner != NOTHING)
        snprintf(whose, sizeof whose, "%s block %u", owner == u->block ? "a former" : "bytes of",
                 owner);
    return sw_fail(err, SW_RUN,
                   "op %" PRIu64 " (%s) reads version %u of block %u in %s+%" PRIu64 ", %" PRIu64
                   " bytes; at %" PRIu64 " lie %s",
                   op->id, name_of(op), version, u->block, tier_name(d, u), u->addr, u->bytes, gap,
                   whose);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Which version was there before. A WRITE of version 1 over a later one: the id was freed and
 * allocated again, and nothing of the former block counts. */
static sw_status next_version(sw_host_data *d, const sw_op *op, const sw_use *u, uint32_t *before,
                              sw_error *err) {
    entry *e = &d->blocks.v[u->block];
    *before = e->newest;
    bool again = e->known && e->made_by == op->id;
    bool anew = e->known && !again && e->newest && u->version == 1 && u->mode == SW_WRITE;
    if (anew) {
        for (int t = 0; t < d->topo->n_tiers; t++) e->in[t].known = false;
        *before = 0;
    } else if (u->version != e->newest + !again) {
        return sw_fail(err, SW_RUN,
                       "op %" PRIu64 " (%s) writes version %u of block %u in %s+%" PRIu64
                       "; version %u is next",
                       op->id, name_of(op), u->version, u->block, tier_name(d, u), u->addr,
                       e->newest + !again);
    }
    e->known = true;
    e->newest = u->version;
    e->made_by = op->id;
    return SW_OK;
}

static sw_status write_use(sw_host_data *d, const sw_op *op, uint32_t i, sw_error *err) {
    const sw_use *u = &op->uses[i];
    entry *e = &d->blocks.v[u->block];
    place *p = &e->in[u->tier];
    bool copy = op->kind == SW_OP_COPY, again = e->known && e->made_by == op->id;
    uint32_t before = u->version;
    if (!copy) SW_TRY(next_version(d, op, u, &before, err));
    if (copy || !p->known || (p->version != before && !again)) p->epoch++;
    p->known = true;
    p->version = u->version;
    sw_host_span x = {.lo = u->addr,
                      .hi = u->addr + u->bytes,
                      .origin = u->addr,
                      .seed = sw_host_seed(u->block, u->version, op->id, i),
                      .block = copy ? NOTHING : u->block,
                      .epoch = p->epoch};
    if (!put(d, u->tier, x)) return no_memory(err);
    uint64_t by = u->addr - op->uses[0].addr;
    for (size_t k = 0; copy && k < d->moved.n; k++) {
        x = d->moved.v[k];
        x.lo += by, x.hi += by, x.origin += by;
        x.epoch = p->epoch;
        if (!put(d, u->tier, x)) return no_memory(err);
    }
    return SW_OK;
}

/* --- ops -------------------------------------------------------------------------------------- */

static bool know(sw_host_data *d, uint32_t block) {
    size_t had = d->blocks.n;
    if (block < had) return true;
    if (!sw_vec_reserve(&d->blocks, (size_t)block + 1)) return false;
    memset(d->blocks.v + had, 0, ((size_t)block + 1 - had) * sizeof *d->blocks.v);
    d->blocks.n = (size_t)block + 1;
    return true;
}

sw_status sw_host_data_op(sw_host_data *d, const sw_op *op, sw_host_spans *expect, sw_error *err) {
    bool copy = op->kind == SW_OP_COPY;
    d->moved.n = 0;
    for (uint32_t i = 0; i < op->n_uses; i++)
        if (!know(d, op->uses[i].block)) return no_memory(err);
    for (uint32_t i = 0; i < op->n_uses; i++)
        if (op->uses[i].mode & SW_READ) SW_TRY(read_use(d, op, i, copy ? &d->moved : expect, err));
    for (uint32_t i = 0; i < op->n_uses; i++)
        if (op->uses[i].mode & SW_WRITE) SW_TRY(write_use(d, op, i, err));
    return SW_OK;
}

sw_status sw_host_data_placed(sw_host_data *d, const sw_block *block, int tier, uint64_t addr,
                              sw_error *err) {
    if (!know(d, block->id)) return no_memory(err);
    entry *e = &d->blocks.v[block->id];
    e->known = true;
    e->in[tier].known = true;
    sw_host_span x = {.lo = addr,
                      .hi = addr + block->bytes,
                      .origin = addr,
                      .seed = sw_host_seed(block->id, 0, 0, 0),
                      .block = block->id};
    return put(d, tier, x) ? SW_OK : no_memory(err);
}

sw_status sw_host_data_new(const sw_topology *topo, sw_host_data **out, sw_error *err) {
    sw_host_data *d = sw_zalloc(1, sizeof *d);
    if (!d) return no_memory(err);
    d->topo = topo;
    *out = d;
    for (int t = 0; t < topo->n_tiers; t++) {
        d->width[t] = topo->tiers[t].capacity_bytes / SLOTS + 1;
        d->slots[t] = sw_zalloc(SLOTS, sizeof *d->slots[t]);
        if (!d->slots[t]) return no_memory(err);
    }
    return SW_OK;
}

void sw_host_data_free(sw_host_data *d) {
    if (!d) return;
    for (int t = 0; t < SW_TIERS_MAX; t++) {
        for (int i = 0; d->slots[t] && i < SLOTS; i++) sw_vec_free(&d->slots[t][i]);
        free(d->slots[t]);
    }
    sw_vec_free(&d->blocks);
    sw_vec_free(&d->moved);
    free(d);
}
