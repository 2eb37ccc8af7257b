/* Jobs in this process, and many side by side (see job.h). The worker's end of the pipe is in
 * worker.c. */
#include "jobs/job.h"
#include "jobs/worker.h"
#include "sim/base/vec.h"
#include "sim/report/chrome.h"
#include "sim/report/oplog.h"
#include "validate/verify.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

/* --- here ------------------------------------------------------------------------------------- */

typedef struct outputs {
    sw_chrome *chrome;
    sw_oplog *oplog;
    sw_verifier *verifier;
    sw_writer *decisions;
    sw_observer list[3];
    uint32_t n;
} outputs;

static sw_status open_outputs(const sw_job *job, const sw_plugin *backend, outputs *o,
                              sw_error *err) {
    if (job->chrome_path) {
        SW_TRY(sw_chrome_open(job->chrome_path, &o->chrome, err));
        o->list[o->n++] = sw_chrome_observer(o->chrome);
    }
    if (job->op_log_path) {
        SW_TRY(sw_oplog_open(job->op_log_path, &o->oplog, err));
        o->list[o->n++] = sw_oplog_observer(o->oplog);
    }
    if (job->verify) {
        SW_TRY(sw_verifier_new(&o->verifier, err));
        if (!(backend->flags & SW_BACKEND_VIRTUAL_TIME)) sw_verifier_real(o->verifier);
        o->list[o->n++] = sw_verifier_observer(o->verifier);
    }
    if (job->decisions_path) SW_TRY(sw_writer_open(job->decisions_path, &o->decisions, err));
    return SW_OK;
}

/* The verifier's verdict: a violation is a failed run. */
static sw_status judge(const sw_verifier *v, sw_error *err) {
    const sw_verify_report *r = sw_verifier_finish(v);
    if (!r->n_violations) return SW_OK;
    return sw_fail(err, SW_RUN,
                   "the verifier found %llu violations in %llu ops; the first (%s): %s",
                   (unsigned long long)r->n_violations, (unsigned long long)r->n_ops,
                   sw_rule_name(r->kept[0].rule), r->kept[0].text);
}

/* Commits everything when the run succeeded; drops everything otherwise. */
static sw_status close_outputs(outputs *o, sw_status st, sw_error *err) {
    if (!st && o->verifier) st = judge(o->verifier, err);
    sw_verifier_free(o->verifier);
    if (st)
        sw_chrome_abort(o->chrome);
    else if (o->chrome)
        st = sw_chrome_commit(o->chrome, err);
    if (st)
        sw_oplog_abort(o->oplog);
    else if (o->oplog)
        st = sw_oplog_commit(o->oplog, err);
    if (st)
        sw_writer_abort(o->decisions);
    else if (o->decisions)
        st = sw_writer_commit(o->decisions, err);
    return st;
}

/* The name is known to be a backend's; which of them there are depends on the build. */
static sw_status find_backend(const sw_job *job, const sw_scenario *s, const sw_plugin **out,
                              sw_error *err) {
    for (size_t i = 0; i < sw_backend_table_n; i++)
        if (!strcmp((*out = sw_backend_table[i])->name, s->backend)) return SW_OK;
    return sw_fail_at(err, SW_INPUT, (sw_mark){job->path, 0, 0}, "backend",
                      "this spillway was built without %s (see its CMake options)", s->backend);
}

static sw_status run_scenario(const sw_job *job, const sw_scenario *s, sw_result *out,
                              sw_error *err) {
    const sw_plugin *backend = NULL;
    SW_TRY(find_backend(job, s, &backend, err));
    sw_replay r;
    outputs o = {0};
    sw_scenario_replay(s, &r);
    r.backend = (const sw_backend_ops *)backend;
    sw_status st = open_outputs(job, backend, &o, err);
    r.observers = o.list;
    r.n_observers = o.n;
    r.decisions = o.decisions;
    if (!st) st = sw_replay_run(&r, out, err);
    return close_outputs(&o, st, err);
}

sw_status sw_job_run_here(const sw_job *job, sw_result *out, sw_error *err) {
    sw_scenario *s;
    SW_TRY(sw_scenario_open(job->path, job->text, job->data_dir, job->over, job->n_over, &s, err));
    sw_status st = run_scenario(job, s, out, err);
    sw_scenario_free(s);
    return st;
}

/* --- here or in a worker ---------------------------------------------------------------------- */

/* Whether the scenario's backend can run in this process: it is linked in, and does not ask for a
 * process of its own. Bad scenarios are found out here, without a worker. */
static sw_status is_local(const sw_job *job, bool *local, sw_error *err) {
    sw_scenario *s;
    SW_TRY(sw_scenario_open(job->path, job->text, job->data_dir, job->over, job->n_over, &s, err));
    *local = false;
    for (size_t i = 0; i < sw_backend_table_n; i++)
        if (!strcmp(sw_backend_table[i]->name, s->backend))
            *local = !(sw_backend_table[i]->flags & SW_BACKEND_WORKER);
    sw_scenario_free(s);
    return SW_OK;
}

sw_status sw_job_run(const sw_job *job, sw_result *out, sw_error *err) {
    sw_job_result *r = sw_zalloc(1, sizeof *r);
    if (!r) return sw_fail(err, SW_MEMORY, "out of memory");
    sw_status st = sw_jobs_run(job, 1, 1, r, NULL, NULL, err);
    if (!st && !(st = r->status))
        *out = r->result;
    else if (!st || r->status) {
        st = r->status;
        if (err) *err = r->err;
    }
    free(r);
    return st;
}

typedef struct slot {
    sw_worker worker;
    size_t job;
} slot;

/* Starts the next job; a local one is run to its end at once. */
static void start(const sw_job *job, sw_job_result *out, slot *s, bool *running) {
    bool local = false;
    *running = false;
    out->status = is_local(job, &local, &out->err);
    if (out->status) return;
    if (local) {
        out->status = sw_job_run_here(job, &out->result, &out->err);
        return;
    }
    out->status = sw_worker_start(&s->worker, job, &out->err);
    *running = out->status == SW_OK;
}

sw_status sw_jobs_run(const sw_job *jobs, size_t n, unsigned parallel, sw_job_result *out,
                      void (*on_done)(void *arg, size_t done, size_t n), void *arg, sw_error *err) {
    if (parallel < 1) parallel = 1;
    slot *slots = sw_zalloc(parallel, sizeof *slots);
    struct pollfd *fds = sw_zalloc(parallel, sizeof *fds);
    size_t next = 0, done = 0, active = 0;
    if (!slots || !fds) {
        free(slots);
        free(fds);
        return sw_fail(err, SW_MEMORY, "out of memory");
    }
    while (done < n) {
        while (active < parallel && next < n) {
            bool running;
            slots[active].job = next;
            start(&jobs[next], &out[next], &slots[active], &running);
            if (running)
                active++;
            else if (done++, on_done)
                on_done(arg, done, n);
            next++;
        }
        for (size_t i = 0; i < active; i++) fds[i] = (struct pollfd){slots[i].worker.fd, POLLIN, 0};
        if (!active || (poll(fds, active, -1) < 0 && errno != EINTR)) continue;
        for (size_t i = active; i-- > 0;) {
            if (!fds[i].revents || sw_worker_read(&slots[i].worker)) continue; /* more to come */
            sw_job_result *r = &out[slots[i].job];
            r->status = sw_worker_finish(&slots[i].worker, &r->result, &r->err);
            slots[i] = slots[--active];
            done++;
            if (on_done) on_done(arg, done, n);
        }
    }
    free(slots);
    free(fds);
    return SW_OK;
}
