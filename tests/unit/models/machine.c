/* Does a machine come out of its parts as the rules of docs/machines.md say, with rates worked out
 * by hand here from the figures of the device files? Do the knobs scale what they name and nothing
 * else? */
#include "models/machine.h"
#include "check.h"
#include "sim/cost.h"
#include "sim/topology_json.h"
#include <stdio.h>

static sw_topology topo;
static sw_error error;

static sw_status compose_in(const char *dir, const char *text, json_t **figures) {
    sw_yaml *doc;
    memset(&error, 0, sizeof error);
    SW_TRY(sw_yaml_parse(text, strlen(text), "s.yaml", &doc, &error));
    sw_status status = sw_machine_open(sw_node_get(sw_yaml_root(doc), "machine"), dir,
                                       SPILLWAY_SOURCE_DIR, &topo, figures, &error);
    sw_yaml_free(doc);
    return status;
}

static void compose(const char *text) {
    sw_status status = compose_in(".", text, NULL);
    if (status != SW_OK) printf("\n  %s: %s\n", text, error.text);
    CHECK(status == SW_OK);
}

static double rate(const char *name) {
    for (int i = 0; i < topo.n_res; i++)
        if (!strcmp(topo.res[i].name, name)) return topo.res[i].rate;
    return -1;
}

static int tier(const char *name) {
    for (int i = 0; i < topo.n_tiers; i++)
        if (!strcmp(topo.tiers[i].name, name)) return i;
    return -1;
}

static int unit(const char *name) {
    for (int i = 0; i < topo.n_units; i++)
        if (!strcmp(topo.units[i].name, name)) return i;
    return -1;
}

static const sw_route *route(const char *src, const char *dst, int pageable) {
    int at = topo.route_of[tier(src)][tier(dst)][pageable];
    return at < 0 ? NULL : &topo.routes[at];
}

/* A path as text: "ram pcie0.h2d vram0". */
static const char *path(int index) {
    static char text[512];
    *text = '\0';
    if (index < 0) return "none";
    for (int i = 0; i < topo.paths[index].n; i++) {
        if (i) strcat(text, " ");
        strcat(text, topo.res[topo.paths[index].res[i]].name);
    }
    return text;
}

static void gpu_with_pcie4_and_ddr5(void) {
    compose("machine: {gpu: rtx4090, cpu: ddr5-6000-2ch, ram: 96 GiB, nvme: nvme-gen4}");
    CHECK_STR(topo.name, "NVIDIA GeForce RTX 4090");
    CHECK_REL(rate("vram0"), 1008e9 * 0.975, 1e-12);
    CHECK_REL(rate("ram"), 2 * 6000e6 * 8 * 0.8, 1e-12);
    CHECK_REL(rate("pcie0.h2d"), 25e9, 1e-12);
    CHECK_REL(rate("pcie0.d2h"), 26e9, 1e-12);
    CHECK_REL(rate("pcie0.both"), 49.4e9, 1e-12);
    /* x = 32 MiB / (70 us + 1 MiB / 4 GB/s), 16 times the cap: the cap less 81 millionths. */
    CHECK_REL(rate("nvme0.read"), 6.3e9 * (1 - 80.8e-6), 1e-6);
    CHECK_REL(rate("nvme0.write"), 3e9, 1e-12);
    CHECK(rate("host.h2d") < 0);
    CHECK(topo.tiers[tier("vram0")].capacity_bytes == UINT64_C(24) << 30);
    CHECK(topo.tiers[tier("ram")].capacity_bytes == UINT64_C(96) << 30);
    CHECK_REL(topo.units[unit("gpu0")].peak[SW_FP16], 165.2e12, 1e-12);
    CHECK_REL(topo.units[unit("gpu0")].peak[SW_INT8], 660.6e12, 1e-12);
    CHECK_REL(topo.units[unit("gpu0")].peak[SW_FP4], 165.2e12, 1e-12); /* has none: as FP16 */
    CHECK_REL(topo.units[unit("gpu0")].eff[SW_CLASS_GEMM].memory, 1, 1e-12);
    CHECK_REL(topo.units[unit("gpu0")].eff[SW_CLASS_ATTN_DECODE].memory, 0.9 / 0.975, 1e-12);
    CHECK_REL(topo.units[unit("gpu0")].eff[SW_CLASS_GEMM].fixed_s, 2e-6, 1e-12);
    CHECK_REL(topo.price_usd, 1600, 1e-12);
    CHECK_REL(topo.power_w, 450, 1e-12);

    const sw_route *r = route("ram", "vram0", 0);
    CHECK_STR(path(r->path), "ram pcie0.h2d pcie0.both vram0");
    CHECK_REL(r->cap_Bps, 25e9, 1e-12);
    CHECK_REL(r->latency_s, 2.5e-6, 1e-12);
    CHECK(r->driver == -1);
    r = route("ram", "vram0", 1);
    CHECK_STR(path(r->path), "ram ram ram pcie0.h2d pcie0.both vram0");
    CHECK_REL(r->cap_Bps, 10e9, 1e-12);
    CHECK_REL(r->latency_s, 10e-6, 1e-12);
    CHECK(r->driver == unit("cpu"));
    r = route("vram0", "ram", 1);
    CHECK_REL(r->cap_Bps, 10.8e9, 1e-12);
    r = route("nvme0", "vram0", 0);
    CHECK_STR(path(r->path), "nvme0.read ram ram pcie0.h2d pcie0.both vram0");
    CHECK(r->staged);
    CHECK_REL(r->latency_s, 72.5e-6, 1e-12);
    CHECK_STR(path(route("ram", "ram", 0)->path), "ram ram");
    CHECK_REL(route("ram", "ram", 0)->cap_Bps, 16e9, 1e-12);
    CHECK_STR(path(topo.ports[unit("gpu0")][tier("ram")].read_path), "pcie0.h2d pcie0.both ram");
    CHECK(topo.ports[unit("cpu")][tier("vram0")].read_path == -1);

    compose("machine: {gpu: rtx4090, gds: true}");
    r = route("nvme0", "vram0", 0);
    CHECK_STR(path(r->path), "nvme0.read pcie0.h2d pcie0.both vram0");
    CHECK(!r->staged);
}

