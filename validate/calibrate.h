/* Calibration: a machine measured through a backend's own ops, fitted, and written as a device file.
 * docs/calibration.md has the method.
 *
 * series  one kind of op over sizes; fitted as t = fixed + size/rate, by least squares of relative
 *         errors
 * mix     streams at once; what they cost each other gives the memory's rate, the cores and what
 *         file I/O takes of a core, by least squares of the logarithms
 * round   everything measured once; figures are medians over rounds, interleaved so that a machine
 *         whose speed drifts does not favour what was measured first */
#ifndef SW_CALIBRATE_H
#define SW_CALIBRATE_H

#include "validate/probe.h"

typedef enum sw_series_id {
    SW_SERIES_H2D,
    SW_SERIES_D2H,
    SW_SERIES_GPU_READ,
    SW_SERIES_GPU_WRITE,
    SW_SERIES_GPU_MATH,
    SW_SERIES_CPU_READ,
    SW_SERIES_CPU_MATH,
    SW_SERIES_NVME_READ,
    SW_SERIES_NVME_WRITE,
    SW_SERIES_H2D_PAGEABLE, /* from here on: real GPUs only */
    SW_SERIES_D2H_PAGEABLE,
    SW_SERIES_GPU_GEMM,
    SW_SERIES_COUNT
} sw_series_id;

enum { SW_CAL_SIZES = 8, SW_CAL_ROUNDS_MAX = 25, SW_CAL_MIXES_MAX = 64, SW_CAL_WAKES = 4 };

typedef struct sw_cal_point {
    double size;      /* bytes, or flops of a MATH series */
    double s, spread; /* an op's seconds: median over rounds; their interquartile range / it */
    double fit_s;     /* what the fit says */
    double raw[SW_CAL_ROUNDS_MAX];
} sw_cal_point;

typedef struct sw_series {
    const char *name, *what; /* "h2d", "copy from RAM to VRAM" */
    int n;                   /* points; 0: the machine has no such thing */
    sw_cal_point point[SW_CAL_SIZES];
    double fixed_s, rate; /* per second */
    double worst;         /* largest relative residual */
} sw_series;

typedef struct sw_cal_mix {
    int n, series[3];
    double slower[3], fit[3]; /* seconds of an op over those alone: measured, and by the model */
    double raw[3][SW_CAL_ROUNDS_MAX];
} sw_cal_mix;

enum { SW_CAL_DISK_POINTS = 12 };

typedef struct sw_cal_disk { /* how the disk is asked, and what it gives */
    double block, depth, read_Bps, write_Bps, fit_Bps; /* fit: of the reads */
    double raw[2][SW_CAL_ROUNDS_MAX];                  /* seconds of a transfer: read, written */
} sw_cal_disk;

typedef struct sw_calibration {
    const char *backend;
    char machine[128], date[16], kernel[96]; /* processor, day, system */
    sw_series series[SW_SERIES_COUNT];
    sw_cal_mix mix[SW_CAL_MIXES_MAX];
    sw_cal_disk disk[SW_CAL_DISK_POINTS];
    int n_disk; /* 0: the backend has no say in block and depth */
    double disk_stream_Bps, disk_max_Bps, disk_sharpness;
    int n_mixes, rounds, cpus;
    bool emulated;   /* the GPU is threads of the CPU */
    double link_Bps; /* both directions of a link together, from the mixes; emulated: none */
    double memory_Bps, cores, io_read_core_Bps, io_write_core_Bps, disk_serves; /* from the mixes */
    double wake_s, wake_raw[SW_CAL_ROUNDS_MAX * SW_CAL_WAKES]; /* waiting for another queue */
    double noise;                                              /* median of the points' spreads */
    double mix_error; /* median |log(fit/measured)| of the mixes */
} sw_calibration;

typedef struct sw_cal_options {
    const sw_backend_ops *backend;
    const char *nvme; /* folder or file for the disk's stand-in; NULL: the backend's default */
    int rounds;       /* 0: 9 */
    const sw_topology *truth; /* what a simulated backend simulates, for tests; NULL: a real one */
    bool quick;               /* fewer sizes and mixes */
    void (*progress)(void *arg, int done, int of);
    void *arg;
} sw_cal_options;

/** Measures and fits. Takes a minute or so; uses about 1 GiB of memory and of disk.
 *  Fails as the backend does. */
sw_status sw_calibrate(const sw_cal_options *o, sw_calibration *out, sw_error *err);

/** The device file, as a new text of a `kind: machine`. Caller frees. NULL: out of memory. */
char *sw_calibration_yaml(const sw_calibration *c);

/** The machine that the text describes. */
sw_status sw_calibration_topology(const sw_calibration *c, sw_topology *out, sw_error *err);

/** t = fixed + size/rate through n points, relative errors squared; fixed >= 0. */
void sw_fit_line(const double *size, const double *s, int n, double *fixed_s, double *rate);
/** Seconds of an op of each stream while all run for ever, on a topology: what simgrid would say. */
sw_status sw_steady(const sw_topology *t, const sw_stream *streams, int n, double *op_s,
                    sw_error *err);

#endif
