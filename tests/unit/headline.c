/* Question: does each shipped scenario say what a calculation on paper says?
 *
 * Each row is a decode step worked out by hand from published sizes (tensor bytes) and the
 * machine's figures (device files): what must be read from VRAM, what the CPU must read from RAM,
 * what must cross the link or come from the disk, what launching costs. Nothing here comes out of
 * the program. A figure further off than 5 % needs a reason here, or is a bug. */
#include "check.h"
#include "jobs/job.h"
#include <stdio.h>

#define GB 1e9
#define US 1e-6

/* A dense layer under llama.cpp's profile: 9 launches with a gap of 5.1 us; `fixed` each, attention
 * 12 us. */
static double dense_layers(int n, double fixed_us, double gap_us) {
    return n * (8 * (fixed_us + gap_us) + 12 + gap_us) * US;
}

/* Weights read each step: everything but the embedding, of which one row is read. */
static double streamed(double model, double embed) {
    return model - embed;
}

static const double host_step =
    205 * US; /* llama.cpp's profile: 200 us a step, and the wait for the device */

/* --- resident: VRAM bandwidth and launches ---------------------------------------------------- */

static double llama3_8b_4090(void) {
    double weights = streamed(16.0605 * GB, 1.0507 * GB) / (982.8 * GB); /* 1,008 GB/s x .975 */
    double kv = 544 * 131072.0 / (907 * GB); /* mid-run context; 1,008 x .90 */
    return weights + kv + dense_layers(32, 2, 5.1) + 3 * 7.1 * US + host_step;
}

static double llama3_70b_2x3090(void) {
    double weights =
        streamed(42.5125 * GB, 0.5910 * GB) / (831.3 * GB) + 528 * 327680.0 / (831.3 * GB);
    return weights + dense_layers(80, 4, 5.1) + 3 * 9.1 * US +
           host_step; /* one card after the other */
}

static double llama3_70b_m3_max(void) {
    double weights =
        streamed(42.5125 * GB, 0.5910 * GB) / (381.2 * GB) + 528 * 327680.0 / (381.2 * GB);
    return weights + dense_layers(80, 12, 5.1) + host_step;
}

static double llama3_70b_strix(void) {
    double weights =
        streamed(74.9672 * GB, 1.1163 * GB) / (220.9 * GB) + 264 * 327680.0 / (220.9 * GB);
    return weights + 80 * 9 * 5.1 * US + host_step; /* fixed is in its bandwidth figure */
}

static double llama3_8b_16k_3060(void) {
    double weights = streamed(8.5329 * GB, 0.5582 * GB) / (330.1 * .872 * GB);
    double kv = 16392 * 131072.0 / (330.1 * .981 * GB);
    return weights + kv + dense_layers(32, 4, 5.1) + 3 * 9.1 * US + host_step;
}

/* --- prefetch: what does not fit beside two slots crosses the link ---------------------------- */

/* Bytes that cross each step: whole layers, so that what VRAM pins is a whole number of them. */
static double crossing(double weights, double vram, double layer, double other) {
    double pinned = floor((vram - 2 * layer - other) / layer) * layer;
    return weights - pinned;
}

static double llama3_70b_4090(void) {
    double vram = 24 * 0x1p30 - 400 * 0x1p20, layer = 0.575 * GB, kv = 160 * 327680.0;
    return (streamed(42.5125 * GB, 0.5910 * GB) - (vram - 2 * layer - kv)) / (25 * GB);
}

static double llama3_70b_f16_h100(void) {
    double vram = 80 * 0x1p30 - 400 * 0x1p20, layer = 1.7113 * GB, kv = 64 * 143 * 327680.0;
    return crossing(streamed(141.1074 * GB, 2.1013 * GB), vram, layer, kv + 0.6 * GB) / (55.4 * GB);
}

static double llama3_70b_f16_gh200(void) {
    double vram = 96 * 0x1p30 - 600 * 0x1p20, layer = 1.7113 * GB, kv = 8 * 272 * 327680.0;
    return crossing(streamed(141.1074 * GB, 2.1013 * GB), vram, layer, kv + 0.3 * GB) /
           (364 * GB); /* both ways' ceiling */
}

/* What RAM cannot hold comes from the disk; with one block ahead the copies from RAM do not overlap
 * the reads. */
static double llama3_405b_nvme(void) {
    double vram = 24 * 0x1p30 - 400 * 0x1p20, layer = 2.07 * GB, ram = 64 * 0x1p30;
    double cross = crossing(streamed(243.0617 * GB, 1.1820 * GB), vram, layer, 0.1 * GB);
    double from_ram = floor(ram / (1.92 * GB)) * 1.92 * GB;
    return (cross - from_ram) / (6.299 * GB) + from_ram / (25 * GB);
}

/* 48 layers of 1.2333 GB and the tied head of 0.7501 GB; the micro-batches of a layer share one
 * copy. */
static double opt_30b_t4(void) {
    double vram = 16 * 0x1p30 - 500 * 0x1p20, layer = 1.2333 * GB, kv = 8 * 519 * 1376256.0;
    double cross = 59.1990 * GB + 0.7501 * GB - floor((vram - 2 * layer - kv) / layer) * layer;
    return cross / (12.2 * GB);
}

/* --- split: chosen experts in RAM at the CPU's rate, the rest in VRAM ------------------------- */

/* A layer with routed experts: 12 launches, attention 12 us. */
static double moe_layers(int n, double fixed_us, double gap_us) {
    return n * (11 * (fixed_us + gap_us) + 12 + gap_us) * US;
}

