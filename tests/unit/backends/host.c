/* Question: does host run what it is given, in order, and catch every op that finds other bytes
 * than it must? Ops made by hand, on a machine of a few MiB. */
#include "backends/host.h"
#include "backends/host_kernel.h"
#include "check.h"
#include "sim/backend.h"
#include <stdlib.h>
#include <unistd.h>

extern const sw_backend_ops sw_backend_host;
static const sw_backend_ops *const host = &sw_backend_host;

enum { OPS = 32, USES = 3, KIB = 1024, MIB = 1024 * 1024 };

typedef struct plan {
    sw_topology topo;
    int vram, ram, nvme, up, down, load, store, gpu, cpu; /* tiers, queues */
    sw_op ops[OPS];
    sw_use uses[OPS][USES];
    uint64_t after[OPS][2];
    uint32_t n;
    struct {
        sw_block block;
        int tier;
        uint64_t addr;
    } placed[4];
    int n_placed;
    sw_status (*body)(struct plan *p, sw_error *err); /* NULL: submit all, wait for all */
    const char *options;
    void *be;
    sw_done done[OPS];
    sw_host_stats stats;
    sw_error err;
} plan;

static int queue_of(const sw_topology *t, int from, int to) {
    return t->routes[t->route_of[from][to][0]].queue;
}

static plan *machine(void) {
    plan *p = calloc(1, sizeof *p);
    sw_topology *t = &p->topo;
    sw_topology_simple(t, 1e11, 4 * MIB, 1e10, 4e10, 8 * MIB, 1e9, 1e12, 1e12);
    p->vram = sw_topology_tier(t, SW_TIER_VRAM), p->ram = sw_topology_tier(t, SW_TIER_RAM);
    p->nvme = sw_topology_tier(t, SW_TIER_NVME);
    p->up = queue_of(t, p->ram, p->vram), p->down = queue_of(t, p->vram, p->ram);
    p->load = queue_of(t, p->nvme, p->ram), p->store = queue_of(t, p->ram, p->nvme);
    p->gpu = t->units[sw_topology_unit(t, SW_UNIT_GPU)].queue;
    p->cpu = t->units[sw_topology_unit(t, SW_UNIT_CPU)].queue;
    p->options = "{}";
    return p;
}

static void place(plan *p, uint32_t block, int tier, uint64_t addr, uint64_t bytes) {
    sw_block b = {.id = block, .layer = -1, .expert = -1, .bytes = bytes, .name = "block"};
    p->placed[p->n_placed].block = b;
    p->placed[p->n_placed].tier = tier;
    p->placed[p->n_placed++].addr = addr;
}

static sw_op *add(plan *p, sw_op_kind kind, int queue, uint64_t after) {
    uint32_t i = p->n++;
    p->after[i][0] = after;
    p->ops[i] = (sw_op){.id = i + 1,
                        .kind = (uint8_t)kind,
                        .queue = (uint16_t)queue,
                        .unit = -1,
                        .name = "op",
                        .uses = p->uses[i],
                        .after = p->after[i],
                        .n_after = after != 0,
                        .work = {.launches = 1}};
    return &p->ops[i];
}

static sw_use *use(sw_op *op, uint32_t block, uint32_t version, int tier, sw_mode mode,
                   uint64_t addr, uint64_t bytes) {
    sw_use *u = (sw_use *)(uintptr_t)&op->uses[op->n_uses++];
    *u = (sw_use){.block = block,
                  .version = version,
                  .tier = (int16_t)tier,
                  .mode = (uint8_t)mode,
                  .addr = addr,
                  .bytes = bytes,
                  .touched = bytes};
    return u;
}

static sw_op *copy(plan *p, int queue, uint64_t after, uint32_t block, uint32_t version, int from,
                   uint64_t from_addr, int to, uint64_t to_addr, uint64_t bytes) {
    sw_op *op = add(p, SW_OP_COPY, queue, after);
    use(op, block, version, from, SW_READ, from_addr, bytes);
    use(op, block, version, to, SW_WRITE, to_addr, bytes);
    return op;
}

static sw_op *kernel(plan *p, int queue, uint64_t after, uint32_t block, uint32_t version, int tier,
                     sw_mode mode, uint64_t addr, uint64_t bytes) {
    sw_op *op = add(p, SW_OP_COMPUTE, queue, after);
    use(op, block, version, tier, mode, addr, bytes);
    return op;
}

static sw_op *delay(plan *p, int queue, double seconds) {
    sw_op *op = add(p, SW_OP_DELAY, queue, 0);
    op->fixed_s = seconds;
    return op;
}

