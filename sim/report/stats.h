/* The one table of statistics: key, unit, description and value of every figure of a run. The JSON
 * result, the CSV row, `spillway help stats`, the documentation and the expressions of claims read
 * it, so that a figure is named once.
 *
 * A figure belongs to a family: of the run, or one for each tier, resource, queue, category of the
 * critical path or policy counter. Its name from outside is FAMILY.ITEM.KEY
 * ("tier.vram0.peak_bytes", "resource.pcie0.h2d.bytes", "path.h2d.time_s"), and just KEY for the
 * run's own. */
#ifndef SW_REPORT_STATS_H
#define SW_REPORT_STATS_H

#include "sim/result.h"
#include "sim/topology.h"

typedef enum sw_family {
    SW_FAMILY_RUN,
    SW_FAMILY_PATH,     /* item: a category of the critical path */
    SW_FAMILY_TIER,     /* item: a tier */
    SW_FAMILY_RESOURCE, /* item: a resource: tier bandwidth, link direction, unit */
    SW_FAMILY_QUEUE,    /* item: a queue */
    SW_FAMILY_COUNTER,  /* item: a policy's own counter; the only key is "value" */
    SW_FAMILY_COUNT
} sw_family;

/* A run as the reports see it. All borrowed. */
typedef struct sw_outcome {
    const char *label;       /* what this run is called: its policy, or a claim's run */
    const sw_topology *topo; /* NULL only when the scenario could not be opened */
    sw_status status;        /* SW_OK, or SW_FIT, or another failure */
    const char *why;         /* the sentence of a failure */
    const sw_result *result; /* NULL unless SW_OK */
} sw_outcome;

typedef struct sw_stat {
    const char *key, *unit, *text; /* unit "": a pure number */
    sw_family family;
    bool whole; /* a count: written without a decimal point */
    double (*get)(const sw_result *r, const sw_topology *t, int item);
} sw_stat;

extern const sw_stat sw_stats[];
extern const size_t sw_stats_n;

/** "run", "path", "tier", "resource", "queue", "counter". */
const char *sw_family_name(sw_family f);
/** How many items a family has in this run, and the name of one. A run has one item, "". */
int sw_family_items(sw_family f, const sw_result *r, const sw_topology *t);
const char *sw_family_item(sw_family f, const sw_result *r, const sw_topology *t, int item);

/** The value of a figure by its outside name. "fits" (1 or 0) is known of every outcome; anything
 * else of one without a result fails SW_FIT with a sentence, and an unknown name fails SW_INPUT
 * with a did-you-mean. */
sw_status sw_stat_value(const sw_outcome *o, const char *name, double *out, sw_error *err);

/* Derived figures that the text report uses too. */
/** The category with most time on the critical path (of decode when there is any), its share. */
sw_cat sw_result_top(const sw_result *r, double *share);
/** Bytes of blocks copied from tier to tier, whatever the direction. */
double sw_result_moved_bytes(const sw_result *r);
/** Tokens per second of decode that the bound allows; 0 without decode. */
double sw_result_bound_tokens_per_s(const sw_result *r);

#endif