static void datacentre_gpu_with_pcie5(void) {
    compose("machine: {gpu: h100-sxm, cpu: xeon-spr-8ch, ram: 1 TiB}");
    CHECK_REL(rate("vram0"), 3350e9 * 0.92, 1e-12);
    CHECK_REL(rate("ram"), 307.2e9 * 0.893, 1e-12);
    CHECK_REL(rate("pcie0.h2d"), 55.4e9, 1e-12);
    CHECK_REL(rate("pcie0.both"), 88e9, 1e-12);
    const sw_unit *u = &topo.units[unit("gpu0")];
    CHECK_REL(u->eff[SW_CLASS_GEMM].memory * rate("vram0"), 0.85 * 3350e9, 1e-12);
    CHECK_REL(u->eff[SW_CLASS_EXPERT].memory, u->eff[SW_CLASS_GEMM].memory, 1e-12);
    CHECK_REL(u->eff[SW_CLASS_ATTN_DECODE].memory * rate("vram0"), 0.9 * 3350e9, 1e-12);
    CHECK_REL(u->eff[SW_CLASS_ATTN_DECODE].fixed_s, 12e-6, 1e-12);
    CHECK_REL(u->eff[SW_CLASS_ATTN_PREFILL].compute, 0.4, 1e-12);
    CHECK_REL(u->eff[SW_CLASS_ELEMENTWISE].memory, 1, 1e-12);
    /* compute * peak is what FP8 products were measured at: half of the label. */
    CHECK_REL(u->eff[SW_CLASS_GEMM].compute * u->peak[SW_FP8], 0.5 * 1979e12, 1e-12);
    CHECK(topo.units[unit("cpu")].cores == 52);
}