static sw_status body(void *arg, sw_error *err) {
    plan *p = arg;
    for (int i = 0; i < p->n_placed; i++)
        SW_TRY(host->place(p->be, &p->placed[i].block, p->placed[i].tier, p->placed[i].addr, err));
    if (p->body) return p->body(p, err);
    uint32_t n = 0;
    SW_TRY(host->submit(p->be, p->ops, p->n, err));
    SW_TRY(host->wait(p->be, p->n, p->done, OPS, &n, err));
    CHECK_INT(n, p->n);
    for (uint32_t i = 0; i < n; i++) {
        CHECK(p->done[i].id == i + 1);
        CHECK(p->done[i].end_s >= p->done[i].start_s && p->done[i].start_s >= 0);
    }
    return SW_OK;
}

/* Runs and frees it; the caller's copy of the error and the figures are in `last`. */
static plan last;

static sw_status run(plan *p) {
    sw_yaml *doc = NULL;
    CHECK(sw_yaml_parse(p->options, strlen(p->options), "test", &doc, &p->err) == SW_OK);
    sw_status st = sw_plugin_new(&host->plugin, "backend", sw_yaml_root(doc), &p->be, &p->err);
    CU_ASSERT_TRUE_FATAL(st == SW_OK);
    st = host->open(p->be, &p->topo, &p->err);
    if (st == SW_OK) st = host->run(p->be, body, p, &p->err);
    sw_host_stats_of(p->be, &p->stats);
    host->close(p->be);
    free(p->be);
    sw_yaml_free(doc);
    last = *p;
    free(p);
    return st;
}

static bool says(const char *text) {
    if (strstr(last.err.text, text)) return true;
    printf("\n  \"%s\" is not in: %s\n", text, last.err.text);
    return false;
}

/* --- patterns ---------------------------------------------------------------------------------- */

static void patterns_can_be_cut_anywhere(void) {
    char whole[300], part[300];
    uint64_t seed = sw_host_seed(7, 3, 11, 1);
    sw_host_fill(whole, 0, sizeof whole, seed);
    for (uint64_t skip = 0; skip < 20; skip++)
        for (uint64_t n = 0; n < 60; n++) {
            memset(part, 0, sizeof part);
            sw_host_fill(part, skip, n, seed);
            CHECK(!memcmp(part, whole + skip, n) && !part[n]);
            CHECK(sw_host_check(part, skip, n, seed) == n);
            for (uint64_t k = 0; k < n; k++) {
                part[k] ^= 4;
                CHECK(sw_host_check(part, skip, n, seed) == k);
                part[k] ^= 4;
            }
            if (n < 15) continue; /* at least one whole word */
            CHECK(sw_host_check(part, skip + 8, n, seed) < n);
            CHECK(sw_host_check(part, skip, n, seed + 1) < n);
        }
    CHECK(sw_host_seed(1, 0, 0, 0) != sw_host_seed(0, 1, 0, 0));
}

/* --- what is right ------------------------------------------------------------------------------ */

static void there_and_back(void) {
    static const char *const options[] = {"{direct: false}", "{}",
                                          "{io: threads, block: 64 KiB, depth: 4}",
                                          "{io: threads, depth: 1}"};
    for (int odd = 0; odd < 2; odd++)
        for (int i = 0; i < 4; i++) {
            plan *p = machine();
            uint64_t a = 12288 + 1001 * (uint64_t)odd, b = MIB + 77777 * (uint64_t)odd,
                     n = MIB + odd;
            p->options = options[i];
            place(p, 0, p->nvme, a, n);
            place(p, 1, p->nvme, a + n, 5000);
            copy(p, p->load, 0, 0, 0, p->nvme, a, p->ram, b, n);
            copy(p, p->up, 1, 0, 0, p->ram, b, p->vram, 8 + a, n);
            kernel(p, p->gpu, 2, 0, 1, p->vram, SW_RW, 8 + a + 100, 3001)->work.flops = 1e6;
            kernel(p, p->gpu, 0, 0, 1, p->vram, SW_READ, 8 + a, n);
            copy(p, p->down, 4, 0, 1, p->vram, 8 + a, p->ram, b + 4096, n);
            copy(p, p->store, 5, 0, 1, p->ram, b + 4096, p->nvme, 3 * MIB + 17, n);
            copy(p, p->load, 6, 0, 1, p->nvme, 3 * MIB + 17, p->ram, 3 * MIB, n);
            copy(p, p->load, 7, 1, 0, p->nvme, a + n, p->ram, 0, 5000);
            sw_op *op = kernel(p, p->cpu, 8, 0, 1, p->ram, SW_READ, 3 * MIB, n);
            use(op, 1, 0, p->ram, SW_READ, 0, 5000)->touched = 12345;
            CHECK(run(p) == SW_OK);
            if (last.err.status) puts(last.err.text);
            CHECK(last.stats.checked_bytes == 3001.0 + 2.0 * (double)n + 12345);
            CHECK(last.stats.n_buffered || (last.stats.n_bounced > 0) == (i > 0));
            CHECK(i < 2 || !strcmp(last.stats.io, "threads"));
            CHECK(last.stats.n_requests >= (i == 2 ? 3u * 17 : 4u) && last.stats.file_cpu_s > 0);
        }
}

