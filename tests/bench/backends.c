/* Question: what does an op cost on null and on simgrid, and how much of it is ours?
 *
 * null's ops are held against a plain loop of the same maxima; simgrid's against a bare SimGrid
 * loop in the same run that does the same activities (sleeps and transfers) with as many actors,
 * and nothing else: no dependencies, no completions. On null the core alone (events at hand; policy,
 * plan and ledger) is timed against the plain loop, and the whole replay (scan, generator, policy,
 * plan, ledger, account, bound). With --check the ratios are held against limits below
 * what a quiet machine shows. */
#include "child.h"
#include "sim/plan.h"
#include "sim/replay.h"
#include "sim/topology_build.h"
#include <math.h>
#include <sys/resource.h>
#include <time.h>
#ifdef HAVE_SIMGRID
#include "backends/platform.h"
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
extern const sw_backend_ops sw_backend_simgrid;
#endif

extern const sw_backend_ops sw_backend_null;
extern const sw_source_ops sw_source_synthetic;
extern const sw_alloc_ops sw_alloc_best_fit;
extern const sw_policy_ops sw_policy_resident, sw_policy_demand;

enum { CHUNK = 512, WINDOW = 8 };

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static sw_topology machine(void) {
    sw_topology t;
    sw_topology_simple(&t, 1e12, 1ull << 36, 25e9, 60e9, 1ull << 37, 6e9, 1e14, 1e12);
    return t;
}

/* Op i: copies up and down and kernels on both units, in turn; half of them with a set-up time. */
static void make(const sw_topology *t, sw_op *op, uint64_t id, uint64_t *after) {
    int vram = sw_topology_tier(t, SW_TIER_VRAM), ram = sw_topology_tier(t, SW_TIER_RAM);
    const sw_route *r = &t->routes[id & 1 ? t->route_of[ram][vram][0] : t->route_of[vram][ram][0]];
    int u = id & 1 ? 0 : 1;
    *op = (sw_op){.id = id, .unit = -1, .name = "op", .fixed_s = id & 2 ? 2e-6 : 0};
    if (id % 4 < 2) {
        op->queue = (uint16_t)r->queue;
        op->flows[op->n_flows++] = (sw_flow){r->path, 1e6 + (double)(id % 97) * 1e4, r->cap_Bps};
    } else {
        const sw_port *p = &t->ports[u][t->units[u].tier];
        op->queue = (uint16_t)t->units[u].queue;
        op->flows[op->n_flows++] =
            (sw_flow){p->read_path, 1e6 + (double)(id % 89) * 1e4, p->read_Bps};
    }
    if (after && id > 4) *after = id - 3, op->after = after, op->n_after = 1;
}

typedef struct timing {
    uint64_t n;
    double s;
} timing;

static sw_op ops[WINDOW + 1][CHUNK];
static uint64_t afters[WINDOW + 1][CHUNK];
static const sw_backend_ops *backend;
static void *be;
static sw_topology topo;

static sw_status drive(void *arg, sw_error *err) {
    timing *t = arg;
    static sw_done done[CHUNK * (WINDOW + 1)];
    double t0 = now_s();
    uint32_t n;
    for (uint64_t id = 1, chunk = 0; id <= t->n; chunk++) {
        sw_op *o = ops[chunk % (WINDOW + 1)];
        uint64_t *a = afters[chunk % (WINDOW + 1)];
        for (int i = 0; i < CHUNK; i++, id++) make(&topo, &o[i], id, &a[i]);
        SW_TRY(backend->submit(be, o, CHUNK, err));
        if (chunk >= WINDOW)
            SW_TRY(backend->wait(be, (chunk - WINDOW + 1) * CHUNK, done, CHUNK * 2, &n, err));
    }
    SW_TRY(backend->wait(be, t->n, done, CHUNK * (WINDOW + 1), &n, err));
    t->s = now_s() - t0;
    return SW_OK;
}

static void run(timing *t, const sw_backend_ops *b) {
    sw_error err = {0};
    backend = b;
    topo = machine();
    be = calloc(1, b->plugin.ctx_bytes);
    if (b->open(be, &topo, &err) || b->run(be, drive, t, &err)) {
        printf("%s\n", err.text);
        exit(2);
    }
    b->close(be);
    free(be);
}

