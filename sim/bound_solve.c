/* The arithmetic of the bound (see bound_solve.h and docs/bound.md).
 *
 * A group's time against the bytes that the CPU spares the link is a convex chain of segments: flat
 * up to what the best balance of GPU and CPU spares anyway, then CPU seconds for a spared byte, the
 * cheapest item first. Their sum is therefore had by sorting all segments, and the step's least
 * time lies where that sum meets the falling line of the link. */
#include "sim/bound_solve.h"
#include <math.h>

static double path_Bps(const sw_topology *t, int path) {
    double least = INFINITY;
    for (int i = 0; i < t->paths[path].n; i++) {
        int times = 0;
        for (int k = 0; k < t->paths[path].n; k++)
            times += t->paths[path].res[k] == t->paths[path].res[i];
        least = fmin(least, t->res[t->paths[path].res[i]].rate / times);
    }
    return least;
}

static bool names(const sw_topology *t, int path, int res) {
    for (int i = 0; i < t->paths[path].n; i++)
        if (t->paths[path].res[i] == res) return true;
    return false;
}

static bool is_near(const sw_topology *t, int tier) {
    return t->tiers[tier].kind == SW_TIER_VRAM;
}
static bool is_host(const sw_topology *t, int tier) {
    return t->tiers[tier].kind == SW_TIER_RAM || t->tiers[tier].kind == SW_TIER_UNIFIED;
}

/* What a unit reads from a tier with kernels of a class. Over a link the kernel's own efficiency is
 * not trusted to be the limit. */
static double port_Bps(const sw_topology *t, int unit, int tier, int cls) {
    const sw_port *port = &t->ports[unit][tier];
    if (port->read_path < 0) return 0;
    double eff = t->units[unit].eff[cls].memory;
    if (t->units[unit].tier != tier) eff = fmax(eff, 1);
    return fmin(eff * port->read_Bps, path_Bps(t, port->read_path));
}

/* What can flow into a VRAM tier from outside the VRAM tiers: the least resource that every way in
 * shares, and no more than all copy engines and in-place reads together. */
static double ingress(const sw_topology *t, int tier, int16_t *link) {
    double engine[SW_QUEUES_MAX] = {0}, sum = 0, least = INFINITY;
    bool common[SW_RES_MAX];
    for (int k = 0; k < t->n_res; k++) common[k] = true;
    int ways = 0;
    for (int r = 0; r < t->n_routes; r++) {
        const sw_route *route = &t->routes[r];
        if (route->dst != tier || is_near(t, route->src)) continue;
        ways++;
        engine[route->queue] =
            fmax(engine[route->queue], fmin(route->cap_Bps, path_Bps(t, route->path)));
        for (int k = 0; k < t->n_res; k++) common[k] = common[k] && names(t, route->path, k);
    }
    for (int u = 0; u < t->n_units; u++) {
        if (t->units[u].tier != tier) continue;
        for (int j = 0; j < t->n_tiers; j++) {
            const sw_port *port = &t->ports[u][j];
            if (is_near(t, j) || port->read_path < 0) continue;
            ways++;
            double most = 0;
            for (int c = 0; c < SW_CLASS_COUNT; c++) most = fmax(most, port_Bps(t, u, j, c));
            sum += most;
            for (int k = 0; k < t->n_res; k++)
                common[k] = common[k] && names(t, port->read_path, k);
        }
    }
    for (int q = 0; q < t->n_queues; q++) sum += engine[q];
    if (!ways) return 0;
    for (int k = 0; k < t->n_res; k++) {
        if (!common[k] || t->res[k].rate >= least) continue;
        least = t->res[k].rate;
        if (t->res[k].kind == SW_RES_LINK) *link = (int16_t)k;
    }
    return fmin(sum, least);
}

