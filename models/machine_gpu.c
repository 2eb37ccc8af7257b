/* Discrete GPUs: VRAM, the link to the host and the copies that cross it, peers
 * (models/machine.h, docs/machines.md). */
#include "models/machine.h"
#include <stdio.h>

static int16_t named_res(sw_topology *t, const char *stem, int i, const char *end, double rate) {
    char name[32];
    snprintf(name, sizeof name, "%s%d%s", stem, i, end);
    return sw_topo_res(t, name, *end ? SW_RES_LINK : SW_RES_TIER, rate);
}

/* The two pinned and the two pageable copies between RAM and one VRAM, and reading RAM in place. */
static sw_status add_link(sw_machine *m, int i, const sw_part *link, sw_error *err) {
    sw_topology *t = m->t;
    double h2d, d2h, both, latency = 0, page_h2d, page_d2h, page_latency = 0;
    SW_TRY(sw_part_need(link, "h2d", &h2d, err));
    d2h = h2d;
    sw_part_find(link, "d2h", &d2h);
    sw_part_find(link, "latency", &latency);
    int16_t up = named_res(t, "pcie", i, ".h2d", h2d), down = named_res(t, "pcie", i, ".d2h", d2h);
    int16_t two = sw_part_find(link, "both", &both) ? named_res(t, "pcie", i, ".both", both) : -1;
    m->gpu[i].h2d = up, m->gpu[i].d2h = down, m->gpu[i].both = two;
    m->gpu[i].latency_s = latency;
    m->gpu[i].host_io = sw_part_bool(link, "host_io", true);

    int16_t vram = t->tiers[m->gpu[i].tier].res, ram = t->tiers[m->ram].res;
    int16_t host_up = m->gpu[i].host_io ? m->host_h2d : -1;
    int16_t host_down = m->gpu[i].host_io ? m->host_d2h : -1;
    int16_t host_two = m->gpu[i].host_io ? m->host_both : -1;
    t->ports[m->gpu[i].unit][m->ram] =
        (sw_port){SW_TOPO_PATH(t, up, two, host_up, host_two, ram),
                  SW_TOPO_PATH(t, down, two, host_down, host_two, ram), h2d, d2h};
    sw_route in = {.src = m->ram,
                   .dst = m->gpu[i].tier,
                   .queue = m->gpu[i].q_h2d,
                   .path = SW_TOPO_PATH(t, ram, host_up, host_two, up, two, vram),
                   .driver = -1,
                   .cap_Bps = h2d,
                   .latency_s = latency};
    sw_route out = {.src = m->gpu[i].tier,
                    .dst = m->ram,
                    .queue = m->gpu[i].q_d2h,
                    .path = SW_TOPO_PATH(t, vram, two, down, host_two, host_down, ram),
                    .driver = -1,
                    .cap_Bps = d2h,
                    .latency_s = latency};
    sw_topo_route(t, in);
    sw_topo_route(t, out);

    in.pageable = out.pageable = true;
    if (!sw_part_bool(link, "pageable.dma", false)) {
        /* A core moves the bytes through pinned buffers: read, write, and the DMA's pass. */
        SW_TRY(sw_part_need(link, "pageable.h2d", &page_h2d, err));
        SW_TRY(sw_part_need(link, "pageable.d2h", &page_d2h, err));
        sw_part_find(link, "pageable.latency", &page_latency);
        in.driver = out.driver = m->cpu;
        in.latency_s = out.latency_s = page_latency;
        in.cap_Bps = page_h2d < h2d ? page_h2d : h2d;
        out.cap_Bps = page_d2h < d2h ? page_d2h : d2h;
        in.path = SW_TOPO_PATH(t, ram, ram, ram, host_up, host_two, up, two, vram);
        out.path = SW_TOPO_PATH(t, vram, two, down, host_two, host_down, ram, ram, ram);
    }
    sw_topo_route(t, in);
    sw_topo_route(t, out);
    return SW_OK;
}

