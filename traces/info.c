/* Measuring a trace in one pass (see info.h). */
#include "traces/info.h"
#include "traces/reuse.h"
#include <math.h>

enum { MAX_BLOCKS = 16 << 20, SPARSE = 1 << 16 };

typedef struct entry { /* by block */
    uint64_t bytes;    /* 0: does not live */
    uint64_t last_op;  /* its last use, from 1; 0 none */
    uint64_t last_step;
    uint32_t successor; /* the weight block that came after it the last time, plus 1; 0 none */
    uint8_t kind;
    bool is_static;
} entry;

struct sw_trace_meter {
    sw_trace_info info;
    SW_VEC(entry) blocks;
    sw_reuse reuse;
    uint64_t op, dynamic;
    uint64_t now[SW_INFO_KINDS];
    double op_bytes; /* distinct, all ops together */
    uint32_t before; /* the weight block used last, plus 1 */
    /* the step at hand; none before the first */
    bool in_step;
    uint64_t step;
    int phase;
    double touched, weights_touched, distinct_weights;
};

static sw_status no_memory(sw_error *err) {
    return sw_fail(err, SW_MEMORY, "out of memory");
}

sw_trace_meter *sw_trace_meter_new(void) {
    sw_trace_meter *m = sw_zalloc(1, sizeof *m);
    for (int i = 0; m && i < SW_INFO_WINDOWS; i++) m->info.window_ops[i] = UINT64_C(1) << 2 * i;
    return m;
}

void sw_trace_meter_free(sw_trace_meter *m) {
    if (!m) return;
    sw_vec_free(&m->blocks);
    sw_reuse_free(&m->reuse);
    free(m);
}

/* --- blocks ----------------------------------------------------------------------------------- */

static sw_status begin_block(sw_trace_meter *m, const sw_block *b, bool is_static, sw_error *err) {
    sw_trace_info *x = &m->info;
    if (b->id >= MAX_BLOCKS || b->id > 2 * x->n_blocks + SPARSE)
        return sw_fail(err, SW_INPUT, "block %u: ids are dense from 0 and below 16 M", b->id);
    if (b->bytes == 0 || (unsigned)b->kind >= SW_INFO_KINDS)
        return sw_fail(err, SW_INPUT, "block %u: no bytes, or no known kind", b->id);
    while (m->blocks.n <= b->id)
        if (!sw_vec_push(&m->blocks, (entry){.kind = UINT8_MAX})) return no_memory(err);
    entry *e = &m->blocks.v[b->id];
    if (e->bytes) return sw_fail(err, SW_INPUT, "block %u is allocated while it lives", b->id);
    if (e->kind == UINT8_MAX) x->n_blocks++, x->kind_blocks[b->kind]++;
    *e = (entry){.bytes = b->bytes, .kind = (uint8_t)b->kind, .is_static = is_static};
    if (is_static)
        x->n_static++, x->static_bytes += b->bytes;
    else if ((m->dynamic += b->bytes) > x->peak_dynamic_bytes)
        x->peak_dynamic_bytes = m->dynamic;
    if (x->static_bytes + m->dynamic > x->peak_bytes) x->peak_bytes = x->static_bytes + m->dynamic;
    uint64_t now = m->now[b->kind] += b->bytes;
    if (now > x->kind_peak_bytes[b->kind]) x->kind_peak_bytes[b->kind] = now;
    if (b->bytes > x->largest_block_bytes) x->largest_block_bytes = b->bytes;
    return SW_OK;
}

/* A block lies in the windows that end at one of the next `gap` ops, and are long enough. */
static void add_to_windows(sw_trace_meter *m, const entry *e, uint64_t gap) {
    for (int i = 0; i < SW_INFO_WINDOWS; i++) {
        uint64_t w = m->info.window_ops[i];
        m->info.window_bytes[i] += (double)e->bytes * (double)(gap < w ? gap : w);
    }
}

