/* Claims: something that people say about machines and models, put to the simulator. A scenario
 * file with one more map (docs/claims.md):
 *
 *   claim:
 *     id: a
 *     text: "Half of the layers in VRAM give half of the speed."
 *     source: "…"                                       # who says so; optional
 *     runs:                                             # each: the scenario with some keys set
 *       - {name: all, set: {policy: resident}}
 *       - {name: half, set: {policy: split, workload.batch: 8}}
 *     show:                                             # figures to print
 *       - {label: "all / half", value: "all.tokens_per_s / half.tokens_per_s", unit: x}
 *     holds: "abs(all.tokens_per_s / half.tokens_per_s - 2) < 0.2"
 *     partly: "…"                                       # optional: it holds only when …
 *     when: "the layers left in RAM are few"            # … this; optional
 *     note: "…"                                         # optional
 *     expect: fails                                     # optional: holds, partly or fails
 *
 * The expressions are those of expr.h, over RUN.FIGURE (stats.h). */
#ifndef SW_REPORT_CLAIM_H
#define SW_REPORT_CLAIM_H

#include "sim/base/yaml.h"
#include "sim/report/stats.h"

enum { SW_CLAIM_RUNS_MAX = 24, SW_CLAIM_SHOWS_MAX = 16 };

typedef enum sw_verdict { SW_VERDICT_HOLDS, SW_VERDICT_PARTLY, SW_VERDICT_FAILS } sw_verdict;
/** "holds", "partly", "fails". */
const char *sw_verdict_name(sw_verdict v);

typedef struct sw_claim {
    const char *id, *text, *source, *when, *note; /* text "" where absent */
    struct {
        const char *name;
        const sw_node *set; /* a map of dotted keys; NULL: the scenario as it is */
    } runs[SW_CLAIM_RUNS_MAX];
    struct {
        const char *label, *unit;
        const sw_node *value;
    } shows[SW_CLAIM_SHOWS_MAX];
    int n_runs, n_shows;
    const sw_node *holds, *partly;
    int expect; /* sw_verdict; -1: nothing */
} sw_claim;

/** Reads the map `claim` of a scenario's root; everything is borrowed from the document.
 *  Fails SW_INPUT at the key's place. */
sw_status sw_claim_read(const sw_node *root, sw_claim *out, sw_error *err);

/** A node as YAML flow text, as overrides want it; malloc'd. NULL when memory is out. */
char *sw_node_flow(const sw_node *node);

/** Decides the claim. `runs` belong to claim->runs.
 *  shown[i]  the figure of shows[i]; NaN where a run that does not fit has none
 *  Fails as the expressions do. */
sw_status sw_claim_judge(const sw_claim *c, const sw_outcome *runs, sw_verdict *verdict,
                         double *shown, sw_error *err);

#endif
