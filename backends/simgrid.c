/* simgrid: the simulator. Each queue is an actor that runs its ops in order; the body of the run is
 * the conductor, another actor. Every flow is a transfer that shares links with all others by
 * max-min fairness.
 *
 * - lane: a queue's actor. It wakes only for an op that may start and takes time; what takes no
 *   time (a join) ends where its last dependency ends, without an actor.
 * - porter: a helper actor of a lane. An op with several flows runs the first itself and hands the
 *   others to porters.
 * - deadline: arithmetic on a unit that only this queue uses cannot be slowed. It needs no
 *   transfer, only a time before which the op does not end.
 *
 * All that ends at one instant is published before anybody is told (op_ended), since SimGrid wakes
 * the actors of one instant in reverse order. SimGrid is one simulation a process: this backend
 * runs in the worker. */
#include "backends/inflight.h"
#include "backends/platform.h"
#include "sim/backend.h"
#include "sim/pager.h"
#include <inttypes.h>
#include <math.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/link.h>
#include <simgrid/semaphore.h>
#include <stdio.h>
#include <unistd.h>

#define NOBODY UINT64_MAX

typedef struct slot { /* where a flow runs (platform.h) */
    sg_host_t src, dst;
    sg_link_t cap_link;
    double cap;
} slot;

typedef struct porter {
    sg_sem_t go;
    struct lane *lane;
    slot *slot;
    double amount;
} porter;

typedef struct lane {
    int queue;
    sg_sem_t wake, joined;
    int carried; /* flows that porters still carry */
    bool joins;  /* the lane waits for them */
    porter porters[SW_FLOWS_MAX - 1];
    int n_porters;
} lane;

typedef struct simgrid_ctx {
    const sw_topology *topo;
    sw_platform platform;
    slot *slots;
    lane lanes[SW_QUEUES_MAX];
    sw_inflight ops;
    uint64_t n_submitted;
    sg_sem_t conductor, pager;
    uint64_t want; /* the conductor waits for all ids up to this one; 0: for any; NOBODY: it does
                      not wait */
    sw_body_fn *body;
    void *arg;
    sw_error *err;
    sw_status status;
    bool finished, pager_failed; /* the latter: err says how */
} simgrid_ctx;

static simgrid_ctx *running; /* SimGrid is a singleton, and actors take no pointer */

/* --- who may go on --------------------------------------------------------------------------- */

static bool takes_time(const sw_op *op) {
    return op->n_flows || op->fixed_s > 0;
}

/* Starts the first op of each queue in the set; those that take no time end at once, which may let
 * others start. Returns the lanes that have something to do. */
static uint64_t start_ready(simgrid_ctx *c, uint64_t queues, double now) {
    uint64_t lanes = 0;
    while (queues) {
        int q = __builtin_ctzll(queues);
        queues &= queues - 1;
        const sw_op *op = sw_inflight_ready(&c->ops, q);
        if (!op) continue;
        sw_inflight_start(&c->ops, q, now);
        if (takes_time(op) || sw_inflight_ready_s(&c->ops, q) + c->topo->wake_s > now)
            lanes |= UINT64_C(1) << q;
        else
            queues |= sw_inflight_end(&c->ops, q, now);
    }
    return lanes;
}

static void wake(simgrid_ctx *c, uint64_t lanes) {
    for (; lanes; lanes &= lanes - 1) sg_sem_release(c->lanes[__builtin_ctzll(lanes)].wake);
}

/* Publishes first, signals afterwards. True if the lane's own next op has started. */
static bool op_ended(simgrid_ctx *c, lane *l) {
    double now = simgrid_get_clock();
    uint64_t lanes = start_ready(c, sw_inflight_end(&c->ops, l->queue, now), now);
    uint64_t me = UINT64_C(1) << l->queue;
    wake(c, lanes & ~me);
    if (c->want == 0 || (c->want != NOBODY && c->ops.done_upto >= c->want)) {
        c->want = NOBODY;
        sg_sem_release(c->conductor);
    }
    return lanes & me;
}

/* --- running an op --------------------------------------------------------------------------- */