/* What null must do at least: make the op, three maxima, one division, one store. */
static double plain_loop(uint64_t n) {
    static double end[4096], queue[SW_QUEUES_MAX];
    double t0 = now_s();
    topo = machine();
    for (uint64_t id = 1; id <= n; id++) {
        sw_op *op = &ops[0][id % CHUNK];
        make(&topo, op, id, &afters[0][id % CHUNK]);
        double start = queue[op->queue];
        for (uint32_t k = 0; k < op->n_after; k++) start = fmax(start, end[op->after[k] & 4095]);
        end[id & 4095] = queue[op->queue] =
            start + op->fixed_s + op->flows[0].amount / op->flows[0].cap;
    }
    return now_s() - t0;
}

/* --- the core: policy, plan and ledger, driven by events that lie ready ----------------------- */

typedef struct core {
    sw_plan *plan;
    const sw_event *events;
    size_t n_events;
    uint64_t n_ops;
    double s;
} core;

static sw_status drive_core(void *arg, sw_error *err) {
    core *c = arg;
    static sw_chunk ring[WINDOW + 1];
    static sw_done done[CHUNK * 2];
    uint32_t n, head = 0, in_flight = 0;
    c->plan->chunk = &ring[0];
    SW_TRY(sw_plan_begin(c->plan, err));
    double t0 = now_s();
    for (size_t i = 0; i < c->n_events; i++) {
        SW_TRY(sw_plan_event(c->plan, i + 1, &c->events[i], err));
        sw_chunk *full = &ring[head];
        if (full->n < CHUNK && i + 1 < c->n_events) continue;
        SW_TRY(backend->submit(be, full->ops, full->n, err));
        c->n_ops += full->n;
        in_flight++;
        head = (head + 1) % (WINDOW + 1);
        for (; in_flight == WINDOW || (in_flight && i + 1 == c->n_events); in_flight--) {
            sw_chunk *oldest = &ring[(head + WINDOW + 1 - in_flight) % (WINDOW + 1)];
            SW_TRY(backend->wait(be, oldest->last_id, done, CHUNK * 2, &n, err));
            c->plan->ledger.floor = oldest->last_id;
            sw_chunk_reset(oldest);
        }
        c->plan->chunk = &ring[head];
    }
    c->s = now_s() - t0;
    for (int i = 0; i <= WINDOW; i++) sw_chunk_free(&ring[i]), ring[i] = (sw_chunk){0};
    return SW_OK;
}

/* Every event of the workload, its uses copied. */
static size_t all_events(const sw_yaml *w, sw_event **out) {
    static sw_event *v;
    size_t n = 0, cap = 0;
    void *src;
    sw_error err = {0};
    const sw_source_ops *source = &sw_source_synthetic;
    if (sw_plugin_new(&source->plugin, "source", sw_yaml_root(w), &src, &err) ||
        source->open(src, &(sw_source_env){.seed = 1}, &err))
        exit(2);
    for (sw_event ev = {0}; source->next(src, NULL, &ev, &err) == SW_OK; ev = (sw_event){0}) {
        if (n == cap && !(v = realloc(v, (cap = 2 * cap + 1024) * sizeof *v))) exit(2);
        if (ev.n_uses) {
            sw_ev_use *uses = malloc(ev.n_uses * sizeof *uses);
            if (!uses) exit(2);
            ev.uses = memcpy(uses, ev.uses, ev.n_uses * sizeof *uses);
        }
        v[n++] = ev;
    }
    *out = v; /* the source is left open, and nothing is freed: names and uses live on */
    return n;
}

/* Returns ops/s. */
static double core_alone(const sw_policy_ops *policy, const char *workload, const char *label) {
    sw_yaml *w = NULL;
    sw_error err = {0};
    sw_scan *scan = NULL;
    sw_runtime rt = {0};
    sw_source_env env = {.seed = 1};
    core c = {0};
    topo = machine();
    if (policy == &sw_policy_demand) topo.tiers[0].capacity_bytes = 3ull << 30;
    backend = &sw_backend_null;
    be = calloc(1, backend->plugin.ctx_bytes);
    sw_event *events;
    if (sw_yaml_parse(workload, strlen(workload), "workload", &w, &err)) exit(2);
    c.n_events = all_events(w, &events);
    c.events = events;
    if (sw_scan_run(&sw_source_synthetic, sw_yaml_root(w), &env, false, &scan, &err) ||
        sw_plan_open(&topo, &rt, scan, policy, NULL, &sw_alloc_best_fit, NULL, &c.plan, &err) ||
        backend->open(be, &topo, &err) || backend->run(be, drive_core, &c, &err)) {
        printf("%s\n", err.text);
        exit(2);
    }
    backend->close(be);
    free(be);
    sw_plan_close(c.plan);
    sw_scan_free(scan);
    sw_yaml_free(w);
    double rate = (double)c.n_ops / c.s;
    printf("%s,%llu,%.3g,ops/s,", label, (unsigned long long)c.n_ops, rate);
    return rate;
}

