/* Question: do null and simgrid keep what sim/backend.h and sim/op.h promise? Each case runs on
 * both, and must answer alike. Starting rules, joins, windows, wait(0), two flows over one path,
 * memory; and what only simgrid can get wrong: stalls, flows without a route, long clocks. */
#include "check.h"
#include "child.h"
#include "sim/backend.h"
#include "sim/base/rng.h"
#include <malloc.h>
#include <stdlib.h>

extern const sw_backend_ops sw_backend_simgrid, sw_backend_null;

enum { OPS = 24000 };

/* What a case builds and finds: in shared memory, since simgrid's side runs in a child. */
typedef struct world {
    const sw_backend_ops *b;
    void *be;
    sw_status (*body)(struct world *w, sw_error *err);
    sw_topology topo;
    sw_op ops[OPS];
    uint64_t after[OPS][4];
    uint64_t n; /* ops made */
    sw_done done[OPS];
    uint32_t batch[OPS], n_batches;
    double value[8];
    sw_status status;
    sw_error err;
} world;

static world *null_w, *sim_w;

static sw_status body_of(void *arg, sw_error *err) {
    world *w = arg;
    return w->body(w, err);
}

static void play(void *arg) {
    world *w = arg;
    w->be = calloc(1, w->b->plugin.ctx_bytes);
    sw_topology_simple(&w->topo, 1e12, 1ull << 34, 25e9, 60e9, 1ull << 36, 6e9, 1e14, 1e12);
    w->status = w->b->open(w->be, &w->topo, &w->err);
    if (!w->status) w->status = w->b->run(w->be, body_of, w, &w->err);
    w->b->close(w->be);
    free(w->be);
}

static void on_both(sw_status (*body)(world *w, sw_error *err)) {
    if (!null_w) null_w = shared(sizeof *null_w), sim_w = shared(sizeof *sim_w);
    memset(null_w, 0, sizeof *null_w);
    memset(sim_w, 0, sizeof *sim_w);
    null_w->b = &sw_backend_null, sim_w->b = &sw_backend_simgrid;
    null_w->body = sim_w->body = body;
    play(null_w);
    CHECK_INT(in_child(play, sim_w), 0);
}

/* --- making ops ------------------------------------------------------------------------------ */

static sw_op *delay(world *w, int queue, double s) {
    sw_op *op = &w->ops[w->n];
    *op = (sw_op){.id = ++w->n, .unit = -1, .queue = (uint16_t)queue, .name = "delay"};
    op->kind = SW_OP_DELAY;
    op->fixed_s = s;
    return op;
}
static sw_op *join(world *w, int queue) {
    sw_op *op = delay(w, queue, 0);
    op->kind = SW_OP_JOIN;
    op->name = "join";
    return op;
}
static sw_op *wait_for(world *w, sw_op *op, uint64_t id) {
    w->after[op->id - 1][op->n_after++] = id;
    op->after = w->after[op->id - 1];
    return op;
}
static void flow(sw_op *op, int path, double amount, double cap) {
    op->flows[op->n_flows++] = (sw_flow){(int16_t)path, amount, cap};
}
static sw_status submit(world *w, uint64_t from, sw_error *err) { /* all made after id `from` */
    return w->b->submit(w->be, w->ops + from, (uint32_t)(w->n - from), err);
}
static sw_status wait_all(world *w, sw_error *err) {
    uint32_t n;
    SW_TRY(w->b->wait(w->be, w->n, w->done, OPS, &n, err));
    return n == w->n ? SW_OK : sw_fail(err, SW_RUN, "%u of %u", n, (unsigned)w->n);
}

/* Alike within a nanosecond an op and 1e-9. */
static void times(const double (*want)[2], uint64_t n) {
    for (int side = 0; side < 2; side++) {
        const world *w = side ? sim_w : null_w;
        CHECK_INT(w->status, SW_OK);
        if (w->status) printf("\n  %s: %s\n", w->b->plugin.name, w->err.text);
        for (uint64_t i = 0; i < n; i++) {
            CHECK_INT(w->done[i].id, i + 1);
            bool ok = fabs(w->done[i].start_s - want[i][0]) < 2e-8 &&
                      fabs(w->done[i].end_s - want[i][1]) < 2e-8;
            CHECK(ok);
            if (!ok)
                printf("\n  %s op %d: %.12g to %.12g\n", w->b->plugin.name, (int)i + 1,
                       w->done[i].start_s, w->done[i].end_s);
        }
    }
}

