/* simgrid: the simulator. Each queue is an actor that runs its ops in order; the body of the run is
 * the conductor, another actor. Every flow is a transfer that shares links with all others by
 * max-min fairness.
 *
 * porter     a helper actor of a queue: an op with several flows runs the first itself and hands
 * the others to porters deadline   arithmetic on a unit that only this queue uses cannot be slowed:
 * it needs no transfer, only a time before which the op does not end SimGrid is one simulation a
 * process: this backend runs in the worker. */
#include "backends/platform.h"
#include "sim/backend.h"
#include "sim/base/vec.h"
#include <math.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/link.h>
#include <simgrid/semaphore.h>
#include <stdio.h>
#include <unistd.h>

#define NIL UINT32_MAX

typedef struct edge { /* "when this op has ended, tell op `to`" */
    uint64_t to;
    uint32_t next;
} edge;

typedef struct record {
    const sw_op *op;
    double start_s, end_s;
    uint32_t pending; /* ops that it still waits for */
    uint32_t edges;   /* first of its list, NIL none */
    bool done, told;  /* told: returned by wait(0) */
} record;

typedef struct pair {
    sg_host_t src, dst;
    sg_link_t cap_link;
    double cap;
} pair;

typedef struct simgrid_ctx simgrid_ctx;

typedef struct porter {
    simgrid_ctx *c;
    sg_sem_t go;
    struct lane *lane;
    pair *pair;
    double amount;
} porter;

typedef struct lane { /* a queue's actor */
    simgrid_ctx *c;
    int queue;
    SW_VEC(uint64_t) fifo;
    size_t at;
    sg_sem_t wake, joined;
    uint64_t waits_for; /* the op whose dependencies it waits for; 0: waits for ops, or works */
    bool idle;          /* waits for ops */
    porter porters[SW_FLOWS_MAX - 1];
    int n_porters;
} lane;

struct simgrid_ctx {
    const sw_topology *topo;
    sw_platform platform;
    pair *pairs;
    lane lanes[SW_QUEUES_MAX];
    record *ring;               /* by id & mask */
    uint64_t mask, first, next; /* ids first … next-1 are kept */
    uint64_t done_upto;         /* every id up to this one has ended */
    uint64_t n_submitted, n_done;
    SW_VEC(edge) edges;
    uint32_t free_edge;
    sg_sem_t conductor;
    uint64_t want; /* conductor waits for all ids up to this one; 0: for any; UINT64_MAX: it does
                      not wait */
    sw_body_fn *body;
    void *arg;
    sw_error *err;
    sw_status status;
    bool finished;
};

static simgrid_ctx *running; /* SimGrid is a singleton, and actors take no pointer */

/* --- dependencies
 * --------------------------------------------------------------------------------------- */

static record *rec(simgrid_ctx *c, uint64_t id) {
    return &c->ring[id & c->mask];
}

static bool add_edge(simgrid_ctx *c, uint64_t from, uint64_t to) {
    record *r = rec(c, from);
    uint32_t e = c->free_edge;
    if (e != NIL)
        c->free_edge = c->edges.v[e].next;
    else {
        if (!sw_vec_push(&c->edges, ((edge){0}))) return false;
        e = (uint32_t)c->edges.n - 1;
    }
    c->edges.v[e] = (edge){to, r->edges};
    r->edges = e;
    rec(c, to)->pending++;
    return true;
}

