/* spillway calibrate: measures this machine and writes a device file. */
#include "cli/args.h"
#include "sim/base/stream.h"
#include "sim/base/units.h"
#include "sim/base/vec.h"
#include "sim/report/table.h"
#include "validate/calibrate.h"
#include <string.h>
#include <unistd.h>

typedef struct calibrate_opts {
    const char *backend, *nvme, *out;
    int64_t rounds;
    bool fast, quiet, plain;
} calibrate_opts;

static const sw_opt opts[] = {
    {"backend", 0, SW_OPT_TEXT, "NAME", offsetof(calibrate_opts, backend),
     "host (default) or cuda: what runs the ops"},
    {"nvme", 0, SW_OPT_TEXT, "PATH", offsetof(calibrate_opts, nvme),
     "a folder on the disk to measure (default: the temporary folder)"},
    {"out", 'o', SW_OPT_TEXT, "FILE", offsetof(calibrate_opts, out),
     "write the device file there; \"-\" is standard output"},
    {"rounds", 0, SW_OPT_COUNT, "N", offsetof(calibrate_opts, rounds),
     "measure everything so often (default 5; twice that when the machine is noisy)"},
    {"fast", 0, SW_OPT_FLAG, NULL, offsetof(calibrate_opts, fast),
     "one round of few sizes: seconds, not minutes, and rough"},
    {"quiet", 'q', SW_OPT_FLAG, NULL, offsetof(calibrate_opts, quiet), "print nothing but errors"},
    {"plain", 0, SW_OPT_FLAG, NULL, offsetof(calibrate_opts, plain), "ASCII only, no colour"}};

static void progress(void *arg, int done, int of) {
    if (*(bool *)arg) fprintf(stderr, "\r\033[Kmeasuring: %d of %d", done, of);
}

static sw_status show_series(const sw_calibration *c, const sw_style *style, sw_error *err) {
    static const sw_column cols[] = {{"measured", NULL, SW_LEFT, true},
                                     {"set-up", "us", SW_RIGHT, false},
                                     {"rate", NULL, SW_RIGHT, false},
                                     {"sizes", NULL, SW_RIGHT, false},
                                     {"fit misses by", "at most %", SW_RIGHT, false},
                                     {"spread", "%", SW_RIGHT, false}};
    sw_table *t = sw_table_new(cols, 6, 0);
    for (int i = 0; i < SW_SERIES_COUNT; i++) {
        const sw_series *s = &c->series[i];
        if (!s->n) continue;
        double spread = 0;
        for (int k = 0; k < s->n; k++) spread += s->point[k].spread / s->n;
        bool math = i == SW_SERIES_GPU_MATH || i == SW_SERIES_CPU_MATH;
        sw_table_row(t);
        sw_table_cell(t, SW_TONE_NONE, "%s", s->what);
        sw_table_cell(t, SW_TONE_NONE, "%.2f", s->fixed_s * 1e6);
        sw_table_cell(t, SW_TONE_NONE, "%.3g %s", s->rate * 1e-9, math ? "GFLOP/s" : "GB/s");
        sw_table_cell(t, SW_TONE_NONE, "%d", s->n);
        sw_table_cell(t, SW_TONE_NONE, "%.1f", 100 * s->worst);
        sw_table_cell(t, SW_TONE_NONE, "%.1f", 100 * spread);
    }
    return sw_table_print(t, style, stdout, err);
}

static sw_status show_mixes(const sw_calibration *c, const sw_style *style, sw_error *err) {
    static const sw_column cols[] = {{"at once", NULL, SW_LEFT, true},
                                     {"slower", "measured", SW_RIGHT, false},
                                     {"by the model", NULL, SW_RIGHT, false}};
    sw_table *t = sw_table_new(cols, 3, 0);
    for (int m = 0; m < c->n_mixes; m++) {
        const sw_cal_mix *x = &c->mix[m];
        for (int i = 0; i < x->n; i++) {
            char others[64] = "";
            for (int k = 0; k < x->n; k++)
                if (k != i)
                    snprintf(others + strlen(others), sizeof others - strlen(others), "%s%s",
                             *others ? ", " : "", c->series[x->series[k]].name);
            sw_table_row(t);
            sw_table_cell(t, SW_TONE_NONE, "%s, with %s", c->series[x->series[i]].name, others);
            sw_table_cell(t, SW_TONE_NONE, "%.2f", x->slower[i]);
            sw_table_cell(t, SW_TONE_NONE, "%.2f", x->fit[i]);
        }
    }
    return sw_table_print(t, style, stdout, err);
}

