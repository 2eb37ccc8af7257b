/* Any text either reads as a trace or fails with one line; what reads can be written, and what was
 * written reads back as the same events. */
#include "sim/scan.h"
#include "traces/swt_write.h"
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const sw_source_ops sw_source_swt;

static int file_of(const void *data, size_t size, char *path, size_t n) {
    int fd = memfd_create("input", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
    snprintf(path, n, "/proc/self/fd/%d", fd);
    return fd;
}

static void check_line(const sw_error *err) {
    if (!*err->text || strpbrk(err->text, "\r\n")) abort();
}

/* Reads a file; every event as text into *t. */
static sw_status read_all(const char *path, sw_swt_text *t, sw_error *err) {
    sw_source_env env = {.path = path};
    void *so = NULL;
    sw_error why = {0};
    if (sw_plugin_new(&sw_source_swt.plugin, "source", NULL, &so, err)) abort();
    sw_status st = sw_source_swt.open(so, &env, err);
    if (!st && sw_swt_begin(t, NULL, &why)) abort();
    while (!st) {
        sw_event ev = {0};
        st = sw_source_swt.next(so, NULL, &ev, err);
        if (!st && sw_swt_event(t, &ev, &why) && !strstr(why.text, "16 MiB")) abort();
    }
    sw_source_swt.close(so);
    free(so);
    if (st == SW_END && sw_swt_end(t, &why)) abort();
    return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    sw_error err = {0};
    sw_swt_text once = {0}, twice = {0};
    sw_scan *scan = NULL;
    int fd = file_of(data, size, path, sizeof path);
    sw_status st = read_all(path, &once, &err);
    if (st != SW_END) {
        check_line(&err);
    } else {
        char again[64];
        int copy = file_of(once.buf.v, once.buf.n, again, sizeof again);
        if (read_all(again, &twice, &err) != SW_END) abort();
        if (once.buf.n != twice.buf.n || memcmp(once.buf.v, twice.buf.v, once.buf.n)) abort();
        close(copy);
        sw_source_env env = {.path = path};
        if (sw_scan_run(&sw_source_swt, NULL, &env, true, &scan, &err))
            check_line(&err);
        else
            sw_scan_free(scan);
    }
    sw_swt_text_free(&once);
    sw_swt_text_free(&twice);
    close(fd);
    return 0;
}