/* --- when an op starts ----------------------------------------------------------------------- */

static sw_status starts(world *w, sw_error *err) {
    delay(w, 0, 1);                                 /* 1: 0 to 1 */
    delay(w, 0, 2);                                 /* 2: its queue: 1 to 3 */
    wait_for(w, delay(w, 1, 1), 1);                 /* 3: 1 to 2 */
    wait_for(w, wait_for(w, delay(w, 2, 1), 2), 3); /* 4: the later of 2 and 3: 3 to 4 */
    wait_for(w, delay(w, 1, 1), 1)->issued_by = 2;  /* 5: who issues it: 3 to 4 */
    wait_for(w, delay(w, 1, 0.5), 3);               /* 6: in order behind 5: 4 to 4.5 */
    return submit(w, 0, err) ? err->status : wait_all(w, err);
}
static void an_op_starts_when_all_that_it_waits_for_has_ended(void) {
    on_both(starts);
    times((const double[][2]){{0, 1}, {1, 3}, {1, 2}, {3, 4}, {3, 4}, {4, 4.5}}, 6);
}

static sw_status window(world *w, sw_error *err) {
    uint32_t n;
    delay(w, 0, 1);
    delay(w, 1, 5);
    SW_TRY(submit(w, 0, err));
    SW_TRY(w->b->wait(w->be, 1, w->done, OPS, &n, err));
    w->value[0] = w->b->now_s(w->be);
    delay(w, 2, 1);                 /* its queue is free, but the window opened at 1 */
    wait_for(w, delay(w, 2, 1), 1); /* waits for what has been returned: nothing to wait for */
    SW_TRY(submit(w, 2, err));
    return w->b->wait(w->be, 4, w->done + 1, OPS, &n, err);
}
static void an_op_starts_no_earlier_than_its_submission(void) {
    on_both(window);
    times((const double[][2]){{0, 1}, {0, 5}, {1, 2}, {2, 3}}, 4);
    CHECK_REL(sim_w->value[0], 1, 1e-9);
    CHECK_REL(null_w->value[0], 1, 1e-9);
}

static sw_status joins(world *w, sw_error *err) {
    delay(w, 1, 2);
    for (int i = 0; i < 30; i++) /* a chain over all queues, which must take no time */
        wait_for(w, join(w, (i + 2) % w->topo.n_queues), (uint64_t)i + 1);
    wait_for(w, delay(w, 3, 1), 31);
    join(w, 0); /* nothing before it but joins of its queue */
    SW_TRY(submit(w, 0, err));
    return wait_all(w, err);
}
static void joins_take_no_time(void) {
    double want[33][2] = {{0, 2}};
    for (int i = 1; i < 33; i++) want[i][0] = want[i][1] = 2;
    want[31][1] = 3;
    on_both(joins);
    times((const double(*)[2])want, 33);
    CHECK(sim_w->done[1].start_s == sim_w->done[30].end_s);
}

/* --- flows ----------------------------------------------------------------------------------- */

static sw_status twins(world *w, sw_error *err) {
    int cpu = sw_topology_unit(&w->topo, SW_UNIT_CPU),
        ram = sw_topology_tier(&w->topo, SW_TIER_RAM);
    sw_op *op = delay(w, w->topo.units[cpu].queue, 0.5);
    int path = w->topo.ports[cpu][ram].read_path;
    flow(op, path, 10e9, 5e9); /* 2 s at its cap */
    flow(op, path, 10e9, 20e9);
    op = delay(w, w->topo.units[cpu].queue, 0); /* the caps have changed: 30 GB/s each */
    flow(op, path, 30e9, 1e15);
    flow(op, path, 60e9, 1e15);
    int gpu = sw_topology_unit(&w->topo, SW_UNIT_GPU); /* nobody else uses it: 1 s + 0.5 s of it */
    op = delay(w, w->topo.units[gpu].queue, 0);
    flow(op, w->topo.units[gpu].path, SW_UNIT_RATE, SW_UNIT_RATE);
    flow(op, w->topo.units[gpu].path, SW_UNIT_RATE / 2, SW_UNIT_RATE);
    return submit(w, 0, err) ? err->status : wait_all(w, err);
}
static void two_flows_over_one_path_have_their_own_caps(void) {
    on_both(twins);
    times((const double[][2]){{0, 2.5}, {2.5, 4}, {0, 1.5}}, 3);
}