static void unified_memory(void) {
    compose("machine: m3-max");
    int all = tier("unified"), gpu = unit("gpu0"), cpu = unit("cpu");
    CHECK(topo.n_tiers == 2);
    CHECK_REL(rate("unified"), 400e9 * 0.953, 1e-12);
    CHECK_REL(topo.ports[gpu][all].read_Bps, 381.2e9, 1e-12);
    CHECK_REL(topo.ports[cpu][all].read_Bps, 240e9, 1e-12);
    CHECK_REL((double)topo.tiers[all].capacity_bytes, 128 * 0x1p30 * 0.84, 1e-9);
    CHECK(topo.tiers[all].nominal_bytes == UINT64_C(128) << 30);
    CHECK(topo.route_of[all][all][0] == -1);
    CHECK_STR(path(route("nvme0", "unified", 0)->path), "nvme0.read unified");
    CHECK_INT(sw_topology_fast_tier(&topo), all);
    CHECK_INT(sw_topology_primary_unit(&topo), gpu);
    compose("machine: {soc: m3-max, memory: 64 GiB, nvme: none}");
    CHECK_REL((double)topo.tiers[tier("unified")].capacity_bytes, 64 * 0x1p30 * 0.81, 1e-9);
    CHECK(topo.n_tiers == 1 && topo.n_routes == 0);

    compose("machine: strix-halo"); /* one pool, two ceilings */
    CHECK_REL(topo.ports[unit("gpu0")][0].read_Bps, 221e9, 1e-3);
    CHECK_REL(topo.ports[unit("cpu")][0].read_Bps, 118e9, 1e-12);
    CHECK_REL(rate("unified"), 256e9 * 0.863, 1e-12);
    compose("machine: gb10");
    CHECK_REL(rate("unified"), 273e9 * 0.85, 1e-12);
    CHECK_REL(topo.tiers[tier("nvme0")].capacity_bytes, 1e12, 1e-12);
}

static void superchip(void) {
    compose("machine: gh200-96");
    CHECK_STR(topo.name, "NVIDIA GH200 96 GB");
    CHECK_REL(rate("vram0"), 3400e9, 1e-12);
    CHECK_REL(rate("ram"), 546e9 * 0.89, 1e-12);
    CHECK_REL(rate("pcie0.h2d"), 369e9, 1e-12);
    CHECK_REL(rate("pcie0.d2h"), 295e9, 1e-12);
    CHECK_REL(rate("pcie0.both"), 364e9, 1e-12);
    CHECK(topo.tiers[tier("ram")].capacity_bytes == UINT64_C(480000000000));
    const sw_route *r = route("ram", "vram0", 1);
    CHECK_REL(r->cap_Bps, 369e9, 1e-12);
    CHECK(r->driver == -1);
    CHECK_STR(path(r->path), "ram pcie0.h2d pcie0.both vram0");
    compose("machine: {use: gh200-96, ram: 240 GiB, gpu: {memory: {capacity: 90 GiB}}}");
    CHECK(topo.tiers[tier("ram")].capacity_bytes == UINT64_C(240) << 30);
    CHECK(topo.tiers[tier("vram0")].capacity_bytes == UINT64_C(90) << 30);
    CHECK_REL(rate("vram0"), 3400e9, 1e-12);
}

static void two_gpus(void) {
    compose("machine: {gpu: rtx3090, gpus: 2, cpu: ddr4-3200-2ch}");
    CHECK_STR(topo.name, "2 x NVIDIA GeForce RTX 3090");
    CHECK_REL(rate("vram1"), 936.2e9 * 0.888, 1e-12);
    CHECK_REL(rate("ram"), 51.2e9 * 0.8, 1e-12);
    CHECK_REL(rate("host.h2d"), 152e9, 1e-12);
    CHECK_REL(rate("host.both"), 184e9, 1e-12);
    const sw_route *r = route("vram0", "vram1", 0);
    CHECK_STR(path(r->path), "vram0 pcie0.both pcie0.d2h ram ram pcie1.h2d pcie1.both vram1");
    CHECK_REL(r->cap_Bps, 25e9, 1e-12);
    CHECK_REL(r->latency_s, 5e-6, 1e-12);
    CHECK_STR(path(route("ram", "vram1", 0)->path),
              "ram host.h2d host.both pcie1.h2d pcie1.both vram1");
    CHECK_STR(topo.queues[r->queue].name, "gpu0.d2h");
    CHECK_REL(topo.price_usd, 3000, 1e-12);

    compose("machine: {gpu: h100-sxm, gpus: 8}"); /* their own link, through a switch */
    CHECK_STR(path(route("vram2", "vram7", 0)->path), "vram2 peer2.out peer7.in vram7");
    CHECK_REL(route("vram2", "vram7", 0)->cap_Bps, 450e9, 1e-12);
}

