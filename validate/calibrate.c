/* Measuring and fitting (see calibrate.h). The device file is written in calibrate_file.c. */
#include "validate/calibrate.h"
#include "sim/base/vec.h"
#include "sim/cost.h"
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#define KIB        1024.0
#define MIB        (1024 * KIB)
#define SPAN       (UINT64_C(64) << 20)
#define DISK_BYTES (16 * MIB)
#define PROBE_S    0.015 /* about what a stream takes */

static const struct {
    const char *name, *what;
    sw_stream_kind kind;
} kinds[SW_SERIES_COUNT] = {
    {"h2d", "copy from RAM to VRAM", SW_STREAM_COPY},
    {"d2h", "copy from VRAM to RAM", SW_STREAM_COPY},
    {"gpu_read", "GPU kernel that reads VRAM", SW_STREAM_READ},
    {"gpu_write", "GPU kernel that writes VRAM", SW_STREAM_WRITE},
    {"gpu_math", "GPU kernel that computes (FP32)", SW_STREAM_MATH},
    {"cpu_read", "CPU kernel that reads RAM", SW_STREAM_READ},
    {"cpu_math", "CPU kernel that computes (FP32)", SW_STREAM_MATH},
    {"nvme_read", "read from the disk into RAM", SW_STREAM_COPY},
    {"nvme_write", "write from RAM to the disk", SW_STREAM_COPY},
    {"h2d_pageable", "copy from pageable RAM to VRAM", SW_STREAM_COPY},
    {"d2h_pageable", "copy from VRAM to pageable RAM", SW_STREAM_COPY},
    {"gpu_gemm", "GPU matrix product (FP16)", SW_STREAM_MATH},
};

/* What runs at once: each two on different queues, and threes that outnumber two cores. */
static const signed char mixes[][3] = {
    {SW_SERIES_H2D, SW_SERIES_D2H, -1},
    {SW_SERIES_H2D, SW_SERIES_GPU_READ, -1},
    {SW_SERIES_H2D, SW_SERIES_GPU_MATH, -1},
    {SW_SERIES_H2D, SW_SERIES_CPU_READ, -1},
    {SW_SERIES_H2D, SW_SERIES_CPU_MATH, -1},
    {SW_SERIES_D2H, SW_SERIES_GPU_READ, -1},
    {SW_SERIES_D2H, SW_SERIES_CPU_READ, -1},
    {SW_SERIES_GPU_READ, SW_SERIES_CPU_READ, -1},
    {SW_SERIES_GPU_MATH, SW_SERIES_CPU_MATH, -1},
    {SW_SERIES_GPU_MATH, SW_SERIES_CPU_READ, -1},
    {SW_SERIES_H2D, SW_SERIES_NVME_READ, -1},
    {SW_SERIES_H2D, SW_SERIES_NVME_WRITE, -1},
    {SW_SERIES_GPU_READ, SW_SERIES_NVME_READ, -1},
    {SW_SERIES_GPU_MATH, SW_SERIES_NVME_READ, -1},
    {SW_SERIES_NVME_READ, SW_SERIES_NVME_WRITE, -1},
    {SW_SERIES_GPU_MATH, SW_SERIES_CPU_MATH, SW_SERIES_H2D},
    {SW_SERIES_GPU_MATH, SW_SERIES_CPU_MATH, SW_SERIES_NVME_READ},
    {SW_SERIES_GPU_MATH, SW_SERIES_CPU_MATH, SW_SERIES_NVME_WRITE},
    {SW_SERIES_GPU_READ, SW_SERIES_CPU_READ, SW_SERIES_H2D},
    {SW_SERIES_H2D, SW_SERIES_D2H, SW_SERIES_GPU_MATH},
    {SW_SERIES_H2D, SW_SERIES_D2H, SW_SERIES_GPU_READ},
};

/* --- fits ------------------------------------------------------------------------------------- */

