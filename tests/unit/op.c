/* Questions: are the rates of sw_fair_share max-min fair, and is sw_op_solo_s what they add up to?
 * By hand for two and three flows; by the conditions that only the max-min fair rates meet, and by
 * small steps of time, for random ones. */
#include "sim/op.h"
#include "check.h"
#include "sim/base/rng.h"
#include "sim/topology_build.h"

enum { A, B, C, D }; /* resources of 10, 20, 30 and 40 a second */

static sw_topology four(void) {
    sw_topology t;
    sw_topo_init(&t, "four");
    for (int i = 0; i < 4; i++) sw_topo_res(&t, "r", SW_RES_LINK, 10.0 * (i + 1));
    return t;
}

#define FLOW(t, amount, cap, ...) ((sw_flow){SW_TOPO_PATH(&t, __VA_ARGS__), amount, cap})

/* --- rates ----------------------------------------------------------------------------------- */

static void equal_flows_share_equally(void) {
    sw_topology t = four();
    double r[3];
    sw_fair_share(&t, (sw_flow[]){FLOW(t, 1, 99, A), FLOW(t, 1, 99, A)}, 2, r);
    CHECK_REL(r[0], 5, 1e-12);
    CHECK_REL(r[1], 5, 1e-12);
    sw_fair_share(&t, (sw_flow[]){FLOW(t, 1, 99, C), FLOW(t, 1, 99, C), FLOW(t, 1, 99, C)}, 3, r);
    for (int i = 0; i < 3; i++) CHECK_REL(r[i], 10, 1e-12);
}

static void what_a_cap_leaves_goes_to_the_others(void) {
    sw_topology t = four();
    double r[3];
    sw_fair_share(&t, (sw_flow[]){FLOW(t, 1, 2, C), FLOW(t, 1, 99, C), FLOW(t, 1, 8, C)}, 3, r);
    CHECK_REL(r[0], 2, 1e-12);
    CHECK_REL(r[1], 20, 1e-12);
    CHECK_REL(r[2], 8, 1e-12);
}

static void a_bottleneck_elsewhere_acts_as_a_cap(void) {
    sw_topology t = four();
    double r[3]; /* A lets 5 each through; C then has 25 left for the third */
    sw_fair_share(&t, (sw_flow[]){FLOW(t, 1, 99, A), FLOW(t, 1, 99, A, C), FLOW(t, 1, 99, C)}, 3,
                  r);
    CHECK_REL(r[0], 5, 1e-12);
    CHECK_REL(r[1], 5, 1e-12);
    CHECK_REL(r[2], 25, 1e-12);
}

static void a_resource_named_twice_weighs_twice(void) {
    sw_topology t = four();
    double r[2]; /* equal rates x: 2 x + x = 30 */
    sw_fair_share(&t, (sw_flow[]){FLOW(t, 1, 99, C, C), FLOW(t, 1, 99, C)}, 2, r);
    CHECK_REL(r[0], 10, 1e-12);
    CHECK_REL(r[1], 10, 1e-12);
    sw_fair_share(&t, (sw_flow[]){FLOW(t, 1, 99, D, D, D, D)}, 1, r);
    CHECK_REL(r[0], 10, 1e-12);
}

static void both_directions_of_a_duplex_link_are_apart(void) {
    sw_topology t = four();
    double r[2];
    sw_fair_share(&t, (sw_flow[]){FLOW(t, 1, 99, A), FLOW(t, 1, 99, B)}, 2, r);
    CHECK_REL(r[0], 10, 1e-12);
    CHECK_REL(r[1], 20, 1e-12);
}

/* Rates are max-min fair if and only if they are feasible and each flow has a reason not to be
 * faster: its cap, or a full resource on which nobody is faster than it. */
static bool fair(const sw_topology *t, const sw_flow *f, uint32_t n, const double *r) {
    double used[SW_RES_MAX] = {0}, fastest[SW_RES_MAX] = {0};
    for (uint32_t i = 0; i < n; i++) {
        const sw_path *p = &t->paths[f[i].path];
        if (!(r[i] > 0) || r[i] > f[i].cap * (1 + 1e-9)) return false;
        for (int k = 0; k < p->n; k++) {
            used[p->res[k]] += r[i];
            fastest[p->res[k]] = fmax(fastest[p->res[k]], r[i]);
        }
    }
    for (int k = 0; k < t->n_res; k++)
        if (used[k] > t->res[k].rate * (1 + 1e-9)) return false;
    for (uint32_t i = 0; i < n; i++) {
        const sw_path *p = &t->paths[f[i].path];
        bool reason = r[i] >= f[i].cap * (1 - 1e-9);
        for (int k = 0; k < p->n && !reason; k++)
            reason = used[p->res[k]] >= t->res[p->res[k]].rate * (1 - 1e-9) &&
                     r[i] >= fastest[p->res[k]] * (1 - 1e-9);
        if (!reason) return false;
    }
    return true;
}

static double magnitude(sw_rng *r, double lo, double hi) { /* evenly in the logarithm */
    return lo * pow(hi / lo, sw_rng_unit(r));
}

static uint32_t random_flows(sw_rng *r, sw_topology *t, sw_flow *f, uint32_t most, double decades) {
    sw_topo_init(t, "random");
    int n_res = 1 + (int)sw_rng_below(r, 8);
    double hi = pow(10, decades);
    for (int i = 0; i < n_res; i++) sw_topo_res(t, "r", SW_RES_LINK, magnitude(r, 1, hi));
    uint32_t n = 1 + (uint32_t)sw_rng_below(r, most);
    for (uint32_t i = 0; i < n; i++) {
        int16_t res[SW_PATH_LEN];
        int len = 1 + (int)sw_rng_below(r, 5);
        for (int k = 0; k < len; k++)
            res[k] = (int16_t)sw_rng_below(r, (uint64_t)n_res); /* twice at times */
        double cap = sw_rng_below(r, 2) ? magnitude(r, 0.1, hi) : 1e300;
        f[i] = (sw_flow){sw_topo_path(t, res, len), magnitude(r, 1, 100), cap};
    }
    return n;
}

