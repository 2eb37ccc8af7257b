/* What a step touches: distinct bytes that existed before it, and what need not move if an op is
 * done where its bytes lie. Internal to the bound; docs/bound.md says why each figure errs on the
 * low side.
 *
 * step   any run of ops between two calls of sw_touch_next
 * use    a read of bytes that existed before the step; rows > 0: so many, anywhere in the extent */
#ifndef SW_BOUND_TOUCH_H
#define SW_BOUND_TOUCH_H

#include "sim/base/vec.h"
#include "sim/trace.h"

typedef struct sw_touch_use {
    uint32_t block;
    uint64_t lo, hi, rows;
} sw_touch_use;

typedef struct sw_touch_view { /* of a block */
    uint64_t old_lo, old_hi;   /* hull of what existed before the step */
    uint64_t lo, hi;           /* hull of what the step wrote */
    uint32_t step;             /* that lo and hi belong to */
    uint32_t stamp, n_touched; /* while a step is counted */
    bool same;                 /* all touched the same extent */
    uint64_t t_lo, t_hi, most; /* that extent or the union; most rows gathered by one op */
} sw_touch_view;

typedef struct sw_touch {
    SW_VEC(sw_touch_view) views; /* by block */
    SW_VEC(sw_touch_use) uses;   /* of the step */
    uint32_t step;
} sw_touch;

/** A block is declared (is_static: its bytes exist) or allocated. False when memory is out. */
bool sw_touch_block(sw_touch *t, uint32_t block, uint64_t bytes, bool is_static);
/** Notes what an ACCESS event reads and writes; its uses are uses.v[*first … uses.n). All blocks
 * must be known. False when memory is out. */
bool sw_touch_op(sw_touch *t, const sw_event *ev, size_t *first);
/** Counts the uses of one op of the step; returns how many distinct bytes they add. */
double sw_touch_count(sw_touch *t, size_t first, size_t n);
/** Once all ops of the step are counted: the bytes that need not move if this op is done where they
 * lie. An extent that k ops read is spared only when all k are: 1/k for each. */
double sw_touch_spared(const sw_touch *t, size_t first, size_t n);
/** Begins the next step. */
void sw_touch_next(sw_touch *t);
void sw_touch_free(sw_touch *t);

#endif
