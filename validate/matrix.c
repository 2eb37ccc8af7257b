/* The cases and their errors (see matrix.h). Printing is in matrix_print.c. */
#include "validate/matrix.h"
#include "sim/base/vec.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define KIB 1024.0
#define MIB (1024 * KIB)

/* --- the cases -------------------------------------------------------------------------------- */

typedef struct home { /* where blocks live when they are not in VRAM */
    const char *name;
    double ram_share; /* of all bytes that RAM holds */
} home;

static const home in_ram = {"ram", 1.6}, on_disk = {"nvme", 0.25};

typedef struct plan {
    const char *machine;
    double total, passes; /* bytes of all blocks */
} plan;

static sw_case *add(sw_matrix *m, const char *group) {
    sw_case *c = &m->cases[m->n < SW_CASES_MAX ? m->n++ : SW_CASES_MAX - 1];
    *c = (sw_case){0};
    snprintf(c->group, sizeof c->group, "%s", group);
    return c;
}

static const char *size(char *buf, double bytes) {
    if (bytes >= MIB)
        snprintf(buf, 16, "%.0f MiB", bytes / MIB);
    else
        snprintf(buf, 16, "%.0f KiB", bytes / KIB);
    return buf;
}

static void machine(sw_case *c, const plan *p, double vram, double ram) {
    size_t at = strlen(c->text);
    snprintf(c->text + at, sizeof c->text - at,
             "spillway: 1\nmachine: {use: \"%s\", gpu: {memory: {capacity: %.0f KiB}}, "
             "ram: %.0f KiB}\nruntime: ideal\n"
             "allocator: {name: best_fit, granule: 4 KiB}\n", /* what O_DIRECT asks for */
             p->machine, ceil(vram / KIB), ceil(ram / KIB));
}

static void synthetic(sw_matrix *m, const plan *p, const char *policy, const char *options,
                      double block, double flops, const home *h, double vram_share,
                      const char *extra) {
    char text[16];
    sw_case *c = add(m, policy);
    double total = p->total, passes = p->passes;
    if (h == &on_disk) total /= 2; /* slower by as much */
    double blocks = floor(total / block), vram = blocks * block * vram_share;
    if (vram < 6 * block) vram = 6 * block;
    snprintf(c->name, sizeof c->name, "%s%s%s, %s, %g FLOP/B, %s%s%s", policy, *options ? " " : "",
             options, size(text, block), flops, h->name, *extra ? ", " : "", extra);
    machine(c, p, vram, blocks * block * h->ram_share + 8 * block);
    size_t at = strlen(c->text);
    snprintf(c->text + at, sizeof c->text - at,
             "workload: {generator: synthetic, blocks: %.0f, block_bytes: %.0f KiB, passes: %.0f, "
             "flops_per_byte: %g%s%s}\npolicy: {name: %s%s%s}\n",
             blocks, block / KIB, passes, flops, *extra ? ", " : "", extra, policy,
             *options ? ", " : "", options);
}

static void llm(sw_matrix *m, const plan *p, const char *policy, const char *options, int batch,
                int prompt, int generate, double vram_share) {
    sw_case *c = add(m, policy);
    const double weights = 1100 * MIB; /* Qwen3 0.6B in 16 bits, and its caches */
    snprintf(c->name, sizeof c->name, "%s%s%s, Qwen3 0.6B F16, batch %d, %d + %d", policy,
             *options ? " " : "", options, batch, prompt, generate);
    machine(c, p, weights * vram_share + 320 * MIB, weights * 1.6);
    size_t at = strlen(c->text);
    snprintf(c->text + at, sizeof c->text - at,
             "model: {network: qwen3-0.6b, quant: f16}\n"
             "workload: {generator: llm, batch: %d, prompt: %d, generate: %d}\n"
             "policy: {name: %s%s%s}\n",
             batch, prompt, generate, policy, *options ? ", " : "", options);
}

void sw_matrix_fill(sw_matrix *m, const char *path, bool quick) {
    static const struct {
        const char *policy, *options;
    } all[] = {{"demand", ""},           {"demand", "sync: true"}, {"mru", ""},  {"belady", ""},
               {"prefetch", "depth: 1"}, {"prefetch", "depth: 3"}, {"split", ""}};
    static const double blocks[] = {128 * KIB, 1 * MIB, 8 * MIB}, flops[] = {0, 2, 8};
    plan p = {path, quick ? 96 * MIB : 512 * MIB, quick ? 2 : 3};
    m->n = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int b = 0; b < 3; b++)
            for (int f = 0; f < 3; f++)
                if (quick || i == 1 || i == 2 ? b == 1 && (f == 1 || !quick) : true)
                    synthetic(m, &p, all[i].policy, all[i].options, blocks[b], flops[f], &in_ram,
                              0.5, "");
    /* Copies and kernels that want more of the memory than there is. */
    static const char *const depths[] = {"depth: 1", "depth: 2", "depth: 4"};
    static const double sizes[] = {512 * KIB, 2 * MIB, 4 * MIB};
    for (int d = 0; d < 3; d++)
        for (int b = 0; b < (quick ? 0 : 3); b++)
            for (int f = 0; f < 2; f++)
                synthetic(m, &p, "prefetch", depths[d], sizes[b], f * 0.25, &in_ram, 0.5, "");
    for (int f = 0; f < (quick ? 1 : 3); f++)
        synthetic(m, &p, "resident", "", MIB, flops[f], &in_ram, 1.25, "");
    static const char *const extras[] = {"pattern: random", "pattern: zipf, vary: true",
                                         "chained: false", "scratch: 4 MiB",
                                         "uses: 2, chained: false"};
    for (int i = 0; i < (quick ? 0 : 5); i++) {
        synthetic(m, &p, "demand", "", 2 * MIB, 1, &in_ram, 0.5, extras[i]);
        synthetic(m, &p, "prefetch", "depth: 2", 2 * MIB, 1, &in_ram, 0.5, extras[i]);
    }
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int f = 0; f < 3; f += 2)
            if ((!quick && i != 1 && i != 5) || (i == 4 && !f))
                synthetic(m, &p, all[i].policy, all[i].options, 4 * MIB, flops[f], &on_disk, 0.25,
                          "");
    if (quick) return;
    llm(m, &p, "resident", "", 1, 16, 6, 1.1);
    llm(m, &p, "demand", "", 1, 16, 4, 0.5);
    llm(m, &p, "prefetch", "depth: 1", 1, 16, 4, 0.5);
    llm(m, &p, "prefetch", "depth: 1", 8, 8, 4, 0.5);
    llm(m, &p, "split", "", 1, 16, 4, 0.5);
    llm(m, &p, "belady", "", 4, 8, 4, 0.5);
}

