/* Question: can a policy make the plan race, whatever it asks for?
 *
 * chaos is a policy without sense: it places, fetches, prefetches, evicts, pins and syncs at
 * random, any kind of block, and runs events on either unit, whole or in parts. noisy is an
 * allocator that asks for system calls and device syncs at random. The verifier must find every run
 * clean, the decisions must not depend on the size of the chunks, and no split may beat the bound.
 */
#include "bound_of.h"
#include "check.h"
#include "sim/base/rng.h"
#include "validate/verify.h"
#include <stdio.h>
#include <stdlib.h>

extern const sw_alloc_ops sw_alloc_best_fit;
extern const sw_source_ops sw_source_synthetic, sw_source_llm;
extern const sw_backend_ops sw_backend_null;

/* --- noisy ------------------------------------------------------------------------------------ */

typedef struct noisy {
    void *inner;
    sw_rng rng;
} noisy;

static sw_status noisy_open(void *al, uint64_t capacity, sw_error *err) {
    noisy *n = al;
    n->rng = sw_rng_seed(capacity);
    SW_TRY(sw_plugin_new(&sw_alloc_best_fit.plugin, "allocator", NULL, &n->inner, err));
    return sw_alloc_best_fit.open(n->inner, capacity, err);
}
static sw_status noisy_take(void *al, uint64_t bytes, uint64_t *addr, uint32_t *effects) {
    noisy *n = al;
    sw_status st = sw_alloc_best_fit.take(n->inner, bytes, addr, effects);
    if (st == SW_OK && sw_rng_below(&n->rng, 2)) *effects |= SW_EFFECT_SYSTEM_ALLOC;
    return st;
}
static void noisy_give(void *al, uint64_t addr, uint32_t *effects) {
    noisy *n = al;
    sw_alloc_best_fit.give(n->inner, addr, effects);
    if (sw_rng_below(&n->rng, 2)) *effects |= SW_EFFECT_SYSTEM_FREE;
    if (sw_rng_below(&n->rng, 4) == 0) *effects |= SW_EFFECT_DEVICE_SYNC;
}
static void noisy_stats(const void *al, sw_alloc_stats *out) {
    sw_alloc_best_fit.stats(((const noisy *)al)->inner, out);
}
static bool noisy_valid(const void *al) {
    return sw_alloc_best_fit.valid(((const noisy *)al)->inner);
}
static void noisy_close(void *al) {
    noisy *n = al;
    if (n->inner) sw_alloc_best_fit.close(n->inner);
    free(n->inner);
}

static const sw_alloc_ops noisy_ops = {
    .plugin = {.name = "noisy", .ctx_bytes = sizeof(noisy)},
    .open = noisy_open,
    .take = noisy_take,
    .give = noisy_give,
    .stats = noisy_stats,
    .valid = noisy_valid,
    .close = noisy_close,
};

/* --- chaos ------------------------------------------------------------------------------------ */

typedef struct chaos {
    sw_rng rng;
    int gpu, cpu, vram, ram, nvme;
    uint32_t n_blocks;
} chaos;

static struct { /* over all runs: that every path was taken */
    long parts, evicted, gone_cpu, in_place, syncs;
} seen;

static uint64_t seed_of_chaos;

static bool chance(chaos *c, uint64_t one_in) {
    return sw_rng_below(&c->rng, one_in) == 0;
}

static sw_status chaos_open(void *po, sw_plan *p, sw_error *err) {
    chaos *c = po;
    const sw_topology *t = sw_plan_topology(p);
    const sw_scan *s = sw_plan_scan(p);
    c->rng = sw_rng_seed(seed_of_chaos);
    c->gpu = sw_topology_unit(t, SW_UNIT_GPU), c->cpu = sw_topology_unit(t, SW_UNIT_CPU);
    c->vram = sw_topology_tier(t, SW_TIER_VRAM), c->ram = sw_topology_tier(t, SW_TIER_RAM);
    c->nvme = sw_topology_tier(t, SW_TIER_NVME);
    c->n_blocks = s->n_blocks;
    for (uint32_t b = 0; b < s->n_blocks; b++)
        if (s->is_static[b] && chance(c, 4) &&
            sw_plan_room(p, c->vram) > 2 * s->blocks[b].bytes + s->peak_dynamic_bytes)
            SW_TRY(sw_plan_place(p, b, c->vram, err));
    return SW_OK;
}