static void init_classes(sw_bound_machine *m, double near_Bps) {
    const sw_topology *t = m->topo;
    for (int c = 0; c < SW_CLASS_COUNT; c++) {
        double from_near = 0, from_host = 0;
        for (int u = 0; u < t->n_units; u++)
            for (int j = 0; j < t->n_tiers; j++) {
                double rate = port_Bps(t, u, j, c);
                m->unit_Bps[u][c] += rate;
                if (is_near(t, j))
                    from_near += rate;
                else
                    from_host += rate;
            }
        double host_Bps = m->host_Bps > 0 ? m->host_Bps : INFINITY;
        m->reach_Bps[c] = fmin(from_near, near_Bps) + fmin(from_host, host_Bps);
    }
}

void sw_bound_machine_init(sw_bound_machine *m, const sw_topology *topo) {
    const sw_topology *t = topo;
    *m = (sw_bound_machine){
        .topo = topo, .near_res = -1, .host_res = -1, .nvme_res = -1, .link_res = -1};
    double near_Bps = 0;
    for (int i = 0; i < t->n_tiers; i++) {
        const sw_tier *tier = &t->tiers[i];
        double rate = t->res[tier->res].rate;
        m->ingress_res[i] = -1;
        if (is_near(t, i)) {
            m->near_bytes += (double)tier->capacity_bytes;
            near_Bps += rate;
            if (m->near_res < 0) m->near_res = tier->res;
            int16_t link = -1;
            m->ingress_Bps[i] = ingress(t, i, &link);
            m->ingress_res[i] = link;
            m->link_Bps += m->ingress_Bps[i];
            if (m->link_res < 0) m->link_res = link;
        } else if (is_host(t, i)) {
            m->host_bytes += (double)tier->capacity_bytes;
            m->host_Bps += rate;
            if (m->host_res < 0) m->host_res = tier->res;
        } else {
            m->nvme_Bps += rate;
            if (m->nvme_res < 0) m->nvme_res = tier->res;
        }
    }
    if (m->link_res < 0) m->link_res = m->host_res;
    for (int r = 0; r < t->n_routes; r++) {
        const sw_route *route = &t->routes[r];
        bool past = false;
        for (int i = 0; i < t->n_tiers; i++)
            past = past || (is_host(t, i) && names(t, route->path, t->tiers[i].res));
        if (t->tiers[route->src].kind == SW_TIER_NVME && is_near(t, route->dst) && !past)
            m->around = true;
    }
    init_classes(m, near_Bps);
}

void sw_bound_price(const sw_bound_machine *m, sw_bound_item *item) {
    const sw_topology *t = m->topo;
    double speed[2] = {0, 0}, best = 0; /* whole items a second: GPUs, CPUs */
    bool work = item->read_bytes > 0 || item->flops > 0;
    item->res = m->near_res >= 0 ? m->near_res : m->host_res;
    for (int u = 0; work && u < t->n_units; u++) {
        const sw_unit *unit = &t->units[u];
        double bytes =
            item->read_bytes > 0 ? m->unit_Bps[u][item->cls] / item->read_bytes : INFINITY;
        double flops = item->flops > 0
                           ? unit->peak[item->math] * unit->eff[item->cls].compute / item->flops
                           : INFINITY;
        double both = fmin(bytes, flops);
        speed[unit->kind == SW_UNIT_CPU] += both;
        if (both > best) {
            best = both;
            item->res = flops < bytes ? unit->res : t->tiers[unit->tier].res;
        }
    }
    item->gpu_s = !work ? 0 : speed[0] > 0 ? 1 / speed[0] : INFINITY;
    item->cpu_s = !work ? 0 : speed[1] > 0 ? 1 / speed[1] : INFINITY;
    item->share = 0;
}

/* --- one step -------------------------------------------------------------------------------- */

static double ratio(const sw_bound_item *x) {
    return isinf(x->cpu_s) ? INFINITY : isinf(x->gpu_s) ? 0 : x->cpu_s / x->gpu_s;
}
static double price(const sw_bound_item *x) {
    return x->spared_bytes > 0 ? x->cpu_s / x->spared_bytes : INFINITY;
}
static int compare(double x, double y) {
    return x < y ? -1 : x > y;
}
static int by_ratio(const void *a, const void *b) {
    return compare(ratio(a), ratio(b));
}
static int by_price(const void *a, const void *b) {
    return compare(price(a), price(b));
}

