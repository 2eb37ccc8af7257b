/* Worker processes: starting, feeding, reaping; and the worker's own side (see worker.h). */
#include "jobs/worker.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MAX_OVERRIDES = 256, MAX_FIELD = 64 << 20 };
static const char magic[8] = "SWRES\0\0\1";

typedef struct outcome {
    char magic[8];
    uint64_t bytes; /* of this struct: another build disagrees */
    sw_status status;
    sw_error err;
    sw_result result;
} outcome;

/* --- finding it ------------------------------------------------------------------------------- */

sw_status sw_worker_path(char *buf, size_t n, sw_error *err) {
    const char *env = getenv("SPILLWAY_WORKER");
    char exe[400];
    ssize_t len = readlink("/proc/self/exe", exe, sizeof exe - 1);
    static const char *const beside[] = {"spillway-worker", "../libexec/spillway/spillway-worker"};
    if (env) {
        snprintf(buf, n, "%s", env);
        return SW_OK;
    }
    if (len > 0) {
        exe[len] = 0;
        char *slash = strrchr(exe, '/');
        if (slash) slash[1] = 0;
        for (size_t i = 0; i < 2; i++) {
            snprintf(buf, n, "%s%s", exe, beside[i]);
            if (!access(buf, X_OK)) return SW_OK;
        }
    }
    return sw_fail(err, SW_RUN,
                   "spillway-worker is not beside spillway; set SPILLWAY_WORKER to its path");
}

/* --- the caller's side ------------------------------------------------------------------------ */

static bool put(char **at, const char *name, const char *text) {
    char head[64];
    size_t n = strlen(text);
    int h = snprintf(head, sizeof head, "%s %zu\n", name, n);
    size_t old = *at ? strlen(*at) : 0; /* job texts hold no NUL */
    char *p = realloc(*at, old + (size_t)h + n + 1);
    if (!p) return false;
    memcpy(p + old, head, (size_t)h);
    memcpy(p + old + h, text, n + 1);
    *at = p;
    return true;
}

static char *encode(const sw_job *job) {
    char *text = NULL;
    bool ok = put(&text, "path", job->path);
    if (job->text) ok = ok && put(&text, "text", job->text);
    if (job->data_dir) ok = ok && put(&text, "data", job->data_dir);
    if (job->chrome_path) ok = ok && put(&text, "chrome", job->chrome_path);
    if (job->op_log_path) ok = ok && put(&text, "oplog", job->op_log_path);
    if (job->decisions_path) ok = ok && put(&text, "decisions", job->decisions_path);
    if (job->verify) ok = ok && put(&text, "verify", "");
    for (size_t i = 0; i < job->n_over && ok; i++)
        ok = put(&text, "key", job->over[i].path) && put(&text, "value", job->over[i].text);
    ok = ok && put(&text, "end", "");
    if (!ok) free(text), text = NULL;
    return text;
}

/* A job is small (a scenario's text): it goes into an unlinked file, so that nobody blocks on a
 * full pipe. */
static int feed(const char *text) {
    FILE *f = tmpfile();
    if (!f) return -1;
    bool ok = fwrite(text, 1, strlen(text), f) == strlen(text) && !fflush(f);
    int fd = ok ? fcntl(fileno(f), F_DUPFD_CLOEXEC, 3) : -1;
    fclose(f);
    if (fd >= 0) lseek(fd, 0, SEEK_SET);
    return fd;
}

static sw_status spawn(sw_worker *w, int in, sw_error *err) {
    char path[512];
    int out[2] = {-1, -1};
    SW_TRY(sw_worker_path(path, sizeof path, err));
    FILE *log = tmpfile(); /* its standard error: shown when it dies */
    w->err_fd = log ? fcntl(fileno(log), F_DUPFD_CLOEXEC, 3) : -1;
    if (log) fclose(log);
    if (w->err_fd < 0 || pipe2(out, O_CLOEXEC))
        return sw_fail(err, SW_RUN, "no pipe: %s", strerror(errno));
    posix_spawn_file_actions_t act;
    posix_spawn_file_actions_init(&act);
    posix_spawn_file_actions_adddup2(&act, in, 0);
    posix_spawn_file_actions_adddup2(&act, out[1], 1);
    posix_spawn_file_actions_adddup2(&act, w->err_fd, 2);
    char *argv[] = {path, "--job", NULL};
    int rc = posix_spawn(&w->pid, path, &act, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&act);
    close(out[1]);
    w->fd = out[0];
    if (!rc) return SW_OK;
    close(out[0]);
    close(w->err_fd);
    return sw_fail(err, SW_RUN, "cannot start %s: %s", path, strerror(rc));
}

