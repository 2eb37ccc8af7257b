/* Does a runtime profile come out of its file, may a scenario override it, and does it change a
 * machine in efficiencies and reserves alone? */
#include "sim/runtime.h"
#include "check.h"

static sw_runtime rt;
static sw_error error;

static sw_status open_text(const char *text) {
    sw_yaml *doc;
    memset(&error, 0, sizeof error);
    SW_TRY(sw_yaml_parse(text, strlen(text), "s.yaml", &doc, &error));
    sw_status status = sw_runtime_open(sw_node_get(sw_yaml_root(doc), "runtime"), ".",
                                       SPILLWAY_SOURCE_DIR, &rt, &error);
    sw_yaml_free(doc);
    return status;
}

static void ideal(void) {
    CHECK(sw_runtime_open(NULL, NULL, NULL, &rt, &error) == SW_OK);
    sw_runtime none = rt;
    CHECK_STR(rt.name, "ideal");
    CHECK(rt.pinned && rt.launch_host_s == 0 && rt.vram_reserved_bytes == 0);
    CHECK_REL(rt.factor[SW_CLASS_GEMM].memory, 1, 0);
    CHECK(open_text("runtime: ideal") == SW_OK);
    CHECK(!memcmp(&rt, &none, sizeof rt)); /* the file says what NULL says */
}

static void files(void) {
    CHECK(open_text("runtime: generic") == SW_OK);
    CHECK_REL(rt.launch_host_s, 2.5e-6, 1e-12);
    CHECK_REL(rt.launch_device_s, 1.2e-6, 1e-12);
    CHECK_REL(rt.sync_host_s, 5.2e-6, 1e-12);
    CHECK(rt.vram_reserved_bytes == UINT64_C(400) << 20);
    CHECK_INT(rt.run_ahead, 1024);
    CHECK(open_text("runtime: llamacpp") == SW_OK);
    CHECK(!rt.pinned);
    /* Nine launches a layer, 32 layers, ramps of 2 to 4 us, attention 12: t0 of 2.4 to 3.5 ms. */
    double gaps = 32 * 9 * rt.launch_device_s + rt.step_host_s;
    CHECK(gaps + 32 * (8 * 2e-6 + 12e-6) > 2.4e-3);
    CHECK(gaps + 32 * (8 * 4e-6 + 12e-6) < 3.5e-3);
    CHECK(open_text("runtime: pytorch-eager") == SW_OK);
    CHECK_REL(rt.launch_host_s, 10e-6, 1e-12);
}

static void overrides(void) {
    CHECK(open_text("runtime: {use: generic, launch_host: 3 us, run_ahead: 0, pinned: false, "
                    "factor: {generic: {memory: 0.5}, gemm: {memory: 0.9, fixed: 1 us}}}") ==
          SW_OK);
    CHECK_STR(rt.name, "generic");
    CHECK_REL(rt.launch_host_s, 3e-6, 1e-12);
    CHECK_REL(rt.launch_device_s, 1.2e-6, 1e-12);
    CHECK(rt.run_ahead == 0 && !rt.pinned);
    CHECK_REL(rt.factor[SW_CLASS_GEMM].memory, 0.9, 1e-12);
    CHECK_REL(rt.factor[SW_CLASS_ROUTER].memory, 0.5, 1e-12);
    CHECK_REL(rt.factor[SW_CLASS_ROUTER].compute, 1, 1e-12);
}

static void refusals(void) {
    static const char *const lines[][2] = {
        {"runtime: lamacpp", "s.yaml:1:10: runtime: no runtime \"lamacpp\"; did you mean "
                             "\"llamacpp\"?"},
        {"runtime: {launch_hots: 3 us}",
         "s.yaml:1:11: launch_hots: a runtime has no such key; did you mean \"launch_host\"?"},
        {"runtime: {launch_host: 11 s}", "s.yaml:1:24: launch_host: 11 s is more than 10"},
        {"runtime: [a]", "s.yaml:1:10: runtime: a name or a map is due"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        sw_runtime before = rt;
        CHECK(open_text(lines[i][0]) == SW_INPUT);
        CHECK_STR(error.text, lines[i][1]);
        CHECK(!memcmp(&rt, &before, sizeof rt));
    }
}

static void applies(void) {
    static sw_topology t, before;
    sw_topology_simple(&t, 1e12, UINT64_C(1) << 30, 25e9, 80e9, UINT64_C(1) << 30, 7e9, 80e12,
                       1e12);
    before = t;
    CHECK(open_text("runtime: ideal") == SW_OK);
    sw_runtime_apply(&rt, &t);
    CHECK(!memcmp(&t, &before, sizeof t));
    CHECK(open_text("runtime: {vram_reserved: 400 MiB, factor: {gemm: {memory: 0.5, compute: 0.25, "
                    "fixed: 3 us}}}") == SW_OK);
    sw_runtime_apply(&rt, &t);
    CHECK_REL(t.units[0].eff[SW_CLASS_GEMM].memory, 0.5, 1e-12);
    CHECK_REL(t.units[1].eff[SW_CLASS_GEMM].compute, 0.25, 1e-12);
    CHECK_REL(t.units[0].eff[SW_CLASS_GEMM].fixed_s, 3e-6, 1e-12);
    CHECK_REL(t.units[0].eff[SW_CLASS_EMBED].memory, 1, 0);
    CHECK(t.tiers[0].capacity_bytes == (UINT64_C(1) << 30) - (UINT64_C(400) << 20));
    CHECK(t.tiers[0].nominal_bytes == UINT64_C(1) << 30);
    CHECK(t.tiers[1].capacity_bytes == UINT64_C(1) << 30);
    rt.vram_reserved_bytes = UINT64_C(8) << 30;
    sw_runtime_apply(&rt, &t);
    CHECK(t.tiers[0].capacity_bytes == 0); /* nothing fits, and the run says so */
    CHECK(sw_topology_check(&t, &error) == SW_OK);
}

SW_TESTS("runtimes", {"no runtime and ideal are the same", ideal}, {"files", files},
         {"a scenario overrides", overrides}, {"bad input is refused with its place", refusals},
         {"applying changes efficiencies and reserves alone", applies})
