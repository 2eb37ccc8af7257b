/* Random numbers: xoshiro256** seeded by splitmix64 (Blackman and Vigna, 2018). Deterministic on
 * every platform; one state, one owner; the seed comes from the scenario. */
#ifndef SW_BASE_RNG_H
#define SW_BASE_RNG_H

#include <stdint.h>

typedef struct sw_rng {
    uint64_t s[4];
} sw_rng;

static inline uint64_t sw_splitmix64(uint64_t *x) {
    uint64_t z = (*x += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline sw_rng sw_rng_seed(uint64_t seed) {
    sw_rng r;
    for (int i = 0; i < 4; i++) r.s[i] = sw_splitmix64(&seed);
    return r;
}

static inline uint64_t sw_rng_next(sw_rng *r) {
    uint64_t *s = r->s, x = s[1] * 5, t = s[1] << 17;
    x = ((x << 7) | (x >> 57)) * 9;
    s[2] ^= s[0], s[3] ^= s[1], s[1] ^= s[2], s[0] ^= s[3];
    s[2] ^= t, s[3] = (s[3] << 45) | (s[3] >> 19);
    return x;
}

/** Uniform in [0, 1), 53 bits. */
static inline double sw_rng_unit(sw_rng *r) {
    return (double)(sw_rng_next(r) >> 11) * 0x1p-53;
}

/** Uniform in [0, n), n > 0, without bias. */
static inline uint64_t sw_rng_below(sw_rng *r, uint64_t n) {
    uint64_t limit = UINT64_MAX - UINT64_MAX % n, x;
    do x = sw_rng_next(r);
    while (x >= limit);
    return x % n;
}

#endif
