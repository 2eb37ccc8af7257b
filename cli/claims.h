/* What cmd_claims.c hands to the printers in claims_print.c. */
#ifndef SW_CLI_CLAIMS_H
#define SW_CLI_CLAIMS_H

#include "cli/runs.h"
#include "sim/report/claim.h"

typedef struct sw_claim_answer {
    char *path;
    sw_yaml *doc; /* what the claim borrows from */
    sw_claim claim;
    sw_task *tasks[SW_CLAIM_RUNS_MAX];
    sw_verdict verdict;
    double shown[SW_CLAIM_SHOWS_MAX];
} sw_claim_answer;

sw_status sw_claims_text(const sw_claim_answer *a, size_t n, const sw_style *s, FILE *out,
                         sw_error *err);
/** A table in Markdown. */
sw_status sw_claims_markdown(const sw_claim_answer *a, size_t n, const char *path, sw_error *err);
sw_status sw_claims_json(const sw_claim_answer *a, size_t n, const char *path, sw_error *err);

#endif
