/* Question: how fast is every allocator, and does it stay so with many live blocks?
 *
 * Prints one CSV line an allocator and size; times are of a take and a give together. With --check
 * it fails when a pair costs over 250 times as much with 10^6 live blocks as with 300: caches and
 * depth explain some tens, a linear search would be 3000. */
#include "sim/alloc.h"
#include "sim/base/rng.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t some_size(sw_rng *r) { /* 64 kinds of blocks from 4 KiB to 4 MiB */
    uint64_t x = sw_rng_next(r);
    return 4096ull << (x % 8) << (x / 8 % 4) | (x / 32 % 8) * 512;
}

/* Nanoseconds of a give and a take with `live` blocks, in an arena that holds twice as much. bump
 * never reuses: there the pairs are a give and a take until all is given. */
static double pair_ns(const sw_alloc_ops *ops, size_t live, size_t pairs) {
    void *ctx = NULL;
    uint64_t *addr = malloc(live * sizeof *addr);
    uint32_t effects;
    sw_rng r = sw_rng_seed(1);
    if (!addr || sw_plugin_new(&ops->plugin, "allocator", NULL, &ctx, NULL) ||
        ops->open(ctx, UINT64_C(1) << 50, NULL))
        exit(2);
    for (size_t i = 0; i < live; i++)
        if (ops->take(ctx, some_size(&r), &addr[i], &effects)) exit(2);
    double t0 = now_s();
    for (size_t k = 0; k < pairs; k++) {
        size_t i = sw_rng_below(&r, live);
        ops->give(ctx, addr[i], &effects);
        if (ops->take(ctx, some_size(&r), &addr[i], &effects)) exit(2);
    }
    double ns = (now_s() - t0) * 1e9 / (double)pairs;
    ops->close(ctx);
    free(ctx);
    free(addr);
    return ns;
}

int main(int argc, char **argv) {
    bool check = argc == 2 && !strcmp(argv[1], "--check");
    static const size_t lives[] = {300, 10000, 1000000};
    int bad = 0;
    puts("allocator,live,ns_per_pair,pairs_per_s");
    for (size_t a = 0; a < sw_alloc_table_n; a++) {
        double first = 0, ns = 0;
        for (size_t i = 0; i < 3; i++) {
            ns = pair_ns((const sw_alloc_ops *)(const void *)sw_alloc_table[a], lives[i], 1000000);
            if (!i) first = ns;
            printf("%s,%zu,%.0f,%.3g\n", sw_alloc_table[a]->name, lives[i], ns, 1e9 / ns);
        }
        if (check && ns > 250 * first) {
            fprintf(stderr, "%s: %.0f times slower\n", sw_alloc_table[a]->name, ns / first);
            bad = 1;
        }
    }
    return bad;
}