void sw_fit_line(const double *size, const double *s, int n, double *fixed_s, double *rate) {
    double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
    for (int i = 0; i < n; i++) { /* weights 1/s^2: relative errors */
        double q = 1 / (s[i] * s[i]), x = size[i];
        w += q, wx += q * x, wy += q * s[i], wxx += q * x * x, wxy += q * x * s[i];
    }
    double det = w * wxx - wx * wx;
    double slope = det > 0 ? (w * wxy - wx * wy) / det : 0, at0 = (wy - slope * wx) / w;
    if (at0 < 0 || !(slope > 0)) at0 = 0, slope = wxy / wxx;
    *fixed_s = at0;
    *rate = 1 / slope;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double quantile(const double *v, int n, double q) {
    double sorted[SW_CAL_MIXES_MAX * 3];
    memcpy(sorted, v, (size_t)n * sizeof *v);
    qsort(sorted, (size_t)n, sizeof *v, ascending);
    double at = q * (n - 1);
    int i = (int)at;
    return i + 1 < n ? sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]) : sorted[i];
}

static void fit_series(sw_series *s, int rounds) {
    double size[SW_CAL_SIZES], sec[SW_CAL_SIZES];
    if (!s->n) return;
    for (int i = 0; i < s->n; i++) {
        sw_cal_point *p = &s->point[i];
        p->s = quantile(p->raw, rounds, 0.5);
        p->spread = (quantile(p->raw, rounds, 0.75) - quantile(p->raw, rounds, 0.25)) / p->s;
        size[i] = p->size, sec[i] = p->s;
    }
    sw_fit_line(size, sec, s->n, &s->fixed_s, &s->rate);
    s->worst = 0;
    for (int i = 0; i < s->n; i++) {
        s->point[i].fit_s = s->fixed_s + s->point[i].size / s->rate;
        s->worst = fmax(s->worst, fabs(s->point[i].fit_s / s->point[i].s - 1));
    }
}

/* --- the machine as it is known so far -------------------------------------------------------- */

/* A stream of the series, with ops of `size`, that takes about `seconds`. */
static sw_stream stream_of(const sw_topology *t, sw_series_id id, double size, double op_s,
                           double seconds) {
    int vram = sw_topology_tier(t, SW_TIER_VRAM), ram = sw_topology_tier(t, SW_TIER_RAM);
    int nvme = sw_topology_tier(t, SW_TIER_NVME);
    bool gpu = id <= SW_SERIES_GPU_MATH || id == SW_SERIES_GPU_GEMM,
         math = kinds[id].kind == SW_STREAM_MATH;
    sw_stream s = {.name = kinds[id].name, .kind = kinds[id].kind, .src = -1, .dst = -1};
    s.unit = (int16_t)sw_topology_unit(t, gpu ? SW_UNIT_GPU : SW_UNIT_CPU);
    s.bytes = math ? 0 : (uint64_t)size;
    s.flops = math ? size : 0;
    double n = seconds / op_s;
    s.n = n < 8 ? 8 : n > 4000 ? 4000 : (uint32_t)n;
    if (!math) s.src = (int16_t)(gpu ? vram : ram);
    s.math = SW_FP32, s.cls = SW_CLASS_GENERIC;
    if (id == SW_SERIES_GPU_GEMM) s.math = SW_FP16, s.cls = SW_CLASS_GEMM;
    s.pageable = id == SW_SERIES_H2D_PAGEABLE || id == SW_SERIES_D2H_PAGEABLE;
    if (id == SW_SERIES_H2D || id == SW_SERIES_H2D_PAGEABLE)
        s.src = (int16_t)ram, s.dst = (int16_t)vram;
    if (id == SW_SERIES_D2H || id == SW_SERIES_D2H_PAGEABLE)
        s.src = (int16_t)vram, s.dst = (int16_t)ram;
    if (id == SW_SERIES_NVME_READ) s.dst = (int16_t)ram;
    if (id == SW_SERIES_NVME_READ) s.src = (int16_t)nvme;
    if (id == SW_SERIES_NVME_WRITE) s.dst = (int16_t)nvme;
    return s;
}

static double op_s(const sw_series *s, double size) {
    return s->fixed_s + size / s->rate;
}