/* A cache that grows piece by piece: each read sees all of it, each piece another version. */
static void partial_writes(void) {
    plan *p = machine();
    for (uint32_t i = 0; i < 10; i++) {
        kernel(p, p->gpu, 0, 3, i + 1, p->vram, SW_WRITE, 64 + 100 * i, 100);
        kernel(p, p->gpu, 0, 3, i + 1, p->vram, SW_READ, 64, 100 * (i + 1));
    }
    copy(p, p->down, 20, 3, 10, p->vram, 64, p->ram, 1000, 4096); /* most of it was never written */
    kernel(p, p->cpu, 21, 3, 10, p->ram, SW_READ, 1000, 1000);
    sw_op *op = kernel(p, p->cpu, 0, 3, 11, p->ram, SW_RW, 1500, 10);
    use(op, 3, 10, p->ram, SW_READ, 1400, 200);
    kernel(p, p->cpu, 0, 3, 1, p->ram, SW_WRITE, 2000, 10); /* freed, and allocated again */
    kernel(p, p->cpu, 0, 3, 1, p->ram, SW_READ, 2000, 10);
    kernel(p, p->cpu, 0, 9, 0, p->ram, SW_READ, 0, 100); /* undefined contents: nobody checks */
    CHECK(run(p) == SW_OK);
    if (last.err.status) puts(last.err.text);
}

static sw_status one_by_one(plan *p, sw_error *err) {
    sw_done d[OPS];
    uint32_t n = 0, seen = 0;
    bool told[OPS + 1] = {false};
    CHECK(host->wait(p->be, 0, d, OPS, &n, NULL) == SW_RUN); /* nothing is in flight */
    SW_TRY(host->submit(p->be, p->ops, p->n, err));
    while (seen < p->n) {
        SW_TRY(host->wait(p->be, 0, d, OPS, &n, err));
        CHECK(n > 0);
        for (uint32_t i = 0; i < n; i++) {
            CHECK(!told[d[i].id]);
            told[d[i].id] = true;
            CHECK(!i || d[i].end_s >= d[i - 1].end_s);
        }
        seen += n;
    }
    CHECK(host->wait(p->be, 0, d, OPS, &n, NULL) == SW_RUN);
    SW_TRY(host->wait(p->be, 2, p->done, OPS, &n, err)); /* they come again, by id */
    CHECK(n == 2 && p->done[0].id == 1 && p->done[1].id == 2);
    SW_TRY(host->wait(p->be, p->n, p->done, OPS, &n, err));
    CHECK(n == p->n - 2 && p->done[0].id == 3);
    CHECK(host->now_s(p->be) >= p->done[n - 1].end_s);
    return SW_OK;
}

static void wait_for_any(void) {
    plan *p = machine();
    delay(p, p->up, 0.03);
    delay(p, p->down, 0.01);
    add(p, SW_OP_JOIN, p->gpu, 1);
    add(p, SW_OP_HOST, 0, 2)->fixed_s = 0.005;
    p->body = one_by_one;
    CHECK(run(p) == SW_OK);
}

static void order_and_time(void) {
    plan *p = machine();
    delay(p, p->up, 0.02);
    delay(p, p->down, 0.03);
    add(p, SW_OP_HOST, 0, 0)->fixed_s = 20e-6;
    add(p, SW_OP_JOIN, p->gpu, 1);
    add(p, SW_OP_JOIN, p->up, 0)->issued_by = 3;
    CHECK(run(p) == SW_OK);
    for (int i = 0; i < 3; i++)
        CHECK(last.done[i].end_s - last.done[i].start_s >= last.ops[i].fixed_s);
    CHECK(last.done[1].start_s < last.done[0].end_s); /* they ran side by side */
    CHECK(last.done[3].start_s >= last.done[0].end_s);
    CHECK(last.done[4].start_s >= last.done[0].end_s && last.done[4].start_s >= last.done[2].end_s);
}

