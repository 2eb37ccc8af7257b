/* The host of a machine: RAM with its CPU, and the disk (models/machine.h, docs/machines.md). */
#include "models/machine.h"
#include "sim/cost.h"
#include <stdio.h>

sw_status sw_machine_add_cpu(sw_machine *m, sw_error *err) {
    sw_topology *t = m->t;
    sw_part p;
    double nominal, achievable, cores, core, x;
    uint64_t capacity = 0;
    SW_TRY(sw_machine_part(m, SW_PART_CPU, "cpu", NULL, NULL, 1, &p, err));
    SW_TRY(sw_part_need(&p, "memory.bandwidth", &nominal, err));
    SW_TRY(sw_part_need(&p, "memory.achievable", &achievable, err));
    SW_TRY(sw_part_need(&p, "cores", &cores, err));
    SW_TRY(sw_part_need(&p, "core_bandwidth", &core, err));
    /* The machine says how much RAM; else a CPU that comes with its memory; else the default. */
    const sw_part *says = sw_machine_own(m, "ram") ? &m->part : &p;
    if (!sw_part_find_bytes(says, says == &p ? "memory.capacity" : "ram", &capacity) &&
        !sw_part_find_bytes(&m->part, "ram", &capacity))
        return sw_part_need(&m->part, "ram", &x, err);
    double rate = nominal * achievable;
    int16_t res = sw_topo_res(t, "ram", SW_RES_TIER, rate);
    m->ram = sw_topo_tier(t, "ram", SW_TIER_RAM, capacity, nominal, res, res);
    m->cpu = sw_topo_unit(t, "cpu", SW_UNIT_CPU);
    sw_unit *u = &t->units[m->cpu];
    SW_TRY(sw_machine_peaks(&p, "", u->peak, err));
    sw_machine_kernels(&p, "", nominal, rate, u);
    u->cores = cores;
    u->core_Bps = core < rate ? core : rate;
    u->tier = m->ram;
    t->tiers[m->ram].unit = m->cpu;
    int16_t path = SW_TOPO_PATH(t, res);
    t->ports[m->cpu][m->ram] = (sw_port){path, path, rate, rate};
    if (sw_part_bool(&p, "single_thread", false)) { /* a kernel is one thread on one core */
        u->core_of = m->cpu;
        t->ports[m->cpu][m->ram].read_Bps = t->ports[m->cpu][m->ram].write_Bps = u->core_Bps;
        for (int i = 0; i < SW_MATH_COUNT; i++) u->peak[i] /= cores;
    }

    /* A copy within RAM reads and writes it, and so does the core that carries it. */
    m->cpu_copy = sw_topo_queue(t, "cpu.copy", SW_QUEUE_COPY, m->cpu);
    sw_machine_both(t, (sw_route){.src = m->ram,
                                  .dst = m->ram,
                                  .queue = m->cpu_copy,
                                  .path = SW_TOPO_PATH(t, res, res),
                                  .driver = m->cpu,
                                  .cap_Bps = u->core_Bps / 2});
    double each, both;
    if (m->gpus > 1 && sw_part_find(&p, "host_io.each", &each)) {
        m->host_h2d = sw_topo_res(t, "host.h2d", SW_RES_LINK, each);
        m->host_d2h = sw_topo_res(t, "host.d2h", SW_RES_LINK, each);
        if (sw_part_find(&p, "host_io.both", &both))
            m->host_both = sw_topo_res(t, "host.both", SW_RES_LINK, both);
    }
    if (m->gpus == 0) snprintf(t->name, sizeof t->name, "%s", sw_part_name(&p));
    return SW_OK;
}

