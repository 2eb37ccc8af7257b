/* Exact reuse distances in bytes, one access at a time, O(log blocks) each.
 *
 * Living blocks stand in the order of their last use; a Fenwick tree over the places sums the bytes
 * that were used later (Bennett and Kruskal 1975). Places are given anew when they run out. */
#ifndef SW_REUSE_H
#define SW_REUSE_H

#include "sim/base/vec.h"

typedef struct sw_reuse {
    SW_VEC(uint64_t) place; /* by block: from 1; 0 none */
    SW_VEC(uint64_t) bytes; /* by block, as counted in the tree */
    uint64_t *tree;         /* by place */
    uint32_t *block;        /* by place: the block that stands there, if its place is this */
    uint64_t cap, next, n, total;
} sw_reuse;

/** Counts a use of the block. *distance: bytes of the different blocks used since its last use,
 * itself included; 0 at its first. False when memory is out. */
bool sw_reuse_use(sw_reuse *r, uint32_t block, uint64_t bytes, uint64_t *distance);
/** Forgets the block. */
void sw_reuse_drop(sw_reuse *r, uint32_t block);
void sw_reuse_free(sw_reuse *r);

#endif
