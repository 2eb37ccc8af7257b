/* Fuzzes the op log's reader and the verifier behind it: any bytes give a report or one line. */
#include "sim/report/oplog.h"
#include "validate/verify.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    sw_error err = {0};
    sw_verify_report report;
    int fd = memfd_create("input", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (sw_verify_log(path, false, &report, &err) == SW_OK) {
        if (report.n_kept > SW_VIOLATIONS_KEPT || report.n_kept > report.n_violations) abort();
        for (uint32_t i = 0; i < report.n_kept; i++)
            if (!*report.kept[i].text || strchr(report.kept[i].text, '\n')) abort();
    } else if (!*err.text || strchr(err.text, '\n')) {
        abort();
    }
    close(fd);
    return 0;
}