/* Rates to begin with, of any machine: they decide how many ops a probe has. */
static void begin(sw_calibration *c, const sw_cal_options *o) {
    static const double guess[SW_SERIES_COUNT] = {10e9, 10e9, 20e9, 20e9, 30e9, 20e9,
                                                  30e9, 1e9,  1e9,  5e9,  5e9,  1e12};
    int gpu = o->truth ? sw_topology_unit(o->truth, SW_UNIT_GPU) : -1;
    bool emulated =
        o->truth ? o->truth->units[gpu].core_of >= 0 : !strcmp(o->backend->plugin.name, "host");
    *c = (sw_calibration){.backend = o->backend->plugin.name,
                          .emulated = emulated,
                          .memory_Bps = 60e9,
                          .io_read_core_Bps = 20e9,
                          .io_write_core_Bps = 20e9,
                          .disk_serves = 2,
                          .link_Bps = 1e12};
    cpu_set_t set;
    c->cpus = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    c->cores = c->cpus;
    for (int i = 0; i < SW_SERIES_COUNT; i++) {
        sw_series *s = &c->series[i];
        double least = i >= SW_SERIES_NVME_READ ? 64 * KIB : 16 * KIB;
        if (kinds[i].kind == SW_STREAM_MATH) least = 64 * KIB;
        if (!emulated) least *= i == SW_SERIES_GPU_GEMM || i == SW_SERIES_GPU_MATH ? 4096 : 4;
        s->name = kinds[i].name, s->what = kinds[i].what;
        s->rate = guess[i] * (emulated ? 1 : 4);
        if (emulated && i >= SW_SERIES_H2D_PAGEABLE) continue;
        for (double size = least; s->n < (o->quick ? 3 : 6); size *= o->quick ? 16 : 4)
            s->point[s->n++].size = size;
    }
}

static void describe(sw_calibration *c) {
    char line[256];
    struct utsname u;
    time_t now = time(NULL);
    struct tm day;
    gmtime_r(&now, &day);
    strftime(c->date, sizeof c->date, "%Y-%m-%d", &day);
    if (!uname(&u)) snprintf(c->kernel, sizeof c->kernel, "%.20s %.70s", u.sysname, u.release);
    snprintf(c->machine, sizeof c->machine, "a machine with %d processors", c->cpus);
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !colon) continue;
        line[strcspn(line, "\n")] = 0;
        snprintf(c->machine, sizeof c->machine, "%.80s, %d processors", colon + 2, c->cpus);
        for (char *q = c->machine; *q; q++)
            if (*q == '"' || *q == '\\' || (unsigned char)*q < 32) *q = ' ';
        break;
    }
    if (f) fclose(f);
}

/* --- measuring -------------------------------------------------------------------------------- */

typedef struct session {
    const sw_cal_options *o;
    sw_calibration *c;
    sw_topology topo;
    sw_probe probe;
    int done, of;
} session;

static void step(session *s) {
    s->done++;
    if (s->o->progress) s->o->progress(s->o->arg, s->done, s->of);
}

static sw_status measure_series(session *s, int round, sw_error *err) {
    for (int size = 0; size < SW_CAL_SIZES; size++)
        for (int i = 0; i < SW_SERIES_COUNT; i++) {
            sw_series *x = &s->c->series[i];
            if (size >= x->n) continue;
            sw_cal_point *p = &x->point[size];
            double likely = round ? p->raw[0] : op_s(x, p->size);
            sw_stream st = stream_of(&s->topo, (sw_series_id)i, p->size, likely, PROBE_S);
            SW_TRY(sw_probe_run(&s->probe, &st, 1, &p->raw[round], err));
            step(s);
        }
    return SW_OK;
}

/* The size that mixes use: long enough for set-up not to matter, short enough to alternate. */
static double mix_size(const sw_series *x) {
    double size = x->rate * 3e-4;
    return kinds[0].kind == SW_STREAM_COPY && size < MIB ? MIB : floor(size / 4096) * 4096;
}

static sw_status measure_mixes(session *s, int round, sw_error *err) {
    for (int m = 0; m < s->c->n_mixes; m++) {
        sw_cal_mix *x = &s->c->mix[m];
        sw_stream st[3];
        double at_once[3], alone[3];
        for (int i = 0; i < x->n; i++) {
            const sw_series *y = &s->c->series[x->series[i]];
            double size = mix_size(y);
            st[i] =
                stream_of(&s->topo, (sw_series_id)x->series[i], size, op_s(y, size), 4 * PROBE_S);
            SW_TRY(sw_probe_run(&s->probe, &st[i], 1, &alone[i], err));
        }
        SW_TRY(sw_probe_run(&s->probe, st, x->n, at_once, err));
        for (int i = 0; i < x->n; i++) x->raw[i][round] = at_once[i] / alone[i];
        step(s);
    }
    return SW_OK;
}

