/* The arithmetic of the bound: a machine reduced to a few rates, and the least time of one step.
 * docs/bound.md derives it. Internal to bound.c and bound_solve.c.
 *
 * near     the VRAM tiers: only GPUs read them at full rate; empty on a unified machine
 * host     RAM and unified memory: the CPU works on it where it lies
 * item     one op of the model: gpu_s if the GPUs did all of it, cpu_s if the CPU did
 * group    ops that the data does not order among themselves; groups follow each other
 * spared   bytes that need not cross the link if the CPU does the whole item */
#ifndef SW_BOUND_SOLVE_H
#define SW_BOUND_SOLVE_H

#include "sim/base/vec.h"
#include "sim/topology.h"

enum { SW_BOUND_SIDE = UINT32_MAX };

typedef struct sw_bound_machine {
    const sw_topology *topo;
    double near_bytes, host_bytes;       /* capacities; the disks hold everything */
    double link_Bps, host_Bps, nvme_Bps; /* into near; out of host; out of the disks */
    double ingress_Bps[SW_TIERS_MAX];    /* of each near tier, and its link */
    int16_t ingress_res[SW_TIERS_MAX];
    double reach_Bps[SW_CLASS_COUNT];               /* all tiers and units together */
    double unit_Bps[SW_UNITS_MAX][SW_CLASS_COUNT];  /* what a unit reads from everywhere */
    bool around;                                    /* a disk reaches VRAM without passing RAM */
    int16_t near_res, host_res, nvme_res, link_res; /* the first of each, to name a limit; -1 */
} sw_bound_machine;

typedef struct sw_bound_item {
    double gpu_s, cpu_s;      /* INFINITY: no such unit; both 0: nothing to do */
    double read_bytes, flops; /* of the op */
    double spared_bytes;
    uint32_t group; /* ascending; SW_BOUND_SIDE: in the step, in no place of the chain */
    int16_t res;    /* what bounds it if it runs alone */
    uint8_t cls, math;
    double share; /* out: the part of it that the CPU does */
} sw_bound_item;

typedef struct sw_bound_step {
    double time_s;
    int16_t limit; /* a resource */
    double link_bytes, nvme_bytes, host_bytes, near_bytes;
} sw_bound_step;

void sw_bound_machine_init(sw_bound_machine *m, const sw_topology *topo);
/** Fills gpu_s, cpu_s and res from the op's reads and work. */
void sw_bound_price(const sw_bound_machine *m, sw_bound_item *item);
/** The least time of a step. Items of one group are adjacent, groups ascend, side items come last;
 * their order within a group changes. `distinct` are the bytes that existed before the step and
 * that the chain reads. O(n log n). False when memory is out. */
bool sw_bound_solve(const sw_bound_machine *m, sw_bound_item *items, size_t n, double distinct,
                    sw_bound_step *out);
/** Adds the step's bytes to the resources that carry them. */
void sw_bound_spread(const sw_bound_machine *m, const sw_bound_step *s, double *res_bytes);

#endif