/* The least time of items that may run side by side: the CPU takes those that it is relatively
 * best at until both ends meet. Sorts the items by ratio and sets their shares. */
static double balance(const sw_bound_machine *m, sw_bound_item *v, size_t n) {
    qsort(v, n, sizeof *v, by_ratio);
    double gpu = 0, cpu = 0, bytes = 0, reach = 0;
    for (size_t i = 0; i < n; i++) {
        bool moved = isinf(v[i].gpu_s);
        v[i].share = moved && v[i].cpu_s > 0;
        if (moved && isinf(v[i].cpu_s)) continue; /* nobody can do it: not for the bound to say */
        if (moved)
            cpu += v[i].cpu_s;
        else
            gpu += v[i].gpu_s;
        bytes += v[i].read_bytes;
        reach = fmax(reach, m->reach_Bps[v[i].cls]);
    }
    for (size_t i = 0; i < n && cpu < gpu; i++) {
        if (isinf(v[i].gpu_s) || isinf(v[i].cpu_s) || !(v[i].gpu_s > 0)) continue;
        v[i].share = fmin(1, (gpu - cpu) / (v[i].gpu_s + v[i].cpu_s));
        gpu -= v[i].gpu_s * v[i].share;
        cpu += v[i].cpu_s * v[i].share;
    }
    double floor_s = reach > 0 ? bytes / reach : 0;
    return fmax(fmax(gpu, cpu), floor_s);
}

typedef struct segment {
    double slope, bytes; /* CPU seconds a spared byte; spared bytes */
    sw_bound_item *item;
} segment;

static int by_slope(const void *a, const void *b) {
    return compare(((const segment *)a)->slope, ((const segment *)b)->slope);
}

/* Splits the group's items, cheapest first, into what time_s of CPU spares for nothing (returned)
 * and segments. */
static double cut(sw_bound_item *v, size_t n, double time_s, segment *seg, size_t *n_seg) {
    double freely = 0, left = time_s;
    qsort(v, n, sizeof *v, by_price);
    for (size_t i = 0; i < n && isfinite(price(&v[i])); i++) {
        double part = v[i].cpu_s > left ? left / v[i].cpu_s : 1;
        left -= part * v[i].cpu_s;
        freely += part * v[i].spared_bytes;
        v[i].share = fmax(v[i].share, part);
        if (part < 1)
            seg[(*n_seg)++] = (segment){price(&v[i]), (1 - part) * v[i].spared_bytes, &v[i]};
    }
    return freely;
}

/* From chain_s seconds with `must` bytes to go over the link: lets the CPU spare bytes while that
 * shortens the step. */
static double trade(const sw_bound_machine *m, segment *seg, size_t n, double chain_s,
                    double *must) {
    qsort(seg, n, sizeof *seg, by_slope);
    for (size_t i = 0; i<n && * must> m->link_Bps * chain_s; i++) {
        /* chain + slope * x = (must - x) / link */
        double x = (*must - m->link_Bps * chain_s) / (1 + seg[i].slope * m->link_Bps);
        x = fmin(x, fmin(seg[i].bytes, *must));
        chain_s += seg[i].slope * x;
        *must -= x;
        seg[i].item->share += x / seg[i].item->spared_bytes;
    }
    return m->link_Bps > 0 ? fmax(chain_s, *must / m->link_Bps) : chain_s;
}

static void at_least(sw_bound_step *s, double time_s, int16_t res) {
    if (!(time_s > s->time_s)) return;
    s->time_s = time_s;
    if (res >= 0) s->limit = res;
}