/* What an op takes, waiting included, when copies and kernels take turns, less what it takes of
 * itself. */
static sw_status measure_wake(session *s, int round, sw_error *err) {
    const sw_series *copy = &s->c->series[SW_SERIES_H2D], *read = &s->c->series[SW_SERIES_GPU_READ];
    double size = copy->point[1].size, both = op_s(copy, size) + op_s(read, size), turn;
    sw_stream turns = stream_of(&s->topo, SW_SERIES_H2D, size, both / 2 + 1e-5, PROBE_S);
    turns.unit = (int16_t)sw_topology_unit(&s->topo, SW_UNIT_GPU);
    turns.kind = SW_STREAM_TURNS;
    SW_TRY(sw_probe_run(&s->probe, &turns, 1, &turn, err));
    s->c->wake_raw[round] = fmax(0, turn - both / 2);
    return SW_OK;
}

/* --- the disk by block size and queue depth ---------------------------------------------------- */

static bool has_param(const sw_plugin *p, const char *name) {
    for (size_t i = 0; i < p->n_params; i++)
        if (!strcmp(p->params[i].name, name)) return true;
    return false;
}

static void begin_disk(sw_calibration *c, const sw_cal_options *o) {
    static const double blocks[] = {64 * KIB, 256 * KIB, MIB}, depths[] = {1, 4, 16, 32};
    if (o->quick || !has_param(&o->backend->plugin, "block") ||
        !has_param(&o->backend->plugin, "depth"))
        return;
    c->disk_stream_Bps = c->disk_max_Bps = 1e9, c->disk_sharpness = 3; /* to begin with */
    for (int b = 0; b < 3; b++)
        for (int d = 0; d < 4; d++)
            c->disk[c->n_disk++] = (sw_cal_disk){.block = blocks[b], .depth = depths[d]};
}

static sw_status measure_disk(session *s, int round, sw_error *err) {
    for (int i = 0; i < s->c->n_disk; i++) {
        sw_cal_disk *d = &s->c->disk[i];
        char text[500];
        sw_yaml *map;
        sw_probe probe = s->probe;
        snprintf(text, sizeof text, "{block: %.0f KiB, depth: %.0f%s%.300s%s}", d->block / KIB,
                 d->depth, s->o->nvme ? ", file: \"" : "", s->o->nvme ? s->o->nvme : "",
                 s->o->nvme ? "\"" : "");
        SW_TRY(sw_yaml_parse(text, strlen(text), "disk", &map, err));
        probe.backend_map = sw_yaml_root(map);
        sw_status st = SW_OK;
        for (int k = 0; k < 2 && !st; k++) {
            sw_series_id id = k ? SW_SERIES_NVME_WRITE : SW_SERIES_NVME_READ;
            sw_stream stream = stream_of(&s->topo, id, DISK_BYTES, 1, 1);
            st = sw_probe_run(&probe, &stream, 1, &d->raw[k][round], err);
        }
        sw_yaml_free(map);
        SW_TRY(st);
        step(s);
    }
    return SW_OK;
}

/* The curve's bend through the points: least squares of logarithms over a grid that narrows. */
static void fit_disk(sw_calibration *c) {
    double best = INFINITY, latency = c->series[SW_SERIES_NVME_READ].fixed_s, most = 0;
    for (int i = 0; i < c->n_disk; i++) {
        sw_cal_disk *d = &c->disk[i];
        d->read_Bps = DISK_BYTES / quantile(d->raw[0], c->rounds, 0.5);
        d->write_Bps = DISK_BYTES / quantile(d->raw[1], c->rounds, 0.5);
        most = fmax(most, d->read_Bps);
    }
    sw_disk_curve at = {latency, most, most, 0, 3};
    for (int sweep = 0; sweep < 6; sweep++) {
        double width = pow(16, pow(0.5, sweep));
        sw_disk_curve mid = at;
        for (int a = -4; a <= 4; a++)
            for (int b = -4; b <= 4; b++)
                for (int k = -4; k <= 4; k++) {
                    sw_disk_curve x = {latency, mid.stream_Bps * pow(width, a / 4.0),
                                       mid.max_Bps * pow(width, b / 16.0), 0,
                                       fmin(fmax(mid.sharpness * pow(width, k / 8.0), 0.5), 20)};
                    double e = 0;
                    for (int i = 0; i < c->n_disk; i++)
                        e += pow(log(sw_disk_Bps(&x, c->disk[i].block, c->disk[i].depth) /
                                     c->disk[i].read_Bps),
                                 2);
                    if (e < best) best = e, at = x;
                }
    }
    for (int i = 0; i < c->n_disk; i++)
        c->disk[i].fit_Bps = sw_disk_Bps(&at, c->disk[i].block, c->disk[i].depth);
    c->disk_stream_Bps = at.stream_Bps, c->disk_max_Bps = at.max_Bps;
    c->disk_sharpness = at.sharpness;
}

