/* A worker process and the pipe to it. Internal to job.c and worker.c.
 *
 * Job, on the worker's standard input: fields "NAME LENGTH\n" and LENGTH bytes, ended by "end 0\n".
 * Outcome, on its standard output: the struct `outcome` as it lies in memory, checked by size and
 * version: both ends come from one build. */
#ifndef SW_JOBS_WORKER_H
#define SW_JOBS_WORKER_H

#include "jobs/job.h"
#include "sim/base/vec.h"

typedef struct sw_worker {
    int pid, fd, err_fd; /* fd: its standard output */
    SW_VEC(char) got;
} sw_worker;

sw_status sw_worker_start(sw_worker *w, const sw_job *job, sw_error *err);
/** Takes what has come; false at the end. */
bool sw_worker_read(sw_worker *w);
/** Reaps it and reads the outcome. */
sw_status sw_worker_finish(sw_worker *w, sw_result *out, sw_error *err);

#endif
