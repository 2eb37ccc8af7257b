/* A scenario file: machine, model, workload, policy, runtime, backend; resolved into what the
 * replay needs.
 *
 *   spillway: 1
 *   seed: 1
 *   machine:   {gpu: rtx4090, cpu: ddr5-6000-2ch, ram: 64 GiB, nvme: samsung-990-pro}
 *   model:     {network: llama-3-70b, quant: q4_k_m}
 *   workload:  {generator: llm, batch: 1, prompt: 512, generate: 64}     # or {trace: FILE}
 *   policy:    {name: prefetch, depth: 1}                                # or just a name
 *   runtime:   llamacpp
 *   allocator: best_fit
 *   backend:   simgrid */
#ifndef SW_SCENARIO_H
#define SW_SCENARIO_H

#include "sim/replay.h"

typedef struct sw_scenario {
    sw_yaml *doc;
    char path[512], dir[512], data_dir[512];
    char question[256]; /* the file's opening comment or `question:` */
    uint64_t seed;
    sw_topology topo; /* runtime applied, knobs applied */
    sw_runtime runtime;
    sw_model *model; /* NULL: none */
    const sw_plugin *source, *policy, *alloc, *pager;
    const sw_node *source_map, *policy_map, *alloc_map, *pager_map, *backend_map;
    char backend[32];
    char trace_path[512];
} sw_scenario;

/** The folder that holds models/ and scenarios/: `given`, else $SPILLWAY_DATA, else beside the
 * executable's installation, else the source tree. */
void sw_data_dir(const char *given, char *out, size_t n);

/** Overrides, applied in order before anything is resolved: "policy=prefetch", "workload.batch=8".
 */
typedef struct sw_override {
    const char *path, *text;
} sw_override;

/** Loads and resolves. `text` NULL reads the file; else it is the file's text (the worker gets it
 * over a pipe). data_dir: see sw_data_dir. */
sw_status sw_scenario_open(const char *path, const char *text, const char *data_dir,
                           const sw_override *over, size_t n_over, sw_scenario **out,
                           sw_error *err);
void sw_scenario_free(sw_scenario *s);

/** The replay that the scenario asks for; borrows from s. `backend` is looked up by whoever runs
 * it. */
void sw_scenario_replay(const sw_scenario *s, sw_replay *out);

/** Everything resolved, defaults filled, base units: for the result file. New reference. */
json_t *sw_scenario_json(const sw_scenario *s);

#endif
