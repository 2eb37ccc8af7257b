/* spillway verify: was this run possible? Judges an op log by the independent verifier. */
#include "cli/args.h"
#include "sim/base/vec.h"
#include "sim/report/table.h"
#include "validate/verify.h"
#include <inttypes.h>

typedef struct verify_opts {
    bool real, quiet, plain;
} verify_opts;

static const sw_opt opts[] = {
    {"real", 0, SW_OPT_FLAG, NULL, offsetof(verify_opts, real),
     "the log is of a real backend (host, cuda): ops may be faster than their modelled set-up"},
    {"quiet", 'q', SW_OPT_FLAG, NULL, offsetof(verify_opts, quiet),
     "say nothing; only the exit code"},
    {"plain", 0, SW_OPT_FLAG, NULL, offsetof(verify_opts, plain), "ASCII only, no colour"}};

static sw_status show(const char *path, const sw_verify_report *r, const sw_style *s,
                      sw_error *err) {
    static const sw_column cols[] = {{"rule", NULL, SW_LEFT, false},
                                     {"violations", NULL, SW_RIGHT, false},
                                     {"the first", NULL, SW_LEFT, false}};
    if (!r->n_violations) {
        printf("%s: %" PRIu64 " ops, no violation.\n", path, r->n_ops);
        return SW_OK;
    }
    printf("%s: %" PRIu64 " ops, %" PRIu64 " violations.\n\n", path, r->n_ops, r->n_violations);
    sw_table *t = sw_table_new(cols, 3, 0);
    for (int rule = 0; rule < SW_RULE_COUNT; rule++) {
        if (!r->by_rule[rule]) continue;
        sw_table_row(t);
        sw_table_cell(t, SW_TONE_BAD, "%s", sw_rule_name((sw_rule)rule));
        sw_table_cell(t, SW_TONE_NONE, "%" PRIu64, r->by_rule[rule]);
        const char *first = "";
        for (uint32_t i = r->n_kept; i-- > 0;)
            if (r->kept[i].rule == (sw_rule)rule) first = r->kept[i].text;
        sw_table_span(t, SW_TONE_NONE, "%s", first);
    }
    return sw_table_print(t, s, stdout, err);
}

static sw_status run(const sw_command *cmd, int argc, char **argv, sw_error *err) {
    verify_opts o = {0};
    int n;
    SW_TRY(sw_args_read(cmd, argc, argv, &o, &n, err));
    sw_verify_report *r = sw_zalloc(1, sizeof *r);
    if (!r) return sw_fail(err, SW_MEMORY, "out of memory");
    sw_status st = sw_verify_log(argv[1], o.real, r, err);
    sw_style s = sw_style_for(stdout, o.plain);
    if (!st && !o.quiet) st = show(argv[1], r, &s, err);
    if (!st && r->n_violations)
        st = sw_fail(err, SW_RUN, "%s: %" PRIu64 " violations", argv[1], r->n_violations);
    free(r);
    return st;
}

const sw_command sw_cmd_verify = {
    .name = "verify",
    .summary = "judge an op log: queue order, dependencies, hazards, capacity, contents",
    .usage = "OPLOG [options]",
    .doc = "The verifier shares no code with what made the run. Exits 1 when a rule is violated.",
    .example =
        "  spillway run llama3-70b-q4-rtx4090 --op-log ops.txt.gz\n  spillway verify ops.txt.gz\n",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