/* Publishes first, signals afterwards: whoever wakes sees all that has ended at this instant. */
static void op_ended(simgrid_ctx *c, record *r) {
    sg_sem_t wake[SW_QUEUES_MAX];
    int n_wake = 0;
    r->end_s = simgrid_get_clock();
    r->done = true;
    c->n_done++;
    while (c->done_upto + 1 < c->next && rec(c, c->done_upto + 1)->done) c->done_upto++;
    for (uint32_t e = r->edges, next; e != NIL; e = next) {
        next = c->edges.v[e].next;
        record *to = rec(c, c->edges.v[e].to);
        lane *l = &c->lanes[to->op->queue];
        if (--to->pending == 0 && l->waits_for == to->op->id) {
            l->waits_for = 0;
            wake[n_wake++] = l->wake; /* at most one a lane: it waits for one op */
        }
        c->edges.v[e].next = c->free_edge;
        c->free_edge = e;
    }
    r->edges = NIL;
    for (int i = 0; i < n_wake; i++) sg_sem_release(wake[i]);
    if (c->want == 0 || (c->want != UINT64_MAX && c->done_upto >= c->want)) {
        c->want = UINT64_MAX;
        sg_sem_release(c->conductor);
    }
}

/* --- running an op
 * ------------------------------------------------------------------------------------------ */

static void transfer(pair *p, double amount) {
    sg_host_sendto(p->src, p->dst, amount);
}

static pair *pair_of(simgrid_ctx *c, int queue, const sw_flow *f) {
    pair *p = &c->pairs[c->platform.pair[queue][f->path]];
    if (p->cap != f->cap) sg_link_set_bandwidth(p->cap_link, p->cap = f->cap);
    return p;
}

/* A flow that nobody can slow, not even another flow of its op: how long it takes; else negative.
 */
