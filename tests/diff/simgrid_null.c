/* Question: do three independent answers agree? simgrid, null, and a small fluid simulator written
 * here that shares no code with either. Without contention simgrid and null agree within 1e-9 and 1
 * ns an activity; with it, simgrid and the fluid one. */
#include "check.h"
#include "child.h"
#include "sim/backend.h"
#include "sim/base/rng.h"
#include <stdlib.h>

extern const sw_backend_ops sw_backend_simgrid, sw_backend_null;

enum { OPS = 400, AFTER = 3 };

typedef struct plan { /* a run: a machine and its ops, and when they ended */
    sw_topology topo;
    sw_op ops[OPS];
    uint64_t after[OPS][AFTER];
    int n;
    sw_done done[OPS];
    sw_status status;
} plan;

/* --- running on a backend --------------------------------------------------------------------- */

static const sw_backend_ops *backend;
static void *be;

static sw_status body(void *arg, sw_error *err) {
    plan *p = arg;
    uint32_t n = 0, half = (uint32_t)p->n / 2;
    SW_TRY(backend->submit(be, p->ops, half, err));
    SW_TRY(backend->submit(be, p->ops + half, (uint32_t)p->n - half, err));
    SW_TRY(backend->wait(be, (uint64_t)p->n, p->done, OPS, &n, err));
    return n == (uint32_t)p->n ? SW_OK : sw_fail(err, SW_RUN, "lost ops");
}

static void run_on(plan *p, const sw_backend_ops *b) {
    sw_error err = {0};
    backend = b;
    be = calloc(1, b->plugin.ctx_bytes);
    p->status = b->open(be, &p->topo, &err);
    if (!p->status) p->status = b->run(be, body, p, &err);
    b->close(be);
    free(be);
}

static void simgrid_child(void *arg) {
    run_on(arg, &sw_backend_simgrid);
}

static plan *on_simgrid(const plan *from) {
    plan *p = shared(sizeof *p);
    *p = *from;
    for (int i = 0; i < p->n; i++) p->ops[i].after = p->after[i];
    CHECK_INT(in_child(simgrid_child, p), 0);
    CHECK_INT(p->status, SW_OK);
    return p;
}

/* --- random plans ----------------------------------------------------------------------------- */

static double between(sw_rng *r, double lo, double hi) {
    return lo + (hi - lo) * sw_rng_unit(r);
}

static void add_route(sw_op *op, const sw_topology *t, sw_rng *r) {
    const sw_route *route = &t->routes[sw_rng_below(r, t->n_routes)];
    op->kind = SW_OP_COPY;
    op->queue = (uint16_t)route->queue;
    double bytes = between(r, 1e6, 1e9);
    op->flows[op->n_flows++] = (sw_flow){route->path, bytes, route->cap_Bps * between(r, 0.3, 1.5)};
    if (route->driver < 0) return;
    const sw_unit *cpu = &t->units[route->driver]; /* a copying thread occupies a core */
    double core = SW_UNIT_RATE / cpu->cores;
    op->flows[op->n_flows++] = (sw_flow){cpu->path, bytes / cpu->core_Bps * core, core};
}

static void add_kernel(sw_op *op, const sw_topology *t, sw_rng *r) {
    int u = (int)sw_rng_below(r, t->n_units);
    op->kind = SW_OP_COMPUTE;
    op->unit = (int16_t)u;
    op->queue = (uint16_t)t->units[u].queue;
    if (sw_rng_below(r, 3))
        op->flows[op->n_flows++] =
            (sw_flow){t->units[u].path, SW_UNIT_RATE * between(r, 1e-4, 0.1), SW_UNIT_RATE};
    for (int i = 0; i < t->n_tiers; i++) {
        const sw_port *port = &t->ports[u][i];
        if (port->read_path < 0 || sw_rng_below(r, 2)) continue;
        op->flows[op->n_flows++] =
            (sw_flow){port->read_path, between(r, 1e6, 2e9), port->read_Bps * between(r, 0.5, 1)};
    }
}

static plan *random_plan(uint64_t seed, int n, bool serial) {
    plan *p = shared(sizeof *p);
    sw_rng r = sw_rng_seed(seed);
    sw_topology_simple(&p->topo, 1e12, 1ull << 34, between(&r, 1e10, 6e10), between(&r, 4e10, 1e11),
                       1ull << 36, between(&r, 3e9, 1e10), 1e14, 1e12);
    p->n = n;
    if (seed % 2) p->topo.wake_s = between(&r, 1e-6, 1e-3);
    for (int i = 0; i < n; i++) {
        sw_op *op = &p->ops[i];
        *op = (sw_op){.id = (uint64_t)i + 1, .unit = -1, .name = "op"};
        uint64_t kind = sw_rng_below(&r, 8);
        if (kind < 4)
            add_kernel(op, &p->topo, &r);
        else if (kind < 7)
            add_route(op, &p->topo, &r);
        else
            op->kind = SW_OP_JOIN, op->queue = (uint16_t)sw_rng_below(&r, p->topo.n_queues);
        if (op->kind != SW_OP_JOIN && sw_rng_below(&r, 2)) op->fixed_s = between(&r, 1e-6, 1e-3);
        uint64_t last = 0;
        for (int k = 0; k < AFTER && i > 0 && !serial; k++) {
            uint64_t id = 1 + sw_rng_below(&r, (uint64_t)i);
            if (id > last && sw_rng_below(&r, 2)) p->after[i][op->n_after++] = last = id;
        }
        if (serial && i > 0)
            p->after[i][op->n_after++] = (uint64_t)i; /* one op at a time: nothing contends */
        op->after = p->after[i];
    }
    return p;
}

