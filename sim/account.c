/* The account of a run (see account.h). */
#include "sim/account.h"
#include <math.h>

sw_status sw_account_open(sw_account *a, const sw_topology *topo, sw_result *out, sw_error *err) {
    *a = (sw_account){.topo = topo, .out = out};
    return sw_account_reserve(a, 1023, err);
}

sw_status sw_account_reserve(sw_account *a, uint64_t span, sw_error *err) {
    uint64_t mask = a->ring ? a->mask : 1023;
    while (mask < span) mask = mask * 2 + 1;
    if (a->ring && mask == a->mask) return SW_OK;
    sw_path_rec *ring = sw_zalloc(mask + 1, sizeof *ring);
    if (!ring) return sw_fail(err, SW_MEMORY, "out of memory");
    uint64_t lo = a->newest > a->mask ? a->newest - a->mask : 1;
    for (uint64_t id = lo; a->ring && id <= a->newest; id++)
        ring[id & mask] = a->ring[id & a->mask];
    free(a->ring);
    a->ring = ring;
    a->mask = mask;
    return SW_OK;
}

void sw_account_close(sw_account *a) {
    free(a->ring);
    sw_vec_free(&a->steps);
    a->ring = NULL;
}

sw_status sw_account_step(sw_account *a, const sw_event *ev, sw_error *err) {
    sw_step_rec s = {ev->step, ev->phase, ev->tokens, ev->outputs};
    return sw_vec_push(&a->steps, s) ? SW_OK : sw_fail(err, SW_MEMORY, "out of memory");
}

/* --- step times ------------------------------------------------------------------------------- */

static int itl_bin(double s) { /* 1 ns to 1e6 s, 32 bins a decade-ish: 3 % wide */
    double x = log(s / 1e-9) / log(1e15) * SW_ITL_BINS;
    return x < 0 ? 0 : x >= SW_ITL_BINS ? SW_ITL_BINS - 1 : (int)x;
}

static void note_latency(sw_account *a, double s) {
    sw_latency *l = &a->out->itl;
    if (!l->n || s < l->min_s) l->min_s = s;
    if (!l->n || s > l->max_s) l->max_s = s;
    l->n++;
    l->sum_s += s;
    a->itl_bins[itl_bin(s)]++;
}

static void finish_step(sw_account *a) {
    const sw_step_rec *s = &a->steps.v[a->step_at++];
    sw_result *r = a->out;
    double end = a->step_end_s > a->prev_step_end_s ? a->step_end_s : a->prev_step_end_s;
    double took = end - a->prev_step_end_s;
    r->n_steps++;
    if (s->phase == SW_PHASE_PREFILL) r->prefill_s += took, r->prompt_tokens += s->tokens;
    if (s->phase == SW_PHASE_DECODE) r->decode_s += took, note_latency(a, took);
    if (s->outputs && r->ttft_s == 0) r->ttft_s = end;
    if (s->phase == SW_PHASE_DECODE) r->tokens_per_s += (double)s->outputs; /* divided at the end */
    r->outputs += s->outputs;
    a->prev_step_end_s = end;
    if (a->step_at > 1024) {
        memmove(a->steps.v, a->steps.v + a->step_at,
                (a->steps.n - a->step_at) * sizeof *a->steps.v);
        a->steps.n -= a->step_at;
        a->step_at = 0;
    }
}

/* --- critical path ---------------------------------------------------------------------------- */

static const sw_path_rec *record(const sw_account *a, uint64_t id, const sw_path_rec *floor) {
    return id && id + a->mask >= a->newest ? &a->ring[id & a->mask] : floor;
}

static void take_later(const sw_path_rec **best, const sw_path_rec *r) {
    if (r->end_s > (*best)->end_s) *best = r;
}

