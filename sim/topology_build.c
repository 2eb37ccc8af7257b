/* The pieces of a topology (sim/topology_build.h) and the small machine of the tests. */
#include "sim/topology_build.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

void sw_topo_init(sw_topology *t, const char *name) {
    memset(t, 0, sizeof *t);
    snprintf(t->name, sizeof t->name, "%s", name);
    for (int u = 0; u < SW_UNITS_MAX; u++)
        for (int i = 0; i < SW_TIERS_MAX; i++) t->ports[u][i] = (sw_port){-1, -1, 0, 0};
    memset(t->route_of, 0xff, sizeof t->route_of);
    sw_topo_queue(t, "host", SW_QUEUE_HOST, -1);
}

int16_t sw_topo_res(sw_topology *t, const char *name, sw_res_kind kind, double rate) {
    assert(t->n_res < SW_RES_MAX);
    sw_resource *r = &t->res[t->n_res];
    snprintf(r->name, sizeof r->name, "%s", name);
    r->kind = kind;
    r->rate = rate;
    return (int16_t)t->n_res++;
}

int16_t sw_topo_queue(sw_topology *t, const char *name, sw_queue_kind kind, int16_t unit) {
    assert(t->n_queues < SW_QUEUES_MAX);
    sw_queue *q = &t->queues[t->n_queues];
    snprintf(q->name, sizeof q->name, "%s", name);
    q->kind = kind;
    q->unit = unit;
    return (int16_t)t->n_queues++;
}

int16_t sw_topo_unit(sw_topology *t, const char *name, sw_unit_kind kind) {
    assert(t->n_units < SW_UNITS_MAX);
    sw_unit *u = &t->units[t->n_units];
    snprintf(u->name, sizeof u->name, "%s", name);
    u->kind = kind;
    u->cores = 1;
    u->tier = u->core_of = -1;
    for (int c = 0; c < SW_CLASS_COUNT; c++) u->eff[c] = (sw_efficiency){1, 1, 0};
    u->res = sw_topo_res(t, name, SW_RES_UNIT, SW_UNIT_RATE);
    u->path = SW_TOPO_PATH(t, u->res);
    char queue[sizeof t->queues[0].name];
    snprintf(queue, sizeof queue, "%.20s.compute", u->name);
    u->queue = sw_topo_queue(t, queue, SW_QUEUE_COMPUTE, (int16_t)t->n_units);
    return (int16_t)t->n_units++;
}

int16_t sw_topo_tier(sw_topology *t, const char *name, sw_tier_kind kind, uint64_t capacity_bytes,
                     double nominal_Bps, int16_t res, int16_t write_res) {
    assert(t->n_tiers < SW_TIERS_MAX);
    sw_tier *tier = &t->tiers[t->n_tiers];
    snprintf(tier->name, sizeof tier->name, "%s", name);
    tier->kind = kind;
    tier->capacity_bytes = tier->nominal_bytes = capacity_bytes;
    tier->nominal_Bps = nominal_Bps;
    tier->res = res;
    tier->write_res = write_res;
    tier->unit = -1;
    tier->time_path = -1;
    return (int16_t)t->n_tiers++;
}

int16_t sw_topo_path(sw_topology *t, const int16_t *res, int n) {
    sw_path path = {0};
    for (int i = 0; i < n; i++) {
        if (res[i] < 0) continue;
        assert(path.n < SW_PATH_LEN);
        path.res[path.n++] = res[i];
    }
    for (int i = 0; i < t->n_paths; i++)
        if (!memcmp(&t->paths[i], &path, sizeof path)) return (int16_t)i;
    assert(t->n_paths < SW_PATHS_MAX);
    t->paths[t->n_paths] = path;
    return (int16_t)t->n_paths++;
}

int16_t sw_topo_route(sw_topology *t, sw_route route) {
    int16_t *at = &t->route_of[route.src][route.dst][route.pageable];
    if (*at < 0) {
        assert(t->n_routes < SW_ROUTES_MAX);
        *at = (int16_t)t->n_routes++;
    }
    t->routes[*at] = route;
    return *at;
}

/* Both variants of a copy, pinned and pageable, alike. */
static void both_routes(sw_topology *t, sw_route route, int16_t cpu) {
    sw_topo_route(t, route);
    route.pageable = true;
    route.driver = cpu;
    sw_topo_route(t, route);
}