/* --- wait(0) --------------------------------------------------------------------------------- */

static sw_status instants(world *w, sw_error *err) {
    uint64_t told = 0;
    uint32_t n;
    int nq = w->topo.n_queues;
    for (int q = 0; q < nq; q++) delay(w, q, q % 2 ? 1 : 2);
    for (int q = 0; q < nq; q++) wait_for(w, join(w, q), (uint64_t)(q + 1) % (uint64_t)nq + 1);
    for (int q = 0; q < nq; q++) delay(w, q, 1);
    SW_TRY(submit(w, 0, err));
    while (told < w->n) {
        SW_TRY(w->b->wait(w->be, 0, w->done + told, OPS, &n, err));
        w->batch[w->n_batches++] = n;
        for (uint32_t i = 0; i < n; i++) {
            const sw_done *d = &w->done[told + i];
            if (i && (d[-1].end_s > d->end_s || (d[-1].end_s == d->end_s && d[-1].id > d->id)))
                return sw_fail(err, SW_RUN, "not by (end, id)");
        }
        told += n;
    }
    w->value[0] = w->b->wait(w->be, 0, w->done + told, OPS, &n, NULL); /* nothing is left */
    return wait_all(w, err);                                           /* returns them again */
}
static void wait_for_any_returns_whole_instants(void) {
    on_both(instants);
    CHECK_INT(null_w->status, SW_OK);
    CHECK_INT(sim_w->status, SW_OK);
    CHECK_INT(null_w->n_batches, 3); /* 1 s, 2 s, 3 s: every join waits for both kinds */
    CHECK_INT(sim_w->n_batches, 3);
    for (uint32_t i = 0; i < null_w->n_batches; i++) CHECK_INT(null_w->batch[i], sim_w->batch[i]);
    CHECK(null_w->value[0] == SW_RUN && sim_w->value[0] == SW_RUN);
}

/* Ops of several flows end in the same instant as delays, and are returned with them. */
static sw_status together(world *w, sw_error *err) {
    const sw_topology *t = &w->topo;
    sw_rng r = sw_rng_seed(5);
    uint32_t n;
    while (w->n < 600) {
        uint64_t from = w->n;
        for (int q = t->n_queues; q-- > 0;)
            if (sw_rng_below(&r, 2)) delay(w, q, 1);
        for (int u = 0; u < t->n_units; u++) { /* slow flows: nothing contends */
            sw_op *op = delay(w, t->units[u].queue, 0);
            for (int i = 0; i < t->n_tiers; i++)
                for (int k = 0; k < 2 && t->ports[u][i].read_path >= 0; k++)
                    flow(op, k ? t->ports[u][i].write_path : t->ports[u][i].read_path, 1e9, 1e9);
        }
        SW_TRY(submit(w, from, err));
        if (sw_rng_below(&r, 2)) SW_TRY(w->b->wait(w->be, from + 1, w->done, OPS, &n, err));
        for (uint64_t told = from; told < w->n - 2; told += n) {
            if (w->b->wait(w->be, 0, w->done, OPS, &n, NULL)) break;
            w->batch[w->n_batches++] = n;
        }
        SW_TRY(w->b->wait(w->be, w->n, w->done, OPS, &n, err));
    }
    return SW_OK;
}
static void ops_of_several_flows_belong_to_their_instant(void) {
    on_both(together);
    CHECK_INT(null_w->status, SW_OK);
    CHECK_INT(sim_w->status, SW_OK);
    CHECK_INT(null_w->n_batches, sim_w->n_batches);
    int off = 0;
    for (uint32_t i = 0; i < null_w->n_batches; i++) off += null_w->batch[i] != sim_w->batch[i];
    CHECK_INT(off, 0);
}

