/* Number formats of weights, activations and arithmetic, with their true bits per weight. */
#ifndef SW_DTYPE_H
#define SW_DTYPE_H

#include "sim/base/error.h"

/* name, elements in a block, bytes of a block, arithmetic class (below).
 * GGML's quantised weights are unpacked on the way into FP16 products. llama.cpp's int8 kernels do
 * no better: Llama 3 8B on an RTX 4090 prefills 6,899 tokens/s in Q4_K_M and 9,056 in F16, 111 and
 * 145 TFLOP/s (XiongjieDai/GPU-Benchmarks-on-LLM-Inference). GGML block sizes: ggml's type traits
 * (ggml-common.h). Formats with side tensors of their own (AWQ, GPTQ, FP8 with block scales, NVFP4)
 * are stored as several tensors in a checkpoint: each is listed as it lies. F4 and I4 are packed
 * halves of a byte, which such a checkpoint declares as U8 or I32; kernels for AWQ and GPTQ unpack
 * I4 to FP16 before they multiply. */
/* clang-format off */
#define SW_DTYPE_LIST(X)                                                                           \
    X(F64, 1, 8, FP32) X(F32, 1, 4, FP32) X(F16, 1, 2, FP16) X(BF16, 1, 2, FP16)                   \
    X(F8_E4M3, 1, 1, FP8) X(F8_E5M2, 1, 1, FP8) X(F8_E8M0, 1, 1, FP8)                              \
    X(F4, 2, 1, FP4) X(I4, 2, 1, FP16)                                                             \
    X(I64, 1, 8, FP32) X(I32, 1, 4, FP32) X(I16, 1, 2, FP16) X(I8, 1, 1, INT8)                     \
    X(U64, 1, 8, FP32) X(U32, 1, 4, FP32) X(U16, 1, 2, FP16) X(U8, 1, 1, INT8)                     \
    X(BOOL, 1, 1, INT8)                                                                            \
    X(Q4_0, 32, 18, FP16) X(Q4_1, 32, 20, FP16) X(Q5_0, 32, 22, FP16) X(Q5_1, 32, 24, FP16)        \
    X(Q8_0, 32, 34, FP16) X(Q8_1, 32, 36, FP16)                                                    \
    X(Q2_K, 256, 84, FP16) X(Q3_K, 256, 110, FP16) X(Q4_K, 256, 144, FP16)                         \
    X(Q5_K, 256, 176, FP16) X(Q6_K, 256, 210, FP16) X(Q8_K, 256, 292, FP16)                        \
    X(IQ1_S, 256, 50, FP16) X(IQ1_M, 256, 56, FP16) X(IQ2_XXS, 256, 66, FP16)                      \
    X(IQ2_XS, 256, 74, FP16) X(IQ2_S, 256, 82, FP16) X(IQ3_XXS, 256, 98, FP16)                     \
    X(IQ3_S, 256, 110, FP16) X(IQ4_NL, 32, 18, FP16) X(IQ4_XS, 256, 136, FP16)                     \
    X(TQ1_0, 256, 54, FP16) X(TQ2_0, 256, 66, FP16) X(MXFP4, 32, 17, FP16)                         \
    X(NVFP4, 64, 36, FP4) X(Q1_0, 128, 18, FP16) X(Q2_0, 64, 18, FP16)
/* clang-format on */

typedef enum sw_dtype {
#define X(name, elems, bytes, math) SW_##name,
    SW_DTYPE_LIST(X)
#undef X
        SW_DTYPE_COUNT
} sw_dtype;

/* Arithmetic classes: the row of a unit's peak table that a kernel on such weights runs at. */
typedef enum sw_math { SW_FP32, SW_FP16, SW_FP8, SW_FP4, SW_INT8, SW_MATH_COUNT } sw_math;

const char *sw_dtype_name(sw_dtype t);
sw_math sw_dtype_math(sw_dtype t);
/** Elements and bytes of one block of the format. */
uint32_t sw_dtype_block_elems(sw_dtype t);
uint32_t sw_dtype_block_bytes(sw_dtype t);
/** Bits per weight: 8 * block bytes / block elements. */
double sw_dtype_bits(sw_dtype t);
/** Parses a name without regard to case; false if unknown. */
int sw_dtype_parse(const char *name, sw_dtype *out);
/** Bytes of a tensor whose rows (innermost dimension) have `row` elements and number `rows`; rows
 * are padded to whole blocks as ggml does. Returns UINT64_MAX on overflow. */
uint64_t sw_dtype_bytes(sw_dtype t, uint64_t row, uint64_t rows);

#endif