static double undisturbed(const simgrid_ctx *c, const sw_op *op, int i) {
    const sw_path *p = &c->topo->paths[op->flows[i].path];
    double rate = op->flows[i].cap;
    for (int k = 0; k < p->n; k++) {
        if (!c->platform.exclusive[p->res[k]]) return -1;
        for (int j = 0; j < op->n_flows; j++) {
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
    porter *p = &running->lanes[atoi(argv[1])].porters[atoi(argv[2])];
    sg_actor_daemonize(sg_actor_self());
    for (;;) {
        sg_sem_acquire(p->go);
        transfer(p->pair, p->amount);
        sg_sem_release(p->lane->joined);
    }
}

static void hire(lane *l) {
    char queue[16], number[16], *argv[] = {"porter", queue, number, NULL};
    porter *p = &l->porters[l->n_porters];
    *p = (porter){.c = l->c, .lane = l, .go = sg_sem_init(0)};
    snprintf(queue, sizeof queue, "%d", l->queue);
    snprintf(number, sizeof number, "%d", l->n_porters++);
    sg_actor_create("porter", sg_host_by_name("conductor"), porter_main, 3, argv);
}

static void run_flows(lane *l, const sw_op *op, double since) {
    simgrid_ctx *c = l->c;
    const sw_flow *mine = NULL;
    double deadline = 0;
    int handed = 0;
    for (int i = 0; i < op->n_flows; i++) {
        double s = undisturbed(c, op, i);
        if (s >= 0)
            deadline = fmax(deadline, s);
        else if (!mine)
            mine = &op->flows[i];
        else {
            if (handed == l->n_porters) hire(l);
            porter *p = &l->porters[handed++];
            p->pair = pair_of(c, l->queue, &op->flows[i]);
            p->amount = op->flows[i].amount;
            sg_sem_release(p->go);
        }
    }
    if (mine) transfer(pair_of(c, l->queue, mine), mine->amount);
    for (int i = 0; i < handed; i++) sg_sem_acquire(l->joined);
    double rest = since + deadline - simgrid_get_clock();
    if (rest > 0) sg_actor_sleep_for(rest);
}

static void run_op(lane *l, uint64_t id) {
    simgrid_ctx *c = l->c;
    record *r = rec(c, id);
    if (r->pending) {
        l->waits_for = id;
        sg_sem_acquire(l->wake);
        r = rec(c, id); /* the ring may have grown meanwhile */
    }
    const sw_op *op = r->op;
    r->start_s = simgrid_get_clock();
    if (op->fixed_s > 0) sg_actor_sleep_for(op->fixed_s);
    if (op->n_flows) run_flows(l, op, simgrid_get_clock());
    op_ended(c, rec(c, id));
}

static void lane_main(int argc, char **argv) {
    (void)argc;
    lane *l = &running->lanes[atoi(argv[1])];
    sg_actor_daemonize(sg_actor_self());
    for (;;) {
        if (l->at == l->fifo.n) {
            l->at = l->fifo.n = 0;
            l->idle = true;
            sg_sem_acquire(l->wake);
            continue;
        }
        run_op(l, l->fifo.v[l->at++]);
    }
}

/* --- the backend's slots
 * --------------------------------------------------------------------------------------- */

static void conductor_main(int argc, char **argv) {
    (void)argc, (void)argv;
    running->status = running->body(running->arg, running->err);
    running->finished = true;
}

static sw_status simgrid_open(void *be, const sw_topology *topo, sw_error *err) {
    simgrid_ctx *c = be;
    if (running) return sw_fail(err, SW_RUN, "SimGrid runs one simulation a process");
    running = c;
    c->topo = topo;
    c->mask = 8191;
    c->first = c->next = 1;
    c->free_edge = NIL;
    c->want = UINT64_MAX;
    c->ring = sw_zalloc(c->mask + 1, sizeof *c->ring);
    sw_platform_plan(&c->platform, topo);
    c->pairs = sw_zalloc((size_t)c->platform.n_pairs + 1, sizeof *c->pairs);
    if (!c->ring || !c->pairs) return sw_fail(err, SW_MEMORY, "out of memory");
    int fd = sw_platform_file(&c->platform, topo, err), argc;
    if (fd < 0) return SW_RUN;
    char path[64], **argv = sw_platform_argv(&argc);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    simgrid_init(&argc, argv);
    simgrid_load_platform(path);
    close(fd);
    for (int i = 0; i < c->platform.n_pairs; i++) {
        char name[16];
        snprintf(name, sizeof name, "s%d", i);
        c->pairs[i].src = sg_host_by_name(name);
        name[0] = 'd';
        c->pairs[i].dst = sg_host_by_name(name);
        name[0] = 'c';
        c->pairs[i].cap_link = sg_link_by_name(name);
    }
    return SW_OK;
}

/* The simulation came to rest before the run did: say who is stuck. */
static sw_status stalled(simgrid_ctx *c, sw_error *err) {
    char text[400];
    size_t n = 0;
    int shown = 0;
    for (uint64_t id = c->first; id < c->next && shown < 5; id++) {
        const record *r = rec(c, id);
        if (r->done) continue;
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%llu (%s, waits for %u)",
                              shown ? ", " : "", (unsigned long long)id,
                              r->op->name ? r->op->name : sw_op_kind_name(r->op->kind), r->pending);
        shown++;
        if (n > sizeof text - 80) break;
    }
    return sw_fail(err, SW_RUN, "the simulation stalled: %llu of %llu ops ended; stuck: %s",
                   (unsigned long long)c->n_done, (unsigned long long)c->n_submitted,
                   shown ? text : "the conductor");
}

static sw_status simgrid_run_body(void *be, sw_body_fn *body, void *arg, sw_error *err) {
    simgrid_ctx *c = be;
    c->body = body;
    c->arg = arg;
    c->err = err;
    c->conductor = sg_sem_init(0);
    sg_host_t home = sg_host_by_name("conductor");
    for (int q = 0; q < c->topo->n_queues; q++) {
        char number[16], *argv[] = {"lane", number, NULL};
        snprintf(number, sizeof number, "%d", q);
        c->lanes[q] = (lane){.c = c, .queue = q, .wake = sg_sem_init(0), .joined = sg_sem_init(0)};
        sg_actor_create(c->topo->queues[q].name, home, lane_main, 2, argv);
    }
    sg_actor_create("conductor", home, conductor_main, 0, NULL);
    simgrid_run();
    return c->finished ? c->status : stalled(c, err);
}

static sw_status grow(simgrid_ctx *c, uint64_t need, sw_error *err) {
    uint64_t mask = c->mask;
    while (mask < need) mask = mask * 2 + 1;
    record *ring = sw_zalloc(mask + 1, sizeof *ring);
    if (!ring) return sw_fail(err, SW_MEMORY, "out of memory");
    for (uint64_t id = c->first; id < c->next; id++) ring[id & mask] = c->ring[id & c->mask];
    free(c->ring);
    c->ring = ring;
    c->mask = mask;
    return SW_OK;
}

static bool depend(simgrid_ctx *c, uint64_t on, uint64_t id) {
    return on < c->first || rec(c, on)->done || add_edge(c, on, id);
}

static sw_status simgrid_submit(void *be, const sw_op *ops, uint32_t n, sw_error *err) {
    simgrid_ctx *c = be;
    if (c->next + n - c->first > c->mask) SW_TRY(grow(c, c->next + n - c->first, err));
    for (uint32_t i = 0; i < n; i++) {
        const sw_op *op = &ops[i];
        *rec(c, op->id) = (record){.op = op, .edges = NIL};
        c->next = op->id + 1;
        bool ok = !op->issued_by || depend(c, op->issued_by, op->id);
        for (uint32_t k = 0; k < op->n_after; k++) ok = ok && depend(c, op->after[k], op->id);
        ok = ok && sw_vec_push(&c->lanes[op->queue].fifo, op->id);
        if (!ok) return sw_fail(err, SW_MEMORY, "out of memory");
    }
    c->n_submitted += n;
    for (int q = 0; q < c->topo->n_queues; q++) {
        lane *l = &c->lanes[q];
        if (!l->idle || l->at == l->fifo.n) continue;
        l->idle = false;
        sg_sem_release(l->wake);
    }
    return SW_OK;
}

/* The ops that have ended and that wait(0) has not returned yet, by end and id. */
static int by_end(const void *a, const void *b) {
    const sw_done *x = a, *y = b;
    if (x->end_s != y->end_s) return x->end_s < y->end_s ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

static uint32_t fresh(simgrid_ctx *c, sw_done *out, uint32_t cap) {
    uint32_t n = 0;
    for (uint64_t id = c->first; id < c->next && n < cap; id++) {
        record *r = rec(c, id);
        if (!r->done || r->told) continue;
        r->told = true;
        out[n++] = (sw_done){id, r->start_s, r->end_s};
    }
    qsort(out, n, sizeof *out, by_end);
    return n;
}

static sw_status simgrid_wait(void *be, uint64_t upto, sw_done *out, uint32_t cap, uint32_t *n,
                              sw_error *err) {
    simgrid_ctx *c = be;
    *n = 0;
    if (!upto) {
        if ((*n = fresh(c, out, cap))) return SW_OK;
        if (c->n_done == c->n_submitted)
            return sw_fail(err, SW_RUN, "simgrid: nothing is in flight to wait for");
        c->want = 0;
        sg_sem_acquire(c->conductor);
        *n = fresh(c, out, cap);
        return SW_OK;
    }
    if (c->done_upto < upto) {
        c->want = upto;
        sg_sem_acquire(c->conductor);
    }
    for (; c->first <= upto && *n < cap; c->first++) {
        const record *r = rec(c, c->first);
        out[(*n)++] = (sw_done){c->first, r->start_s, r->end_s};
    }
    return SW_OK;
}

static double simgrid_now(void *be) {
    (void)be;
    return simgrid_get_clock();
}

static void simgrid_close(void *be) {
    simgrid_ctx *c = be;
    for (int q = 0; q < SW_QUEUES_MAX; q++) sw_vec_free(&c->lanes[q].fifo);
    sw_vec_free(&c->edges);
    free(c->ring);
    free(c->pairs);
    c->ring = NULL;
    c->pairs = NULL;
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