static void defaults_show(void) {
    json_t *figures = NULL, *o;
    size_t i, defaults = 0, noted = 0;
    CHECK(compose_in(".", "machine: {gpu: rtx4090, ram: 32 GiB}", &figures) == SW_OK);
    CHECK(topo.tiers[tier("ram")].capacity_bytes == UINT64_C(32) << 30);
    CHECK_STR(topo.tiers[tier("nvme0")].name, "nvme0");
    CHECK(!topo.measured);
    json_array_foreach(figures, i, o) {
        const char *key = json_string_value(json_object_get(o, "key"));
        const char *file = json_string_value(json_object_get(o, "file"));
        defaults += !strcmp(file, "_defaults");
        if (!strcmp(key, "ram")) noted += !*file;
        if (!strcmp(key, "pageable.h2d")) noted += !strcmp(file, "pcie4-x16");
        if (!strcmp(key, "cores")) noted += !strcmp(file, "_defaults");
    }
    CHECK_INT(noted, 3);
    CHECK(defaults >= 5);
    json_decref(figures);

    compose("machine: {gpu: none, cpu: epyc-9355-12ch, ram: 768 GiB}");
    CHECK_INT(topo.n_units, 1);
    CHECK_INT(sw_topology_fast_tier(&topo), tier("ram"));
    compose("machine: {gpu: {memory: {capacity: 10 GiB, bandwidth: 100 GB/s, achievable: 0.5}, "
            "compute: {fp32: 1 TFLOP/s}, kernels: {gemm_memory: 0.4}}, nvme: none}");
    CHECK_REL(rate("vram0"), 50e9, 1e-12);
    CHECK_REL(topo.units[0].eff[SW_CLASS_GEMM].memory, 0.8, 1e-12);
}

static void prints(void) {
    json_t *o = NULL;
    compose("machine: {gpu: rtx4090}");
    CHECK(sw_topology_json(&topo, &o, &error) == SW_OK);
    CHECK_INT(json_array_size(json_object_get(o, "tiers")), 3);
    CHECK_INT(json_array_size(json_object_get(o, "units")), 2);
    CHECK_INT(json_array_size(json_object_get(o, "links")), 3);
    CHECK_INT(json_array_size(json_object_get(o, "routes")), (size_t)topo.n_routes);
    const json_t *vram = json_array_get(json_object_get(o, "tiers"), 0);
    CHECK_INT(json_integer_value(json_object_get(vram, "capacity_bytes")), INT64_C(24) << 30);
    CHECK_STR(json_string_value(json_object_get(vram, "unit")), "gpu0");
    json_decref(o);
}

/* Knobs -----------------------------------------------------------------------------------------
 */

/* What differs between two machines, as a sorted list of "what factor". */
static void changes(const sw_topology *a, const sw_topology *b, char *out, size_t size) {
    size_t n = 0;
    *out = '\0';
#define SAY(x, y, ...)                                                                             \
    if ((x) != (y)) {                                                                              \
        n += (size_t)snprintf(out + n, size - n, __VA_ARGS__);                                     \
        n += (size_t)snprintf(out + n, size - n, " x%g; ", (double)(y) / (double)(x));             \
    }
    for (int i = 0; i < a->n_tiers; i++) {
        SAY(a->tiers[i].capacity_bytes, b->tiers[i].capacity_bytes, "%s size", a->tiers[i].name)
        SAY(a->tiers[i].nominal_Bps, b->tiers[i].nominal_Bps, "%s nominal", a->tiers[i].name)
    }
    for (int i = 0; i < a->n_res; i++) SAY(a->res[i].rate, b->res[i].rate, "%s", a->res[i].name)
    for (int u = 0; u < a->n_units; u++) {
        SAY(a->units[u].peak[SW_FP16], b->units[u].peak[SW_FP16], "%s peak", a->units[u].name)
        SAY(a->units[u].core_Bps, b->units[u].core_Bps, "%s core", a->units[u].name)
        for (int i = 0; i < a->n_tiers; i++)
            SAY(a->ports[u][i].read_Bps, b->ports[u][i].read_Bps, "%s reads %s", a->units[u].name,
                a->tiers[i].name)
    }
    for (int i = 0; i < a->n_routes; i++)
        SAY(a->routes[i].cap_Bps, b->routes[i].cap_Bps, "%s to %s%s",
            a->tiers[a->routes[i].src].name, a->tiers[a->routes[i].dst].name,
            a->routes[i].pageable ? " pageable" : "")
#undef SAY
}

