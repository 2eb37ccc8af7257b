/* Does a writer leave the whole file under its name or nothing, and say when it could not? */
#include "base.h"
#include "sim/base/stream.h"
#include <sys/wait.h>

static sw_writer *open_writer(const char *path) {
    sw_writer *w = NULL;
    sw_error err = {0};
    if (sw_writer_open(path, &w, &err)) printf("\n  %s\n", err.text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    return w;
}

/* The file's bytes, as text. */
static void holds(const char *path, const char *due) {
    static char got[4096];
    FILE *f = fopen(path, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    got[fread(got, 1, sizeof got - 1, f)] = 0;
    fclose(f);
    CHECK_STR(got, due);
}

static void commits(void) {
    const char *path = scratch("out");
    sw_writer *w = open_writer(path);
    sw_writer_put(w, "abc", 3);
    sw_writer_printf(w, "%d\n", 7);
    CHECK(access(path, F_OK) != 0); /* nothing there before the commit */
    CHECK(sw_writer_commit(w, NULL) == SW_OK);
    holds(path, "abc7\n");
    CHECK_INT(scratch_files(), 1);
    w = open_writer(path); /* and what was there stays until then */
    sw_writer_put(w, "new", 3);
    holds(path, "abc7\n");
    CHECK(sw_writer_commit(w, NULL) == SW_OK);
    holds(path, "new");
    unlink(path);
    CHECK_INT(scratch_files(), 0);
}

/* A new file gets 0644 less the umask; one that is there keeps what it has. */
static void permissions(void) {
    static const mode_t modes[] = {0600, 0644, 0664, 0640};
    const char *path = scratch("out");
    struct stat st;
    mode_t was = umask(0);
    for (mode_t mask = 0; mask <= 077; mask += 7) {
        umask(mask);
        CHECK(sw_writer_commit(open_writer(path), NULL) == SW_OK);
        CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == (0644 & ~mask));
        unlink(path);
    }
    for (int i = 0; i < 4; i++) {
        write_bytes(path, "old", 3);
        CHECK_INT(chmod(path, modes[i]), 0);
        CHECK(sw_writer_commit(open_writer(path), NULL) == SW_OK);
        CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == modes[i]);
        unlink(path);
    }
    umask(was);
}

static void aborts(void) {
    static const char *const names[] = {"out", "out.gz"};
    for (int i = 0; i < 2; i++) {
        const char *path = scratch(names[i]);
        sw_writer *w = open_writer(path);
        sw_writer_put(w, "abc", 3);
        sw_writer_abort(w);
        CHECK_INT(scratch_files(), 0);
        write_bytes(path, "old", 3);
        w = open_writer(path);
        sw_writer_put(w, "abc", 3);
        sw_writer_abort(w);
        holds(path, "old");
        unlink(path);
    }
    sw_writer_abort(NULL);
}

static void long_text(void) {
    const char *path = scratch("out");
    char text[2000];
    for (int n = 510; n <= 514; n++) { /* around the buffer on the stack */
        memset(text, 'x', sizeof text), text[n] = 0;
        sw_writer *w = open_writer(path);
        sw_writer_printf(w, "%s", text);
        CHECK(sw_writer_commit(w, NULL) == SW_OK);
        holds(path, text);
    }
    unlink(path);
}

static void cannot_open(void) {
    sw_writer *w = NULL;
    sw_error err = {0};
    CHECK(sw_writer_open(scratch("absent/out"), &w, &err) == SW_IO);
    check_text(&err, "absent/out: cannot write: No such file");
    CHECK(sw_writer_open(scratch_dir(), &w, &err) == SW_IO);
    check_text(&err, "Is a directory");
    CHECK(sw_writer_open("", &w, &err) == SW_IO);
    CHECK(w == NULL);
    CHECK_INT(scratch_files(), 0);
}

/* The name turns into a folder before the commit: the rename fails, and nothing is left. */
static void cannot_rename(void) {
    const char *path = scratch("out");
    sw_writer *w = open_writer(path);
    sw_error err = {0};
    sw_writer_put(w, "abc", 3);
    CHECK_INT(mkdir(path, 0700), 0);
    CHECK(sw_writer_commit(w, &err) == SW_IO);
    check_text(&err, "cannot write: Is a directory");
    CHECK_INT(scratch_files(), 1);
    rmdir(path);
}

/* A device is written as it is, and a full one is an error, however little was written. */
static void devices(void) {
    struct stat before, after;
    sw_error err = {0};
    CU_ASSERT_EQUAL_FATAL(stat("/dev/null", &before), 0);
    sw_writer *w = open_writer("/dev/null");
    sw_writer_put(w, "abc", 3);
    CHECK(sw_writer_commit(w, &err) == SW_OK);
    CHECK(stat("/dev/null", &after) == 0 && S_ISCHR(after.st_mode));
    CHECK(before.st_ino == after.st_ino);
    if (access("/dev/full", W_OK)) return;
    static char much[1 << 20];
    for (size_t n = 1; n <= sizeof much; n *= 1024) {
        w = open_writer("/dev/full");
        sw_writer_put(w, much, n);
        sw_writer_put(w, much, n);
        CHECK(sw_writer_commit(w, &err) == SW_IO);
        check_text(&err, "/dev/full: cannot write: No space left");
        w = open_writer("/dev/full");
        sw_writer_put(w, much, n);
        sw_writer_abort(w);
    }
    CHECK(stat("/dev/full", &after) == 0 && S_ISCHR(after.st_mode));
}

static void links(void) {
    const char *path = scratch("link"), *target = scratch("target");
    struct stat st;
    write_bytes(target, "old", 3);
    CHECK_INT(symlink("target", path), 0);
    sw_writer *w = open_writer(path);
    sw_writer_put(w, "new", 3);
    CHECK(sw_writer_commit(w, NULL) == SW_OK);
    CHECK(lstat(path, &st) == 0 && S_ISLNK(st.st_mode));
    holds(target, "new");
    unlink(path), unlink(target);
    CHECK_INT(scratch_files(), 0);
}

static void standard_output(void) {
    const char *path = scratch("stdout");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        sw_writer *w = NULL;
        if (!freopen(path, "wb", stdout) || sw_writer_open("-", &w, NULL)) _exit(9);
        sw_writer_abort(w);
        if (fputs("first\n", stdout) < 0 || sw_writer_open("-", &w, NULL)) _exit(9);
        sw_writer_printf(w, "to %s\n", "you");
        _exit(sw_writer_commit(w, NULL) || fputs("and more\n", stdout) < 0 || fflush(stdout));
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    holds(path, "first\nto you\nand more\n"); /* in order, and it stays open */
    unlink(path);
    rmdir(scratch_dir());
}

SW_TESTS("writers", {"commits", commits}, {"permissions", permissions}, {"aborts", aborts},
         {"long text", long_text}, {"cannot open", cannot_open}, {"cannot rename", cannot_rename},
         {"devices", devices}, {"links", links}, {"standard output", standard_output})
