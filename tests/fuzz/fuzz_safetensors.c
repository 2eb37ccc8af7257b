/* Fuzzes the safetensors reader against a small fixed configuration. */
#include "models/safetensors.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char config[] =
    "{\"model_type\": \"llama\", \"hidden_size\": 8, \"intermediate_size\": 16, "
    "\"num_hidden_layers\": 1,"
    "\"num_attention_heads\": 2, \"vocab_size\": 10, \"tie_word_embeddings\": true}";

static int file_of(const void *data, size_t size, char path[64]) {
    int fd = memfd_create("input", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64], config_path[64];
    sw_model *m = NULL;
    sw_error err = {0};
    int fd = file_of(data, size, path), config_fd = file_of(config, sizeof config - 1, config_path);
    if (sw_model_from_safetensors(path, config_path, &m, &err) == SW_OK)
        sw_model_free(m);
    else if (!*err.text || strchr(err.text, '\n'))
        abort();
    close(fd);
    close(config_fd);
    return 0;
}
