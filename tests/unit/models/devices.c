/* Does every shipped device and runtime file say where its figures come from, load, compose, and
 * lie within what hardware does? */
#include "check.h"
#include "models/machine.h"
#include "sim/runtime.h"
#include <dirent.h>
#include <stdio.h>

#define DEVICES  SPILLWAY_SOURCE_DIR "/models/devices"
#define RUNTIMES SPILLWAY_SOURCE_DIR "/models/runtimes"

/* Counts a failure and says which file it is about. */
static bool expect(bool ok, const char *file, const char *what) {
    if (!ok) printf("\n  %s: %s\n", file, what);
    CHECK(ok);
    return ok;
}

typedef void visit(const char *id, const sw_node *root);

static int each(const char *folder, bool defaults, visit *f) {
    struct dirent **list;
    int n = scandir(folder, &list, NULL, alphasort), seen = 0;
    for (int i = 0; i < n; i++) {
        const char *name = list[i]->d_name;
        size_t end = strlen(name);
        if (end > 5 && !strcmp(name + end - 5, ".yaml") && (defaults || *name != '_')) {
            char path[512], id[300];
            sw_yaml *doc;
            sw_error err = {0};
            snprintf(path, sizeof path, "%s/%s", folder, name);
            snprintf(id, sizeof id, "%.*s", (int)end - 5, name);
            if (expect(sw_yaml_load(path, &doc, &err) == SW_OK, path, err.text)) {
                f(id, sw_yaml_root(doc));
                sw_yaml_free(doc);
                seen++;
            }
        }
        free(list[i]);
    }
    if (n >= 0) free(list);
    return seen;
}

/* Provenance ------------------------------------------------------------------------------------
 */

static const sw_node *sources;
static bool used[256];

static bool starts_like_a_quantity(const char *text) {
    return (*text >= '0' && *text <= '9') || *text == '.' || *text == '-';
}

static void lint(const char *id, const char *key, const sw_node *node) {
    static const char *const words[] = {"name", "spillway", "note", "version", "interface"};
    for (size_t i = 0; i < 5; i++)
        if (!strcmp(key, words[i])) return;
    if (node->kind == SW_NODE_LIST) {
        for (size_t i = 0; i < node->n; i++) lint(id, key, node->items[i]);
        return;
    }
    if (node->kind == SW_NODE_SCALAR) {
        /* Names of parts may start with a digit no more than figures may stand without a source. */
        if (strcmp(key, "up_to"))
            expect(!starts_like_a_quantity(node->text), id, "a figure without kind and source");
        return;
    }
    if (!sw_node_get(node, "value")) {
        for (size_t i = 0; i < node->n; i++)
            if (strcmp(node->keys[i], "sources")) lint(id, node->keys[i], node->items[i]);
        return;
    }
    const sw_node *source = sw_node_get(node, "source"), *kind = sw_node_get(node, "kind");
    if (!expect(source && source->text, id, "a figure without a source")) return;
    expect(kind && kind->text, id, "a figure without a kind");
    bool found = false;
    for (size_t i = 0; sources && i < sources->n; i++)
        if (!strcmp(sources->keys[i], source->text)) found = used[i] = true;
    expect(found, id, source->text);
}

static void provenance(const char *id, const sw_node *root) {
    sources = sw_node_get(root, "sources");
    memset(used, 0, sizeof used);
    lint(id, "", root);
    for (size_t i = 0; sources && i < sources->n; i++) {
        expect(used[i], id, "a source that no figure cites");
        expect(sources->items[i]->text && strlen(sources->items[i]->text) > 12, id,
               "a source without a reference");
    }
}

static void every_figure_has_a_source(void) {
    CHECK(each(DEVICES, true, provenance) >= 71);
    CHECK(each(RUNTIMES, true, provenance) >= 6);
}

/* Composition -----------------------------------------------------------------------------------
 */

static sw_topology topo;

static sw_status compose(const char *text, sw_error *err) {
    sw_yaml *doc;
    SW_TRY(sw_yaml_parse(text, strlen(text), "scenario", &doc, err));
    sw_status status = sw_topology_open(sw_node_get(sw_yaml_root(doc), "machine"), ".",
                                        SPILLWAY_SOURCE_DIR, &topo, err);
    sw_yaml_free(doc);
    return status;
}

static bool within(double x, double lo, double hi) {
    return x >= lo && x <= hi;
}

