/* The table of number formats behind sim/dtype.h: names, blocks, arithmetic classes. */
#include "sim/dtype.h"
#include <strings.h>

typedef struct format {
    const char *name;
    uint32_t elems, bytes;
    sw_math math;
} format;

static const format formats[] = {
#define X(name, elems, bytes, math) {#name, elems, bytes, SW_##math},
    SW_DTYPE_LIST(X)
#undef X
};

static const format *row_of(sw_dtype t) {
    return (unsigned)t < SW_DTYPE_COUNT ? &formats[t] : &formats[SW_F32];
}

const char *sw_dtype_name(sw_dtype t) {
    return row_of(t)->name;
}
sw_math sw_dtype_math(sw_dtype t) {
    return row_of(t)->math;
}
uint32_t sw_dtype_block_elems(sw_dtype t) {
    return row_of(t)->elems;
}
uint32_t sw_dtype_block_bytes(sw_dtype t) {
    return row_of(t)->bytes;
}
double sw_dtype_bits(sw_dtype t) {
    return 8.0 * row_of(t)->bytes / row_of(t)->elems;
}

int sw_dtype_parse(const char *name, sw_dtype *out) {
    for (int i = 0; i < SW_DTYPE_COUNT; i++) {
        if (strcasecmp(name, formats[i].name) == 0) {
            *out = (sw_dtype)i;
            return 1;
        }
    }
    return 0;
}

uint64_t sw_dtype_bytes(sw_dtype t, uint64_t row, uint64_t rows) {
    const format *f = row_of(t);
    uint64_t blocks = row / f->elems + (row % f->elems != 0), bytes;
    if (__builtin_mul_overflow(blocks, rows, &bytes) ||
        __builtin_mul_overflow(bytes, (uint64_t)f->bytes, &bytes))
        return UINT64_MAX;
    return bytes;
}