static int twin_of(const sw_op *op, int i) {
    int twin = 0;
    for (int k = i < op->second ? 0 : op->second; k < i; k++)
        twin += op->flows[k].path == op->flows[i].path;
    return twin;
}

static slot *slot_of(simgrid_ctx *c, const sw_op *op, int i) {
    const sw_flow *f = &op->flows[i];
    slot *s = &c->slots[c->platform.slot[op->queue][f->path] + twin_of(op, i)];
    if (s->cap != f->cap) sg_link_set_bandwidth(s->cap_link, s->cap = f->cap);
    return s;
}

static void transfer(const slot *s, double amount) {
    sg_host_sendto(s->src, s->dst, amount);
}

/* A flow that nobody can slow, not even another flow of its stage: how long it takes; else negative.
 */
static double undisturbed(const simgrid_ctx *c, const sw_op *op, int i) {
    const sw_path *p = &c->topo->paths[op->flows[i].path];
    double rate = op->flows[i].cap;
    for (int k = 0; k < p->n; k++) {
        if (!c->platform.exclusive[p->res[k]]) return -1;
        for (int j = 0; j < op->n_flows; j++) {
            if ((j < op->second) != (i < op->second)) continue;
            const sw_path *o = &c->topo->paths[op->flows[j].path];
            for (int m = 0; m < o->n; m++)
                if ((j != i || m != k) && o->res[m] == p->res[k]) return -1;
        }
        rate = fmin(rate, c->topo->res[p->res[k]].rate);
    }
    return op->flows[i].amount / rate;
}

static void porter_main(int argc, char **argv) {
    (void)argc;
    lane *l = &running->lanes[atoi(argv[1])];
    porter *p = &l->porters[atoi(argv[2])];
    sg_actor_daemonize(sg_actor_self());
    for (;;) {
        sg_sem_acquire(p->go);
        transfer(p->slot, p->amount);
        if (--l->carried == 0 && l->joins) sg_sem_release(l->joined);
    }
}

static void hire(lane *l) {
    char queue[16], number[16], *argv[] = {"porter", queue, number, NULL};
    l->porters[l->n_porters] = (porter){.lane = l, .go = sg_sem_init(0)};
    snprintf(queue, sizeof queue, "%d", l->queue);
    snprintf(number, sizeof number, "%d", l->n_porters++);
    sg_actor_create("porter", sg_actor_get_host(sg_actor_self()), porter_main, 3, argv);
}

static void hand_over(lane *l, slot *s, double amount) {
    if (l->carried == l->n_porters) hire(l);
    porter *p = &l->porters[l->carried++];
    p->slot = s;
    p->amount = amount;
}

/* The flows of one stage, those from `at` to before `end`. */
static void run_flows(simgrid_ctx *c, lane *l, const sw_op *op, int at, int end) {
    double since = simgrid_get_clock(), deadline = 0;
    int mine = -1;
    for (int i = at; i < end; i++) {
        double s = undisturbed(c, op, i);
        if (s >= 0)
            deadline = fmax(deadline, s);
        else if (mine < 0)
            mine = i;
        else
            hand_over(l, slot_of(c, op, i), op->flows[i].amount);
    }
    for (int i = 0, n = l->carried; i < n; i++) sg_sem_release(l->porters[i].go);
    if (mine >= 0) transfer(slot_of(c, op, mine), op->flows[mine].amount);
    if (l->carried) {
        l->joins = true;
        sg_sem_acquire(l->joined);
        l->joins = false;
    }
    double rest = since + deadline - simgrid_get_clock();
    if (rest > 0) sg_actor_sleep_for(rest);
}

/* The pager's service, one op after the other: an op asks when it starts, and then takes its turn.
 */
