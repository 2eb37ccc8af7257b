/* A small run for the tests of reports: the machine of tests/golden/stream.yaml. */
#ifndef SW_TESTS_REPORT_RUN_H
#define SW_TESTS_REPORT_RUN_H

#include "check.h"
#include "sim/base/vec.h"
#include "sim/report/report.h"

static inline sw_scenario *open_stream(const sw_override *over, size_t n) {
    sw_scenario *s = NULL;
    sw_error err = {0};
    sw_status st = sw_scenario_open(SPILLWAY_SOURCE_DIR "/tests/golden/stream.yaml", NULL,
                                    SPILLWAY_SOURCE_DIR, over, n, &s, &err);
    if (st) printf("\n  %s\n", err.text);
    CHECK_INT(st, SW_OK);
    return s;
}

/* Runs it on the null backend. */
static inline sw_status run_here(const sw_scenario *s, const sw_observer *obs, uint32_t n,
                                 sw_result *out, sw_error *err) {
    sw_replay r;
    const sw_plugin *backend;
    sw_scenario_replay(s, &r);
    SW_TRY(sw_plugin_find(sw_backend_table, sw_backend_table_n, "backend", "null", (sw_mark){0},
                          &backend, err));
    r.backend = (const sw_backend_ops *)backend;
    r.observers = obs;
    r.n_observers = n;
    return sw_replay_run(&r, out, err);
}

#endif
