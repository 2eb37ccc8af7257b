/* Fuzzes the GGUF reader: any bytes give a model or one line, and never more memory than the file
 * warrants. */
#include "models/gguf.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    sw_model *m = NULL;
    sw_error err = {0};
    int fd = memfd_create("input", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (sw_model_from_gguf(path, &m, &err) == SW_OK)
        sw_model_free(m);
    else if (!*err.text || strchr(err.text, '\n'))
        abort();
    close(fd);
    return 0;
}