/* May it go without failing? It is clean, or RAM has plenty of room for it. */
static bool may_go(chaos *c, sw_plan *p, uint32_t b, int tier) {
    const sw_block *k = sw_plan_block(p, b);
    if (!k || !sw_plan_evictable(p, b, tier)) return false;
    for (int t = 0; t <= c->nvme || t <= c->ram; t++)
        if (t != tier && sw_plan_resident(p, b, t)) return true;
    return tier == c->vram && sw_plan_room(p, c->ram) > 4 * k->bytes;
}

static uint32_t chaos_victim(void *po, sw_plan *p, int tier, uint64_t bytes) {
    chaos *c = po;
    uint32_t start = (uint32_t)sw_rng_below(&c->rng, c->n_blocks);
    (void)bytes;
    if (chance(c, 20)) return SW_NONE;
    for (uint32_t i = 0; i < c->n_blocks; i++) {
        uint32_t b = (start + i) % c->n_blocks;
        if (may_go(c, p, b, tier)) return b;
    }
    return SW_NONE;
}

static int chaos_alloc(void *po, sw_plan *p, const sw_block *block) {
    chaos *c = po;
    return block->kind != SW_BLOCK_ACT && chance(c, 3) && sw_plan_room(p, c->ram) > 4 * block->bytes
               ? c->ram
               : c->vram;
}

/* Can the unit run these uses? Activations come to it by themselves. */
static bool reaches(chaos *c, sw_plan *p, const sw_event *ev, uint32_t first, uint32_t n,
                    int unit) {
    for (uint32_t i = 0; i < ev->n_uses; i++) {
        const sw_block *k = sw_plan_block(p, ev->uses[i].block);
        if (k->kind == SW_BLOCK_ACT) {
            if (unit == c->cpu && sw_plan_room(p, c->ram) < 4 * k->bytes) return false;
        } else if (i >= first && i < first + n && sw_plan_where(p, k->id, unit) < 0) {
            return false;
        }
    }
    return true;
}

static sw_status maybe(sw_status st) { /* no room: then not */
    return st == SW_SPACE ? SW_OK : st;
}

static sw_status run_somewhere(chaos *c, sw_plan *p, const sw_event *ev, uint32_t first, uint32_t n,
                               bool part, double share, sw_error *err) {
    int unit = chance(c, 2) && reaches(c, p, ev, first, n, c->cpu) ? c->cpu : c->gpu;
    for (uint32_t i = first; i < first + n; i++) /* what lies on the disk only must come */
        if (sw_plan_where(p, ev->uses[i].block, unit) < 0)
            SW_TRY(sw_plan_fetch(p, ev->uses[i].block, unit == c->cpu ? c->ram : c->vram, err));
    for (uint32_t i = first; i < first + n; i++)
        seen.in_place += unit == c->gpu && sw_plan_where(p, ev->uses[i].block, unit) == c->ram;
    seen.gone_cpu += unit == c->cpu;
    seen.parts += part;
    return part ? sw_plan_run_part(p, ev, first, n, share, unit, err)
                : sw_plan_run(p, ev, unit, err);
}