void sw_matrix_free(sw_matrix *m) {
    for (int i = 0; i < m->n; i++) {
        free(m->cases[i].real);
        free(m->cases[i].sim);
        free(m->cases[i].null);
    }
}

/* --- errors ----------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double quantile(double *v, int n, double q) { /* sorts v */
    qsort(v, (size_t)n, sizeof *v, ascending);
    double at = q * (n - 1);
    int i = (int)at;
    return i + 1 < n ? v[i] + (at - i) * (v[i + 1] - v[i]) : v[i];
}

sw_error_stats sw_error_stats_of(const double *errors, int n) {
    double v[SW_CASES_MAX];
    sw_error_stats s = {.n = n};
    if (!n) return s;
    memcpy(v, errors, (size_t)n * sizeof *v);
    s.bias = quantile(v, n, 0.5);
    for (int i = 0; i < n; i++) v[i] = fabs(errors[i]);
    s.median = quantile(v, n, 0.5);
    s.p90 = quantile(v, n, 0.9);
    s.worst = v[n - 1];
    return s;
}

sw_status sw_case_settle(sw_case *c, const sw_result *runs, sw_error *err) {
    double v[SW_REPS_MAX];
    memcpy(v, c->raw_s, sizeof v);
    double lower = quantile(v, c->reps, 0.5);
    int best = 0;
    for (int i = 1; i < c->reps; i++)
        if (fabs(c->raw_s[i] - lower) < fabs(c->raw_s[best] - lower)) best = i;
    c->real_s = lower;
    c->spread = (v[c->reps - 1] - v[0]) / lower;
    c->real = malloc(sizeof *c->real);
    if (!c->real) return sw_fail(err, SW_MEMORY, "out of memory");
    *c->real = runs[best];
    c->same_log = true;
    for (int i = 0; i < c->reps; i++) c->same_log &= runs[i].log_hash == c->sim->log_hash;
    return SW_OK;
}

static sw_error_stats busy(const sw_matrix *m, int queue, int cat) {
    double e[SW_CASES_MAX];
    int n = 0;
    for (int i = 0; i < m->n; i++) {
        const sw_case *c = &m->cases[i];
        if (!c->real || !c->sim) continue;
        double real = queue >= 0 ? c->real->queue_busy_s[queue] : c->real->cat_busy_s[cat];
        double sim = queue >= 0 ? c->sim->queue_busy_s[queue] : c->sim->cat_busy_s[cat];
        if (real > 0.01 * c->real_s && sim > 0) e[n++] = sim / real - 1;
    }
    return sw_error_stats_of(e, n);
}

void sw_matrix_judge(const sw_matrix *m, sw_verdict_of_matrix *v) {
    double sim[SW_CASES_MAX], null[SW_CASES_MAX], hard_sim[SW_CASES_MAX], hard_null[SW_CASES_MAX];
    double spread[SW_CASES_MAX];
    int n = 0, hard = 0;
    *v = (sw_verdict_of_matrix){0};
    for (int i = 0; i < m->n; i++) {
        const sw_case *c = &m->cases[i];
        if (!c->real || !c->sim || !c->null) continue;
        sim[n] = c->sim->makespan_s / c->real_s - 1;
        null[n] = c->null->makespan_s / c->real_s - 1;
        spread[n] = c->spread;
        if (c->real_s >= 1.2 * c->null->makespan_s)
            hard_sim[hard] = sim[n], hard_null[hard++] = null[n];
        n++;
        v->n_logs_differ += !c->reactive && !c->same_log;
    }
    v->sim = sw_error_stats_of(sim, n);
    v->null = sw_error_stats_of(null, n);
    v->contended_sim = sw_error_stats_of(hard_sim, hard);
    v->contended_null = sw_error_stats_of(hard_null, hard);
    if (n) v->spread = quantile(spread, n, 0.5);
    for (int q = 0; q < m->topo.n_queues; q++) v->queue[q] = busy(m, q, -1);
    for (int k = 0; k < SW_CAT_COUNT; k++) v->cat[k] = busy(m, -1, k);
}