static void knobs(void) {
    static const char *const expected[][2] = {
        {"vram size", "vram0 size x2; "},
        {"vram bandwidth", "vram0 nominal x2; vram0 x2; gpu0 reads vram0 x2; "},
        {"pcie", "pcie0.h2d x2; pcie0.d2h x2; pcie0.both x2; gpu0 reads ram x2; ram to vram0 x2; "
                 "vram0 to ram x2; "},
        {"ram size", "ram size x2; "},
        {"ram bandwidth", "ram nominal x2; ram x2; cpu reads ram x2; "},
        {"nvme",
         "nvme0 nominal x2; nvme0.read x2; nvme0.write x2; nvme0 to ram x2; nvme0 to ram pageable "
         "x2; ram to nvme0 x2; ram to nvme0 pageable x2; nvme0 to vram0 x2; nvme0 to vram0 "
         "pageable x2; vram0 to nvme0 x2; vram0 to nvme0 pageable x2; "},
        {"unified size", NULL},
        {"unified bandwidth", NULL},
        {"gpu compute", "gpu0 peak x2; "},
        {"cpu compute", "cpu peak x2; "},
    };
    char text[2048];
    compose("machine: {gpu: rtx4090}");
    CHECK_INT(sw_topology_knobs_n, sizeof expected / sizeof *expected);
    for (size_t k = 0; k < sw_topology_knobs_n; k++) {
        static sw_topology scaled;
        scaled = topo;
        CHECK_STR(sw_topology_knobs[k], expected[k][0]);
        CHECK(sw_topology_scale(&scaled, expected[k][0], 2) == (expected[k][1] != NULL));
        changes(&topo, &scaled, text, sizeof text);
        CHECK_STR(text, expected[k][1] ? expected[k][1] : "");
        CHECK(sw_topology_check(&scaled, NULL) == SW_OK);
        CHECK(!sw_topology_scale(&scaled, expected[k][0], 0));
    }
    CHECK(!sw_topology_scale(&topo, "hbm", 2));
    static sw_topology mac;
    compose("machine: m3-max");
    mac = topo;
    CHECK(sw_topology_scale(&mac, "unified bandwidth", 2));
    changes(&topo, &mac, text, sizeof text);
    CHECK_STR(text,
              "unified nominal x2; unified x2; gpu0 reads unified x2; cpu reads unified x2; ");
    CHECK(!sw_topology_scale(&mac, "pcie", 2));
}

static void simple_machine(void) {
    sw_topology_simple(&topo, 1e12, UINT64_C(24) << 30, 25e9, 80e9, UINT64_C(64) << 30, 7e9, 80e12,
                       1e12);
    CHECK(sw_topology_check(&topo, &error) == SW_OK);
    CHECK(topo.queues[0].kind == SW_QUEUE_HOST);
    CHECK_INT(sw_topology_tier(&topo, SW_TIER_NVME), 2);
    CHECK_INT(sw_topology_unit(&topo, SW_UNIT_CPU), 1);
    CHECK(sw_topology_tier(&topo, SW_TIER_UNIFIED) == -1);
    CHECK_STR(path(route("ram", "vram0", 0)->path), "ram pcie0.h2d vram0");
    for (int s = 0; s < topo.n_tiers; s++)
        for (int d = 0; d < topo.n_tiers; d++)
            for (int p = 0; p < 2; p++)
                CHECK((topo.route_of[s][d][p] >= 0) ==
                      (s != d || s == sw_topology_tier(&topo, SW_TIER_RAM)));
    static sw_topology broken;
    broken = topo;
    broken.res[0].rate = NAN;
    CHECK(sw_topology_check(&broken, &error) == SW_INPUT);
    CHECK_STR(error.text, "vram0: the rate is not a number over 0");
    broken = topo;
    broken.queues[0].kind = SW_QUEUE_IO;
    CHECK(sw_topology_check(&broken, &error) == SW_INPUT);
    broken = topo;
    broken.routes[0].path = 200;
    CHECK(sw_topology_check(&broken, &error) == SW_INPUT);
    CHECK_STR(error.text, "route ram -> vram0: no path");
    CHECK_STR(sw_class_name(SW_CLASS_EXPERT), "expert gemm");
    CHECK_STR(sw_class_name((sw_class)99), "unknown");
}

