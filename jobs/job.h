/* Jobs: a scenario with its overrides and outputs, run here (null) or in a worker process
 * (simgrid).
 *
 * SimGrid is one simulation a process and aborts on its own errors, so it lives in the executable
 * spillway-worker, started with posix_spawn, fed a job on its standard input; a worker that dies is
 * one error line. Several run side by side. */
#ifndef SW_JOBS_JOB_H
#define SW_JOBS_JOB_H

#include "sim/result.h"
#include "sim/scenario.h"

typedef struct sw_job {
    const char *path;     /* the scenario file: for messages and relative names */
    const char *text;     /* its text; NULL: read the file */
    const char *data_dir; /* NULL: found */
    const sw_override *over;
    size_t n_over;
    const char *chrome_path, *op_log_path, *decisions_path; /* outputs; NULL: none */
    bool verify; /* judge the run by the separate verifier; a violation fails the job */
} sw_job;

typedef struct sw_job_result {
    sw_status status;
    sw_error err;
    sw_result result; /* valid when status is SW_OK */
} sw_job_result;

/** Runs one job. Fails as the run does; SW_RUN when the worker died. */
sw_status sw_job_run(const sw_job *job, sw_result *out, sw_error *err);

/** Runs n jobs, up to `parallel` at a time; out[i] belongs to jobs[i]. on_done (may be NULL) is
 * called from this thread as each finishes. Fails only when nothing could be run at all (memory).
 */
sw_status sw_jobs_run(const sw_job *jobs, size_t n, unsigned parallel, sw_job_result *out,
                      void (*on_done)(void *arg, size_t done, size_t n), void *arg, sw_error *err);

/** Runs the job in this process with the backends linked into it. The worker's own entry. */
sw_status sw_job_run_here(const sw_job *job, sw_result *out, sw_error *err);

/** The worker's executable. Fails SW_RUN when there is none. */
sw_status sw_worker_path(char *buf, size_t n, sw_error *err);
/** Reads a job from fd, runs it, writes the outcome to out_fd; the exit code. */
int sw_worker_main(int fd, int out_fd);

#endif
