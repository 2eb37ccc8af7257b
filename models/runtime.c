/* Runtime profiles from models/runtimes, and what they do to a machine (sim/runtime.h). */
#include "sim/runtime.h"
#include "models/part.h"
#include <stdio.h>
#include <string.h>

static void seconds(const sw_part *p, const char *key, double *out) {
    *out = 0;
    sw_part_find(p, key, out);
}

static void factors(const sw_part *p, sw_runtime *rt) {
    /* In the order of SW_CLASS_LIST; a class of its own name, else "generic"'s figure, else 1. */
    static const char *const names[SW_CLASS_COUNT] = {
        "generic",          "gemm",        "attention_prefill",
        "attention_decode", "embedding",   "elementwise",
        "router",           "expert_gemm", "sample"};
    for (int c = 0; c < SW_CLASS_COUNT; c++) {
        sw_efficiency *f = &rt->factor[c];
        *f = c ? rt->factor[0] : (sw_efficiency){1, 1, 0};
        char key[64];
        snprintf(key, sizeof key, "factor.%s.memory", names[c]);
        sw_part_find(p, key, &f->memory);
        snprintf(key, sizeof key, "factor.%s.compute", names[c]);
        sw_part_find(p, key, &f->compute);
        snprintf(key, sizeof key, "factor.%s.fixed", names[c]);
        sw_part_find(p, key, &f->fixed_s);
    }
}

sw_status sw_runtime_open(const sw_node *node, const char *dir, const char *data_dir,
                          sw_runtime *out, sw_error *err) {
    sw_runtime rt = {.name = "ideal", .pinned = true};
    for (int c = 0; c < SW_CLASS_COUNT; c++) rt.factor[c] = (sw_efficiency){1, 1, 0};
    if (!node) {
        *out = rt;
        return SW_OK;
    }
    sw_shelf shelf;
    sw_part p;
    sw_shelf_open(&shelf, dir, data_dir);
    sw_status status = sw_part_open(&shelf, SW_PART_RUNTIME, "runtime", &node, 1, &p, err);
    if (status == SW_OK) {
        double run_ahead = 0;
        snprintf(rt.name, sizeof rt.name, "%s", sw_part_name(&p));
        snprintf(rt.version, sizeof rt.version, "%s", sw_part_text(&p, "version", ""));
        seconds(&p, "launch_host", &rt.launch_host_s);
        seconds(&p, "launch_device", &rt.launch_device_s);
        seconds(&p, "copy_host", &rt.copy_host_s);
        seconds(&p, "sync_host", &rt.sync_host_s);
        seconds(&p, "step_host", &rt.step_host_s);
        seconds(&p, "event_host", &rt.event_host_s);
        seconds(&p, "alloc_host", &rt.alloc_host_s);
        sw_part_find(&p, "run_ahead", &run_ahead);
        rt.run_ahead = (uint32_t)run_ahead;
        rt.pinned = sw_part_bool(&p, "pinned", true);
        sw_part_find_bytes(&p, "vram_reserved", &rt.vram_reserved_bytes);
        factors(&p, &rt);
        *out = rt;
    }
    sw_shelf_close(&shelf);
    return status;
}

void sw_runtime_apply(const sw_runtime *rt, sw_topology *topo) {
    for (int u = 0; u < topo->n_units; u++)
        for (int c = 0; c < SW_CLASS_COUNT; c++) {
            sw_efficiency *e = &topo->units[u].eff[c];
            e->memory *= rt->factor[c].memory;
            if (e->memory > 1) e->memory = 1;
            e->compute *= rt->factor[c].compute;
            e->fixed_s += rt->factor[c].fixed_s;
        }
    for (int i = 0; i < topo->n_tiers; i++) {
        sw_tier *t = &topo->tiers[i];
        if (t->kind != SW_TIER_VRAM && t->kind != SW_TIER_UNIFIED) continue;
        t->capacity_bytes = t->capacity_bytes > rt->vram_reserved_bytes
                                ? t->capacity_bytes - rt->vram_reserved_bytes
                                : 0;
    }
}
