/* The scenarios that `spillway validate` holds a calibrated machine against, and what came out.
 * docs/validation.md says what each axis is for. None of them was used to calibrate.
 *
 * case     a scenario as YAML text: policy x block size x arithmetic per byte x where blocks live
 * error    predicted over measured, minus one; signed */
#ifndef SW_MATRIX_H
#define SW_MATRIX_H

#include "sim/report/table.h"
#include "sim/scenario.h"

enum { SW_CASES_MAX = 128, SW_REPS_MAX = 15 };

typedef struct sw_case {
    char name[64];  /* "prefetch d1, 2 MiB, 2 FLOP/B, ram" */
    char group[16]; /* the policy */
    char text[1200];
    bool reactive; /* its decisions may depend on time: logs are not compared */
    /* results */
    int reps;
    double raw_s[SW_REPS_MAX], real_s, spread; /* makespans; their median; (max - min) / median */
    sw_result *real, *sim, *null;              /* of the median repetition; owned */
    bool same_log;
} sw_case;

typedef struct sw_matrix {
    sw_case cases[SW_CASES_MAX];
    int n;
    sw_topology topo; /* queues' names */
} sw_matrix;

/** The cases for a machine file (an absolute path). quick: a tenth of them, and smaller. */
void sw_matrix_fill(sw_matrix *m, const char *machine, bool quick);
void sw_matrix_free(sw_matrix *m);

/** A case's repetitions are in: takes the median run. `runs`: reps of them, in the order of raw_s. */
sw_status sw_case_settle(sw_case *c, const sw_result *runs, sw_error *err);

typedef struct sw_error_stats {
    int n;
    double bias, median, p90, worst; /* bias: median of the signed errors; the others of |error| */
} sw_error_stats;
sw_error_stats sw_error_stats_of(const double *errors, int n);

typedef struct sw_verdict_of_matrix {
    sw_error_stats sim, null;                     /* makespans, all cases */
    sw_error_stats contended_sim, contended_null; /* those that took 1.2 times what null says */
    sw_error_stats queue[SW_QUEUES_MAX], cat[SW_CAT_COUNT]; /* busy time of simgrid */
    double spread;                                          /* median of the cases' */
    int n_logs_differ;
} sw_verdict_of_matrix;
void sw_matrix_judge(const sw_matrix *m, sw_verdict_of_matrix *out);

/** Tables on the terminal; one row a case in CSV; one page with a scatter plot. `title` names the
 * machine, the day and the backend. */
sw_status sw_matrix_text(const sw_matrix *m, const sw_verdict_of_matrix *v, bool all,
                         const sw_style *s, FILE *out, sw_error *err);
sw_status sw_matrix_csv(const sw_matrix *m, const char *path, sw_error *err);
sw_status sw_matrix_html(const sw_matrix *m, const sw_verdict_of_matrix *v, const char *title,
                         const char *path, sw_error *err);

#endif
