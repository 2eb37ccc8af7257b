/* Ops: names, and the closed form of what one op takes alone (see op.h). */
#include "sim/op.h"
#include <math.h>

const char *sw_cat_key(sw_cat c) {
    static const char *const keys[] = {
#define X(name, key, text) key,
        SW_CAT_LIST(X)
#undef X
    };
    return keys[c];
}

const char *sw_cat_text(sw_cat c) {
    static const char *const texts[] = {
#define X(name, key, text) text,
        SW_CAT_LIST(X)
#undef X
    };
    return texts[c];
}

const char *sw_op_kind_name(sw_op_kind k) {
    static const char *const names[] = {"copy", "compute", "host", "join", "delay", "collective"};
    return names[k];
}

/* Progressive filling: raise all rates together; whoever meets its cap or a full resource stops
 * there. */
void sw_fair_share(const sw_topology *topo, const sw_flow *flows, uint32_t n, double *rate) {
    double left[SW_RES_MAX];
    bool fixed[64] = {false};
    for (int r = 0; r < topo->n_res; r++) left[r] = topo->res[r].rate;
    for (uint32_t i = 0; i < n; i++) rate[i] = 0;
    for (uint32_t open = n; open > 0;) {
        double weight[SW_RES_MAX] = {0}, step = INFINITY;
        for (uint32_t i = 0; i < n; i++) {
            if (fixed[i]) continue;
            const sw_path *p = &topo->paths[flows[i].path];
            for (int k = 0; k < p->n; k++) weight[p->res[k]] += 1;
            step = fmin(step, flows[i].cap - rate[i]);
        }
        for (int r = 0; r < topo->n_res; r++)
            if (weight[r] > 0) step = fmin(step, left[r] / weight[r]);
        if (step < 0) step = 0;
        for (uint32_t i = 0; i < n; i++)
            if (!fixed[i]) rate[i] += step;
        for (int r = 0; r < topo->n_res; r++) left[r] -= weight[r] * step;
        uint32_t before = open;
        for (uint32_t i = 0; i < n; i++) {
            if (fixed[i]) continue;
            const sw_path *p = &topo->paths[flows[i].path];
            bool stop = rate[i] >= flows[i].cap * (1 - 1e-12);
            for (int k = 0; k < p->n && !stop; k++)
                stop = left[p->res[k]] <= 1e-12 * topo->res[p->res[k]].rate;
            if (stop) fixed[i] = true, open--;
        }
        if (open == before) return; /* cannot be: a step always meets a limit */
    }
}

static double alone(const sw_topology *topo, const sw_flow *f) {
    const sw_path *p = &topo->paths[f->path];
    double rate = f->cap;
    for (int i = 0; i < p->n; i++) {
        int times = 0;
        for (int k = 0; k < p->n; k++) times += p->res[k] == p->res[i];
        rate = fmin(rate, topo->res[p->res[i]].rate / times);
    }
    return f->amount / rate;
}

static bool disjoint(const sw_topology *topo, const sw_flow *flows, uint32_t n) {
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t j = 0; j < i; j++) {
            const sw_path *a = &topo->paths[flows[i].path], *b = &topo->paths[flows[j].path];
            for (int x = 0; x < a->n; x++)
                for (int y = 0; y < b->n; y++)
                    if (a->res[x] == b->res[y]) return false;
        }
    return true;
}

/* Seconds of flows that start at once. */
static double together(const sw_topology *topo, const sw_flow *flows, uint32_t n) {
    double t = 0;
    if (n < 2 || disjoint(topo, flows, n)) {
        for (uint32_t i = 0; i < n; i++) t = fmax(t, alone(topo, &flows[i]));
        return t;
    }
    sw_flow left[SW_FLOWS_MAX];
    for (uint32_t i = 0; i < n; i++) left[i] = flows[i];
    while (n) { /* to the next completion, at the rates of those that are left */
        double rate[SW_FLOWS_MAX], dt = INFINITY;
        sw_fair_share(topo, left, n, rate);
        for (uint32_t i = 0; i < n; i++) dt = fmin(dt, left[i].amount / rate[i]);
        t += dt;
        uint32_t kept = 0;
        for (uint32_t i = 0; i < n; i++) {
            double rest = left[i].amount - rate[i] * dt;
            if (rest > left[i].amount * 1e-12 && left[i].amount / rate[i] > dt * (1 + 1e-12)) {
                left[kept] = left[i];
                left[kept++].amount = rest;
            }
        }
        n = kept;
    }
    return t;
}

uint32_t sw_op_stage(const sw_op *op, uint32_t from) {
    return from < op->second ? op->second : op->n_flows;
}

double sw_op_solo_s(const sw_topology *topo, const sw_op *op) {
    double t = op->fixed_s;
    for (uint32_t at = 0, end; at < op->n_flows; at = end) {
        end = sw_op_stage(op, at);
        t += together(topo, op->flows + at, end - at);
    }
    return t;
}