/* --- what streams cost each other ------------------------------------------------------------- */

typedef struct unknown {
    double *at, least, most;
    bool known; /* this machine has no such thing, or no mix that would tell */
} unknown;

/* Mean squared logarithm of fit over measurement; fills the mixes' fits. */
static sw_status mix_error(session *s, double *out, sw_error *err) {
    double sum = 0;
    int n = 0;
    SW_TRY(sw_calibration_topology(s->c, &s->topo, err));
    for (int m = 0; m < s->c->n_mixes; m++) {
        sw_cal_mix *x = &s->c->mix[m];
        sw_stream st[3];
        double at_once[3], alone;
        for (int i = 0; i < x->n; i++) {
            const sw_series *y = &s->c->series[x->series[i]];
            double size = mix_size(y);
            st[i] = stream_of(&s->topo, (sw_series_id)x->series[i], size, op_s(y, size), PROBE_S);
        }
        SW_TRY(sw_steady(&s->topo, st, x->n, at_once, err));
        for (int i = 0; i < x->n; i++) {
            SW_TRY(sw_steady(&s->topo, &st[i], 1, &alone, err));
            x->fit[i] = at_once[i] / alone;
            double e = log(x->fit[i] / x->slower[i]);
            sum += fmin(fabs(e), 0.3); /* absolute and bounded: an outlier counts once */
            n++;
        }
    }
    *out = sum / n;
    return SW_OK;
}

/* Coordinate by coordinate over a grid that narrows: few unknowns, a cheap model, no derivatives. */
static sw_status fit_mixes(session *s, sw_error *err) {
    sw_calibration *c = s->c;
    bool real = !c->emulated;
    double cpu = c->series[SW_SERIES_CPU_READ].rate, h2d = c->series[SW_SERIES_H2D].rate;
    double one =
        real ? fmax(cpu, h2d) : fmax(fmax(cpu, c->series[SW_SERIES_GPU_READ].rate), 2 * h2d);
    const unknown u[] = {
        {&c->memory_Bps, one, one * c->cpus * 2, false},
        {&c->cores, c->cpus * 0.5, c->cpus, real},
        {&c->disk_serves, 1, 2, false},
        {&c->link_Bps, c->series[SW_SERIES_H2D].rate,
         c->series[SW_SERIES_H2D].rate + c->series[SW_SERIES_D2H].rate, !real},
        {&c->io_read_core_Bps, c->series[SW_SERIES_NVME_READ].rate, 200e9, real},
        {&c->io_write_core_Bps, c->series[SW_SERIES_NVME_WRITE].rate, 200e9, real}};
    enum { UNKNOWNS = sizeof u / sizeof *u, GRID = 9 };
    if (real) c->cores = c->cpus, c->io_read_core_Bps = c->io_write_core_Bps = 200e9;
    c->memory_Bps = one * sqrt(c->cpus);
    c->link_Bps = c->series[SW_SERIES_H2D].rate + c->series[SW_SERIES_D2H].rate;
    c->disk_serves = 2;
    double best;
    for (int sweep = 0; sweep < 5; sweep++)
        for (int k = 0; k < UNKNOWNS; k++) {
            if (u[k].known) continue;
            double width = pow(u[k].most / u[k].least, pow(0.5, sweep)), mid = *u[k].at, keep = mid;
            SW_TRY(mix_error(s, &best, err));
            for (int g = 0; g < GRID; g++) {
                double e, from = sweep ? mid / sqrt(width) : u[k].least; /* first the whole range */
                double x = from * pow(width, g / (GRID - 1.0));
                *u[k].at = fmin(fmax(x, u[k].least), u[k].most);
                SW_TRY(mix_error(s, &e, err));
                if (e < best) best = e, keep = *u[k].at;
            }
            *u[k].at = keep;
        }
    return mix_error(s, &best, err);
}

