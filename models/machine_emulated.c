/* A machine whose GPU is played by its CPU, as the backend `host` does it (models/machine.h): VRAM is
 * a piece of the same memory, each queue is a thread, and threads share the cores. The GPU's part
 * says what one thread does, its link what a copying thread does. docs/machines.md, "Emulated GPUs". */
#include "models/machine.h"

/* VRAM becomes RAM, and links are not there. */
static void rewrite_paths(sw_topology *t, int16_t vram, int16_t ram) {
    for (int i = 0; i < t->n_paths; i++) {
        sw_path old = t->paths[i], *p = &t->paths[i];
        *p = (sw_path){0};
        for (int k = 0; k < old.n; k++) {
            int16_t r = old.res[k] == vram ? ram : old.res[k];
            if (t->res[r].kind != SW_RES_LINK) p->res[p->n++] = r;
        }
    }
}

sw_status sw_machine_emulate(sw_machine *m, sw_error *err) {
    sw_topology *t = m->t;
    const sw_part *gpu = &m->gpu_part;
    const sw_node *node = sw_part_node(gpu, "emulated");
    if (m->gpus != 1 || !sw_part_bool(&m->part, "gds", false))
        return sw_fail_at(err, SW_INPUT, node->mark, "emulated",
                          "an emulated GPU stands alone, in a machine with gds: true");
    sw_unit *g = &t->units[m->gpu[0].unit], *c = &t->units[m->cpu];
    sw_tier *vram = &t->tiers[m->gpu[0].tier];
    int16_t ram = t->tiers[m->ram].res, path = SW_TOPO_PATH(t, ram);
    sw_port thread = t->ports[m->gpu[0].unit][m->gpu[0].tier];
    thread.read_path = thread.write_path = path;
    sw_part_find(gpu, "memory.write", &thread.write_Bps);
    t->ports[m->gpu[0].unit][m->gpu[0].tier] = t->ports[m->gpu[0].unit][m->ram] = thread;
    t->ports[m->cpu][m->ram] = thread;
    memcpy(c->peak, g->peak, sizeof c->peak);
    memcpy(c->eff, g->eff, sizeof c->eff);
    g->core_of = c->core_of = m->cpu;
    rewrite_paths(t, vram->res, ram);
    vram->res = vram->write_res = ram;
    const sw_route *h2d = &t->routes[t->route_of[m->ram][m->gpu[0].tier][0]];
    for (int i = 0; i < t->n_routes; i++) {
        sw_route *r = &t->routes[i];
        if (r->src == m->ram && r->dst == m->ram)
            r->cap_Bps = h2d->cap_Bps, r->latency_s = h2d->latency_s;
        bool disk = t->tiers[r->src].kind == SW_TIER_NVME || t->tiers[r->dst].kind == SW_TIER_NVME;
        if (disk) { /* straight into the arena: what its link adds is not there */
            int memory = t->tiers[r->src].kind == SW_TIER_NVME ? r->dst : r->src;
            if (memory == m->gpu[0].tier) r->latency_s -= m->gpu[0].latency_s;
        } else { /* a thread reads and writes, and never waits */
            r->driver = m->cpu;
            r->core_Bps = r->cap_Bps;
            r->path = path;
            r->traffic = 2;
        }
    }
    return SW_OK;
}
