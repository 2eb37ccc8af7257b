/* Patterns and arithmetic (see host_kernel.h). The loops over words are written for the compiler to
 * turn into vector code: one induction, no branch, unaligned loads through memcpy. */
#include "backends/host_kernel.h"
#include <stdbool.h>
#include <string.h>

#define STEP UINT64_C(0x9e3779b97f4a7c15)

static uint64_t mix(uint64_t x) {
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

uint64_t sw_host_seed(uint32_t block, uint32_t version, uint64_t op, uint32_t use) {
    uint64_t what = (uint64_t)block << 32 | version;
    return mix(mix(mix(what + 1) + op) + use * STEP);
}

static uint64_t load(const char *p) {
    uint64_t w;
    memcpy(&w, p, sizeof w);
    return w;
}

/* Byte number `at` of the pattern, in the order in which this machine stores words. */
static char byte_of(uint64_t at, uint64_t seed) {
    uint64_t w = seed + at / 8 * STEP;
    char b[8];
    memcpy(b, &w, sizeof b);
    return b[at % 8];
}

uint64_t sw_host_word(uint64_t skip, uint64_t seed) {
    char b[8];
    for (uint64_t i = 0; i < 8; i++) b[i] = byte_of(skip + i, seed);
    return load(b);
}

/* Bytes before the first whole word. */
static uint64_t ragged(uint64_t skip, uint64_t bytes) {
    uint64_t n = -skip % 8;
    return n < bytes ? n : bytes;
}

static void fill_words(char *p, uint64_t n, uint64_t first) {
    uint64_t w = first;
    for (uint64_t i = 0; i < n; i++, w += STEP) memcpy(p + 8 * i, &w, sizeof w);
}

void sw_host_fill(void *at, uint64_t skip, uint64_t bytes, uint64_t seed) {
    char *p = at;
    uint64_t i = 0, head = ragged(skip, bytes), n = (bytes - head) / 8;
    for (; i < head; i++) p[i] = byte_of(skip + i, seed);
    fill_words(p + head, n, seed + (skip + head) / 8 * STEP);
    for (i += 8 * n; i < bytes; i++) p[i] = byte_of(skip + i, seed);
}

/* 0: every word is as it should be. */
static uint64_t differ(const char *p, uint64_t n, uint64_t first) {
    uint64_t w = first, any = 0;
    for (uint64_t i = 0; i < n; i++, w += STEP) any |= load(p + 8 * i) ^ w;
    return any;
}

uint64_t sw_host_check(const void *at, uint64_t skip, uint64_t bytes, uint64_t seed) {
    const char *p = at;
    uint64_t i = ragged(skip, bytes), n = (bytes - i) / 8;
    uint64_t first = seed + (skip + i) / 8 * STEP;
    uint64_t end = i + 8 * n;
    bool clean = !differ(p + i, n, first);
    for (uint64_t k = clean ? end : 0; k < bytes; k++)
        if (p[k] != byte_of(skip + k, seed)) return k;
    for (uint64_t k = 0; clean && k < i; k++)
        if (p[k] != byte_of(skip + k, seed)) return k;
    return bytes;
}

uint64_t sw_host_sum(const void *at, uint64_t bytes) {
    const char *p = at;
    uint64_t sum = 0, n = bytes / 8;
    for (uint64_t i = 0; i < n; i++) sum += load(p + 8 * i);
    for (uint64_t i = 8 * n; i < bytes; i++) sum += (unsigned char)p[i];
    return sum;
}

typedef float lanes __attribute__((vector_size(16)));

double sw_host_flops(double n, const atomic_bool *stop) {
    enum { ROUND = 4096, LANES = 4, ACCUMULATORS = 8 };
    /* Eight independent chains hide the latency of an addition; the values stay near 1. */
    static volatile float factor = 0.75f, term = 0.25f; /* not to be foreseen by the compiler */
    const float f = factor, t = term;
    const lanes by = {f, f, f, f}, add = {t, t, t, t};
    lanes a0 = by, a1 = add, a2 = by, a3 = add, a4 = by, a5 = add, a6 = by, a7 = add;
    double per_turn = 2.0 * LANES * ACCUMULATORS, turns = n / per_turn;
    while (turns > 0 && !atomic_load_explicit(stop, memory_order_relaxed)) {
        int round = turns < ROUND ? (int)turns + 1 : ROUND;
        for (int i = 0; i < round; i++) {
            a0 = a0 * by + add, a1 = a1 * by + add, a2 = a2 * by + add, a3 = a3 * by + add;
            a4 = a4 * by + add, a5 = a5 * by + add, a6 = a6 * by + add, a7 = a7 * by + add;
        }
        turns -= round;
    }
    lanes sum = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7;
    return (double)(sum[0] + sum[1] + sum[2] + sum[3]);
}
