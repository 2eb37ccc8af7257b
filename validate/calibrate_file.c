/* A calibration as a device file, and as the machine that the file describes (see calibrate.h). */
#include "sim/base/vec.h"
#include "sim/scenario.h"
#include "validate/calibrate.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* "{value: V, kind: measured, source: here, note: …}" */
__attribute__((format(printf, 4, 5))) static void figure(FILE *f, const char *key,
                                                         const char *value, const char *fmt, ...) {
    va_list ap;
    fprintf(f, "%s: {value: %s, kind: measured, source: here, note: \"", key, value);
    va_start(ap, fmt);
    vfprintf(f, fmt, ap);
    va_end(ap);
    fputs("\"}\n", f);
}

static const char *rate(char *buf, double per_s, const char *unit) {
    snprintf(buf, 40, "%.6g G%s/s", per_s * 1e-9, unit);
    return buf;
}

static const char *micros(char *buf, double s) {
    snprintf(buf, 40, "%.6g us", s * 1e6);
    return buf;
}

static void rate_of(FILE *f, const char *key, const sw_series *s, const char *unit) {
    char b[40];
    figure(f, key, rate(b, s->rate, unit), "%s, %d sizes; the fit misses by %.1f %% at most",
           s->what, s->n, 100 * s->worst);
}

static void fixed_of(FILE *f, const char *key, const sw_series *s) {
    char b[40];
    figure(f, key, micros(b, s->fixed_s), "set-up in the same fit");
}