static void conclude(sw_calibration *c, int rounds) {
    double spreads[SW_SERIES_COUNT * SW_CAL_SIZES];
    int n = 0;
    for (int i = 0; i < SW_SERIES_COUNT; i++) {
        fit_series(&c->series[i], rounds);
        for (int k = 0; k < c->series[i].n; k++) spreads[n++] = c->series[i].point[k].spread;
    }
    c->noise = quantile(spreads, n, 0.5);
    for (int m = 0; m < c->n_mixes; m++)
        for (int i = 0; i < c->mix[m].n; i++)
            c->mix[m].slower[i] = fmax(1, quantile(c->mix[m].raw[i], rounds, 0.5));
    c->wake_s = 0; /* a mean: it takes few values, by which processor a thread was put on */
    for (int i = 0; i < rounds * SW_CAL_WAKES; i++)
        c->wake_s += c->wake_raw[i] / (rounds * SW_CAL_WAKES);
    c->rounds = rounds;
}

sw_status sw_calibrate(const sw_cal_options *o, sw_calibration *c, sw_error *err) {
    const double calm = 0.05; /* more than this between rounds: measure again as often */
    sw_yaml *map = NULL;
    char text[400];
    int rounds = o->rounds ? o->rounds : o->quick ? 1 : 9, most = rounds * 2;
    if (most > SW_CAL_ROUNDS_MAX) most = SW_CAL_ROUNDS_MAX;
    begin(c, o);
    begin_disk(c, o);
    describe(c);
    c->n_mixes = (int)(sizeof mixes / sizeof *mixes);
    for (int m = 0; m < c->n_mixes; m++)
        for (c->mix[m].n = 0; c->mix[m].n < 3 && mixes[m][c->mix[m].n] >= 0; c->mix[m].n++)
            c->mix[m].series[c->mix[m].n] = mixes[m][c->mix[m].n];
    session *s = sw_zalloc(1, sizeof *s);
    if (!s) return sw_fail(err, SW_MEMORY, "out of memory");
    *s = (session){.o = o, .c = c};
    s->probe = (sw_probe){o->backend, NULL, o->truth ? o->truth : &s->topo, SPAN};
    int points = 0;
    for (int i = 0; i < SW_SERIES_COUNT; i++) points += c->series[i].n;
    s->of = rounds * (points + c->n_mixes + c->n_disk);
    sw_status st = SW_OK;
    if (o->nvme) {
        snprintf(text, sizeof text, "{file: \"%.300s\"}", o->nvme);
        st = sw_yaml_parse(text, strlen(text), "--nvme", &map, err);
        if (!st) s->probe.backend_map = sw_yaml_root(map);
    }
    if (!st) st = sw_calibration_topology(c, &s->topo, err);
    for (int round = 0; round < rounds && !st; round++) {
        st = measure_series(s, round, err);
        if (!round && !st) conclude(c, 1); /* so that mixes know how long ops take */
        if (!st) st = measure_mixes(s, round, err);
        for (int i = 0; i < SW_CAL_WAKES && !st; i++)
            st = measure_wake(s, round * SW_CAL_WAKES + i, err);
        if (!st) st = measure_disk(s, round, err);
        if (!st) conclude(c, round + 1);
        if (round == rounds - 1 && c->noise > calm && rounds < most) {
            s->of += (most - rounds) * (points + c->n_mixes + c->n_disk);
            rounds = most;
        }
    }
    if (!st && c->n_disk) fit_disk(c);
    if (!st) st = fit_mixes(s, err);
    double errors[SW_CAL_MIXES_MAX * 3];
    int n = 0;
    for (int m = 0; m < c->n_mixes && !st; m++)
        for (int i = 0; i < c->mix[m].n; i++)
            errors[n++] = fabs(log(c->mix[m].fit[i] / c->mix[m].slower[i]));
    if (!st) c->mix_error = quantile(errors, n, 0.5);
    sw_yaml_free(map);
    free(s);
    return st;
}
