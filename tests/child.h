/* SimGrid is one simulation a process: each case runs in a child, forked before SimGrid is touched,
 * and answers through shared memory. */
#ifndef SW_TESTS_CHILD_H
#define SW_TESTS_CHILD_H

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/** Memory that a child's writes are seen in, zeroed. */
static inline void *shared(size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/** Runs fn(arg) in a child, quietly; its wait status (0: it came back). */
static inline int in_child(void (*fn)(void *), void *arg) {
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(99);
        fn(arg);
        _exit(0);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    return status;
}

#endif
