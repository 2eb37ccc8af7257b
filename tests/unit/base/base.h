/* What the tests of sim/base share: one-line messages and a scratch folder. */
#ifndef SW_TESTS_BASE_H
#define SW_TESTS_BASE_H

#include "check.h"
#include "sim/base/error.h"
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The message holds `part`, and is one line. */
static inline void check_text(const sw_error *err, const char *part) {
    bool ok = *err->text && !strchr(err->text, '\n') && strstr(err->text, part);
    CHECK(ok);
    if (!ok) printf("\n  `%s` has no `%s`\n", err->text, part);
}

/* The folder of this process's scratch files, made on the first call. */
static inline const char *scratch_dir(void) {
    static char folder[64];
    if (!*folder) {
        snprintf(folder, sizeof folder, "/tmp/spillway-base-%ld", (long)getpid());
        mkdir(folder, 0700);
    }
    return folder;
}

/* A path in it; valid for the next seven calls. */
static inline const char *scratch(const char *name) {
    static char paths[8][256];
    static unsigned next;
    char *out = paths[next++ % 8];
    snprintf(out, 256, "%s/%s", scratch_dir(), name);
    return out;
}

static inline void write_bytes(const char *path, const void *data, size_t n) {
    FILE *f = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    if (n) CHECK_INT(fwrite(data, 1, n, f), n);
    fclose(f);
}

/* Entries of the scratch folder. */
static inline int scratch_files(void) {
    int n = 0;
    DIR *d = opendir(scratch_dir());
    CU_ASSERT_PTR_NOT_NULL_FATAL(d);
    for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

#endif