/* --- the fluid simulator ---------------------------------------------------------------------- */

/* Max-min by bottlenecks: the resource (or cap) with the least share for each of its open flows
 * settles them; repeat. */
static void rates(const sw_topology *t, const sw_flow **f, int n, double *rate) {
    double left[SW_RES_MAX];
    bool settled[64] = {false};
    for (int r = 0; r < t->n_res; r++) left[r] = t->res[r].rate;
    for (int todo = n; todo > 0;) {
        double least = INFINITY;
        int at = -1, capped = -1;
        for (int r = 0; r < t->n_res; r++) {
            double w = 0;
            for (int i = 0; i < n; i++)
                for (int k = 0; !settled[i] && k < t->paths[f[i]->path].n; k++)
                    w += t->paths[f[i]->path].res[k] == r;
            if (w > 0 && left[r] / w < least) least = left[r] / w, at = r, capped = -1;
        }
        for (int i = 0; i < n; i++)
            if (!settled[i] && f[i]->cap < least) least = f[i]->cap, capped = i;
        for (int i = 0; i < n; i++) {
            const sw_path *p = &t->paths[f[i]->path];
            bool hit = i == capped;
            for (int k = 0; capped < 0 && k < p->n; k++) hit |= p->res[k] == at;
            if (settled[i] || !hit) continue;
            settled[i] = true, rate[i] = least, todo--;
            for (int k = 0; k < p->n; k++) left[p->res[k]] -= least;
        }
    }
}

typedef struct state {
    int phase; /* 0 waits, 1 fixed time, 2 flows, 3 ended */
    double until, start, end, left[SW_FLOWS_MAX];
} state;

/* When op i may start, as far as it is known. */
static double ready_at(const plan *p, const state *s, int i) {
    double at = 0;
    for (int j = 0; j < i; j++)
        if (p->ops[j].queue == p->ops[i].queue)
            at = fmax(at, s[j].phase == 3 ? s[j].end : INFINITY);
    for (uint32_t k = 0; k < p->ops[i].n_after; k++) {
        const state *on = &s[p->ops[i].after[k] - 1];
        at = fmax(at, on->phase == 3 ? on->end + p->topo.wake_s : INFINITY);
    }
    return at;
}

static void fluid(const plan *p, state *s) {
    double t = 0;
    for (int ended = 0; ended < p->n;) {
        for (bool moved = true; moved;) { /* everything that happens at this instant */
            moved = false;
            for (int i = 0; i < p->n; i++) {
                const sw_op *op = &p->ops[i];
                if (s[i].phase == 0 && ready_at(p, s, i) <= t * (1 + 1e-15)) {
                    s[i].phase = 1, s[i].start = t, s[i].until = t + op->fixed_s, moved = true;
                    for (int k = 0; k < op->n_flows; k++) s[i].left[k] = op->flows[k].amount;
                }
                if (s[i].phase == 1 && s[i].until <= t * (1 + 1e-15)) s[i].phase = 2, moved = true;
                bool empty = true;
                for (int k = 0; k < op->n_flows; k++)
                    empty &= s[i].left[k] <= op->flows[k].amount * 1e-12;
                if (s[i].phase == 2 && empty) s[i].phase = 3, s[i].end = t, ended++, moved = true;
            }
        }
        const sw_flow *f[64];
        double *left[64], rate[64], dt = INFINITY;
        int n = 0;
        for (int i = 0; i < p->n; i++) {
            if (s[i].phase == 1) dt = fmin(dt, s[i].until - t);
            if (s[i].phase == 0) dt = fmin(dt, ready_at(p, s, i) - t);
            for (int k = 0; s[i].phase == 2 && k < p->ops[i].n_flows; k++)
                if (s[i].left[k] > p->ops[i].flows[k].amount * 1e-12)
                    f[n] = &p->ops[i].flows[k], left[n++] = &s[i].left[k];
        }
        rates(&p->topo, f, n, rate);
        for (int i = 0; i < n; i++) dt = fmin(dt, *left[i] / rate[i]);
        if (ended == p->n) break;
        CU_ASSERT_TRUE_FATAL(isfinite(dt));
        for (int i = 0; i < n; i++) *left[i] -= rate[i] * dt;
        t += dt;
    }
}