static sw_status show_disk(const sw_calibration *c, const sw_style *style, sw_error *err) {
    static const sw_column cols[] = {{"disk, block", NULL, SW_LEFT, true},
                                     {"depth", NULL, SW_RIGHT, false},
                                     {"read", "MB/s", SW_RIGHT, false},
                                     {"by the model", "MB/s", SW_RIGHT, false},
                                     {"written", "MB/s", SW_RIGHT, false}};
    char b[32];
    sw_table *t = sw_table_new(cols, 5, 0);
    for (int i = 0; i < c->n_disk; i++) {
        const sw_cal_disk *d = &c->disk[i];
        sw_table_row(t);
        sw_table_cell(t, SW_TONE_NONE, "%s", sw_format_bytes(b, sizeof b, d->block));
        sw_table_cell(t, SW_TONE_NONE, "%.0f", d->depth);
        sw_table_cell(t, SW_TONE_NONE, "%.0f", d->read_Bps * 1e-6);
        sw_table_cell(t, SW_TONE_NONE, "%.0f", d->fit_Bps * 1e-6);
        sw_table_cell(t, SW_TONE_NONE, "%.0f", d->write_Bps * 1e-6);
    }
    puts("");
    return sw_table_print(t, style, stdout, err);
}

static sw_status show(const sw_calibration *c, const sw_style *style, sw_error *err) {
    printf("%s, %s, %d rounds\n\n", c->machine, c->kernel, c->rounds);
    SW_TRY(show_series(c, style, err));
    puts("");
    SW_TRY(show_mixes(c, style, err));
    if (c->n_disk) SW_TRY(show_disk(c, style, err));
    printf("\nShared memory: %.3g GB/s. Cores whose work adds up: %.2f of %d. "
           "File I/O by one core: %.3g GB/s read, %.3g written.\n"
           "Waiting for another queue: %.2f us.\n",
           c->memory_Bps * 1e-9, c->cores, c->cpus, c->io_read_core_Bps * 1e-9,
           c->io_write_core_Bps * 1e-9, c->wake_s * 1e6);
    return SW_OK;
}

static sw_status write_file(const sw_calibration *c, const char *path, sw_error *err) {
    char *text = sw_calibration_yaml(c);
    sw_writer *w;
    if (!text) return sw_fail(err, SW_MEMORY, "out of memory");
    sw_status st = sw_writer_open(path, &w, err);
    if (!st) {
        sw_writer_put(w, text, strlen(text));
        st = sw_writer_commit(w, err);
    }
    free(text);
    return st;
}

static sw_status run(const sw_command *cmd, int argc, char **argv, sw_error *err) {
    calibrate_opts o = {.backend = "host"};
    const sw_plugin *backend;
    int n;
    SW_TRY(sw_args_read(cmd, argc, argv, &o, &n, err));
    SW_TRY(sw_output_ok("out", o.out, err));
    SW_TRY(sw_plugin_find(sw_backend_table, sw_backend_table_n, "backend", o.backend, (sw_mark){0},
                          &backend, err));
    if (backend->flags & SW_BACKEND_VIRTUAL_TIME)
        return sw_fail(err, SW_INPUT, "--backend %s simulates: there is nothing to measure",
                       o.backend);
    bool shown = !o.quiet && isatty(2);
    sw_cal_options options = {.backend = (const sw_backend_ops *)backend,
                              .nvme = o.nvme,
                              .rounds = (int)o.rounds,
                              .quick = o.fast,
                              .progress = progress,
                              .arg = &shown};
    if (options.rounds > SW_CAL_ROUNDS_MAX)
        return sw_fail(err, SW_INPUT, "--rounds: at most %d", SW_CAL_ROUNDS_MAX);
    sw_calibration *c = sw_zalloc(1, sizeof *c);
    if (!c) return sw_fail(err, SW_MEMORY, "out of memory");
    sw_status st = sw_calibrate(&options, c, err);
    if (shown) fputs("\r\033[K", stderr);
    sw_style style = sw_style_for(stdout, o.plain);
    if (!st && !o.quiet && !(o.out && !strcmp(o.out, "-"))) st = show(c, &style, err);
    if (!st && c->noise > 0.05)
        fprintf(stderr,
                "spillway: the machine was noisy: rounds differ by %.0f %% in the median; measure "
                "again when it is quiet\n",
                100 * c->noise);
    if (!st && o.out) st = write_file(c, o.out, err);
    if (!st && !o.quiet && o.out && strcmp(o.out, "-"))
        printf("\nWritten: %s. Use it as `machine: ./%s` in a scenario.\n", o.out, o.out);
    free(c);
    return st;
}

const sw_command sw_cmd_calibrate = {
    .name = "calibrate",
    .summary = "measure this machine and write a device file",
    .usage = "[options]",
    .doc = "Runs copies, kernels and file I/O through a real backend, by themselves and side by "
           "side, and fits the model's figures. Takes about two minutes, 1 GiB of memory and of "
           "disk. docs/calibration.md has the method.",
    .example = "  spillway calibrate -o mymachine.yaml\n"
               "  spillway calibrate --nvme /mnt/fast -o mymachine.yaml\n",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
    .min_args = 0,
    .max_args = 0,
    .run = run,
};