/* Ops and events a second of a whole replay on null. */
static void whole_replay(const sw_policy_ops *policy, const char *workload, const char *label) {
    sw_yaml *w = NULL;
    sw_error err = {0};
    static sw_result r;
    sw_runtime rt = {0};
    topo = machine();
    topo.tiers[0].capacity_bytes = policy == &sw_policy_demand ? 3ull << 30 : 1ull << 36;
    if (sw_yaml_parse(workload, strlen(workload), "workload", &w, &err)) exit(2);
    sw_replay replay = {.topo = &topo,
                        .runtime = &rt,
                        .source = &sw_source_synthetic,
                        .source_map = sw_yaml_root(w),
                        .policy = policy,
                        .alloc = &sw_alloc_best_fit,
                        .backend = &sw_backend_null};
    double t0 = now_s();
    if (sw_replay_run(&replay, &r, &err)) {
        printf("%s\n", err.text);
        exit(2);
    }
    double s = now_s() - t0;
    printf("%s,%llu,%.3g,ops/s,\n%s events,%llu,%.3g,events/s,\n", label,
           (unsigned long long)r.n_ops, (double)r.n_ops / s, label, (unsigned long long)r.n_events,
           (double)r.n_events / s);
    sw_yaml_free(w);
}

/* Peak memory of a replay of n passes, in KiB: in a child of its own. */
static void passes(void *arg) {
    char workload[128];
    snprintf(workload, sizeof workload, "{blocks: 64, block_bytes: 64 MiB, passes: %d}",
             *(int *)arg);
    if (!freopen("/dev/null", "w", stdout)) _exit(99);
    whole_replay(&sw_policy_demand, workload, "memory");
}

static long peak_kib(int n) {
    struct rusage after;
    if (in_child(passes, &n)) exit(2);
    getrusage(RUSAGE_CHILDREN, &after);
    return after.ru_maxrss;
}

/* Memory does not grow with the length of a trace: ten times as many events, as much memory. The
 * shorter first: children's maximum only grows. */
static bool memory_is_constant(void) {
    long few = peak_kib(100), many = peak_kib(2000);
    printf("peak memory,2000,%ld,KiB,%.2f of a trace 20 times shorter\n", many,
           (double)many / (double)few);
    return (double)many < 1.25 * (double)few;
}

#ifdef HAVE_SIMGRID
static void simgrid_child(void *arg) {
    run(arg, &sw_backend_simgrid);
}

static timing *bare;

/* An actor that does its queue's activities and nothing else. */
static void bare_lane(int argc, char **argv) {
    (void)argc;
    int q = atoi(argv[1]);
    char from[16], to[16];
    snprintf(from, sizeof from, "s%d", q);
    snprintf(to, sizeof to, "d%d", q);
    sg_host_t src = sg_host_by_name(from), dst = sg_host_by_name(to);
    sw_op op;
    for (uint64_t id = 1; id <= bare->n; id++) {
        make(&topo, &op, id, NULL);
        if (op.queue != q) continue;
        if (op.fixed_s > 0) sg_actor_sleep_for(op.fixed_s);
        sg_host_sendto(src, dst, op.flows[0].amount);
    }
}

/* Each queue of these ops keeps to one path: two hosts and a route for each. */
static int bare_platform(void) {
    int fd = memfd_create("bare", 0);
    dprintf(fd,
            "<?xml version='1.0'?><!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">"
            "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\"><host id=\"home\" "
            "speed=\"1Gf\"/>");
    for (int r = 0; r < topo.n_res; r++)
        dprintf(fd, "<link id=\"r%d\" bandwidth=\"%.17gBps\" latency=\"0s\"/>", r,
                topo.res[r].rate);
    for (int q = 0; q < topo.n_queues; q++)
        dprintf(fd, "<host id=\"s%d\" speed=\"1Gf\"/><host id=\"d%d\" speed=\"1Gf\"/>", q, q);
    for (int routes = 0; routes < 2; routes++) { /* the format wants all links before the routes */
        bool seen[SW_QUEUES_MAX] = {false};
        for (uint64_t id = 1; id <= 16; id++) {
            sw_op op;
            make(&topo, &op, id, NULL);
            const sw_path *p = &topo.paths[op.flows[0].path];
            int q = op.queue;
            if (seen[q]) continue;
            seen[q] = true;
            if (!routes) {
                dprintf(fd, "<link id=\"c%d\" bandwidth=\"%.17gBps\" latency=\"0s\"/>", q,
                        op.flows[0].cap);
                continue;
            }
            dprintf(fd, "<route src=\"s%d\" dst=\"d%d\" symmetrical=\"NO\"><link_ctn id=\"c%d\"/>",
                    q, q, q);
            for (int k = 0; k < p->n; k++) dprintf(fd, "<link_ctn id=\"r%d\"/>", p->res[k]);
            dprintf(fd, "</route>");
        }
    }
    dprintf(fd, "</zone></platform>");
    return fd;
}