bool sw_bound_solve(const sw_bound_machine *m, sw_bound_item *items, size_t n, double distinct,
                    sw_bound_step *out) {
    segment *seg = malloc((n ? n : 1) * sizeof *seg);
    sw_bound_item *all = malloc((n ? n : 1) * sizeof *all);
    if (!seg || !all) {
        free(seg);
        free(all);
        return false;
    }
    double by_res[SW_RES_MAX] = {0}, chain_s = 0, freely = 0;
    size_t n_seg = 0, side = n;
    bool has_near = m->near_res >= 0;
    memcpy(all, items, n * sizeof *all);
    for (size_t lo = 0, hi; lo < n; lo = hi) {
        for (hi = lo; hi < n && items[hi].group == items[lo].group; hi++)
            ;
        if (items[lo].group == SW_BOUND_SIDE) {
            side = lo;
            break;
        }
        double time_s = balance(m, items + lo, hi - lo), most = -1;
        int16_t res = -1;
        for (size_t i = lo; i < hi; i++) {
            double alone = fmin(items[i].gpu_s, items[i].cpu_s);
            if (alone > most && isfinite(alone)) most = alone, res = items[i].res;
        }
        if (res >= 0) by_res[res] += time_s;
        chain_s += time_s;
        freely += cut(items + lo, hi - lo, time_s, seg, &n_seg);
    }
    *out = (sw_bound_step){.limit = has_near ? m->near_res : m->host_res};
    double most = 0;
    for (int k = 0; k < SW_RES_MAX; k++)
        if (by_res[k] > most) most = by_res[k], out->limit = (int16_t)k;
    out->time_s = chain_s;
    double over = has_near ? fmax(0, distinct - m->near_bytes) : 0;
    double below = fmax(0, distinct - m->near_bytes - m->host_bytes), must = fmax(0, over - freely);
    double with_link = trade(m, seg, n_seg, chain_s, &must);
    /* A hair of tolerance, so that a tie is named after the chain. */
    if (with_link > chain_s * (1 + 1e-12)) at_least(out, with_link, m->link_res);
    if (m->host_Bps > 0) /* what leaves the host's memory and what must come into it from disk */
        at_least(out,
                 (m->around || !has_near ? over : over + below) /
                     (m->host_Bps + (m->around ? m->nvme_Bps : 0)),
                 m->host_res);
    if (m->nvme_Bps > 0) at_least(out, below / m->nvme_Bps, m->nvme_res);
    if (side < n) at_least(out, balance(m, all, n), -1);
    double read = 0, cpu = 0;
    for (size_t i = 0; i < n; i++) {
        read += items[i].read_bytes;
        cpu += items[i].read_bytes * fmin(1, items[i].share);
    }
    out->link_bytes = must;
    out->nvme_bytes = below;
    out->near_bytes = has_near ? read - cpu + must : 0;
    out->host_bytes = (has_near ? cpu + must : read) + below;
    free(seg);
    free(all);
    return true;
}

void sw_bound_spread(const sw_bound_machine *m, const sw_bound_step *s, double *res_bytes) {
    const sw_topology *t = m->topo;
    double total[4] = {0};
    for (int i = 0; i < t->n_tiers; i++) total[t->tiers[i].kind] += t->res[t->tiers[i].res].rate;
    double host = total[SW_TIER_RAM] + total[SW_TIER_UNIFIED];
    for (int i = 0; i < t->n_tiers; i++) {
        const sw_tier *tier = &t->tiers[i];
        double rate = t->res[tier->res].rate;
        if (tier->kind == SW_TIER_NVME)
            res_bytes[tier->res] += s->nvme_bytes * rate / total[SW_TIER_NVME];
        else if (tier->kind == SW_TIER_VRAM)
            res_bytes[tier->res] += s->near_bytes * rate / total[SW_TIER_VRAM];
        else
            res_bytes[tier->res] += s->host_bytes * rate / host;
        int16_t link = m->ingress_res[i];
        if (link >= 0) res_bytes[link] += s->link_bytes * m->ingress_Bps[i] / m->link_Bps;
    }
}