/* A submitter that waits now for any and now for all up to an id, as it pleases. */
static sw_status mixed(world *w, sw_error *err) {
    sw_rng r = sw_rng_seed(3);
    uint64_t taken = 0;
    static sw_done out[OPS];
    uint32_t n;
    while (w->n < 3000) {
        uint64_t from = w->n;
        for (uint64_t i = 1 + sw_rng_below(&r, 20); i-- > 0;) {
            int q = (int)sw_rng_below(&r, w->topo.n_queues);
            sw_op *op = sw_rng_below(&r, 4) ? delay(w, q, 0.25 * (double)(1 + sw_rng_below(&r, 8)))
                                            : join(w, q);
            if (op->id > 1 && sw_rng_below(&r, 2))
                wait_for(w, op, 1 + sw_rng_below(&r, op->id - 1));
        }
        SW_TRY(submit(w, from, err));
        if (sw_rng_below(&r, 3)) {
            if (w->b->wait(w->be, 0, out, OPS, &n, NULL)) n = 0;
            w->batch[w->n_batches++] = n;
            if (n) w->batch[w->n_batches - 1] = n * 10000 + (uint32_t)out[0].id; /* who is first */
        } else {
            uint64_t upto = taken + sw_rng_below(&r, w->n - taken + 1);
            if (upto == taken) continue;
            SW_TRY(w->b->wait(w->be, upto, w->done + taken, OPS, &n, err));
            taken += n;
        }
    }
    return w->b->wait(w->be, w->n, w->done + taken, OPS, &n, err);
}
static void mixed_waits_answer_alike(void) {
    on_both(mixed);
    CHECK_INT(null_w->status, SW_OK);
    CHECK_INT(sim_w->status, SW_OK);
    CHECK_INT(null_w->n, sim_w->n);
    CHECK_INT(null_w->n_batches, sim_w->n_batches);
    int off = 0; /* quarters of seconds are exact in both */
    for (uint64_t i = 0; i < null_w->n; i++)
        off += null_w->done[i].id != i + 1 || sim_w->done[i].id != i + 1 ||
               fabs(null_w->done[i].end_s - sim_w->done[i].end_s) > 1e-9 ||
               fabs(null_w->done[i].start_s - sim_w->done[i].start_s) > 1e-9;
    for (uint32_t i = 0; i < null_w->n_batches; i++) off += null_w->batch[i] != sim_w->batch[i];
    CHECK_INT(off, 0);
}

/* --- size ------------------------------------------------------------------------------------ */

static sw_status many(world *w, sw_error *err) {
    for (int i = 0; i < OPS; i++) wait_for(w, delay(w, i % 3, 0.5), i > 7 ? (uint64_t)i - 7 : 1);
    w->ops[0].n_after = 0;
    return submit(w, 0, err) ? err->status : wait_all(w, err);
}
static void one_submission_may_be_large(void) {
    on_both(many);
    CHECK_INT(null_w->status, SW_OK);
    CHECK_INT(sim_w->status, SW_OK);
    int off = 0;
    for (int i = 0; i < OPS; i++) off += null_w->done[i].end_s != sim_w->done[i].end_s;
    CHECK_INT(off, 0);
}