sw_status sw_machine_add_disk(sw_machine *m, const sw_part *soc, sw_error *err) {
    sw_topology *t = m->t;
    sw_part p;
    double latency, stream, max, sharpness, iops = 0, write, depth, nominal;
    double write_latency = 0, serves;
    uint64_t block = 0, capacity = 0;
    SW_TRY(sw_machine_part(m, SW_PART_DISK, "nvme", soc, "nvme", 1, &p, err));
    SW_TRY(sw_part_need(&p, "read.latency", &latency, err));
    SW_TRY(sw_part_need(&p, "read.stream", &stream, err));
    SW_TRY(sw_part_need(&p, "read.max", &max, err));
    SW_TRY(sw_part_need(&p, "read.sharpness", &sharpness, err));
    SW_TRY(sw_part_need(&p, "write.max", &write, err));
    sw_part_find(&p, "read.iops", &iops);
    sw_part_find(&p, "write.latency", &write_latency);
    SW_TRY(sw_part_need(&m->part, "io.depth", &depth, err));
    sw_part_find_bytes(&m->part, "io.block", &block);
    if (!sw_part_find_bytes(&m->part, "nvme_capacity", &capacity))
        sw_part_find_bytes(&p, "capacity", &capacity);
    nominal = max;
    sw_part_find(&p, "nominal.read", &nominal);

    const sw_disk_curve curve = {latency, stream, max, iops, sharpness};
    double read = sw_disk_Bps(&curve, (double)block, depth);
    int16_t rd = sw_topo_res(t, "nvme0.read", SW_RES_TIER, read);
    int16_t wr = sw_topo_res(t, "nvme0.write", SW_RES_TIER, write);
    int16_t nvme = sw_topo_tier(t, "nvme0", SW_TIER_NVME, capacity, nominal, rd, wr);
    if (sw_part_find(&p, "serves", &serves)) {
        int16_t time = sw_topo_res(t, "nvme0.time", SW_RES_UNIT, serves * SW_UNIT_RATE);
        t->tiers[nvme].time_path = SW_TOPO_PATH(t, time);
    }
    int16_t q_rd = sw_topo_queue(t, "nvme0.read", SW_QUEUE_IO, -1);
    int16_t q_wr = sw_topo_queue(t, "nvme0.write", SW_QUEUE_IO, -1);
    int16_t host = m->ram >= 0 ? m->ram : (int16_t)sw_topology_tier(t, SW_TIER_UNIFIED);
    int16_t ram = t->tiers[host].res;
    sw_route in = {nvme, host, q_rd, SW_TOPO_PATH(t, rd, ram), -1, read, latency, 0, 0, 0, 0};
    sw_route out = {host, nvme, q_wr, SW_TOPO_PATH(t, ram, wr), -1, write, write_latency, 0,
                    0,    0,    0};
    if (m->cpu >= 0 && sw_part_find(&p, "core.read", &in.core_Bps)) in.driver = m->cpu;
    if (m->cpu >= 0 && sw_part_find(&p, "core.write", &out.core_Bps)) out.driver = m->cpu;
    sw_machine_both(t, in);
    sw_machine_both(t, out);

    bool direct = sw_part_bool(&m->part, "gds", false);
    for (int i = 0; i < m->gpus; i++) {
        int16_t vram = t->tiers[m->gpu[i].tier].res, via = direct ? -1 : ram;
        int16_t up = m->gpu[i].host_io ? m->host_h2d : -1;
        in.dst = out.src = m->gpu[i].tier;
        in.staged = out.staged = !direct;
        in.latency_s = latency + m->gpu[i].latency_s;
        out.latency_s = write_latency + m->gpu[i].latency_s;
        in.path = SW_TOPO_PATH(t, rd, via, via, up, m->gpu[i].h2d, m->gpu[i].both, vram);
        up = m->gpu[i].host_io ? m->host_d2h : -1;
        out.path = SW_TOPO_PATH(t, vram, m->gpu[i].both, m->gpu[i].d2h, up, via, via, wr);
        sw_machine_both(t, in);
        sw_machine_both(t, out);
    }
    return SW_OK;
}
