/* spillway-worker: runs one job that spillway hands it (jobs/worker.h), so that a simulation that
 * aborts takes only itself down. Not for people, but for `--list`: the backends that it has. */
#include "jobs/job.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "--list")) {
        for (size_t i = 0; i < sw_backend_table_n; i++)
            printf("%s\t%s\n", sw_backend_table[i]->name, sw_backend_table[i]->summary);
        return 0;
    }
    if (argc != 2 || strcmp(argv[1], "--job")) {
        fputs("spillway-worker is started by spillway; try `spillway run --help`\n", stderr);
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* whoever asked is gone: nobody reads the answer */
    int out = dup(1);                 /* whatever a library prints must not mix with the outcome */
    dup2(2, 1);
    return sw_worker_main(0, out);
}
