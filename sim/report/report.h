/* What is written about runs: text for people, JSON and CSV for programs.
 *
 * run   one scenario under one policy: what was asked (the scenario) and what came out
 * what-if   the same run with one figure of the machine made twice as good */
#ifndef SW_REPORT_H
#define SW_REPORT_H

#include "sim/base/json.h"
#include "sim/base/stream.h"
#include "sim/report/stats.h"
#include "sim/report/table.h"
#include "sim/scenario.h"

enum { SW_JSON_SCHEMA = 1, SW_WHATIF_MAX = 16 };

typedef struct sw_whatif {
    const char *knob; /* of sw_topology_knobs */
    double factor;
    sw_status status;                /* of the changed run */
    double tokens_per_s, makespan_s; /* when SW_OK */
    double speedup; /* of decode tokens/s, or of the makespan without outputs; 0: unknown */
} sw_whatif;

typedef struct sw_report {
    const sw_scenario *scenario; /* borrowed */
    sw_outcome outcome;          /* label: the policy; topo: the scenario's */
    sw_whatif whatif[SW_WHATIF_MAX];
    int n_whatif;  /* sorted: most helpful first */
    double wall_s; /* real time that it took; 0: not asked for */
} sw_report;

/** Fills outcome from a status and a result (borrowed; ignored unless SW_OK). */
void sw_report_fill(sw_report *r, sw_status status, const char *why, const sw_result *result);
/** Whether the run produced tokens: decode rates mean something. */
bool sw_report_decodes(const sw_report *r);
/** Sets each what-if's speedup against the run and sorts them. */
void sw_report_rank(sw_report *r);

/* --- text */
/** The answer for one run, first line in words. */
sw_status sw_report_text(const sw_report *r, const sw_style *style, FILE *out, sw_error *err);
/** One row a run, the best one marked. */
sw_status sw_report_compare(const sw_report *runs, size_t n, const sw_style *style, FILE *out,
                            sw_error *err);

/* --- files: each writes all runs; nothing appears under `path` unless all went well */
/** One run: its object; several: {"runs": […]}. */
sw_status sw_report_json(const sw_report *runs, size_t n, bool compare, const char *path,
                         sw_error *err);
/** The object of one run; new reference. */
json_t *sw_report_object(const sw_report *r);
/** One header line, one row a run; the columns depend on the machine and the policies' counters. */
sw_status sw_report_csv(const sw_report *runs, size_t n, const char *path, sw_error *err);

/* --- shared by the texts */
/** "llama-3-70b q4_k_m", or the trace's file name, or the generator's name. */
void sw_report_subject(const sw_report *r, char *buf, size_t n);
/** Three significant digits: "9.81", "425", "0.0123". Returns buf. */
char *sw_text_num(char *buf, size_t n, double x);
/** Decimal: "35.2 GB". Returns buf. */
char *sw_text_bytes10(char *buf, size_t n, double bytes);
/** What limits a run, as in "limited by …"; brief: in two words. */
const char *sw_text_limit(sw_cat c, bool brief);

#endif