static sw_status chaos_access(void *po, sw_plan *p, const sw_event *ev, sw_error *err) {
    chaos *c = po;
    double all = 0, head = 0;
    for (uint64_t k = sw_rng_below(&c->rng, 3); k; k--) {
        uint32_t b = (uint32_t)sw_rng_below(&c->rng, c->n_blocks);
        int tier = chance(c, 3) ? c->ram : c->vram;
        if (!may_go(c, p, b, tier)) continue;
        if (tier == c->ram && c->nvme < 0 && !sw_plan_resident(p, b, c->vram)) continue;
        seen.evicted++;
        SW_TRY(sw_plan_evict(p, b, tier, err));
    }
    for (uint64_t k = sw_rng_below(&c->rng, 3); k; k--) {
        uint32_t b = (uint32_t)sw_rng_below(&c->rng, c->n_blocks);
        if (sw_plan_block(p, b))
            SW_TRY(maybe(sw_plan_prefetch(p, b, chance(c, 3) ? c->ram : c->vram, err)));
        sw_plan_pin(p, (uint32_t)sw_rng_below(&c->rng, c->n_blocks), c->vram, chance(c, 10));
    }
    for (uint32_t i = 0; i < ev->n_uses; i++)
        if (chance(c, 2)) SW_TRY(maybe(sw_plan_fetch(p, ev->uses[i].block, c->vram, err)));
    if (chance(c, 6)) {
        seen.syncs++;
        SW_TRY(sw_plan_sync(p, chance(c, 2) ? c->gpu : -1, err));
    }
    uint32_t n = ev->n_uses;
    if (n < 2 || chance(c, 2)) return run_somewhere(c, p, ev, 0, n, false, 1, err);
    uint32_t cut = 1 + (uint32_t)sw_rng_below(&c->rng, n - 1);
    for (uint32_t i = 0; i < n; i++) {
        double touched = ev->uses[i].mode == SW_WRITE ? 0 : (double)ev->uses[i].touched;
        all += touched;
        if (i < cut) head += touched;
    }
    double share = all > 0 ? head / all : 0.5;
    SW_TRY(run_somewhere(c, p, ev, 0, cut, true, share, err));
    return run_somewhere(c, p, ev, cut, n - cut, true, 1 - share, err);
}

#define CHAOS(title, bits)                                                                         \
    {                                                                                              \
        .plugin = {.name = title, .flags = bits, .ctx_bytes = sizeof(chaos)}, .open = chaos_open,  \
        .on_access = chaos_access, .on_alloc = chaos_alloc, .victim = chaos_victim,                \
    }
static const sw_policy_ops chaos_ops[2] = {
    CHAOS("chaos", 0), CHAOS("chaos that copies always", SW_POLICY_COPY_ALWAYS)};

/* --- the runs ----------------------------------------------------------------------------------
 */

static sw_yaml *yaml(const char *text) {
    sw_yaml *doc = NULL;
    sw_error err = {0};
    if (sw_yaml_parse(text, strlen(text), "test", &doc, &err) != SW_OK) puts(err.text);
    return doc;
}

static void random_replay(sw_replay *r, sw_topology *t, sw_runtime *rt, const sw_model *m,
                          sw_rng *g, char text[256]) {
    bool llm = sw_rng_below(g, 2);
    double bytes, most, link = 1e9 * (1 + 60 * sw_rng_unit(g));
    if (llm) {
        snprintf(text, 256,
                 "{batch: 2, prompt: %d, generate: %d, prefill_chunk: 16, granularity: %s, "
                 "kv_layout: %s, kv_block_tokens: 16, micro_batches: %d}",
                 8 + (int)sw_rng_below(g, 60), (int)sw_rng_below(g, 4),
                 sw_rng_below(g, 2) ? "layer" : "tensor", sw_rng_below(g, 2) ? "static" : "paged",
                 1 + (int)sw_rng_below(g, 2));
        bytes = (double)m->bytes, most = 0.1 * bytes;
    } else {
        snprintf(text, 256,
                 "{blocks: %d, block_bytes: 16 MiB, passes: %d, pattern: random, uses: 3, vary: "
                 "true, chained: %s, scratch: 5 MiB}",
                 8 + (int)sw_rng_below(g, 20), 2 + (int)sw_rng_below(g, 5),
                 sw_rng_below(g, 3) ? "true" : "false");
        bytes = 400e6, most = 60e6;
    }
    double vram = bytes * (0.2 + 0.8 * sw_rng_unit(g)), ram = bytes * (1.1 + sw_rng_unit(g));
    if (vram < 3 * most) vram = 3 * most;
    sw_topology_simple(t, link * (2 + 50 * sw_rng_unit(g)), (uint64_t)vram, link,
                       link * (1 + 4 * sw_rng_unit(g)), (uint64_t)ram,
                       sw_rng_below(g, 2) ? link * 0.2 : 0, 1e13, 1e12 * sw_rng_unit(g));
    for (int c = 0; c < SW_CLASS_COUNT; c++) rt->factor[c] = (sw_efficiency){1, 1, 0};
    rt->pinned = sw_rng_below(g, 2);
    rt->alloc_host_s = 1e-5 * (double)sw_rng_below(g, 2);
    rt->launch_host_s = rt->copy_host_s = 1e-6 * (double)sw_rng_below(g, 2);
    rt->run_ahead = (uint32_t)sw_rng_below(g, 30);
    const sw_source_ops *source = llm ? &sw_source_llm : &sw_source_synthetic;
    *r = (sw_replay){.topo = t,
                     .runtime = rt,
                     .source = source,
                     .source_env = {.model = m, .seed = sw_rng_next(g)},
                     .policy = &chaos_ops[sw_rng_below(g, 2)],
                     .alloc = sw_rng_below(g, 2) ? &noisy_ops : &sw_alloc_best_fit,
                     .backend = &sw_backend_null,
                     .n_observers = 1};
}