/* --- what is wrong ------------------------------------------------------------------------------ */

/* The copy comes late: without an edge the kernel is there before it. */
static void missing_dependency(void) {
    for (uint64_t edge = 0; edge < 2; edge++) {
        plan *p = machine();
        place(p, 0, p->ram, 0, 64 * KIB);
        delay(p, p->up, 0.1);
        copy(p, p->up, 0, 0, 0, p->ram, 0, p->vram, 4096, 64 * KIB);
        kernel(p, p->gpu, 2 * edge, 0, 0, p->vram, SW_READ, 8192, 1000);
        CHECK(run(p) == (edge ? SW_OK : SW_RUN));
        if (!edge)
            CHECK(says("op 3 (op) reads version 0 of block 0 in vram0+8192; at 8192 it expects"));
    }
}

/* Likewise a kernel that would read what the last version was. */
static void older_bytes(void) {
    plan *p = machine();
    place(p, 0, p->ram, 0, 64 * KIB);
    delay(p, p->gpu, 0.1);
    kernel(p, p->gpu, 0, 0, 1, p->ram, SW_RW, 4096, 128);
    kernel(p, p->cpu, 0, 0, 1, p->ram, SW_READ, 0, 64 * KIB);
    CHECK(run(p) == SW_RUN);
    CHECK(says("at 4096 it expects"));
}

static void wrong_version(void) {
    plan *p = machine();
    place(p, 0, p->ram, 0, 4096);
    kernel(p, p->cpu, 0, 0, 1, p->ram, SW_RW, 0, 64);
    kernel(p, p->cpu, 0, 0, 0, p->ram, SW_READ, 0, 64);
    CHECK(run(p) == SW_RUN);
    CHECK(says("op 2 (op) reads version 0 of block 0 in ram+0; version 1 is the newest"));
    p = machine();
    place(p, 0, p->ram, 0, 4096);
    place(p, 0, p->vram, 0, 4096);
    kernel(p, p->cpu, 0, 0, 1, p->ram, SW_RW, 0, 64);
    kernel(p, p->gpu, 1, 0, 1, p->vram, SW_READ, 0, 64);
    CHECK(run(p) == SW_RUN);
    CHECK(says("reads version 1 of block 0 in vram0+0, which holds version 0"));
    p = machine();
    place(p, 0, p->ram, 0, 4096);
    kernel(p, p->cpu, 0, 0, 2, p->ram, SW_WRITE, 0, 64);
    CHECK(run(p) == SW_RUN);
    CHECK(says("writes version 2 of block 0 in ram+0; version 1 is next"));
}

static void wrong_block(void) {
    plan *p = machine();
    place(p, 0, p->ram, 0, 4096);
    place(p, 1, p->ram, 4096, 4096);
    kernel(p, p->cpu, 0, 0, 0, p->ram, SW_READ, 4000, 200);
    CHECK(run(p) == SW_RUN);
    CHECK(says("op 1 (op) reads version 0 of block 0 in ram+4000, 200 bytes; at 4096 lie bytes of "
               "block 1"));
    p = machine();
    place(p, 0, p->ram, 0, 4096);
    kernel(p, p->cpu, 0, 0, 0, p->ram, SW_READ, 4000, 200);
    CHECK(run(p) == SW_RUN);
    CHECK(says("at 4096 lie nobody's bytes"));
    p = machine(); /* written over */
    place(p, 0, p->ram, 0, 4096);
    kernel(p, p->cpu, 0, 1, 1, p->ram, SW_WRITE, 100, 8);
    kernel(p, p->cpu, 0, 0, 0, p->ram, SW_READ, 0, 4096);
    CHECK(run(p) == SW_RUN);
    CHECK(says("at 100 lie bytes of block 1"));
}