char *sw_calibration_yaml(const sw_calibration *c) {
    const sw_series *s = c->series;
    bool emulated = c->emulated;
    char *text = NULL, b[40];
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    if (!f) return NULL;
    fprintf(f, "# %s, measured by spillway calibrate --backend %s on %s.\n", c->machine, c->backend,
            c->date);
    if (emulated) fputs("# Its GPU is played by the CPU, as the backend `host` does.\n", f);
    fprintf(f, "spillway: device/1\nkind: machine\nname: \"%s%s\"\ncalibrated: true\n", c->machine,
            emulated ? ", emulated GPU" : "");
    fprintf(f, "gds: %s\nram: 2 GiB\nnvme_capacity: 64 GiB\n", emulated ? "true" : "false");
    figure(f, "wake", micros(b, c->wake_s), "an op waits for one on another queue");
    fprintf(f, "gpu:\n  name: \"%s\"\n  calibrated: true\n", emulated ? "emulated GPU" : "GPU");
    if (emulated) fputs("  emulated: true\n", f);
    fputs("  memory:\n    capacity: 2 GiB\n", f);
    rate_of(f, "    bandwidth", &s[SW_SERIES_GPU_READ], "B");
    fputs("    achievable: 1\n", f);
    rate_of(f, "    write", &s[SW_SERIES_GPU_WRITE], "B");
    fputs("  compute:\n", f);
    rate_of(f, "    fp32", &s[SW_SERIES_GPU_MATH], "FLOP");
    if (!emulated) rate_of(f, "    fp16", &s[SW_SERIES_GPU_GEMM], "FLOP");
    fputs("  kernels:\n    gemm_memory: 1\n    gemm_compute: 1\n    prefill_compute: 1\n"
          "    attention_memory: 1\n",
          f);
    fixed_of(f, "    fixed", &s[SW_SERIES_GPU_READ]);
    fixed_of(f, "    attention_fixed", &s[SW_SERIES_GPU_READ]);
    fputs("link:\n  calibrated: true\n  host_io: false\n", f);
    if (emulated) {
        fputs("  pageable: {dma: true}\n", f);
    } else {
        figure(f, "  both", rate(b, c->link_Bps, "B"), "both directions together, from the mixes");
        fputs("  pageable:\n", f);
        rate_of(f, "    h2d", &s[SW_SERIES_H2D_PAGEABLE], "B");
        rate_of(f, "    d2h", &s[SW_SERIES_D2H_PAGEABLE], "B");
        fixed_of(f, "    latency", &s[SW_SERIES_H2D_PAGEABLE]);
    }
    rate_of(f, "  h2d", &s[SW_SERIES_H2D], "B");
    rate_of(f, "  d2h", &s[SW_SERIES_D2H], "B");
    fixed_of(f, "  latency", &s[SW_SERIES_H2D]);
    fprintf(f, "cpu:\n  name: \"%s\"\n  calibrated: true\n  single_thread: true\n  memory:\n",
            c->machine);
    figure(f, "    bandwidth", rate(b, c->memory_Bps, "B"),
           "what threads share, from %d mixes of streams; the median mix is off by %.1f %%",
           c->n_mixes, 100 * c->mix_error);
    fputs("    achievable: 1\n", f);
    snprintf(b, sizeof b, "%.3f", c->cores);
    figure(f, "  cores", b, "as many as whose work adds up, from the same mixes; %d processors",
           c->cpus);
    rate_of(f, "  core_bandwidth", &s[SW_SERIES_CPU_READ], "B");
    fputs("  kernels: {gemm_compute: 1}\n  compute:\n", f);
    figure(f, "    fp32", rate(b, s[SW_SERIES_CPU_MATH].rate * c->cores, "FLOP"),
           "all cores; one: %s", s[SW_SERIES_CPU_MATH].what);
    fputs("nvme:\n  name: \"the disk behind the file\"\n  calibrated: true\n  capacity: 64 GiB\n",
          f);
    fputs("  read:\n", f);
    fixed_of(f, "    latency", &s[SW_SERIES_NVME_READ]);
    if (c->n_disk) {
        static const char from[] = "from %d block sizes and queue depths";
        figure(f, "    stream", rate(b, c->disk_stream_Bps, "B"), from, c->n_disk);
        figure(f, "    max", rate(b, c->disk_max_Bps, "B"), from, c->n_disk);
        snprintf(b, sizeof b, "%.3g", c->disk_sharpness);
        figure(f, "    sharpness", b, from, c->n_disk);
    } else {
        fputs("    stream: 1000 GB/s\n    sharpness: 8\n", f);
        rate_of(f, "    max", &s[SW_SERIES_NVME_READ], "B");
    }
    fputs("  write:\n", f);
    fixed_of(f, "    latency", &s[SW_SERIES_NVME_WRITE]);
    rate_of(f, "    max", &s[SW_SERIES_NVME_WRITE], "B");
    snprintf(b, sizeof b, "%.3g", c->disk_serves);
    figure(f, "  serves", b, "reading and writing at once, from the mixes");
    fputs("  core:\n", f);
    figure(f, "    read", rate(b, c->io_read_core_Bps, "B"), "bytes a core moves, from the mixes");
    figure(f, "    write", rate(b, c->io_write_core_Bps, "B"),
           "bytes a core moves, from the mixes");
    fprintf(f,
            "sources:\n  here: \"spillway calibrate --backend %s, %s, %s, %s; %d rounds, spread "
            "between them %.1f %%\"\n",
            c->backend, c->date, c->machine, c->kernel, c->rounds, 100 * c->noise);
    if (fclose(f)) {
        free(text);
        return NULL;
    }
    return text;
}

sw_status sw_calibration_topology(const sw_calibration *c, sw_topology *out, sw_error *err) {
    char *text = sw_calibration_yaml(c), data[512];
    sw_yaml *y = NULL;
    if (!text) return sw_fail(err, SW_MEMORY, "out of memory");
    sw_status st = sw_yaml_parse(text, strlen(text), "calibration", &y, err);
    sw_data_dir(NULL, data, sizeof data);
    if (!st) st = sw_topology_open(sw_yaml_root(y), NULL, data, out, err);
    sw_yaml_free(y);
    free(text);
    return st;
}
