/* Sensitivity: the same machine with one figure better or worse (sim/topology.h).
 *
 * A figure follows a knob through where it stands: the resource of a tier and the ports that reach
 * it without a link follow that tier's bandwidth; a link's resources, the ports and the pinned
 * copies that cross it follow "pcie"; a copy from or to a disk follows "nvme". A pageable copy is
 * bounded by one core, so that its own ceiling follows nothing. */
#include "sim/topology.h"
#include <string.h>

const char *const sw_topology_knobs[] = {
    "vram size",    "vram bandwidth",    "pcie",        "ram size",   "ram bandwidth", "nvme",
    "unified size", "unified bandwidth", "gpu compute", "cpu compute"};
const size_t sw_topology_knobs_n = sizeof sw_topology_knobs / sizeof *sw_topology_knobs;

static bool has_link(const sw_topology *t, int path) {
    if (path < 0) return false;
    for (int i = 0; i < t->paths[path].n; i++)
        if (t->res[t->paths[path].res[i]].kind == SW_RES_LINK) return true;
    return false;
}

static uint64_t times(uint64_t bytes, double factor) {
    double x = (double)bytes * factor;
    return x >= 9e18 ? (uint64_t)9e18 : (uint64_t)x;
}

/* What the runtime and the driver hold stays as large as it was; a wired limit, which is a share of
 * unified memory, stays a share. */
static bool scale_size(sw_topology *t, sw_tier_kind kind, double f) {
    bool any = false;
    for (int i = 0; i < t->n_tiers; i++) {
        sw_tier *tier = &t->tiers[i];
        if (tier->kind != kind) continue;
        uint64_t held = tier->nominal_bytes - tier->capacity_bytes;
        uint64_t nominal = times(tier->nominal_bytes, f);
        tier->capacity_bytes = kind == SW_TIER_UNIFIED ? times(tier->capacity_bytes, f)
                               : nominal > held        ? nominal - held
                                                       : 0;
        tier->nominal_bytes = nominal;
        any = true;
    }
    return any;
}

static bool scale_bandwidth(sw_topology *t, sw_tier_kind kind, double f) {
    bool any = false, done[SW_RES_MAX] = {false};
    for (int i = 0; i < t->n_tiers; i++) {
        sw_tier *tier = &t->tiers[i];
        if (tier->kind != kind) continue;
        any = true;
        tier->nominal_Bps *= f;
        int16_t res[2] = {tier->res, tier->write_res};
        for (int k = 0; k < 2; k++)
            if (!done[res[k]]) done[res[k]] = true, t->res[res[k]].rate *= f;
        for (int u = 0; u < t->n_units; u++) {
            sw_port *p = &t->ports[u][i];
            if (p->read_path >= 0 && !has_link(t, p->read_path)) p->read_Bps *= f;
            if (p->write_path >= 0 && !has_link(t, p->write_path)) p->write_Bps *= f;
        }
    }
    return any;
}

static bool touches_disk(const sw_topology *t, const sw_route *r) {
    return t->tiers[r->src].kind == SW_TIER_NVME || t->tiers[r->dst].kind == SW_TIER_NVME;
}

static bool scale_links(sw_topology *t, double f) {
    bool any = false;
    for (int i = 0; i < t->n_res; i++)
        if (t->res[i].kind == SW_RES_LINK) any = true, t->res[i].rate *= f;
    for (int u = 0; u < t->n_units; u++)
        for (int i = 0; i < t->n_tiers; i++) {
            sw_port *p = &t->ports[u][i];
            if (has_link(t, p->read_path)) p->read_Bps *= f;
            if (has_link(t, p->write_path)) p->write_Bps *= f;
        }
    for (int i = 0; i < t->n_routes; i++) {
        sw_route *r = &t->routes[i];
        if (!r->pageable && !touches_disk(t, r) && has_link(t, r->path)) r->cap_Bps *= f;
    }
    return any;
}

static bool scale_disks(sw_topology *t, double f) {
    bool any = scale_bandwidth(t, SW_TIER_NVME, f);
    for (int i = 0; i < t->n_routes; i++)
        if (touches_disk(t, &t->routes[i])) t->routes[i].cap_Bps *= f;
    return any;
}

static bool scale_compute(sw_topology *t, sw_unit_kind kind, double f) {
    bool any = false;
    for (int i = 0; i < t->n_units; i++) {
        if (t->units[i].kind != kind) continue;
        any = true;
        for (int m = 0; m < SW_MATH_COUNT; m++) t->units[i].peak[m] *= f;
    }
    return any;
}

bool sw_topology_scale(sw_topology *t, const char *knob, double factor) {
    if (!(factor > 0)) return false;
    if (!strcmp(knob, "vram size")) return scale_size(t, SW_TIER_VRAM, factor);
    if (!strcmp(knob, "ram size")) return scale_size(t, SW_TIER_RAM, factor);
    if (!strcmp(knob, "unified size")) return scale_size(t, SW_TIER_UNIFIED, factor);
    if (!strcmp(knob, "vram bandwidth")) return scale_bandwidth(t, SW_TIER_VRAM, factor);
    if (!strcmp(knob, "ram bandwidth")) return scale_bandwidth(t, SW_TIER_RAM, factor);
    if (!strcmp(knob, "unified bandwidth")) return scale_bandwidth(t, SW_TIER_UNIFIED, factor);
    if (!strcmp(knob, "pcie")) return scale_links(t, factor);
    if (!strcmp(knob, "nvme")) return scale_disks(t, factor);
    if (!strcmp(knob, "gpu compute")) return scale_compute(t, SW_UNIT_GPU, factor);
    if (!strcmp(knob, "cpu compute")) return scale_compute(t, SW_UNIT_CPU, factor);
    return false;
}
