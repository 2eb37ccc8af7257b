/* The header of a GGUF file: key-values and tensors, as they lie (llama.cpp's format, versions 2
 * and 3).
 *
 * Arrays are streamed over; only integers (up to one a layer) are kept of them. Everything is
 * bounded and checked: counts, lengths, products, alignment, overlaps. Source: ggml's docs/gguf.md.
 */
#ifndef SW_MODELS_GGUF_H
#define SW_MODELS_GGUF_H

#include "models/build.h"

typedef struct gguf_value {
    char key[96];
    int64_t i;        /* integers and booleans; floats truncated, NaN 0 */
    bool number;      /* i is set */
    const char *text; /* strings up to 255 bytes, owned by the file's model */
    int32_t *list;    /* arrays of integers or booleans */
    uint32_t n;       /* items in list */
} gguf_value;

typedef struct gguf_file {
    sw_model *model; /* tensors, in the file's order; layers and roles unset */
    gguf_value *values;
    size_t n_values;
    uint64_t data_offset, data_bytes, file_bytes; /* data_bytes: to the end of the last tensor */
} gguf_file;

/** Reads a header. Fails SW_INPUT, "FILE: byte N: …". Free with gguf_close. */
sw_status sw_gguf_read(const char *path, gguf_file *out, sw_error *err);
void sw_gguf_close(gguf_file *file);
/** The value of a key, or NULL. */
const gguf_value *sw_gguf_value(const gguf_file *file, const char *key);

#endif
