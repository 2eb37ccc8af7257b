/* Flows of copies and kernels (see cost.h). */
#include "sim/cost.h"
#include "sim/base/error.h"
#include <math.h>

static sw_cat copy_cat(const sw_topology *t, int src, int dst) {
    if (t->tiers[src].kind == SW_TIER_NVME) return SW_CAT_NVME_READ;
    if (t->tiers[dst].kind == SW_TIER_NVME) return SW_CAT_NVME_WRITE;
    bool from_fast = t->tiers[src].kind != SW_TIER_RAM, to_fast = t->tiers[dst].kind != SW_TIER_RAM;
    if (from_fast == to_fast) return SW_CAT_PEER;
    return to_fast ? SW_CAT_H2D : SW_CAT_D2H;
}

static double one_core(const sw_unit *cpu) {
    return SW_UNIT_RATE / cpu->cores;
}

void sw_cost_copy(const sw_topology *t, const sw_route *route, uint64_t bytes, sw_op *op) {
    op->cat = (uint8_t)copy_cat(t, route->src, route->dst);
    op->fixed_s = route->latency_s;
    double traffic = route->traffic > 0 ? route->traffic : 1;
    op->flows[op->n_flows++] =
        (sw_flow){route->path, (double)bytes * traffic, route->cap_Bps * traffic};
    for (int i = 0; i < 2; i++) {
        int path = t->tiers[i ? route->dst : route->src].time_path;
        if (path >= 0)
            op->flows[op->n_flows++] = (sw_flow){
                (int16_t)path, (double)bytes / route->cap_Bps * SW_UNIT_RATE, SW_UNIT_RATE};
    }
    if (route->driver < 0) return;
    const sw_unit *cpu = &t->units[route->driver];
    double core_Bps = route->core_Bps > 0 ? route->core_Bps : cpu->core_Bps;
    op->flows[op->n_flows++] =
        (sw_flow){cpu->path, (double)bytes / core_Bps * one_core(cpu), one_core(cpu)};
    op->unit = route->driver;
}

double sw_cost_route_Bps(const sw_topology *t, const sw_route *r) {
    const sw_path *path = &t->paths[r->path];
    double rate = r->cap_Bps, traffic = r->traffic > 0 ? r->traffic : 1;
    for (int i = 0; i < path->n; i++) {
        int times = 0;
        for (int k = 0; k < path->n; k++) times += path->res[k] == path->res[i];
        double here = t->res[path->res[i]].rate / times / traffic;
        if (here < rate) rate = here;
    }
    if (r->driver < 0) return rate;
    double core = r->core_Bps > 0 ? r->core_Bps : t->units[r->driver].core_Bps;
    return core < rate ? core : rate;
}

double sw_disk_Bps(const sw_disk_curve *c, double block, double depth) {
    double x = depth * block / (c->latency_s + block / c->stream_Bps);
    double cap = c->iops > 0 && c->iops * block < c->max_Bps ? c->iops * block : c->max_Bps;
    double r = x / cap;
    return cap * r / pow(1 + pow(r, c->sharpness), 1 / c->sharpness);
}

static double path_rate(const sw_topology *t, const sw_flow *f) {
    double rate = f->cap;
    const sw_path *p = &t->paths[f->path];
    for (int i = 0; i < p->n; i++)
        if (t->res[p->res[i]].rate < rate) rate = t->res[p->res[i]].rate;
    return rate;
}

typedef struct flows { /* an op's, with what each stands for */
    sw_op *op;
    sw_cat cat[SW_FLOWS_MAX];
} flows;

static void add(flows *f, sw_cat cat, int path, double amount, double cap) {
    if (amount <= 0) return;
    if (f->op->n_flows < SW_FLOWS_MAX) {
        f->cat[f->op->n_flows] = cat;
        f->op->flows[f->op->n_flows] = (sw_flow){(int16_t)path, amount, cap};
    }
    f->op->n_flows++; /* past the limit: told at the end */
}

sw_status sw_cost_kernel(const sw_topology *t, double device_s, const double *read,
                         const double *write, sw_op *op, sw_error *err) {
    const sw_unit *u = &t->units[op->unit];
    const sw_efficiency *e = &u->eff[op->work.cls];
    bool gpu = u->kind == SW_UNIT_GPU;
    flows f = {.op = op};
    sw_cat arithmetic = gpu ? SW_CAT_GPU_COMPUTE : SW_CAT_CPU_COMPUTE;
    double math_s = op->work.flops / (u->peak[op->work.math] * e->compute), memory_s = 0;
    op->fixed_s = op->work.launches * (e->fixed_s + (gpu ? device_s : 0));
    if (u->core_of < 0) add(&f, arithmetic, u->path, math_s * SW_UNIT_RATE, SW_UNIT_RATE);
    for (int tier = 0; tier < t->n_tiers; tier++) {
        if (read[tier] <= 0 && write[tier] <= 0) continue;
        const sw_port *port = &t->ports[op->unit][tier];
        sw_cat c =
            tier == u->tier ? (gpu ? SW_CAT_GPU_MEMORY : SW_CAT_CPU_MEMORY) : SW_CAT_IN_PLACE;
        double in = port->read_Bps * e->memory, out = port->write_Bps * e->memory;
        if (port->read_path == port->write_path) {
            add(&f, c, port->read_path, read[tier] + write[tier], in);
        } else {
            add(&f, c, port->read_path, read[tier], in);
            add(&f, c, port->write_path, write[tier], out);
        }
        if (read[tier] > 0) memory_s += read[tier] / in;
        if (write[tier] > 0) memory_s += write[tier] / out;
    }
    if (u->core_of >= 0) { /* one thread: it reads and writes, then computes */
        const sw_unit *cpu = &t->units[u->core_of];
        add(&f, f.cat[0], cpu->path, memory_s * one_core(cpu), one_core(cpu));
        if (memory_s > 0 && math_s > 0) op->second = op->n_flows;
        add(&f, arithmetic, cpu->path, math_s * one_core(cpu), one_core(cpu));
    }
    if (op->n_flows > SW_FLOWS_MAX)
        return sw_fail(err, SW_RUN, "op %llu (%s) asks for %d flows; %d are possible",
                       (unsigned long long)op->id, op->name ? op->name : "?", op->n_flows,
                       SW_FLOWS_MAX);
    double slowest = -1;
    op->cat = (uint8_t)arithmetic;
    for (int i = 0; i < op->n_flows; i++) {
        double s = op->flows[i].amount / path_rate(t, &op->flows[i]);
        if (s > slowest) slowest = s, op->cat = (uint8_t)f.cat[i];
    }
    return SW_OK;
}