static sw_status add_gpu(sw_machine *m, int i, const sw_part *p, sw_error *err) {
    sw_topology *t = m->t;
    double nominal, achievable;
    uint64_t capacity = 0;
    char name[32];
    SW_TRY(sw_part_need(p, "memory.bandwidth", &nominal, err));
    SW_TRY(sw_part_need(p, "memory.achievable", &achievable, err));
    if (!sw_part_find_bytes(p, "memory.capacity", &capacity))
        return sw_part_need(p, "memory.capacity", &nominal, err);
    double rate = nominal * achievable;
    int16_t res = named_res(t, "vram", i, "", rate);
    int16_t tier = sw_topo_tier(t, t->res[res].name, SW_TIER_VRAM, capacity, nominal, res, res);
    snprintf(name, sizeof name, "gpu%d", i);
    int16_t unit = sw_topo_unit(t, name, SW_UNIT_GPU);
    sw_unit *u = &t->units[unit];
    SW_TRY(sw_machine_peaks(p, "", u->peak, err));
    sw_machine_kernels(p, "", nominal, rate, u);
    u->tier = tier;
    t->tiers[tier].unit = unit;
    int16_t path = SW_TOPO_PATH(t, res);
    t->ports[unit][tier] = (sw_port){path, path, rate, rate};
    m->gpu[i].unit = unit;
    m->gpu[i].tier = tier;
    snprintf(name, sizeof name, "gpu%d.h2d", i);
    m->gpu[i].q_h2d = sw_topo_queue(t, name, SW_QUEUE_COPY, unit);
    snprintf(name, sizeof name, "gpu%d.d2h", i);
    m->gpu[i].q_d2h = sw_topo_queue(t, name, SW_QUEUE_COPY, unit);
    return SW_OK;
}

/* Copies between GPUs: over their own link, else down one's link and up the other's through RAM. */
static sw_status add_peers(sw_machine *m, const sw_part *peer, sw_error *err) {
    sw_topology *t = m->t;
    int16_t out[8], in[8];
    double rate = 0, latency = 0;
    if (peer) {
        SW_TRY(sw_part_need(peer, "h2d", &rate, err));
        sw_part_find(peer, "latency", &latency);
        for (int i = 0; i < m->gpus; i++) {
            out[i] = named_res(t, "peer", i, ".out", rate);
            in[i] = named_res(t, "peer", i, ".in", rate);
        }
    }
    int16_t ram = t->tiers[m->ram].res;
    for (int a = 0; a < m->gpus; a++)
        for (int b = 0; b < m->gpus; b++) {
            if (a == b) continue;
            int16_t from = t->tiers[m->gpu[a].tier].res, to = t->tiers[m->gpu[b].tier].res;
            sw_route r = {.src = m->gpu[a].tier,
                          .dst = m->gpu[b].tier,
                          .queue = m->gpu[a].q_d2h,
                          .driver = -1,
                          .staged = !peer};
            if (peer) {
                r.path = SW_TOPO_PATH(t, from, out[a], in[b], to);
                r.cap_Bps = rate;
                r.latency_s = latency;
            } else {
                double down = t->res[m->gpu[a].d2h].rate, up = t->res[m->gpu[b].h2d].rate;
                r.path = SW_TOPO_PATH(t, from, m->gpu[a].both, m->gpu[a].d2h, ram, ram,
                                      m->gpu[b].h2d, m->gpu[b].both, to);
                r.cap_Bps = down < up ? down : up;
                r.latency_s = m->gpu[a].latency_s + m->gpu[b].latency_s;
            }
            sw_machine_both(t, r);
        }
    return SW_OK;
}

sw_status sw_machine_add_gpus(sw_machine *m, sw_error *err) {
    sw_topology *t = m->t;
    double n = 1;
    sw_part gpu, link, peer;
    sw_part_find(&m->part, "gpus", &n);
    m->gpus = (int)n;
    SW_TRY(sw_machine_part(m, SW_PART_GPU, "gpu", NULL, NULL, m->gpus, &gpu, err));
    m->gpu_part = gpu;
    for (int i = 0; i < m->gpus; i++) SW_TRY(add_gpu(m, i, &gpu, err));
    SW_TRY(sw_machine_add_cpu(m, err));
    SW_TRY(sw_machine_part(m, SW_PART_LINK, "link", &gpu, "host_link", 1, &link, err));
    for (int i = 0; i < m->gpus; i++) SW_TRY(add_link(m, i, &link, err));
    if (m->gpus > 1) {
        const sw_node *nodes[SW_PART_LAYERS];
        bool direct = sw_part_nodes(&m->part, "peer", nodes, SW_PART_LAYERS) > 0 ||
                      sw_part_nodes(&gpu, "peer_link", nodes, SW_PART_LAYERS) > 0;
        if (direct)
            SW_TRY(sw_machine_part(m, SW_PART_LINK, "peer", &gpu, "peer_link", 1, &peer, err));
        SW_TRY(add_peers(m, direct ? &peer : NULL, err));
        snprintf(t->name, sizeof t->name, "%d x %s", m->gpus, sw_part_name(&gpu));
    } else {
        snprintf(t->name, sizeof t->name, "%s", sw_part_name(&gpu));
    }
    return SW_OK;
}