static void random_rates_are_max_min_fair(void) {
    sw_rng r = sw_rng_seed(7);
    for (int round = 0; round < 20000; round++) {
        sw_topology t;
        sw_flow f[64];
        double rate[64];
        uint32_t n = random_flows(&r, &t, f, round % 50 ? 10 : 64, round % 2 ? 1 : 12);
        sw_fair_share(&t, f, n, rate);
        if (!fair(&t, f, n, rate)) {
            printf("\n  round %d: not max-min fair\n", round);
            CHECK(false);
            return;
        }
    }
}

/* --- an op alone ----------------------------------------------------------------------------- */

static double solo(const sw_topology *t, double fixed_s, const sw_flow *f, int n) {
    sw_op op = {.id = 1, .fixed_s = fixed_s, .n_flows = (uint8_t)n};
    for (int i = 0; i < n; i++) op.flows[i] = f[i];
    return sw_op_solo_s(t, &op);
}

static void closed_forms(void) {
    sw_topology t = four();
    CHECK(solo(&t, 0, NULL, 0) == 0);
    CHECK(solo(&t, 1.5, NULL, 0) == 1.5);
    CHECK_REL(solo(&t, 1, (sw_flow[]){FLOW(t, 100, 99, A)}, 1), 11, 1e-15);
    CHECK_REL(solo(&t, 0, (sw_flow[]){FLOW(t, 100, 4, A)}, 1), 25, 1e-15);
    CHECK_REL(solo(&t, 0, (sw_flow[]){FLOW(t, 100, 99, B, B)}, 1), 10, 1e-15);
    CHECK_REL(solo(&t, 0, (sw_flow[]){FLOW(t, 100, 99, A, B, C)}, 1), 10, 1e-15);
    /* apart: the slower one */
    CHECK_REL(solo(&t, 0, (sw_flow[]){FLOW(t, 100, 99, A), FLOW(t, 300, 99, B)}, 2), 15, 1e-15);
    /* together: as one flow of the sum, if neither is capped */
    CHECK_REL(solo(&t, 0, (sw_flow[]){FLOW(t, 100, 99, A), FLOW(t, 300, 99, A)}, 2), 40, 1e-12);
    /* 5 + 5 until 2 s; then the rest, 90, at its cap of 6 */
    CHECK_REL(solo(&t, 0, (sw_flow[]){FLOW(t, 10, 99, A), FLOW(t, 100, 6, A)}, 2), 17, 1e-12);
    /* three: 10 each until 1 s; 15 each until 2 s; 30 alone for the last 60 */
    CHECK_REL(
        solo(&t, 2, (sw_flow[]){FLOW(t, 10, 99, C), FLOW(t, 25, 99, C), FLOW(t, 85, 99, C)}, 3), 6,
        1e-12);
    /* one path twice, each flow with a cap of its own */
    CHECK_REL(solo(&t, 0, (sw_flow[]){FLOW(t, 10, 5, C), FLOW(t, 10, 20, C)}, 2), 2, 1e-12);
}

/* Small steps of time: first order, so it is near, not equal. */
static double stepped(const sw_topology *t, const sw_flow *flows, uint32_t n, double dt) {
    sw_flow f[SW_FLOWS_MAX];
    double rate[SW_FLOWS_MAX], s = 0;
    memcpy(f, flows, n * sizeof *f);
    while (n) {
        sw_fair_share(t, f, n, rate);
        for (uint32_t i = n; i-- > 0;)
            if ((f[i].amount -= rate[i] * dt) <= 0) f[i] = f[--n];
        s += dt;
    }
    return s;
}

static void random_ops_are_what_small_steps_say(void) {
    sw_rng r = sw_rng_seed(11);
    for (int round = 0; round < 300; round++) {
        sw_topology t;
        sw_flow f[SW_FLOWS_MAX];
        uint32_t n = random_flows(&r, &t, f, SW_FLOWS_MAX, 1);
        double exact = solo(&t, 0, f, (int)n);
        CHECK_REL(stepped(&t, f, n, exact / 5000), exact, 3e-3);
    }
}

/* --- names ----------------------------------------------------------------------------------- */

static void names_are_there(void) {
    for (int c = 0; c < SW_CAT_COUNT; c++) {
        CHECK(strlen(sw_cat_text((sw_cat)c)) > 0);
        for (int d = 0; d < c; d++) CHECK(strcmp(sw_cat_key((sw_cat)c), sw_cat_key((sw_cat)d)));
    }
    CHECK_STR(sw_cat_key(SW_CAT_IDLE), "idle");
    CHECK_STR(sw_op_kind_name(SW_OP_COPY), "copy");
    CHECK_STR(sw_op_kind_name(SW_OP_COLLECTIVE), "collective");
}

SW_TESTS("ops", {"equal flows share equally", equal_flows_share_equally},
         {"what a cap leaves goes to the others", what_a_cap_leaves_goes_to_the_others},
         {"a bottleneck elsewhere acts as a cap", a_bottleneck_elsewhere_acts_as_a_cap},
         {"a resource named twice weighs twice", a_resource_named_twice_weighs_twice},
         {"both directions of a duplex link are apart", both_directions_of_a_duplex_link_are_apart},
         {"random rates are max-min fair", random_rates_are_max_min_fair},
         {"closed forms", closed_forms},
         {"random ops are what small steps say", random_ops_are_what_small_steps_say},
         {"names are there", names_are_there})
