/* Unified memory: one pool, a GPU and a CPU that both are local to it, each with its own ceiling
 * (models/machine.h, docs/machines.md). */
#include "models/machine.h"
#include <stdio.h>
#include <string.h>

static double ceiling(double own, double pool) {
    return own < pool ? own : pool;
}

/* The share of the pool that the GPU may use: macOS's wired limit by the size of the memory, from
 * the table `wired` of the defaults: [{up_to: BYTES, share: figure}, ...]. */
static sw_status wired_share(const sw_part *soc, uint64_t capacity, double *out, sw_error *err) {
    *out = 1;
    if (sw_part_find(soc, "memory.wired", out)) return SW_OK;
    const char *name = sw_part_text(soc, "memory.wired_table", NULL);
    if (!name) return SW_OK;
    const sw_node *table = NULL, *at = sw_part_node(soc, "memory.wired_table");
    SW_TRY(sw_part_default(soc, "wired", name, &table, err));
    if (!table || table->kind != SW_NODE_LIST || table->n == 0)
        return sw_fail_at(err, SW_INPUT, at->mark, "memory.wired_table",
                          "no table \"%s\" in the defaults", name);
    for (size_t i = 0; i < table->n; i++) {
        const sw_node *row = table->items[i], *node;
        uint64_t up_to;
        SW_TRY(sw_node_need(row, "up_to", &node, err));
        SW_TRY(sw_node_bytes(node, "up_to", &up_to, err));
        if (capacity > up_to && i + 1 < table->n) continue;
        SW_TRY(sw_node_need(row, "share", &node, err));
        sw_part_note(soc, "memory.wired", node);
        const sw_node *value = sw_node_get(node, "value");
        return sw_node_quantity(value ? value : node, "share", SW_DIM_NONE, false, out, err);
    }
    return SW_OK;
}

sw_status sw_machine_add_soc(sw_machine *m, sw_part *soc, sw_error *err) {
    sw_topology *t = m->t;
    double nominal, achievable, cores, core, gpu_Bps, cpu_Bps, share, wired, x;
    uint64_t capacity = 0, largest = 0;
    SW_TRY(sw_part_need(soc, "memory.bandwidth", &nominal, err));
    SW_TRY(sw_part_need(soc, "memory.achievable", &achievable, err));
    SW_TRY(sw_part_need(soc, "memory.cpu_share", &share, err));
    SW_TRY(sw_part_need(soc, "cpu.cores", &cores, err));
    SW_TRY(sw_part_need(soc, "cpu.core_bandwidth", &core, err));
    if (!sw_part_find_bytes(soc, "memory.capacity", &largest))
        return sw_part_need(soc, "memory.capacity", &x, err);
    if (!sw_part_find_bytes(&m->part, "memory", &capacity)) capacity = largest;
    if (capacity > largest)
        return sw_fail_at(err, SW_INPUT, sw_part_node(&m->part, "memory")->mark, "memory",
                          "%s has at most %.6g GiB", sw_part_name(soc), (double)largest / 0x1p30);
    SW_TRY(wired_share(soc, capacity, &wired, err));

    double pool = nominal * achievable;
    gpu_Bps = pool;
    if (sw_part_find(soc, "memory.gpu", &x)) gpu_Bps = ceiling(x, pool);
    cpu_Bps = ceiling(sw_part_find(soc, "memory.cpu", &x) ? x : nominal * share, pool);
    int16_t res = sw_topo_res(t, "unified", SW_RES_TIER, pool);
    int16_t tier = sw_topo_tier(t, "unified", SW_TIER_UNIFIED, capacity, nominal, res, res);
    t->tiers[tier].capacity_bytes = (uint64_t)((double)capacity * wired);
    int16_t gpu = sw_topo_unit(t, "gpu0", SW_UNIT_GPU), cpu = sw_topo_unit(t, "cpu", SW_UNIT_CPU);
    int16_t path = SW_TOPO_PATH(t, res);
    SW_TRY(sw_machine_peaks(soc, "", t->units[gpu].peak, err));
    SW_TRY(sw_machine_peaks(soc, "cpu.", t->units[cpu].peak, err));
    sw_machine_kernels(soc, "", nominal, gpu_Bps, &t->units[gpu]);
    sw_machine_kernels(soc, "cpu.", nominal, cpu_Bps, &t->units[cpu]);
    t->units[cpu].cores = cores;
    t->units[cpu].core_Bps = ceiling(core, cpu_Bps);
    t->units[gpu].tier = t->units[cpu].tier = tier;
    t->tiers[tier].unit = gpu;
    t->ports[gpu][tier] = (sw_port){path, path, gpu_Bps, gpu_Bps};
    t->ports[cpu][tier] = (sw_port){path, path, cpu_Bps, cpu_Bps};
    snprintf(t->name, sizeof t->name, "%s", sw_part_name(soc));
    if (sw_part_find(soc, "power", &x)) t->power_w += x;
    if (sw_part_find(soc, "price", &x)) t->price_usd += x;
    m->parts++;
    m->calibrated += sw_part_bool(soc, "calibrated", false);
    return SW_OK;
}