static sw_status end_block(sw_trace_meter *m, uint32_t id, sw_error *err) {
    entry *e = id < m->blocks.n ? &m->blocks.v[id] : NULL;
    if (!e || !e->bytes) return sw_fail(err, SW_INPUT, "block %u is freed but does not live", id);
    if (e->last_op) add_to_windows(m, e, m->op + 1 - e->last_op);
    if (!e->is_static) m->dynamic -= e->bytes;
    m->now[e->kind] -= e->bytes;
    sw_reuse_drop(&m->reuse, id);
    e->bytes = e->last_op = 0;
    return SW_OK;
}

/* --- steps ------------------------------------------------------------------------------------ */

static void add_range(sw_info_range *r, double x, bool first) {
    r->min = first ? x : fmin(r->min, x);
    r->max = first ? x : fmax(r->max, x);
    r->sum += x;
}

static void close_step(sw_trace_meter *m) {
    if (!m->in_step) return;
    sw_info_phase *p = &m->info.phase[m->phase];
    bool first = p->steps++ == 0;
    add_range(&p->touched, m->touched, first);
    add_range(&p->weights_touched, m->weights_touched, first);
    add_range(&p->distinct_weights, m->distinct_weights, first);
    m->touched = m->weights_touched = m->distinct_weights = 0;
}

static sw_status begin_step(sw_trace_meter *m, const sw_event *ev, sw_error *err) {
    if ((unsigned)ev->phase >= SW_INFO_PHASES) return sw_fail(err, SW_INPUT, "no known phase");
    close_step(m);
    m->in_step = true;
    m->step++;
    m->phase = (int)ev->phase;
    m->info.phase[m->phase].tokens += (double)ev->tokens;
    m->info.phase[m->phase].outputs += (double)ev->outputs;
    return SW_OK;
}

/* --- uses ------------------------------------------------------------------------------------- */

static void count_reuse(sw_trace_info *x, uint64_t distance, uint64_t bytes, bool is_static) {
    if (!distance) {
        x->first_uses++;
        return;
    }
    int i = distance > 1 ? (int)ceil(SW_INFO_OCTAVE * log2((double)distance)) : 0;
    if (i >= SW_INFO_BUCKETS) i = SW_INFO_BUCKETS - 1;
    x->reuses++;
    x->reuse_count[i]++;
    x->reuse_bytes[i] += (double)bytes;
    if (is_static) x->reuse_weights[i] += (double)bytes;
    if (distance > x->largest_reuse) x->largest_reuse = distance;
}

static void follow(sw_trace_meter *m, uint32_t id) {
    if (m->before && m->before != id + 1) {
        entry *e = &m->blocks.v[m->before - 1];
        if (e->successor) {
            m->info.order_seen++;
            m->info.order_kept += e->successor == id + 1;
        }
        e->successor = id + 1;
    }
    m->before = id + 1;
}

static sw_status one_use(sw_trace_meter *m, const sw_ev_use *u, bool gather, uint64_t *op_bytes,
                         sw_error *err) {
    sw_trace_info *x = &m->info;
    entry *e = u->block < m->blocks.n ? &m->blocks.v[u->block] : NULL;
    if (!e || !e->bytes)
        return sw_fail(err, SW_INPUT, "block %u is used but does not live", u->block);
    x->n_uses++;
    m->touched += (double)u->touched;
    if (e->is_static) m->weights_touched += (double)u->touched;
    if (e->is_static && gather) return SW_OK;
    if (e->is_static && (!e->last_op || e->last_step != m->step))
        m->distinct_weights += (double)e->bytes;
    e->last_step = m->step;
    if (e->last_op == m->op) return SW_OK;
    uint64_t distance;
    if (!sw_reuse_use(&m->reuse, u->block, e->bytes, &distance)) return no_memory(err);
    count_reuse(x, distance, e->bytes, e->is_static);
    if (e->last_op) add_to_windows(m, e, m->op - e->last_op);
    e->last_op = m->op;
    *op_bytes += e->bytes;
    if (e->is_static) follow(m, u->block);
    return SW_OK;
}