sw_status sw_worker_start(sw_worker *w, const sw_job *job, sw_error *err) {
    *w = (sw_worker){.fd = -1, .err_fd = -1};
    char *text = encode(job);
    int in = text ? feed(text) : -1;
    free(text);
    if (in < 0) return sw_fail(err, SW_RUN, "cannot hand the job over: %s", strerror(errno));
    sw_status st = spawn(w, in, err);
    close(in);
    return st;
}

bool sw_worker_read(sw_worker *w) {
    if (!sw_vec_reserve(&w->got, w->got.n + 65536)) return false;
    ssize_t n = read(w->fd, w->got.v + w->got.n, 65536);
    if (n < 0 && errno == EINTR) return true;
    if (n <= 0) return false;
    w->got.n += (size_t)n;
    return true;
}

/* The last line that it wrote to its standard error. */
static void last_words(int fd, char *buf, size_t n) {
    off_t end = lseek(fd, 0, SEEK_END), from = end > 1024 ? end - 1024 : 0;
    char tail[1025];
    ssize_t got = pread(fd, tail, 1024, from);
    tail[got > 0 ? got : 0] = 0;
    while (got > 0 && (tail[got - 1] == '\n' || tail[got - 1] == ' ')) tail[--got] = 0;
    const char *line = strrchr(tail, '\n');
    snprintf(buf, n, "%.290s", line ? line + 1 : tail);
}

sw_status sw_worker_finish(sw_worker *w, sw_result *out, sw_error *err) {
    int status = 0;
    char words[300];
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR) {
    }
    last_words(w->err_fd, words, sizeof words);
    close(w->fd);
    close(w->err_fd);
    sw_status st;
    const outcome *o = (const outcome *)w->got.v;
    if (w->got.n == sizeof *o && !memcmp(o->magic, magic, sizeof magic) && o->bytes == sizeof *o) {
        st = o->status;
        if (st == SW_OK)
            *out = o->result;
        else if (err)
            *err = o->err;
    } else if (WIFSIGNALED(status)) {
        st = sw_fail(err, SW_RUN, "the simulation worker died of signal %d%s%s", WTERMSIG(status),
                     *words ? ": " : "", words);
    } else {
        st = sw_fail(err, SW_RUN, "the simulation worker ended without an answer (exit %d)%s%s",
                     WEXITSTATUS(status), *words ? ": " : "", words);
    }
    sw_vec_free(&w->got);
    return st;
}

/* --- the worker's side ------------------------------------------------------------------------ */

/* The next field; *text is malloc'd. */
static bool field(FILE *in, char name[16], char **text) {
    size_t n;
    if (fscanf(in, "%15s %zu", name, &n) != 2 || n > MAX_FIELD || fgetc(in) != '\n') return false;
    *text = malloc(n + 1);
    if (!*text || fread(*text, 1, n, in) != n) return false;
    (*text)[n] = 0;
    return true;
}

static bool decode(FILE *in, sw_job *job, sw_override *over) {
    char name[16], *text = NULL;
    *job = (sw_job){.over = over};
    while (field(in, name, &text)) {
        if (!strcmp(name, "end")) {
            free(text);
            return job->path != NULL;
        }
        if (!strcmp(name, "path"))
            job->path = text;
        else if (!strcmp(name, "text"))
            job->text = text;
        else if (!strcmp(name, "data"))
            job->data_dir = text;
        else if (!strcmp(name, "chrome"))
            job->chrome_path = text;
        else if (!strcmp(name, "oplog"))
            job->op_log_path = text;
        else if (!strcmp(name, "decisions"))
            job->decisions_path = text;
        else if (!strcmp(name, "verify"))
            job->verify = true;
        else if (!strcmp(name, "key") && job->n_over < MAX_OVERRIDES)
            over[job->n_over].path = text;
        else if (!strcmp(name, "value") && job->n_over < MAX_OVERRIDES)
            over[job->n_over++].text = text;
        else
            return false;
    }
    return false;
}

int sw_worker_main(int fd, int out_fd) {
    static sw_override over[MAX_OVERRIDES]; /* lives as long as the process: it runs one job */
    static outcome o;
    sw_job job;
    FILE *in = fdopen(fd, "rb");
    memcpy(o.magic, magic, sizeof magic);
    o.bytes = sizeof o;
    if (!in || !decode(in, &job, over))
        o.status = sw_fail(&o.err, SW_INPUT, "the worker was handed no job");
    else
        o.status = sw_job_run_here(&job, &o.result, &o.err);
    const char *p = (const char *)&o;
    for (size_t left = sizeof o; left;) {
        ssize_t n = write(out_fd, p, left);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return 1;
        p += n;
        left -= (size_t)n;
    }
    return 0;
}