static void serve(simgrid_ctx *c, lane *l, const sw_op *op) {
    sw_page_service s;
    double since = simgrid_get_clock();
    if (sw_paging_touch(op, &s, c->err)) {
        c->pager_failed = true;
        return;
    }
    if (s.fixed_s <= 0 && !s.n_flows) return;
    sg_sem_acquire(c->pager);
    if (s.fixed_s > 0) sg_actor_sleep_for(s.fixed_s);
    for (uint32_t i = 0; i < s.n_flows; i++) {
        const sw_flow *f = &s.flows[i].flow;
        slot *where = &c->slots[c->platform.slot[s.flows[i].queue][f->path] + 1];
        if (where->cap != f->cap) sg_link_set_bandwidth(where->cap_link, where->cap = f->cap);
        transfer(where, f->amount);
    }
    sg_sem_release(c->pager);
    sw_inflight_paged(&c->ops, l->queue, simgrid_get_clock() - since);
}

static void lane_main(int argc, char **argv) {
    (void)argc;
    simgrid_ctx *c = running;
    lane *l = &c->lanes[atoi(argv[1])];
    sg_actor_daemonize(sg_actor_self());
    for (;;) {
        sg_sem_acquire(l->wake);
        do {
            const sw_op *op = sw_inflight_first(&c->ops, l->queue);
            double early =
                sw_inflight_ready_s(&c->ops, l->queue) + c->topo->wake_s - simgrid_get_clock();
            if (early > 0 && c->topo->wake_s > 0) {
                sg_actor_sleep_for(early);
                sw_inflight_start(&c->ops, l->queue, simgrid_get_clock());
            }
            if (op->fixed_s > 0) sg_actor_sleep_for(op->fixed_s);
            if (op->paging) serve(c, l, op);
            for (uint32_t at = 0, end; at < op->n_flows; at = end) {
                end = sw_op_stage(op, at);
                run_flows(c, l, op, (int)at, (int)end);
            }
        } while (op_ended(c, l));
    }
}

static void conductor_main(int argc, char **argv) {
    (void)argc, (void)argv;
    running->status = running->body(running->arg, running->err);
    running->finished = true;
}

/* --- the backend's slots --------------------------------------------------------------------- */

static void load(simgrid_ctx *c, int fd) {
    char path[64];
    int argc;
    char **argv = sw_platform_argv(&argc);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    simgrid_init(&argc, argv);
    simgrid_load_platform(path);
    for (int i = 0; i < c->platform.n_slots; i++) {
        int src, dst;
        char name[16];
        sw_platform_ends(&c->platform, i, &src, &dst);
        snprintf(name, sizeof name, "h%d", src);
        c->slots[i].src = sg_host_by_name(name);
        snprintf(name, sizeof name, "h%d", dst);
        c->slots[i].dst = sg_host_by_name(name);
        snprintf(name, sizeof name, "c%d", i);
        c->slots[i].cap_link = sg_link_by_name(name);
    }
}

static sw_status simgrid_open(void *be, const sw_topology *topo, sw_error *err) {
    simgrid_ctx *c = be;
    if (running) return sw_fail(err, SW_RUN, "SimGrid runs one simulation a process");
    c->topo = topo;
    c->want = NOBODY;
    SW_TRY(sw_inflight_open(&c->ops, err));
    sw_platform_plan(&c->platform, topo);
    c->slots = sw_zalloc((size_t)c->platform.n_slots + 1, sizeof *c->slots);
    if (!c->slots) return sw_fail(err, SW_MEMORY, "out of memory");
    int fd = sw_platform_file(&c->platform, topo, err);
    if (fd < 0) return SW_RUN;
    running = c;
    load(c, fd);
    close(fd);
    return SW_OK;
}

/* The simulation came to rest before the run did: say who is stuck. */
static sw_status stalled(const simgrid_ctx *c, sw_error *err) {
    char text[600];
    sw_inflight_stuck(&c->ops, text, sizeof text);
    return sw_fail(err, SW_RUN, "the simulation stalled: %" PRIu64 " of %" PRIu64 " ops ended: %s",
                   c->ops.n_done, c->n_submitted, *text ? text : "the conductor waits for more");
}