static sw_status access(sw_trace_meter *m, const sw_event *ev, sw_error *err) {
    uint64_t bytes = 0;
    m->op++;
    for (uint32_t i = 0; i < ev->n_uses; i++)
        SW_TRY(one_use(m, &ev->uses[i], ev->gather, &bytes, err));
    m->op_bytes += (double)bytes;
    if (bytes > m->info.largest_op_bytes) m->info.largest_op_bytes = bytes;
    if (m->in_step) {
        m->info.phase[m->phase].ops++;
        m->info.phase[m->phase].flops += ev->work.flops;
    }
    return SW_OK;
}

/* --- the whole -------------------------------------------------------------------------------- */

sw_status sw_trace_meter_put(sw_trace_meter *m, const sw_event *ev, sw_error *err) {
    if ((unsigned)ev->kind >= SW_INFO_EVENTS)
        return sw_fail(err, SW_INPUT, "an event of no known kind");
    m->info.n_events[ev->kind]++;
    switch (ev->kind) {
    case SW_EV_BLOCK:
    case SW_EV_ALLOC:
        return begin_block(m, &ev->block, ev->kind == SW_EV_BLOCK, err);
    case SW_EV_FREE:
        return end_block(m, ev->block.id, err);
    case SW_EV_ACCESS:
        return access(m, ev, err);
    case SW_EV_STEP:
        return begin_step(m, ev, err);
    default:
        return SW_OK;
    }
}

void sw_trace_meter_end(sw_trace_meter *m, sw_trace_info *out) {
    close_step(m);
    m->in_step = false;
    for (size_t i = 0; i < m->blocks.n; i++) {
        const entry *e = &m->blocks.v[i];
        if (e->bytes && e->last_op) add_to_windows(m, e, m->op + 1 - e->last_op);
    }
    *out = m->info;
    double ops = m->op ? (double)m->op : 1;
    out->mean_op_bytes = m->op_bytes / ops;
    for (int i = 0; i < SW_INFO_WINDOWS; i++) out->window_bytes[i] /= ops;
}

sw_status sw_trace_info_run(const sw_source_ops *ops, const sw_node *map, const sw_source_env *env,
                            sw_trace_info *out, sw_error *err) {
    void *so = NULL;
    if (ops->plugin.flags & SW_SOURCE_CLOSED_LOOP)
        return sw_fail(err, SW_INPUT, "%s makes its events up as it goes: record it while it runs",
                       ops->plugin.name);
    sw_trace_meter *m = sw_trace_meter_new();
    if (!m) return no_memory(err);
    sw_status st = sw_plugin_new(&ops->plugin, "workload", map, &so, err);
    if (!st) {
        st = ops->open(so, env, err);
        while (!st) {
            sw_event ev = {0};
            st = ops->next(so, NULL, &ev, err);
            if (!st) st = sw_trace_meter_put(m, &ev, err);
        }
        ops->close(so);
        free(so);
    }
    if (st == SW_END) sw_trace_meter_end(m, out);
    sw_trace_meter_free(m);
    return st == SW_END ? SW_OK : st;
}

double sw_info_bucket_bytes(int bucket) {
    return exp2((double)bucket / SW_INFO_OCTAVE);
}

double sw_info_lru_fetched(const sw_trace_info *x, double bytes) {
    double missed = 0;
    for (int i = SW_INFO_BUCKETS; i-- > 0 && sw_info_bucket_bytes(i) > bytes;)
        missed += x->reuse_weights[i];
    return missed;
}

double sw_info_order(const sw_trace_info *x) {
    return x->order_seen < 8 ? -1 : (double)x->order_kept / (double)x->order_seen;
}
