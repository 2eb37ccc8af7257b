/* Question: does a calibration find the figures of a machine that is known, because simgrid plays
 * it? And does the device file that it writes describe that machine? */
#include "check.h"
#include "validate/calibrate.h"
#include <stdio.h>
#include <stdlib.h>

extern const sw_backend_ops sw_backend_simgrid;

/* A machine whose GPU is emulated, and one with a GPU of its own. */
static const double rates[2][SW_SERIES_COUNT] = {
    {11e9, 12e9, 25e9, 20e9, 40e9, 25e9, 40e9, 2e9, 1.5e9},
    {25e9, 26e9, 900e9, 900e9, 40e12, 20e9, 50e9, 6e9, 4e9, 8e9, 9e9, 150e12}};
static const double fixed[SW_SERIES_COUNT] = {2e-6, 2e-6,  1e-6,  1e-6,  1e-6,  0,
                                              0,    70e-6, 50e-6, 10e-6, 10e-6, 1e-6};

static sw_calibration known(bool emulated) {
    static sw_calibration c;
    c = (sw_calibration){.backend = "simgrid",
                         .machine = "known",
                         .date = "2026-01-01",
                         .emulated = emulated,
                         .cpus = 2,
                         .memory_Bps = emulated ? 36e9 : 35e9,
                         .cores = 1.8,
                         .io_read_core_Bps = 10e9,
                         .io_write_core_Bps = 8e9,
                         .disk_serves = 1.2,
                         .link_Bps = 32e9,
                         .wake_s = 5e-6};
    for (int i = 0; i < SW_SERIES_COUNT; i++)
        c.series[i] =
            (sw_series){.name = "x", .what = "x", .rate = rates[!emulated][i], .fixed_s = fixed[i]};
    return c;
}

static void finds(bool emulated) {
    sw_calibration truth = known(emulated);
    static sw_calibration found;
    static sw_topology t;
    sw_error err = {0};
    CU_ASSERT_EQUAL_FATAL(sw_calibration_topology(&truth, &t, &err), SW_OK);
    for (int i = 0; i < t.n_tiers; i++) t.tiers[i].capacity_bytes = 1ull << 40;
    sw_cal_options o = {.backend = &sw_backend_simgrid, .rounds = 1, .truth = &t};
    sw_status st = sw_calibrate(&o, &found, &err);
    if (st) printf("\n  %s\n", err.text);
    CU_ASSERT_EQUAL_FATAL(st, SW_OK);
    int n = emulated ? SW_SERIES_NVME_WRITE + 1 : SW_SERIES_COUNT;
    for (int i = 0; i < n; i++) {
        bool emulated_cpu = emulated && (i == SW_SERIES_CPU_READ || i == SW_SERIES_CPU_MATH);
        CHECK_REL(found.series[i].rate, rates[!emulated][i], 0.005);
        CHECK(fabs(found.series[i].fixed_s - (emulated_cpu ? 1e-6 : fixed[i])) <
              3e-8 + 0.02 * fixed[i]);
        CHECK(found.series[i].worst < 0.01);
    }
    CHECK_REL(found.wake_s, truth.wake_s, 0.02);
    CHECK_REL(found.memory_Bps, truth.memory_Bps, 0.03);
    if (emulated) CHECK_REL(found.cores, truth.cores, 0.03);
    CHECK_REL(found.disk_serves, truth.disk_serves, 0.05);
    if (emulated) CHECK_REL(found.io_read_core_Bps, truth.io_read_core_Bps, 0.25);
    if (!emulated) CHECK_REL(found.link_Bps, truth.link_Bps, 0.03);
    CHECK(found.mix_error < 0.01);
    printf("(memory %.3g of %.3g GB/s, cores %.3f of 1.8, mixes off by %.2f %%) ",
           found.memory_Bps * 1e-9, truth.memory_Bps * 1e-9, found.cores, 100 * found.mix_error);
}

static void finds_an_emulated_gpu(void) {
    finds(true);
}

static void finds_a_real_gpu(void) {
    finds(false);
}

/* Written, read back: the figures are the machine's. */
static void file_describes_the_machine(void) {
    sw_calibration c = known(true);
    static sw_topology t;
    sw_error err = {0};
    CU_ASSERT_EQUAL_FATAL(sw_calibration_topology(&c, &t, &err), SW_OK);
    int gpu = sw_topology_unit(&t, SW_UNIT_GPU), cpu = sw_topology_unit(&t, SW_UNIT_CPU);
    int vram = sw_topology_tier(&t, SW_TIER_VRAM), ram = sw_topology_tier(&t, SW_TIER_RAM);
    const sw_route *h2d = &t.routes[t.route_of[ram][vram][0]];
    CHECK(t.measured);
    CHECK(t.units[gpu].core_of == cpu && t.units[cpu].core_of == cpu);
    CHECK(t.tiers[vram].res == t.tiers[ram].res);
    CHECK_REL(t.res[t.tiers[ram].res].rate, 36e9, 1e-6);
    CHECK_REL(t.ports[gpu][vram].read_Bps, 25e9, 1e-6);
    CHECK_REL(t.ports[gpu][vram].write_Bps, 20e9, 1e-6);
    CHECK_REL(t.units[gpu].peak[SW_FP32], 40e9, 1e-6);
    CHECK_REL(t.units[cpu].cores, 1.8, 1e-6);
    CHECK_REL(h2d->cap_Bps, 11e9, 1e-6);
    CHECK_REL(h2d->latency_s, 2e-6, 1e-6);
    CHECK(h2d->driver == cpu && h2d->traffic == 2);
    CHECK_REL(t.wake_s, 5e-6, 1e-6);
}

static void lines(void) {
    double size[4] = {1e4, 1e5, 1e6, 1e7}, s[4], a, r;
    for (int i = 0; i < 4; i++) s[i] = 3e-6 + size[i] / 2e9;
    sw_fit_line(size, s, 4, &a, &r);
    CHECK_REL(a, 3e-6, 1e-9);
    CHECK_REL(r, 2e9, 1e-9);
    for (int i = 0; i < 4; i++) s[i] = size[i] / 2e9 - (i ? 0 : 1e-6); /* no negative set-up */
    sw_fit_line(size, s, 4, &a, &r);
    CHECK(a == 0 && r > 1.9e9);
}

SW_TESTS("calibrate", {"lines", lines}, {"file describes the machine", file_describes_the_machine},
         {"finds an emulated GPU", finds_an_emulated_gpu}, {"finds a real GPU", finds_a_real_gpu})
