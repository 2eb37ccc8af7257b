/* The bound of a source's trace on a machine, for tests. */
#ifndef SW_TESTS_BOUND_OF_H
#define SW_TESTS_BOUND_OF_H

#include "check.h"
#include "sim/replay.h"

static inline double bound_of(const sw_source_ops *source, const sw_node *map,
                              const sw_source_env *env, const sw_topology *topo) {
    sw_bounder *b = NULL;
    void *so = NULL;
    sw_bound out = {0};
    CHECK(sw_bounder_new(topo, &b, NULL) == SW_OK);
    CHECK(sw_plugin_new(&source->plugin, "source", map, &so, NULL) == SW_OK);
    CHECK(source->open(so, env, NULL) == SW_OK);
    for (;;) {
        sw_event ev = {0};
        if (source->next(so, NULL, &ev, NULL) != SW_OK) break;
        CHECK(sw_bounder_event(b, &ev, NULL) == SW_OK);
    }
    CHECK(sw_bounder_finish(b, &out, NULL) == SW_OK);
    source->close(so);
    free(so);
    sw_bounder_free(b);
    return out.total_s;
}

/* null lets flows pass through each other: for it, shared resources must not bound anything; ports,
 * copy engines and the disk's one queue still do. */
static inline sw_topology without_contention(const sw_topology *t) {
    sw_topology wide = *t;
    int nvme = sw_topology_tier(t, SW_TIER_NVME);
    for (int i = 0; i < wide.n_res; i++)
        if (wide.res[i].kind != SW_RES_UNIT && (nvme < 0 || i != t->tiers[nvme].res))
            wide.res[i].rate *= 64;
    return wide;
}

#endif
