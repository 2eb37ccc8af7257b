/* What the kernels of `host` do with bytes: write a pattern, check it, read it, and arithmetic.
 *
 * A pattern is a row of 8-byte words seed, seed + STEP, seed + 2 STEP …: cheap enough to make and to
 * check at the speed of memory, and with the seed of another write, or at another offset, no word
 * is the same. Patterns are cut anywhere: `skip` says how many bytes of it come before `at`. */
#ifndef SW_BACKEND_HOST_KERNEL_H
#define SW_BACKEND_HOST_KERNEL_H

#include <stdatomic.h>
#include <stdint.h>

/** The seed of what use number `use` of op `op` writes. Placed before time starts: op 0. */
uint64_t sw_host_seed(uint32_t block, uint32_t version, uint64_t op, uint32_t use);

void sw_host_fill(void *at, uint64_t skip, uint64_t bytes, uint64_t seed);
/** The offset of the first byte that is not as it should be; `bytes` if all are. */
uint64_t sw_host_check(const void *at, uint64_t skip, uint64_t bytes, uint64_t seed);
/** Eight bytes of the pattern from `skip` on. */
uint64_t sw_host_word(uint64_t skip, uint64_t seed);
/** Reads the bytes; the sum is only there so that the reading is not left out. */
uint64_t sw_host_sum(const void *at, uint64_t bytes);
/** n floating point operations, or fewer when `stop` is set. The outcome is of no use either. */
double sw_host_flops(double n, const atomic_bool *stop);

#endif
