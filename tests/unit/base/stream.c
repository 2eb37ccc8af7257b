/* Are lines and bytes read as they are from plain and gzip files, and broken ones refused in one
 * line? What is written: writer.c. */
#include "sim/base/stream.h"
#include "base.h"

enum { MAX_LINE = 16 << 20 };

static sw_reader *open_reader(const char *path) {
    sw_reader *r = NULL;
    sw_error err = {0};
    if (sw_reader_open(path, &r, &err)) printf("\n  %s\n", err.text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(r);
    return r;
}

/* The next line is `due`; NULL: the end. */
static void line(sw_reader *r, const char *due) {
    char *text = NULL;
    size_t n = 0;
    sw_error err = {0};
    sw_status st = sw_reader_line(r, &text, &n, &err);
    CHECK(st == (due ? SW_OK : SW_END));
    if (st != SW_OK || !due) return;
    CHECK_INT(n, strlen(due));
    CHECK_STR(text, due);
}

static void no_line(sw_reader *r, const char *why) {
    char *text;
    size_t n;
    sw_error err = {0};
    CHECK(sw_reader_line(r, &text, &n, &err) == SW_INPUT);
    check_text(&err, why);
}

static void lines(void) {
    const char *path = scratch("lines");
    write_bytes(path, "a\n\nb\r\nlast", 10);
    sw_reader *r = open_reader(path);
    CHECK_INT(sw_reader_file_bytes(r), 10);
    line(r, "a"), line(r, ""), line(r, "b");
    CHECK_INT(sw_reader_mark(r).line, 3);
    CHECK_STR(sw_reader_mark(r).file, path);
    line(r, "last"), line(r, NULL), line(r, NULL);
    sw_reader_close(r);
    write_bytes(path, "", 0);
    line(r = open_reader(path), NULL);
    sw_reader_close(r);
    write_bytes(path, "\n", 1);
    line(r = open_reader(path), ""), line(r, NULL);
    sw_reader_close(r);
    write_bytes(path, "ok\na\0b\nafter\n", 13);
    line(r = open_reader(path), "ok");
    no_line(r, ":2: a NUL byte");
    sw_reader_close(r);
    sw_reader_close(NULL);
    unlink(path);
}

/* A line of n bytes and `end` behind it, after a line of one byte. */
static void long_line(int n, const char *end, bool good) {
    const char *path = scratch("long");
    char *text = malloc((size_t)n + 64), *got;
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    memcpy(text, "x\n", 2), memset(text + 2, 'y', (size_t)n), strcpy(text + 2 + n, end);
    write_bytes(path, text, strlen(text));
    free(text);
    sw_reader *r = open_reader(path);
    size_t bytes = 0;
    sw_error err = {0};
    line(r, "x");
    sw_status st = sw_reader_line(r, &got, &bytes, &err);
    CHECK(st == (good ? SW_OK : SW_INPUT));
    CHECK(!good || bytes == (size_t)n);
    if (!good) check_text(&err, ":2: a line over 16 MiB");
    sw_reader_close(r);
    unlink(path);
}

static void long_lines(void) {
    static const char *const ends[] = {"", "\n", "\r\n", "\nnext line\n"};
    for (int i = 0; i < 4; i++) {
        long_line(MAX_LINE, ends[i], true);
        long_line(MAX_LINE + 1, ends[i], false);
    }
    long_line(2 * MAX_LINE, "\n", false);
    long_line(3 * MAX_LINE, "", false);
}

static void put_lines(const char *path, int n) {
    sw_writer *w = NULL;
    sw_error err = {0};
    CU_ASSERT_EQUAL_FATAL(sw_writer_open(path, &w, &err), SW_OK);
    for (int i = 0; i < n; i++) sw_writer_printf(w, "line %d of %d\n", i, n);
    CHECK(sw_writer_commit(w, &err) == SW_OK);
}

static void gzip(void) {
    const char *path = scratch("a.gz");
    enum { LINES = 50000 };
    put_lines(path, LINES);
    FILE *f = fopen(path, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    static unsigned char data[1 << 20];
    size_t n = fread(data, 1, sizeof data, f);
    fclose(f);
    CHECK(n > 1000 && n < sizeof data && data[0] == 0x1f && data[1] == 0x8b);
    sw_reader *r = open_reader(path);
    CHECK_INT(sw_reader_file_bytes(r), n);
    for (int i = 0; i < LINES; i++) {
        char due[64];
        snprintf(due, sizeof due, "line %d of %d", i, LINES);
        line(r, due);
    }
    line(r, NULL);
    sw_reader_close(r);
    /* By content, not by name; two members are one file. */
    const char *plain = scratch("b");
    memcpy(data + n, data, n < sizeof data / 2 ? n : 0);
    write_bytes(plain, data, 2 * n);
    r = open_reader(plain);
    for (int i = 0; i < 2 * LINES; i++) {
        char *text;
        size_t bytes;
        if (sw_reader_line(r, &text, &bytes, NULL) != SW_OK) CU_FAIL("a line is missing");
    }
    line(r, NULL);
    sw_reader_close(r);
    unlink(path), unlink(plain);
}

/* A gzip file cut off anywhere, or with a flipped bit, never ends as if it were whole. */
static void broken_gzip(void) {
    const char *path = scratch("a.gz"), *cut = scratch("cut");
    static unsigned char data[1 << 16];
    put_lines(path, 100);
    FILE *f = fopen(path, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    size_t n = fread(data, 1, sizeof data, f);
    fclose(f);
    for (size_t keep = 2; keep <= n; keep++) {
        write_bytes(cut, data, keep);
        sw_reader *r = open_reader(cut);
        char *text;
        size_t bytes;
        sw_error err = {0};
        sw_status st;
        while (!(st = sw_reader_line(r, &text, &bytes, &err))) {
        }
        CHECK(st == (keep == n ? SW_END : SW_INPUT));
        if (st == SW_INPUT) check_text(&err, "corrupt or truncated gzip near byte");
        sw_reader_close(r);
    }
    CHECK(n > 18);
    data[n > 18 ? n - 6 : 0] ^= 1; /* the checksum */
    write_bytes(cut, data, n);
    sw_reader *r = open_reader(cut);
    char *text;
    size_t bytes;
    sw_error err = {0};
    sw_status st;
    while (!(st = sw_reader_line(r, &text, &bytes, &err))) {
    }
    CHECK(st == SW_INPUT);
    check_text(&err, "incorrect data check");
    CHECK(!strstr(err.text, "fd:"));
    sw_reader_close(r);
    unlink(path), unlink(cut);
}

static void reads(void) {
    const char *path = scratch("bytes");
    char *data = malloc(1000000), *got = malloc(1000001);
    CU_ASSERT_TRUE_FATAL(data && got);
    for (int i = 0; i < 1000000; i++) data[i] = (char)(i * 7);
    write_bytes(path, data, 1000000);
    sw_reader *r = open_reader(path);
    size_t n = 77, m;
    CHECK(sw_reader_read(r, got, 0, &n, NULL) == SW_OK && n == 0);
    CHECK(sw_reader_read(r, got, 3, &n, NULL) == SW_OK && n == 3);
    CHECK(sw_reader_read(r, got + 3, 1000000, &m, NULL) == SW_OK && m == 999997);
    CHECK(!memcmp(data, got, 1000000));
    CHECK(sw_reader_read(r, got, 1, &n, NULL) == SW_OK && n == 0);
    sw_reader_close(r);
    free(data), free(got);
    unlink(path);
}

static void cannot_open(void) {
    sw_reader *r = NULL;
    sw_error err = {0};
    CHECK(sw_reader_open(scratch("absent"), &r, &err) == SW_INPUT);
    check_text(&err, "cannot open: No such file");
    CHECK(sw_reader_open(scratch_dir(), &r, &err) == SW_INPUT);
    check_text(&err, "is a folder");
    CHECK(r == NULL);
    rmdir(scratch_dir());
}

SW_TESTS("readers", {"lines", lines}, {"long lines", long_lines}, {"gzip", gzip},
         {"broken gzip", broken_gzip}, {"reads", reads}, {"cannot open", cannot_open})