sw_status sw_account_op(sw_account *a, const sw_op *op, const sw_done *done,
                        const sw_path_rec *floor, sw_error *err) {
    if (!(done->end_s >= done->start_s) || !isfinite(done->end_s))
        return sw_fail(err, SW_RUN, "op %llu (%s) has no sane start and end",
                       (unsigned long long)op->id, op->name ? op->name : "");
    while (a->step_at < a->steps.n && a->steps.v[a->step_at].step < op->step) finish_step(a);
    const sw_path_rec *pred = floor;
    take_later(&pred, record(a, a->queue_last[op->queue], floor));
    take_later(&pred, record(a, op->issued_by, floor));
    for (uint32_t i = 0; i < op->n_after; i++) take_later(&pred, record(a, op->after[i], floor));

    sw_path_rec *rec = &a->ring[op->id & a->mask];
    double idle = done->start_s - pred->end_s, took = done->end_s - done->start_s;
    double wake = fmin(idle, a->topo->wake_s);
    double fixed = op->fixed_s < took ? op->fixed_s : took, paged = done->paged_s;
    *rec = *pred;
    a->newest = op->id;
    rec->end_s = done->end_s;
    rec->all[SW_CAT_IDLE] += idle - wake;
    rec->all[SW_CAT_SETUP] += wake;
    rec->all[op->cat_fixed] += fixed;
    rec->all[SW_CAT_FAULT] += paged;
    rec->all[op->cat] += took - fixed - paged;
    if (op->phase == SW_PHASE_DECODE) {
        rec->decode[SW_CAT_IDLE] += idle - wake;
        rec->decode[SW_CAT_SETUP] += wake;
        rec->decode[op->cat_fixed] += fixed;
        rec->decode[SW_CAT_FAULT] += paged;
        rec->decode[op->cat] += took - fixed - paged;
    }
    a->queue_last[op->queue] = op->id;
    if (rec->end_s > a->best_end_s) a->best_end_s = rec->end_s, a->best_id = op->id;

    sw_result *r = a->out;
    r->queue_busy_s[op->queue] += took;
    r->cat_busy_s[op->cat] += took;
    for (uint32_t i = 0; i < op->n_flows; i++) {
        const sw_path *p = &a->topo->paths[op->flows[i].path];
        for (int k = 0; k < p->n; k++) r->res[p->res[k]].amount += op->flows[i].amount;
    }
    if (op->kind != SW_OP_COPY && done->end_s > a->step_end_s) a->step_end_s = done->end_s;
    a->n_ops++;
    return SW_OK;
}

/* --- the end ---------------------------------------------------------------------------------- */

static double percentile(const sw_account *a, double q) {
    const sw_latency *l = &a->out->itl;
    uint64_t want = (uint64_t)ceil(q * (double)l->n), seen = 0;
    for (int b = 0; b < SW_ITL_BINS; b++) {
        seen += a->itl_bins[b];
        if (seen < want) continue;
        double s = 1e-9 * exp((b + 0.5) / SW_ITL_BINS * log(1e15));
        return s < l->min_s ? l->min_s : s > l->max_s ? l->max_s : s;
    }
    return l->max_s;
}

void sw_account_settle(sw_account *a) {
    if (a->best_end_s > a->best.end_s) a->best = a->ring[a->best_id & a->mask];
}

void sw_account_finish(sw_account *a) {
    sw_result *r = a->out;
    sw_account_settle(a);
    while (a->step_at < a->steps.n) finish_step(a);
    r->makespan_s = a->best.end_s;
    r->n_ops = a->n_ops;
    memcpy(r->path_s, a->best.all, sizeof r->path_s);
    memcpy(r->path_decode_s, a->best.decode, sizeof r->path_decode_s);
    r->tokens_per_s = r->decode_s > 0 ? r->tokens_per_s / r->decode_s : 0;
    r->prefill_tokens_per_s = r->prefill_s > 0 ? (double)r->prompt_tokens / r->prefill_s : 0;
    if (r->itl.n) {
        r->itl.p50_s = percentile(a, 0.5);
        r->itl.p90_s = percentile(a, 0.9);
        r->itl.p99_s = percentile(a, 0.99);
    }
    for (int i = 0; i < a->topo->n_res; i++)
        r->res[i].busy_s = r->res[i].amount / a->topo->res[i].rate;
    int top = 0;
    for (int q = 1; q < a->topo->n_queues; q++)
        if (r->queue_busy_s[q] > r->queue_busy_s[top]) top = q;
    snprintf(r->path_top, sizeof r->path_top, "%s", a->topo->queues[top].name);
}