static void ranges(const char *id) {
    for (int i = 0; i < topo.n_tiers; i++) {
        const sw_tier *t = &topo.tiers[i];
        double share = topo.res[t->res].rate / t->nominal_Bps;
        double gib = (double)t->capacity_bytes / 0x1p30;
        switch (t->kind) {
        case SW_TIER_VRAM:
            expect(within(t->nominal_Bps, 200e9, 9e12), id, "VRAM bandwidth");
            expect(within(share, 0.7, 1), id, "share of the VRAM bandwidth");
            expect(within(gib, 8, 300), id, "VRAM size");
            break;
        case SW_TIER_RAM:
            expect(within(t->nominal_Bps, 20e9, 700e9), id, "RAM bandwidth");
            expect(within(share, 0.4, 1), id, "share of the RAM bandwidth");
            break;
        case SW_TIER_UNIFIED:
            expect(within(t->nominal_Bps, 60e9, 850e9), id, "unified bandwidth");
            expect(within(share, 0.7, 1), id, "share of the unified bandwidth");
            expect(within(gib, 7, 512), id, "unified size");
            break;
        case SW_TIER_NVME:
            expect(within(topo.res[t->res].rate, 0.3e9, 30e9), id, "disk reads");
            expect(within(topo.res[t->write_res].rate, 0.3e9, 15e9), id, "disk writes");
            expect(within(share, 0.2, 1.3), id, "share of the disk's label");
            break;
        }
    }
    for (int i = 0; i < topo.n_units; i++) {
        const sw_unit *u = &topo.units[i];
        bool gpu = u->kind == SW_UNIT_GPU;
        for (int m = 0; m < SW_MATH_COUNT; m++)
            expect(within(u->peak[m], 0.3e12, gpu ? 16e15 : 20e12), id, "peak rate");
        expect(u->peak[SW_FP16] >= u->peak[SW_FP32] * 0.99, id, "FP16 is no slower than FP32");
        for (int c = 0; c < SW_CLASS_COUNT; c++) {
            expect(within(u->eff[c].memory, 0.5, 1), id, "memory efficiency");
            expect(within(u->eff[c].compute, 0.3, 1.15), id, "compute efficiency");
            expect(within(u->eff[c].fixed_s, 0, 25e-6), id, "fixed time of a kernel");
        }
        if (!gpu) {
            expect(within(u->cores, 4, 256), id, "cores");
            expect(within(u->core_Bps, 5e9, 120e9), id, "bandwidth of one core");
        }
    }
    for (int i = 0; i < topo.n_routes; i++) {
        expect(within(topo.routes[i].latency_s, 0, 200e-6), id, "latency of a copy");
        expect(within(topo.routes[i].cap_Bps, 0.3e9, 1e12), id, "ceiling of a copy");
    }
}

static int kinds[SW_PART_KINDS];

static void composes(const char *id, const sw_node *root) {
    static const struct {
        const char *kind, *machine;
    } how[] = {{"gpu", "machine: {gpu: %s}"},
               {"cpu", "machine: {gpu: rtx4090, cpu: %s}"},
               {"link", "machine: {gpu: rtx4090, link: %s}"},
               {"disk", "machine: {gpu: rtx4090, nvme: %s}"},
               {"soc", "machine: %s"},
               {"machine", "machine: %s"}};
    const sw_node *kind = sw_node_get(root, "kind");
    for (size_t i = 0; i < 6; i++) {
        if (strcmp(kind->text, how[i].kind)) continue;
        char text[512];
        sw_error err = {0};
        const char *machine = how[i].machine;
        if (!strcmp(id, "nvlink3") || !strcmp(id, "nvlink4") || !strcmp(id, "nvlink5"))
            machine = "machine: {gpu: h100-sxm, gpus: 2, peer: %s}";
        snprintf(text, sizeof text, machine, id);
        if (!expect(compose(text, &err) == SW_OK, id, err.text)) return;
        expect(sw_topology_check(&topo, &err) == SW_OK, id, err.text);
        kinds[i]++;
        ranges(id);
        return;
    }
    expect(false, id, "no such kind");
}

static void every_device_composes(void) {
    CHECK(each(DEVICES, false, composes) >= 70);
    CHECK(kinds[SW_PART_GPU] >= 43);
    CHECK(kinds[SW_PART_SOC] >= 23);
    CHECK(kinds[SW_PART_MACHINE] >= 4);
    CHECK(kinds[SW_PART_CPU] >= 20);
    CHECK(kinds[SW_PART_LINK] >= 12);
    CHECK(kinds[SW_PART_DISK] >= 15);
}

static void runtime_opens(const char *id, const sw_node *root) {
    char text[128];
    sw_yaml *doc;
    sw_runtime rt;
    sw_error err = {0};
    (void)root;
    snprintf(text, sizeof text, "runtime: %s", id);
    CHECK(sw_yaml_parse(text, strlen(text), "scenario", &doc, &err) == SW_OK);
    const sw_node *node = sw_node_get(sw_yaml_root(doc), "runtime");
    expect(sw_runtime_open(node, ".", SPILLWAY_SOURCE_DIR, &rt, &err) == SW_OK, id, err.text);
    CHECK_STR(rt.name, id);
    expect(within(rt.launch_host_s, 0, 50e-6), id, "launch_host");
    expect(within(rt.launch_device_s, 0, 20e-6), id, "launch_device");
    expect(within(rt.step_host_s, 0, 0.02), id, "step_host");
    expect(rt.vram_reserved_bytes < UINT64_C(2) << 30, id, "vram_reserved");
    sw_yaml_free(doc);
}

static void every_runtime_opens(void) {
    CHECK(each(RUNTIMES, false, runtime_opens) >= 6);
}

SW_TESTS("device files",
         {"every figure has a kind and a source, and no source is idle", every_figure_has_a_source},
         {"every device composes within the ranges of hardware", every_device_composes},
         {"every runtime opens", every_runtime_opens})