static sw_status simgrid_run_body(void *be, sw_body_fn *body, void *arg, sw_error *err) {
    simgrid_ctx *c = be;
    c->body = body;
    c->arg = arg;
    c->err = err;
    c->conductor = sg_sem_init(0);
    c->pager = sg_sem_init(1);
    sg_host_t home = sg_host_by_name("h0");
    for (int q = 0; q < c->topo->n_queues; q++) {
        char number[16], *argv[] = {"lane", number, NULL};
        snprintf(number, sizeof number, "%d", q);
        c->lanes[q] = (lane){.queue = q, .wake = sg_sem_init(0), .joined = sg_sem_init(0)};
        sg_actor_create(c->topo->queues[q].name, home, lane_main, 2, argv);
    }
    sg_actor_create("conductor", home, conductor_main, 0, NULL);
    simgrid_run();
    return c->finished ? c->status : stalled(c, err);
}

/* The platform was built for the flows that a topology leads to; others have no route. */
static sw_status check(const simgrid_ctx *c, const sw_op *op, sw_error *err) {
    for (int i = 0; i < op->n_flows; i++) {
        if (c->platform.slot[op->queue][op->flows[i].path] >= 0 &&
            twin_of(op, i) < SW_PLATFORM_TWINS)
            continue;
        return sw_fail(err, SW_RUN, "simgrid: op %" PRIu64 " (%s): %s %s path %d", op->id,
                       op->name ? op->name : "?", c->topo->queues[op->queue].name,
                       twin_of(op, i) ? "has too many flows over" : "has no flows over",
                       op->flows[i].path);
    }
    return SW_OK;
}

static sw_status simgrid_submit(void *be, const sw_op *ops, uint32_t n, sw_error *err) {
    simgrid_ctx *c = be;
    uint64_t ready = 0;
    for (uint32_t i = 0; i < n; i++) SW_TRY(check(c, &ops[i], err));
    SW_TRY(sw_inflight_add(&c->ops, ops, n, &ready, err));
    c->n_submitted += n;
    wake(c, start_ready(c, ready, simgrid_get_clock()));
    return SW_OK;
}

/* Lets all that ends at this instant be published: a lane that waits for its porters ends its op a
 * round later than the others. */
static void settle(const simgrid_ctx *c) {
    for (uint64_t before = NOBODY; before != c->ops.n_done;) {
        before = c->ops.n_done;
        sg_actor_yield();
    }
}

static sw_status wait_any(simgrid_ctx *c, sw_done *out, uint32_t cap, uint32_t *n, sw_error *err) {
    settle(c);
    while (!(*n = sw_inflight_fresh(&c->ops, out, cap))) {
        if (c->ops.n_done == c->n_submitted)
            return sw_fail(err, SW_RUN, "simgrid: nothing is in flight to wait for");
        c->want = 0;
        sg_sem_acquire(c->conductor);
        settle(c);
    }
    return SW_OK;
}

static sw_status simgrid_wait(void *be, uint64_t upto, sw_done *out, uint32_t cap, uint32_t *n,
                              sw_error *err) {
    simgrid_ctx *c = be;
    if (c->pager_failed) return SW_MEMORY;
    *n = 0;
    if (!upto) return wait_any(c, out, cap, n, err);
    if (c->ops.done_upto < upto) {
        c->want = upto;
        sg_sem_acquire(c->conductor);
    }
    *n = sw_inflight_take(&c->ops, upto, out, cap);
    return SW_OK;
}

static double simgrid_now(void *be) {
    (void)be;
    return simgrid_get_clock();
}

static void simgrid_close(void *be) {
    simgrid_ctx *c = be;
    sw_inflight_close(&c->ops);
    free(c->slots);
    c->slots = NULL;
}

const sw_backend_ops sw_backend_simgrid = {
    .plugin = {.name = "simgrid",
               .summary = "the simulator: every link, tier and unit shared by max-min fairness",
               .doc = "Runs each queue as a SimGrid actor; flows that hold the same link, memory "
                      "or unit share it. The backend for "
                      "answers.",
               .flags = SW_BACKEND_VIRTUAL_TIME | SW_BACKEND_WORKER,
               .ctx_bytes = sizeof(simgrid_ctx)},
    .open = simgrid_open,
    .run = simgrid_run_body,
    .submit = simgrid_submit,
    .wait = simgrid_wait,
    .now_s = simgrid_now,
    .close = simgrid_close,
};
