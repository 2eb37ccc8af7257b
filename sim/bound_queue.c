/* The bound that needs no chain (see bound_queue.h).
 *
 * For shares s of the CPU: T >= sum over steps of max(GPU time, bytes over the link, bytes from
 * disk), and T >= sum over steps of CPU time. For a weight lambda in [0, 1], T is at least (1 -
 * lambda) times the one plus lambda times the other; for weights mu that sum to 1 each maximum is
 * at least the mean of its three terms. Then every op is on its own, and its cheaper side counts: a
 * bound for any lambda and mu, of which a grid is tried. */
#include "sim/bound_queue.h"
#include <math.h>

/* Weights of GPU time, link and disk: corners, and points on the edges. */
static void weights(int k, double mu[3]) {
    double part = (k % 8 + 1) / 9.0;
    mu[0] = mu[1] = mu[2] = 0;
    if (k == 16) {
        mu[0] = 1;
    } else {
        mu[0] = 1 - part;
        mu[k < 8 ? 1 : 2] = part;
    }
    if (k % 8 == 7 && k < 16) mu[0] = 0, mu[k < 8 ? 1 : 2] = 1;
}

/* Close to 0, where a slow CPU puts the best one. */
static double lambda_of(int l) {
    return l ? pow(2, -0.75 * (SW_BOUND_LAMBDAS - 1 - l)) : 0;
}

static int count_units(const sw_topology *t, sw_unit_kind kind) {
    int n = 0;
    for (int u = 0; u < t->n_units; u++) n += t->units[u].kind == kind;
    return n;
}

void sw_bound_queue_init(sw_bound_queue *q, const sw_bound_machine *m) {
    *q = (sw_bound_queue){.m = m};
    int gpus = count_units(m->topo, SW_UNIT_GPU);
    if (gpus > 1) return; /* each has its own time: only their arithmetic adds up */
    if (gpus && m->near_res >= 0) q->near_Bps = m->link_Bps;
    q->far_Bps = m->nvme_Bps;
}

/* Ops alike count once, times their number: layers repeat. */
typedef struct alike {
    double here, there, spared; /* seconds on either side, bytes spared by the far side */
    double n;
} alike;

enum { KINDS = 32, LOOK_BACK = 8 };

/* Adds the cheaper side of each kind under every pair of weights. The grid is the inner loop: no
 * calls, no branches. */
static void price(const sw_bound_queue *q, const double *lambdas, const alike *kinds, int n,
                  double heap[SW_BOUND_LAMBDAS][SW_BOUND_WEIGHTS]) {
    double link_s = q->near_Bps > 0 ? 1 / q->near_Bps : 0,
           disk_s = q->far_Bps > 0 ? 1 / q->far_Bps : 0;
    double mu_here[SW_BOUND_WEIGHTS], mu_spare[SW_BOUND_WEIGHTS];
    for (int k = 0; k < SW_BOUND_WEIGHTS; k++) {
        double mu[3];
        weights(k, mu);
        mu_here[k] = mu[0];
        mu_spare[k] = mu[1] * link_s + mu[2] * disk_s;
    }
    for (int i = 0; i < n; i++) {
        const alike *x = &kinds[i];
        bool no_here = isinf(x->here), no_there = isinf(x->there);
        for (int l = 0; l < SW_BOUND_LAMBDAS; l++) {
            double stay = (1 - lambdas[l]) * (no_here ? 0 : x->here),
                   save = (1 - lambdas[l]) * x->spared, go = lambdas[l] * (no_there ? 0 : x->there);
            for (int k = 0; k < SW_BOUND_WEIGHTS; k++) {
                double here = stay * mu_here[k], there = go - save * mu_spare[k];
                bool take_here = no_there || (!no_here && here < there);
                heap[l][k] += x->n * (take_here ? here : there);
            }
        }
    }
}

void sw_bound_queue_step(sw_bound_queue *q, const sw_bound_item *items, size_t n, double distinct,
                         int phase) {
    const sw_bound_machine *m = q->m;
    double over = fmax(0, distinct - m->near_bytes), below = fmax(0, over - m->host_bytes);
    double link_s = q->near_Bps > 0 ? 1 / q->near_Bps : 0,
           disk_s = q->far_Bps > 0 ? 1 / q->far_Bps : 0;
    double heap[SW_BOUND_LAMBDAS][SW_BOUND_WEIGHTS] = {{0}}, most = -1;
    bool gpu = count_units(m->topo, SW_UNIT_GPU) > 0;
    int16_t busiest = -1;
    double lambdas[SW_BOUND_LAMBDAS];
    alike kinds[KINDS];
    int n_kinds = 0;
    for (int l = 0; l < SW_BOUND_LAMBDAS; l++) lambdas[l] = lambda_of(l);
    for (size_t i = 0; i < n; i++) {
        /* on a machine without a GPU the CPU's queue is the one */
        double a = gpu ? items[i].gpu_s : items[i].cpu_s, b = gpu ? items[i].cpu_s : INFINITY;
        double alone = a < b ? a : b, e = items[i].spared_bytes;
        if (isinf(alone)) continue;
        if (alone > most) most = alone, busiest = items[i].res;
        q->all_bytes += items[i].read_bytes;
        if (m->reach_Bps[items[i].cls] > q->reach_Bps) q->reach_Bps = m->reach_Bps[items[i].cls];
        int at = n_kinds - 1, stop = n_kinds > LOOK_BACK ? n_kinds - LOOK_BACK : 0;
        while (at >= stop && (kinds[at].here != a || kinds[at].there != b || kinds[at].spared != e))
            at--;
        if (at >= stop) {
            kinds[at].n++;
            continue;
        }
        if (n_kinds == KINDS) price(q, lambdas, kinds, n_kinds, heap), n_kinds = 0;
        kinds[n_kinds++] = (alike){a, b, e, 1};
    }
    price(q, lambdas, kinds, n_kinds, heap);
    for (int l = 0; l < SW_BOUND_LAMBDAS; l++) {
        double lambda = lambdas[l], best = 0;
        int16_t limit = busiest;
        for (int k = 0; k < SW_BOUND_WEIGHTS; k++) {
            double mu[3];
            weights(k, mu);
            double t = heap[l][k] + (1 - lambda) * (mu[1] * over * link_s + mu[2] * below * disk_s);
            if (!(t > best)) continue;
            best = t;
            limit = mu[1] > 0.5 ? m->link_res : mu[2] > 0.5 ? m->nvme_res : busiest;
        }
        q->sum[l][phase] += best;
        if (limit >= 0) q->limit_s[l][limit] += best;
    }
}

double sw_bound_queue_total(const sw_bound_queue *q, double phase_s[SW_BOUND_PHASES], int *limit) {
    double best = -1;
    int at = 0;
    for (int l = 0; l < SW_BOUND_LAMBDAS; l++) {
        double t = 0;
        for (int p = 0; p < SW_BOUND_PHASES; p++) t += q->sum[l][p];
        if (t > best) best = t, at = l;
    }
    double scale = 1, all = q->reach_Bps > 0 ? q->all_bytes / q->reach_Bps : 0;
    if (all > best && best > 0) scale = all / best;
    for (int p = 0; p < SW_BOUND_PHASES; p++) phase_s[p] = q->sum[at][p] * scale;
    *limit = -1;
    for (int r = 0; r < SW_RES_MAX; r++)
        if (q->limit_s[at][r] > 0 && (*limit < 0 || q->limit_s[at][r] > q->limit_s[at][*limit]))
            *limit = r;
    return fmax(best, all);
}