/* --- the tests -------------------------------------------------------------------------------- */

static void without_contention_null_and_simgrid_agree(void) {
    double worst = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        plan *p = random_plan(seed, OPS, true), *s = on_simgrid(p);
        run_on(p, &sw_backend_null);
        CHECK_INT(p->status, SW_OK);
        for (int i = 0; i < OPS; i++) {
            double off = fabs(s->done[i].end_s - p->done[i].end_s),
                   allowed = 1e-9 * p->done[i].end_s + 1e-9 * 8 * (i + 1);
            if (off > allowed)
                printf("\n  seed %d op %d: %.12g, null %.12g\n", (int)seed, i + 1, s->done[i].end_s,
                       p->done[i].end_s);
            CHECK(off <= allowed);
            worst = fmax(worst, off / p->done[i].end_s);
        }
    }
    printf("(worst %.1e) ", worst);
}

static void with_contention_simgrid_and_the_fluid_agree(void) {
    double worst = 0, contended = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        static state ref[OPS];
        plan *p = random_plan(1000 + seed, 120, false), *s = on_simgrid(p);
        memset(ref, 0, sizeof ref);
        fluid(p, ref);
        run_on(p, &sw_backend_null);
        double end = 0, alone = 0;
        for (int i = 0; i < p->n; i++) {
            CHECK_REL(s->done[i].start_s + 1, ref[i].start + 1, 1e-6);
            CHECK_REL(s->done[i].end_s, ref[i].end, 1e-6);
            worst = fmax(worst, fabs(s->done[i].end_s / ref[i].end - 1));
            end = fmax(end, s->done[i].end_s), alone = fmax(alone, p->done[i].end_s);
        }
        contended += end > alone * 1.001;
        CHECK(end >= alone * (1 - 1e-7)); /* a fixed plan: every op starts no earlier */
    }
    CHECK(contended >= 10); /* the plans do contend */
    printf("(worst %.1e, %d of 20 contended) ", worst, (int)contended);
}

/* Copies from RAM at once, on queues of their own: 2 and 3 flows over one memory. */
static void fair_share_of_two_and_three(void) {
    plan *p = shared(sizeof *p);
    sw_topology_simple(&p->topo, 1e12, 1ull << 34, 1e12, 30e9, 1ull << 36, 1e12, 1e14, 1e12);
    const sw_topology *t = &p->topo;
    int ram = sw_topology_tier(t, SW_TIER_RAM), vram = sw_topology_tier(t, SW_TIER_VRAM),
        cpu = sw_topology_unit(t, SW_UNIT_CPU);
    const sw_route *up = &t->routes[t->route_of[ram][vram][0]],
                   *down = &t->routes[t->route_of[vram][ram][0]];
    p->ops[0] = (sw_op){.id = 1,
                        .unit = -1,
                        .kind = SW_OP_COPY,
                        .queue = (uint16_t)up->queue,
                        .n_flows = 1,
                        .flows = {{up->path, 30e9, 1e15}}};
    p->ops[1] = (sw_op){.id = 2,
                        .unit = -1,
                        .kind = SW_OP_COPY,
                        .queue = (uint16_t)down->queue,
                        .n_flows = 1,
                        .flows = {{down->path, 15e9, 1e15}}};
    p->n = 2; /* 15 + 15 GB/s until 1 s; then 30 GB/s for the 15 GB left */
    plan *s = on_simgrid(p);
    CHECK_REL(s->done[1].end_s, 1.0, 1e-9);
    CHECK_REL(s->done[0].end_s, 1.5, 1e-9);
    p->ops[2] = (sw_op){.id = 3,
                        .unit = (int16_t)cpu,
                        .kind = SW_OP_COMPUTE,
                        .queue = (uint16_t)t->units[cpu].queue,
                        .n_flows = 1,
                        .flows = {{t->ports[cpu][ram].read_path, 10e9, 4e9}}};
    p->n = 3; /* the CPU is capped at 4; 13 each until 15/13 s; the first then has 26 */
    s = on_simgrid(p);
    double t1 = 15.0 / 13, t2 = t1 + (30 - 13 * t1) / 26;
    CHECK_REL(s->done[1].end_s, t1, 1e-9);
    CHECK_REL(s->done[0].end_s, t2, 1e-9);
    CHECK_REL(s->done[2].end_s, 2.5, 1e-9);
}

SW_TESTS("simgrid and null", {"fair share of two and three", fair_share_of_two_and_three},
         {"without contention null and simgrid agree", without_contention_null_and_simgrid_agree},
         {"with contention simgrid and the fluid agree",
          with_contention_simgrid_and_the_fluid_agree})