static double mixtral_3060(void) {
    double experts = 27.314 * GB,
           rest = 1.060 * GB; /* of 28.4477: experts; attention and head, embedding aside */
    double vram = 12 * 0x1p30 - 450 * 0x1p20, layer = experts / 32;
    double in_vram = floor((vram - rest - 0.05 * GB) / layer);
    double cpu = (32 - in_vram) * layer * 2 / 8 / (40.96 * GB);
    double gpu = (rest + in_vram * layer * 2 / 8) / (330.1 * .872 * GB);
    return cpu + gpu + moe_layers((int)in_vram, 4, 5.1) + (32 - in_vram) * (8 * 9.1 + 17.1) * US +
           host_step;
}

static double qwen3_30b_4060ti(void) {
    double experts = 17.625 * GB, rest = 0.751 * GB, vram = 16 * 0x1p30 - 450 * 0x1p20,
           layer = experts / 48;
    double in_vram = floor((vram - rest - 0.07 * GB) / layer);
    double cpu = (48 - in_vram) * layer * 8 / 128 / (71.68 * GB);
    double gpu = (rest + in_vram * layer * 8 / 128) / (234.1 * GB);
    return cpu + gpu + moe_layers((int)in_vram, 2, 5.1) + (48 - in_vram) * (7 * 7.1 + 17.1) * US +
           host_step;
}

static double gpt_oss_5090(void) {
    double layer = 128 * 13236480.0, rest = 65.2488 * GB - 36 * layer - 1.1583 * GB;
    double vram = 32 * 0x1p30 - 450 * 0x1p20, in_vram = floor((vram - rest - 0.02 * GB) / layer);
    double cpu = (36 - in_vram) * 4 * 13236480.0 / (81.92 * GB);
    double gpu = (rest + in_vram * 4 * 13236480.0) / (1521 * .942 * GB);
    return cpu + gpu + moe_layers((int)in_vram, 2, 5.1) + (36 - in_vram) * (7 * 7.1 + 17.1) * US +
           host_step +
           36 * 12 * 1 * US; /* the host's launches of the CPU's ops, which nothing hides */
}

static double deepseek_4090(void) {
    double experts =
        404.4888 * GB - 0.5213 * GB - 9.984 * GB; /* all that is not in VRAM or the embedding */
    double cpu = experts / 256 * 8 / (299.5 * GB), gpu = 9.984 * GB / (982.8 * GB);
    return cpu + gpu + 61 * (16 * 7.1 + 17.1) * US + host_step +
           58 * 2 * 3 * US; /* and two small copies a layer */
}

static const struct {
    const char *file;
    double (*by_hand)(void);
} rows[] = {
    {"llama3-8b-f16-rtx4090", llama3_8b_4090},
    {"llama3-70b-q4-2x3090", llama3_70b_2x3090},
    {"llama3-70b-q4-m3-max", llama3_70b_m3_max},
    {"llama3-70b-q8-strix-halo", llama3_70b_strix},
    {"llama3-8b-long-context-rtx3060", llama3_8b_16k_3060},
    {"llama3-70b-q4-rtx4090", llama3_70b_4090},
    {"llama3-70b-f16-h100-batch", llama3_70b_f16_h100},
    {"llama3-70b-f16-gh200", llama3_70b_f16_gh200},
    {"llama3-405b-q4-nvme", llama3_405b_nvme},
    {"opt-30b-flexgen-t4", opt_30b_t4},
    {"mixtral-8x7b-q4-rtx3060", mixtral_3060},
    {"qwen3-30b-a3b-q4-rtx4060ti", qwen3_30b_4060ti},
    {"gpt-oss-120b-rtx5090", gpt_oss_5090},
    {"deepseek-v3-q4-epyc-rtx4090", deepseek_4090},
};
enum { N = sizeof rows / sizeof *rows };

/* Where there is no SimGrid, null says the same: none of these steps contends. */
static const sw_override without_simgrid = {"backend", "null"};

static bool has_simgrid(void) {
    for (size_t i = 0; i < sw_backend_table_n; i++)
        if (!strcmp(sw_backend_table[i]->name, "simgrid")) return true;
    return false;
}

static void hand_calculations(void) {
    static sw_job_result out[N];
    static char paths[N][256];
    sw_job jobs[N] = {{0}};
    sw_error err = {0};
    for (int i = 0; i < N; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/scenarios/%s.yaml", SPILLWAY_SOURCE_DIR,
                 rows[i].file);
        jobs[i].path = paths[i];
        jobs[i].data_dir = SPILLWAY_SOURCE_DIR;
        jobs[i].over = &without_simgrid;
        jobs[i].n_over = has_simgrid() ? 0 : 1;
    }
    CHECK_INT(sw_jobs_run(jobs, N, 2, out, NULL, NULL, &err), SW_OK);
    printf("\n  %-32s %10s %10s %7s\n", "seconds between tokens", "by hand", "simulated", "off");
    for (int i = 0; i < N; i++) {
        if (out[i].status) printf("  %s: %s\n", rows[i].file, out[i].err.text);
        CU_ASSERT_EQUAL_FATAL(out[i].status, SW_OK);
        double hand = rows[i].by_hand(),
               sim = out[i].result.itl.sum_s / (double)out[i].result.itl.n;
        printf("  %-32s %10.5f %10.5f %+6.1f%%\n", rows[i].file, hand, sim, 100 * (sim / hand - 1));
        CHECK_REL(sim, hand, 0.05);
    }
}

SW_TESTS("headline", {"the shipped scenarios agree with calculations on paper", hand_calculations})