/* The GPU is a thread: its memory is RAM, and a core is held by whatever works. */
static void emulated_gpu(void) {
    compose(
        "machine: {gpu: {emulated: true, memory: {capacity: 1 GiB, bandwidth: 25 GB/s, "
        "achievable: 1, write: 20 GB/s}, compute: {fp32: 40 GFLOP/s}, kernels: {fixed: 1 us, "
        "gemm_compute: 1}}, "
        "cpu: {memory: {bandwidth: 36 GB/s, achievable: 1}, cores: 1.8, core_bandwidth: 25 GB/s, "
        "compute: {fp32: 72 GFLOP/s}}, link: {h2d: 11 GB/s, d2h: 12 GB/s, latency: 2 us, "
        "pageable: {dma: true}}, nvme: {read: {latency: 70 us, max: 2 GB/s}, write: {max: 1 GB/s}, "
        "serves: 1.2, core: {read: 10 GB/s}}, gds: true, wake: 5 us}");
    const sw_unit *gpu = &topo.units[unit("gpu0")], *cpu = &topo.units[unit("cpu")];
    const sw_route *r = route("ram", "vram0", 0);
    CHECK(gpu->core_of == unit("cpu") && cpu->core_of == unit("cpu"));
    CHECK_STR(path(r->path), "ram");
    CHECK(r->traffic == 2 && r->driver == unit("cpu"));
    CHECK_REL(r->core_Bps, 11e9, 1e-12);
    CHECK_STR(path(topo.ports[unit("gpu0")][tier("vram0")].read_path), "ram");
    CHECK_REL(topo.ports[unit("gpu0")][tier("vram0")].write_Bps, 20e9, 1e-12);
    CHECK_REL(cpu->peak[SW_FP32], 40e9, 1e-12); /* one thread, as the GPU */
    r = route("nvme0", "vram0", 0);
    CHECK_STR(path(r->path), "nvme0.read ram");
    CHECK_STR(path(topo.tiers[tier("nvme0")].time_path), "nvme0.time");
    CHECK_REL(rate("nvme0.time"), 1.2 * SW_UNIT_RATE, 1e-12);
    CHECK_REL(r->latency_s, 70e-6, 1e-12);
    CHECK(r->driver == unit("cpu"));
    CHECK_REL(r->core_Bps, 10e9, 1e-12);
    CHECK(route("ram", "nvme0", 0)->driver == -1);
    CHECK_REL(topo.wake_s, 5e-6, 1e-12);

    /* Reading 25 MB and 4 MFLOP: 1 ms and 0.1 ms of one core, 25 MB of the memory. */
    sw_op op = {.unit = (int16_t)unit("gpu0"), .work = {4e6, SW_FP32, SW_CLASS_GENERIC, 1}};
    double read[SW_TIERS_MAX] = {0}, write[SW_TIERS_MAX] = {0};
    read[tier("vram0")] = 25e6;
    CHECK_INT(sw_cost_kernel(&topo, 0, read, write, &op, &error), SW_OK);
    CHECK_INT(op.n_flows, 3);
    CHECK_INT(op.second, 2);
    CHECK_REL(sw_op_solo_s(&topo, &op), 1e-6 + 1.1e-3, 1e-9);
    CHECK_REL(op.flows[1].amount, 1e-3 * SW_UNIT_RATE / 1.8, 1e-9);
    CHECK_REL(op.flows[2].amount, 0.1e-3 * SW_UNIT_RATE / 1.8, 1e-9);
}

SW_TESTS("machines", {"an emulated GPU", emulated_gpu},
         {"an RTX 4090 with PCIe 4 and DDR5", gpu_with_pcie4_and_ddr5},
         {"an H100 with PCIe 5", datacentre_gpu_with_pcie5}, {"unified memory", unified_memory},
         {"a GH200", superchip}, {"two RTX 3090", two_gpus},
         {"defaults show as such", defaults_show}, {"a machine as JSON", prints},
         {"knobs scale what they name and nothing else", knobs},
         {"the small machine of the tests", simple_machine})