static void what_cannot_be_run(void) {
    plan *p = machine();
    place(p, 0, p->nvme, 0, 4096);
    kernel(p, p->cpu, 0, 0, 0, p->nvme, SW_READ, 0, 64);
    CHECK(run(p) == SW_RUN && says("lie in a file"));
    p = machine();
    add(p, SW_OP_COLLECTIVE, p->gpu, 0);
    CHECK(run(p) == SW_RUN && says("is a collective"));
    p = machine();
    kernel(p, p->cpu, 0, 0, 0, p->ram, SW_READ, 8 * MIB - 10, 11);
    CHECK(run(p) == SW_RUN && says("goes over the tier's"));
    p = machine();
    uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    sw_topology_simple(&p->topo, 1e11, 4 * MIB, 1e10, 4e10, 2 * all, 1e9, 1e12, 1e12);
    kernel(p, p->cpu, 0, 0, 0, p->ram, SW_READ, all, 8);
    CHECK(run(p) == SW_RUN && says("of real memory"));
    p = machine();
    p->options = "{file: /dev/null}";
    CHECK(run(p) == SW_RUN && says("is not a new or empty file"));
    p = machine();
    p->options = "{block: 5000 B}";
    CHECK(run(p) == SW_INPUT && says("host: block: 5000 bytes are not a multiple of 4096"));
}

/* --- stopping ----------------------------------------------------------------------------------- */

static sw_status leave_early(plan *p, sw_error *err) {
    SW_TRY(host->submit(p->be, p->ops, p->n, err));
    return sw_fail(err, SW_FIT, "enough");
}

/* Neither a long delay, nor long arithmetic, nor ops that wait hold up the end. */
static void stopping(void) {
    plan *p = machine();
    delay(p, p->up, 3600);
    add(p, SW_OP_COMPUTE, p->gpu, 0)->work.flops = 1e18;
    add(p, SW_OP_JOIN, p->down, 1);
    p->body = leave_early;
    CHECK(run(p) == SW_FIT);
    p = machine();
    place(p, 0, p->ram, 0, 4096);
    delay(p, p->up, 3600);
    copy(p, p->up, 0, 0, 0, p->ram, 0, p->vram, 0, 4096);
    add(p, SW_OP_COMPUTE, p->cpu, 0)->work.flops = 1e18;
    kernel(p, p->gpu, 0, 0, 0, p->vram, SW_READ, 0, 4096);
    CHECK(run(p) == SW_RUN);
    CHECK(says("it expects"));
}

static void a_run_that_is_stuck(void) {
    plan *p = machine();
    add(p, SW_OP_JOIN, p->up, 0);
    add(p, SW_OP_JOIN, p->down, 99); /* never comes */
    CHECK(run(p) == SW_RUN);
    CHECK(says("stuck"));
}

/* --- speed: said, not judged --------------------------------------------------------------------- */

static void speed(void) {
    plan *p = machine();
    const uint64_t n = 256 * (uint64_t)MIB;
    sw_topology_simple(&p->topo, 1e11, n, 1e10, 4e10, n, 1e9, 1e12, 1e12);
    place(p, 0, p->nvme, 0, n);
    copy(p, p->load, 0, 0, 0, p->nvme, 0, p->ram, 0, n);
    copy(p, p->up, 1, 0, 0, p->ram, 0, p->vram, 0, n); /* meets new pages */
    sw_op *op = copy(p, p->down, 2, 0, 0, p->vram, 0, p->ram, 0, n);
    for (int i = 0; i < 4; i++)
        op = copy(p, i % 2 ? p->down : p->up, op->id, 0, 0, i % 2 ? p->vram : p->ram, 0,
                  i % 2 ? p->ram : p->vram, 0, n);
    op = kernel(p, p->gpu, op->id, 0, 0, p->vram, SW_READ, 0, n);
    op->work.flops = 1e9;
    kernel(p, p->gpu, 0, 0, 1, p->vram, SW_RW, 0, n);
    CHECK(run(p) == SW_OK);
    const sw_host_stats *s = &last.stats;
    double warm_s = last.done[6].end_s - last.done[3].start_s; /* four copies, no new pages */
    printf("(GB/s: check %.1f, write %.1f, memcpy %.1f, file %.2f; %.1f GFLOP/s) ",
           1e-9 * s->read_bytes / s->read_s, 1e-9 * s->write_bytes / s->write_s,
           4e-9 * (double)n / warm_s, 1e-9 * (s->file_read_bytes + s->file_write_bytes) / s->file_s,
           1e-9 * s->flops / s->flops_s);
}

SW_TESTS("host", {"patterns can be cut anywhere", patterns_can_be_cut_anywhere},
         {"there and back", there_and_back}, {"partial writes", partial_writes},
         {"wait for any", wait_for_any}, {"order and time", order_and_time},
         {"missing dependency", missing_dependency}, {"older bytes", older_bytes},
         {"wrong version", wrong_version}, {"wrong block", wrong_block},
         {"what cannot be run", what_cannot_be_run}, {"stopping", stopping},
         {"a run that is stuck", a_run_that_is_stuck}, {"speed", speed})