void sw_topology_simple(sw_topology *out, double vram_Bps, uint64_t vram_bytes, double link_Bps,
                        double ram_Bps, uint64_t ram_bytes, double nvme_Bps, double gpu_flops,
                        double cpu_flops) {
    sw_topology *t = out;
    sw_topo_init(t, "simple");
    int16_t vram_res = sw_topo_res(t, "vram0", SW_RES_TIER, vram_Bps);
    int16_t ram_res = sw_topo_res(t, "ram", SW_RES_TIER, ram_Bps);
    int16_t h2d = sw_topo_res(t, "pcie0.h2d", SW_RES_LINK, link_Bps);
    int16_t d2h = sw_topo_res(t, "pcie0.d2h", SW_RES_LINK, link_Bps);
    int16_t vram = sw_topo_tier(t, "vram0", SW_TIER_VRAM, vram_bytes, vram_Bps, vram_res, vram_res);
    int16_t ram = sw_topo_tier(t, "ram", SW_TIER_RAM, ram_bytes, ram_Bps, ram_res, ram_res);
    int16_t gpu = sw_topo_unit(t, "gpu0", SW_UNIT_GPU);
    int16_t q_h2d = sw_topo_queue(t, "gpu0.h2d", SW_QUEUE_COPY, gpu);
    int16_t q_d2h = sw_topo_queue(t, "gpu0.d2h", SW_QUEUE_COPY, gpu);
    int16_t cpu = sw_topo_unit(t, "cpu", SW_UNIT_CPU);
    int16_t q_copy = sw_topo_queue(t, "cpu.copy", SW_QUEUE_COPY, cpu);
    for (int m = 0; m < SW_MATH_COUNT; m++) {
        t->units[gpu].peak[m] = gpu_flops;
        t->units[cpu].peak[m] = cpu_flops;
    }
    t->units[cpu].cores = 8;
    t->units[cpu].core_Bps = ram_Bps;
    t->units[gpu].tier = vram, t->tiers[vram].unit = gpu;
    t->units[cpu].tier = ram, t->tiers[ram].unit = cpu;

    int16_t p = SW_TOPO_PATH(t, vram_res);
    t->ports[gpu][vram] = (sw_port){p, p, vram_Bps, vram_Bps};
    p = SW_TOPO_PATH(t, ram_res);
    t->ports[cpu][ram] = (sw_port){p, p, ram_Bps, ram_Bps};
    t->ports[gpu][ram] =
        (sw_port){SW_TOPO_PATH(t, h2d, ram_res), SW_TOPO_PATH(t, d2h, ram_res), link_Bps, link_Bps};

    sw_route r = {ram, vram, q_h2d, 0, -1, link_Bps, 0, false, false, 0, 0};
    r.path = SW_TOPO_PATH(t, ram_res, h2d, vram_res);
    both_routes(t, r, cpu);
    r = (sw_route){vram, ram, q_d2h, 0, -1, link_Bps, 0, false, false, 0, 0};
    r.path = SW_TOPO_PATH(t, vram_res, d2h, ram_res);
    both_routes(t, r, cpu);
    r = (sw_route){ram, ram, q_copy, SW_TOPO_PATH(t, ram_res, ram_res), cpu, ram_Bps, 0, 0,
                   0,   0,   0};
    both_routes(t, r, cpu);
    if (!(nvme_Bps > 0)) return;

    int16_t rd = sw_topo_res(t, "nvme0.read", SW_RES_TIER, nvme_Bps);
    int16_t wr = sw_topo_res(t, "nvme0.write", SW_RES_TIER, nvme_Bps);
    int16_t nvme = sw_topo_tier(t, "nvme0", SW_TIER_NVME, UINT64_C(1) << 42, nvme_Bps, rd, wr);
    int16_t q_rd = sw_topo_queue(t, "nvme0.read", SW_QUEUE_IO, -1);
    int16_t q_wr = sw_topo_queue(t, "nvme0.write", SW_QUEUE_IO, -1);
    r = (sw_route){nvme,  ram, q_rd, SW_TOPO_PATH(t, rd, ram_res), -1, nvme_Bps, 0, false,
                   false, 0,   0};
    both_routes(t, r, -1);
    r = (sw_route){ram,   nvme, q_wr, SW_TOPO_PATH(t, ram_res, wr), -1, nvme_Bps, 0, false,
                   false, 0,    0};
    both_routes(t, r, -1);
    r = (sw_route){nvme, vram, q_rd, 0, -1, nvme_Bps, 0, false, true, 0, 0};
    r.path = SW_TOPO_PATH(t, rd, ram_res, ram_res, h2d, vram_res);
    both_routes(t, r, -1);
    r = (sw_route){vram, nvme, q_wr, 0, -1, nvme_Bps, 0, false, true, 0, 0};
    r.path = SW_TOPO_PATH(t, vram_res, d2h, ram_res, ram_res, wr);
    both_routes(t, r, -1);
}