static size_t in_use(void) {
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

/* A queue that never runs dry, and ops that wait for ops: memory follows the window. */
static sw_status busy(world *w, sw_error *err) {
    enum { CHUNK = 256, WINDOW = 4, CHUNKS = 1200 };
    size_t early = 0;
    uint32_t n;
    for (uint64_t c = 0; c < CHUNKS; c++) {
        uint64_t at = c % (WINDOW + 1) * CHUNK;
        w->n = at;
        for (int i = 0; i < CHUNK; i++) {
            sw_op *op = delay(w, i & 1, 1e-6);
            uint64_t *after = w->after[at + (uint64_t)i];
            op->id = c * CHUNK + (uint64_t)i + 1;
            if (op->id > 1) after[op->n_after++] = 1; /* long gone: its place is another's now */
            if (op->id > 2) after[op->n_after++] = op->id - 1;
            op->after = after;
        }
        SW_TRY(submit(w, at, err));
        if (c >= WINDOW) SW_TRY(w->b->wait(w->be, (c - WINDOW + 1) * CHUNK, w->done, OPS, &n, err));
        if (c == 100) early = in_use();
    }
    w->value[0] = (double)in_use() - (double)early;
    return w->b->wait(w->be, (uint64_t)CHUNKS * CHUNK, w->done, OPS, &n, err);
}
static void memory_follows_the_window(void) {
    on_both(busy);
    CHECK_INT(null_w->status, SW_OK);
    CHECK_INT(sim_w->status, SW_OK);
    CHECK(null_w->value[0] < 65536);
    CHECK(sim_w->value[0] < 65536);
}

static sw_status late(world *w, sw_error *err) { /* 12 days in, microseconds still count */
    const sw_route *r = &w->topo.routes[0];
    delay(w, r->queue, 1e6);
    for (int i = 0; i < 1000; i++) {
        sw_op *op = delay(w, r->queue, 1.25e-6);
        flow(op, r->path, 25e3, r->cap_Bps);
    }
    return submit(w, 0, err) ? err->status : wait_all(w, err);
}
static void a_long_clock_still_counts_microseconds(void) {
    on_both(late);
    CHECK_REL(null_w->done[1000].end_s - 1e6, 1000 * 2.25e-6, 1e-4); /* doubles end at 1e-10 here */
    CHECK_REL(sim_w->done[1000].end_s - 1e6, 1000 * 2.25e-6, 1e-4);
}

/* --- what only simgrid can get wrong --------------------------------------------------------- */

static sw_status body_error(world *w, sw_error *err) {
    delay(w, 0, 1);
    SW_TRY(submit(w, 0, err));
    return sw_fail(err, SW_FIT, "the body's own failure");
}
static void a_failure_of_the_body_comes_through(void) {
    on_both(body_error);
    for (int side = 0; side < 2; side++) {
        CHECK_INT((side ? sim_w : null_w)->status, SW_FIT);
        CHECK_STR((side ? sim_w : null_w)->err.text, "the body's own failure");
    }
}

static sw_status stuck(world *w, sw_error *err) {
    delay(w, 0, 1);
    wait_for(w, wait_for(w, delay(w, 0, 1), 1), 2)->name = "snake"; /* waits for itself */
    wait_for(w, delay(w, 1, 1), 2)->name = "tail";
    delay(w, 1, 1);
    wait_for(w, delay(w, 2, 1), 9)->name = "early"; /* waits for what does not come */
    delay(w, 3, 1);
    SW_TRY(submit(w, 0, err));
    return wait_all(w, err);
}
static void a_stall_names_who_waits_for_whom(void) {
    on_both(stuck);
    CHECK_INT(sim_w->status, SW_RUN);
    CHECK_STR(sim_w->err.text,
              "the simulation stalled: 2 of 6 ops ended: 2 (snake) waits for 2; 3 (tail) waits for "
              "2; 4 (delay) waits for 3 of its queue; 5 (early) waits for 9");
}

static sw_status no_route(world *w, sw_error *err) {
    flow(delay(w, 0, 0), w->topo.routes[0].path, 1e9, 1e9); /* the host thread copies nothing */
    return submit(w, 0, err);
}
static sw_status triplets(world *w, sw_error *err) {
    sw_op *op = delay(w, w->topo.routes[0].queue, 0);
    for (int i = 0; i < 3; i++) flow(op, w->topo.routes[0].path, 1e9, 1e9);
    return submit(w, 0, err);
}
static void flows_without_a_route_are_refused(void) {
    on_both(no_route);
    CHECK_INT(sim_w->status, SW_RUN);
    CHECK(strstr(sim_w->err.text, "op 1 (delay): host has no flows over path") != NULL);
    on_both(triplets);
    CHECK_INT(sim_w->status, SW_RUN);
    CHECK(strstr(sim_w->err.text, "has too many flows over path") != NULL);
}

SW_TESTS(
    "contract",
    {"an op starts when all that it waits for has ended",
     an_op_starts_when_all_that_it_waits_for_has_ended},
    {"an op starts no earlier than its submission", an_op_starts_no_earlier_than_its_submission},
    {"joins take no time", joins_take_no_time},
    {"two flows over one path have their own caps", two_flows_over_one_path_have_their_own_caps},
    {"wait for any returns whole instants", wait_for_any_returns_whole_instants},
    {"ops of several flows belong to their instant", ops_of_several_flows_belong_to_their_instant},
    {"mixed waits answer alike", mixed_waits_answer_alike},
    {"one submission may be large", one_submission_may_be_large},
    {"memory follows the window", memory_follows_the_window},
    {"a long clock still counts microseconds", a_long_clock_still_counts_microseconds},
    {"a failure of the body comes through", a_failure_of_the_body_comes_through},
    {"a stall names who waits for whom", a_stall_names_who_waits_for_whom},
    {"flows without a route are refused", flows_without_a_route_are_refused})