static sw_status run(sw_replay *r, uint32_t chunk, sw_result *out, sw_verify_report *report,
                     sw_error *err) {
    sw_verifier *v = NULL;
    SW_TRY(sw_verifier_new(&v, err));
    sw_observer obs = sw_verifier_observer(v);
    r->observers = &obs;
    r->chunk_ops = chunk;
    sw_status st = sw_replay_run(r, out, err);
    *report = *sw_verifier_finish(v);
    sw_verifier_free(v);
    return st;
}

static void no_race(void) {
    sw_rng g = sw_rng_seed(21);
    sw_model *m = NULL;
    sw_error err = {0};
    sw_yaml *doc = yaml("{network: olmoe-1b-7b, quant: q4_k_m}");
    CHECK(sw_model_open(sw_yaml_root(doc), ".", SPILLWAY_SOURCE_DIR, &m, &err) == SW_OK);
    sw_yaml_free(doc);
    double written_back = 0;
    int ran = 0, refused = 0;
    for (int round = 0; m && round < 250; round++) {
        sw_topology t;
        sw_runtime rt = {0};
        sw_replay r;
        char text[256];
        sw_result out, other;
        sw_verify_report report;
        random_replay(&r, &t, &rt, m, &g, text);
        doc = yaml(text);
        r.source_map = sw_yaml_root(doc);
        seed_of_chaos = sw_rng_next(&g);
        sw_status st = run(&r, 0, &out, &report, &err);
        if (report.n_violations) {
            printf("\n  round %d, %s, %s, %s\n", round, r.policy->plugin.name, r.alloc->plugin.name,
                   text);
            for (uint32_t i = 0; i < report.n_kept && i < 3; i++)
                printf("    %s: %s\n", sw_rule_name(report.kept[i].rule), report.kept[i].text);
        }
        CHECK(report.n_violations == 0);
        if (st != SW_OK) {
            refused++;
            if (st != SW_FIT) printf("\n  round %d: %s: %s\n", round, text, err.text);
            CHECK(st == SW_FIT);
        } else {
            double path = 0;
            ran++;
            written_back += (double)out.n_writebacks;
            for (int c = 0; c < SW_CAT_COUNT; c++) path += out.path_s[c];
            CHECK(fabs(path - out.makespan_s) <= 1e-9 * out.makespan_s);
            sw_topology wide = without_contention(&t);
            double bound = bound_of(r.source, r.source_map, &r.source_env, &wide);
            if (out.makespan_s < bound * (1 - 1e-9))
                printf("\n  round %d: %s: %.9g s, bound %.9g s\n", round, text, out.makespan_s,
                       bound);
            CHECK(out.makespan_s >= bound * (1 - 1e-9));
            CHECK(run(&r, 3, &other, &report, &err) == SW_OK); /* other chunks, same decisions */
            CHECK(report.n_violations == 0);
            CHECK(other.log_hash == out.log_hash);
            CHECK(run(&r, 1 << 20, &other, &report, &err) == SW_OK); /* all in one chunk */
            CHECK(report.n_violations == 0);
            CHECK(other.log_hash == out.log_hash);
        }
        sw_yaml_free(doc);
    }
    sw_model_free(m);
    printf("\n    %d runs, %d refused; %.0f write-backs, %ld evictions, %ld parts, %ld on the CPU, "
           "%ld in place, %ld syncs\n",
           ran, refused, written_back, seen.evicted, seen.parts, seen.gone_cpu, seen.in_place,
           seen.syncs);
    CHECK(ran > 100);
    CHECK(written_back > 100 && seen.parts > 100 && seen.gone_cpu > 100 && seen.in_place > 100);
}

SW_TESTS("chaos", {"no race", no_race})