static void bare_child(void *arg) {
    bare = arg;
    topo = machine();
    int argc;
    char path[64], **argv = sw_platform_argv(&argc);
    snprintf(path, sizeof path, "/proc/self/fd/%d", bare_platform());
    simgrid_init(&argc, argv);
    simgrid_load_platform(path);
    double t0 = now_s();
    for (int q = 1; q < topo.n_queues; q++) {
        char number[16], *args[] = {"lane", number, NULL};
        snprintf(number, sizeof number, "%d", q);
        sg_actor_create("lane", sg_host_by_name("home"), bare_lane, 2, args);
    }
    simgrid_run();
    bare->s = now_s() - t0;
}

/* The median of five pairs, one after the other, so that a machine whose speed drifts does not
 * decide. */
static double simgrid_over_bare(void) {
    double ratio[5];
    timing *a = shared(sizeof *a), *b = shared(sizeof *b);
    for (int i = 0; i < 5; i++) {
        a->n = b->n = CHUNK * 120;
        if (in_child(simgrid_child, a) || in_child(bare_child, b)) exit(2);
        ratio[i] = b->s / a->s;
        for (int k = i; k > 0 && ratio[k - 1] > ratio[k]; k--) {
            double t = ratio[k];
            ratio[k] = ratio[k - 1], ratio[k - 1] = t;
        }
    }
    printf("simgrid,%llu,%.3g,ops/s,%.2f of a bare SimGrid loop\n", (unsigned long long)a->n,
           (double)a->n / a->s, ratio[2]);
    return ratio[2];
}
#endif

int main(int argc, char **argv) {
    bool check = argc == 2 && !strcmp(argv[1], "--check");
    char host[64] = "?";
    int bad = 0;
    gethostname(host, sizeof host - 1);
    printf("machine %s, %ld processors\nwhat,n,rate,unit,ratio\n", host,
           sysconf(_SC_NPROCESSORS_ONLN));
    timing t = {.n = CHUNK * 4000};
    double plain = plain_loop(t.n);
    run(&t, &sw_backend_null);
    printf("null,%llu,%.3g,ops/s,%.2f of a plain loop\n", (unsigned long long)t.n,
           (double)t.n / t.s, plain / t.s);
    if (check && plain / t.s < 0.1)
        bad = printf("bench: null is over 10 times slower than a plain loop\n");
    static const struct {
        const sw_policy_ops *policy;
        const char *workload, *label;
    } cores[] = {
        {&sw_policy_resident, "{blocks: 64, block_bytes: 64 MiB, passes: 10000}", "core resident"},
        {&sw_policy_demand, "{blocks: 64, block_bytes: 64 MiB, passes: 3000}", "core demand"}};
    for (int i = 0; i < 2; i++) {
        double ratio =
            core_alone(cores[i].policy, cores[i].workload, cores[i].label) * plain / (double)t.n;
        printf("%.3f of a plain loop\n", ratio);
        if (check && ratio < 0.03)
            bad = printf("bench: the core keeps %.3f of a plain loop's speed\n", ratio);
    }
    whole_replay(&sw_policy_resident, "{blocks: 64, block_bytes: 64 MiB, passes: 10000}",
                 "replay resident");
    whole_replay(&sw_policy_demand, "{blocks: 64, block_bytes: 64 MiB, passes: 1500}",
                 "replay demand");
    if (!memory_is_constant() && check) bad = printf("bench: memory grows with the trace\n");
#ifdef HAVE_SIMGRID
    double ratio = simgrid_over_bare();
    if (check && ratio < 0.55)
        bad = printf("bench: simgrid keeps %.2f of a bare loop's speed; 0.8 is the aim\n", ratio);
#endif
    return bad ? 1 : 0;
}
