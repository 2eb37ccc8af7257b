/* Question: do the laws hold for any machine, trace, policy and allocator?
 *
 * Random small machines and traces; every policy and every allocator, on null. The verifier looks
 * at every run. With SimGrid some of them also run there, each in a child process, since it
 * simulates once a process. */
#include "bound_of.h"
#include "check.h"
#include "sim/base/rng.h"
#include "validate/verify.h"
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct scene {
    sw_topology topo;
    sw_runtime rt;
    sw_yaml *map, *policy_map;
    const sw_source_ops *source;
    sw_source_env env;
    char text[256], policy_text[128];
} scene;

static sw_model *models[2]; /* one dense, one with experts */

static const sw_source_ops *source_named(const char *name) {
    for (size_t i = 0; i < sw_source_table_n; i++)
        if (!strcmp(sw_source_table[i]->name, name))
            return (const sw_source_ops *)(const void *)sw_source_table[i];
    return NULL;
}

static const sw_backend_ops *backend_named(const char *name) {
    for (size_t i = 0; i < sw_backend_table_n; i++)
        if (!strcmp(sw_backend_table[i]->name, name))
            return (const sw_backend_ops *)(const void *)sw_backend_table[i];
    return NULL;
}

static void parse(sw_yaml **doc, const char *text) {
    sw_error err = {0};
    sw_yaml_free(*doc);
    *doc = NULL;
    if (sw_yaml_parse(text, strlen(text), "test", doc, &err) != SW_OK) puts(err.text);
    CHECK(*doc != NULL);
}

static void close_scene(scene *s) {
    sw_yaml_free(s->map);
    sw_yaml_free(s->policy_map);
}

/* A machine whose VRAM holds between a fifth and all of `bytes`, and more than `most`. */
static void random_machine(scene *s, sw_rng *r, double bytes, double most) {
    double vram = bytes * (0.2 + 1.0 * sw_rng_unit(r)), ram = bytes * (1.2 + sw_rng_unit(r));
    if (vram < 2.5 * most) vram = 2.5 * most;
    bool nvme = sw_rng_below(r, 2);
    if (nvme && sw_rng_below(r, 2)) ram = bytes * (0.3 + 0.5 * sw_rng_unit(r));
    if (ram < 2 * most) ram = 2 * most;
    double link = 1e9 * (1 + 60 * sw_rng_unit(r));
    sw_topology_simple(&s->topo, link * (2 + 50 * sw_rng_unit(r)), (uint64_t)vram, link,
                       link * (1 + 4 * sw_rng_unit(r)), (uint64_t)ram,
                       nvme ? link * (0.1 + 0.4 * sw_rng_unit(r)) : 0,
                       1e12 * (1 + 99 * sw_rng_unit(r)), 1e10 * (1 + 99 * sw_rng_unit(r)));
    for (int i = 0; i < s->topo.n_routes; i++) s->topo.routes[i].latency_s = 1e-5 * sw_rng_unit(r);
    s->rt = (sw_runtime){.pinned = sw_rng_below(r, 4) != 0};
    if (sw_rng_below(r, 2)) {
        s->rt.launch_host_s = 1e-6 * sw_rng_unit(r);
        s->rt.launch_device_s = 1e-6 * sw_rng_unit(r);
        s->rt.copy_host_s = 1e-6 * sw_rng_unit(r);
        s->rt.sync_host_s = 1e-5 * sw_rng_unit(r);
        s->rt.step_host_s = 1e-4 * sw_rng_unit(r);
        s->rt.alloc_host_s = 1e-5 * sw_rng_unit(r);
        s->rt.run_ahead = (uint32_t)sw_rng_below(r, 200);
    }
}

static void random_synthetic(scene *s, sw_rng *r, bool equal) {
    static const char *const patterns[] = {"cyclic", "random", "zipf", "hot_cold", "strided"};
    uint64_t blocks = 3 + sw_rng_below(r, 20), uses = 1 + sw_rng_below(r, equal ? 1 : 3);
    double mib = 1 << 20;
    if (uses > blocks) uses = blocks;
    snprintf(s->text, sizeof s->text,
             "{blocks: %d, block_bytes: 16 MiB, passes: %d, pattern: %s, uses: %d, vary: %s, "
             "flops_per_byte: %d, chained: %s, scratch: %s}",
             (int)blocks, 1 + (int)sw_rng_below(r, 6), patterns[sw_rng_below(r, 5)], (int)uses,
             !equal && sw_rng_below(r, 2) ? "true" : "false", (int)sw_rng_below(r, 100),
             equal || sw_rng_below(r, 2) ? "true" : "false",
             !equal && sw_rng_below(r, 2) ? "3 MiB" : "0 B");
    parse(&s->map, s->text);
    s->source = source_named("synthetic");
    random_machine(s, r, (double)blocks * 16 * mib, 16 * mib * (double)uses + 4 * mib);
}

static void random_llm(scene *s, sw_rng *r) {
    s->env.model = models[sw_rng_below(r, 2)];
    uint64_t batch = 1 + sw_rng_below(r, 4);
    snprintf(s->text, sizeof s->text,
             "{batch: %d, prompt: %d, generate: %d, prefill_chunk: %d, granularity: %s, "
             "kv_layout: %s, kv_block_tokens: 16, micro_batches: %d, locality: 0.5}",
             (int)batch, 8 + (int)sw_rng_below(r, 60), (int)sw_rng_below(r, 5),
             (int)(sw_rng_below(r, 2) * 16), sw_rng_below(r, 2) ? "layer" : "tensor",
             sw_rng_below(r, 2) ? "static" : "paged", batch % 2 ? 1 : 2);
    parse(&s->map, s->text);
    s->source = source_named("llm");
    random_machine(s, r, (double)s->env.model->bytes, (double)s->env.model->bytes * 0.08);
}

static void random_scene(scene *s, sw_rng *r, bool llm) {
    s->env = (sw_source_env){.seed = sw_rng_next(r)};
    s->policy_text[0] = 0;
    if (llm)
        random_llm(s, r);
    else
        random_synthetic(s, r, false);
}

static void random_options(scene *s, sw_rng *r, const char *policy) {
    static const char *const bools[] = {"false", "true"};
    char *t = s->policy_text;
    size_t n = sizeof s->policy_text;
    snprintf(t, n, "{}");
    if (!strcmp(policy, "demand") || !strcmp(policy, "mru") || !strcmp(policy, "belady"))
        snprintf(t, n, "{sync: %s}", bools[sw_rng_below(r, 2)]);
    if (!strcmp(policy, "prefetch")) snprintf(t, n, "{depth: %d}", 1 + (int)sw_rng_below(r, 3));
    if (!strcmp(policy, "split"))
        snprintf(t, n, "{gpu_layers: %d, experts: %s}", (int)sw_rng_below(r, 20) - 1,
                 sw_rng_below(r, 2) ? "cpu" : "with_layer");
    parse(&s->policy_map, t);
}

/* Which ops there are, without their times. */
static sw_status hash_op(void *arg, const sw_op *op, const sw_done *done, sw_error *err) {
    uint64_t *h = arg;
    (void)done, (void)err;
    *h = (*h ^ (op->kind | (uint64_t)op->queue << 8 | (uint64_t)op->n_uses << 32)) * 0x100000001b3u;
    for (uint32_t i = 0; i < op->n_uses; i++)
        *h = (*h ^ op->uses[i].block ^ (uint64_t)op->uses[i].tier << 40) * 0x100000001b3u;
    for (uint32_t i = 0; i < op->n_after; i++) *h = (*h ^ op->after[i]) * 0x100000001b3u;
    return SW_OK;
}

static uint64_t ops_hash; /* of the last run */

static sw_status run(const scene *s, const sw_topology *topo, const sw_plugin *policy,
                     const sw_plugin *alloc, const sw_backend_ops *backend, uint32_t chunk,
                     sw_result *out, sw_verify_report *report, sw_error *err) {
    sw_verifier *v = NULL;
    SW_TRY(sw_verifier_new(&v, err));
    sw_observer obs[2] = {sw_verifier_observer(v), {&ops_hash, NULL, NULL, hash_op}};
    ops_hash = 0xcbf29ce484222325u;
    sw_replay r = {.topo = topo,
                   .runtime = &s->rt,
                   .source = s->source,
                   .source_map = sw_yaml_root(s->map),
                   .source_env = s->env,
                   .policy = (const sw_policy_ops *)(const void *)policy,
                   .policy_map = sw_yaml_root(s->policy_map),
                   .alloc = (const sw_alloc_ops *)(const void *)alloc,
                   .backend = backend,
                   .chunk_ops = chunk,
                   .observers = obs,
                   .n_observers = 2};
    sw_status st = sw_replay_run(&r, out, err);
    *report = *sw_verifier_finish(v);
    sw_verifier_free(v);
    return st;
}

static void complain(const scene *s, const sw_plugin *policy, const char *what) {
    printf("\n  %s: %s %s on %s\n", what, policy->name, s->policy_text, s->text);
}

static bool clean(const scene *s, const sw_plugin *policy, const sw_verify_report *r) {
    if (!r->n_violations) return true;
    complain(s, policy, "the verifier finds violations");
    for (uint32_t i = 0; i < r->n_kept && i < 3; i++)
        printf("    %s: %s\n", sw_rule_name(r->kept[i].rule), r->kept[i].text);
    return false;
}

/* What must hold for any single run. */
static void check_run(const scene *s, const sw_plugin *policy, const sw_result *o, double bound) {
    double path = 0, decode = 0;
    for (int c = 0; c < SW_CAT_COUNT; c++) path += o->path_s[c], decode += o->path_decode_s[c];
    if (!(fabs(path - o->makespan_s) <= 1e-9 * o->makespan_s)) {
        complain(s, policy, "the critical path does not sum to the makespan");
        printf("    %.17g, %.17g\n", path, o->makespan_s);
    }
    CHECK(fabs(path - o->makespan_s) <= 1e-9 * o->makespan_s);
    CHECK(decode <= path * (1 + 1e-9));
    for (int t = 0; t < s->topo.n_tiers; t++)
        CHECK(o->tier[t].peak_bytes <= o->tier[t].capacity_bytes);
    if (o->makespan_s < bound * (1 - 1e-9)) {
        complain(s, policy, "faster than the bound");
        printf("    %.9g s, bound %.9g s (%s)\n", o->makespan_s, bound, o->bound.limit);
    }
    CHECK(o->makespan_s >= bound * (1 - 1e-9));
}

static uint32_t random_chunk(sw_rng *r) {
    static const uint32_t chunks[] = {0, 1, 7, 64};
    return chunks[sw_rng_below(r, 4)];
}

static void every_policy(void) {
    const sw_backend_ops *null = backend_named("null");
    sw_rng r = sw_rng_seed(1);
    int ran = 0, tried = 0, refused = 0, per_policy[64] = {0};
    for (int round = 0; round < 160; round++) {
        scene s = {0};
        random_scene(&s, &r, round % 4 == 3);
        sw_topology wide = without_contention(&s.topo);
        double bound = bound_of(s.source, sw_yaml_root(s.map), &s.env, &wide);
        CHECK(bound > 0);
        for (size_t p = 0; p < sw_policy_table_n; p++)
            for (size_t a = 0; a < sw_alloc_table_n; a++) {
                sw_result out, again;
                sw_verify_report report;
                sw_error err = {0};
                random_options(&s, &r, sw_policy_table[p]->name);
                uint32_t chunk = random_chunk(&r);
                sw_status st = run(&s, &s.topo, sw_policy_table[p], sw_alloc_table[a], null, chunk,
                                   &out, &report, &err);
                tried++;
                CHECK(clean(&s, sw_policy_table[p], &report));
                if (st != SW_OK) {
                    refused++;
                    if (st != SW_FIT) {
                        complain(&s, sw_policy_table[p], "fails");
                        printf("    %s\n", err.text);
                    }
                    CHECK(st == SW_FIT && *err.text && !strchr(err.text, '\n'));
                    continue;
                }
                ran++;
                per_policy[p]++;
                CHECK(report.n_ops == out.n_ops && out.n_ops > 0);
                check_run(&s, sw_policy_table[p], &out, bound);
                if (round % 4) continue; /* the same seed, the same bytes */
                CHECK(run(&s, &s.topo, sw_policy_table[p], sw_alloc_table[a], null, chunk, &again,
                          &report, &err) == SW_OK);
                CHECK(!memcmp(&out, &again, sizeof out));
            }
        close_scene(&s);
    }
    printf("\n    %d runs, %d more do not fit\n", ran, refused);
    for (size_t p = 0; p < sw_policy_table_n; p++) {
        printf("    %s %d", sw_policy_table[p]->name, per_policy[p]);
        CHECK(per_policy[p] > 0);
    }
    CHECK(ran > tried / 3);
}

/* A faster part never makes the same ops take longer. */
static void faster_is_never_slower(void) {
    const sw_backend_ops *null = backend_named("null");
    sw_rng r = sw_rng_seed(2);
    int compared = 0;
    for (int round = 0; round < 60; round++) {
        scene s = {0};
        random_scene(&s, &r, round % 4 == 3);
        const sw_plugin *policy = sw_policy_table[sw_rng_below(&r, sw_policy_table_n)];
        sw_result base, out;
        sw_verify_report report;
        random_options(&s, &r, policy->name);
        bool fits =
            !(policy->flags & SW_POLICY_REACTIVE) &&
            run(&s, &s.topo, policy, sw_alloc_table[0], null, 0, &base, &report, NULL) == SW_OK;
        uint64_t base_ops = ops_hash;
        for (size_t k = 0; fits && k < sw_topology_knobs_n; k++) {
            sw_topology better = s.topo;
            if (strstr(sw_topology_knobs[k], "size")) continue;
            if (!sw_topology_scale(&better, sw_topology_knobs[k], 1 + 3 * sw_rng_unit(&r)))
                continue;
            if (run(&s, &better, policy, sw_alloc_table[0], null, 0, &out, &report, NULL) != SW_OK)
                continue;
            if (ops_hash != base_ops) continue; /* it decided otherwise */
            compared++;
            if (out.makespan_s > base.makespan_s * (1 + 1e-9)) {
                complain(&s, policy, sw_topology_knobs[k]);
                printf("    %.17g s became %.17g s\n", base.makespan_s, out.makespan_s);
            }
            CHECK(out.makespan_s <= base.makespan_s * (1 + 1e-9));
        }
        close_scene(&s);
    }
    printf("\n    %d comparisons\n", compared);
    CHECK(compared > 50);
}

/* Belady fetches least: equal blocks that are only read, one an op. */
static void belady_fetches_least(void) {
    const sw_backend_ops *null = backend_named("null");
    sw_rng r = sw_rng_seed(3);
    int compared = 0;
    for (int round = 0; round < 150; round++) {
        scene s = {0};
        uint64_t least = UINT64_MAX;
        s.env.seed = sw_rng_next(&r);
        random_synthetic(&s, &r, true);
        for (int pass = 0; pass < 2; pass++)
            for (size_t p = 0; p < sw_policy_table_n; p++) {
                const sw_plugin *policy = sw_policy_table[p];
                bool belady = !strcmp(policy->name, "belady");
                sw_result out;
                sw_verify_report report;
                if (!(policy->flags & SW_POLICY_DEMAND) || belady != (pass == 0)) continue;
                random_options(&s, &r, policy->name);
                if (run(&s, &s.topo, policy, sw_alloc_table[0], null, 0, &out, &report, NULL))
                    continue;
                if (belady) least = out.n_fetches;
                if (belady || least == UINT64_MAX) continue;
                compared++;
                if (out.n_fetches < least) {
                    complain(&s, policy, "fewer fetches than belady");
                    printf("    %d, belady %d\n", (int)out.n_fetches, (int)least);
                }
                CHECK(out.n_fetches >= least);
            }
        close_scene(&s);
    }
    printf("\n    %d comparisons\n", compared);
    CHECK(compared > 100);
}

/* --- with contention -------------------------------------------------------------------------- */

#if defined __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

typedef struct answer {
    sw_status st;
    sw_result out;
    sw_verify_report report;
    sw_error err;
} answer;

/* One run on simgrid, in a child: it simulates once a process. */
static bool in_a_child(const scene *s, const sw_plugin *policy, const sw_backend_ops *simgrid,
                       answer *a) {
    int fd[2];
    if (pipe(fd)) return false;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        a->st =
            run(s, &s->topo, policy, sw_alloc_table[0], simgrid, 0, &a->out, &a->report, &a->err);
        const char *at = (const char *)a, *end = at + sizeof *a;
        while (at < end) {
            ssize_t n = write(fd[1], at, (size_t)(end - at));
            if (n <= 0) _exit(1);
            at += n;
        }
        _exit(0);
    }
    close(fd[1]);
    char *at = (char *)a, *end = at + sizeof *a;
    ssize_t n;
    while (at < end && (n = read(fd[0], at, (size_t)(end - at))) > 0) at += n;
    close(fd[0]);
    int status = 0;
    waitpid(pid, &status, 0);
    return at == end && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void with_contention(void) {
    const sw_backend_ops *simgrid = backend_named("simgrid"), *null = backend_named("null");
    static answer a;
    if (!simgrid || SANITIZED) {
        printf("(skipped: no simgrid here) ");
        return;
    }
    sw_rng r = sw_rng_seed(4);
    int ran = 0;
    double nearest = 0;
    for (int round = 0; round < 48; round++) {
        scene s = {0};
        random_scene(&s, &r, round % 4 == 3);
        double bound = bound_of(s.source, sw_yaml_root(s.map), &s.env, &s.topo);
        for (size_t p = 0; p < sw_policy_table_n; p++) {
            const sw_plugin *policy = sw_policy_table[p];
            sw_result alone;
            sw_verify_report report;
            random_options(&s, &r, policy->name);
            bool came = in_a_child(&s, policy, simgrid, &a);
            CHECK(came);
            if (!came) complain(&s, policy, "the child died");
            if (!came || a.st != SW_OK) continue;
            ran++;
            CHECK(clean(&s, policy, &a.report));
            check_run(&s, policy, &a.out, bound);
            nearest = fmax(nearest, bound / a.out.makespan_s);
            if (policy->flags & SW_POLICY_REACTIVE) continue;
            if (run(&s, &s.topo, policy, sw_alloc_table[0], null, 0, &alone, &report, NULL))
                continue;
            CHECK(alone.log_hash == a.out.log_hash); /* the same decisions … */
            double slack = 1e-9 * a.out.makespan_s + 1e-9 * (double)(4 * a.out.n_ops);
            if (alone.makespan_s > a.out.makespan_s + slack) {
                complain(&s, policy, "null is slower than simgrid");
                printf("    %.12g s, %.12g s\n", alone.makespan_s, a.out.makespan_s);
            }
            CHECK(alone.makespan_s <= a.out.makespan_s + slack); /* … and contention costs time */
        }
        close_scene(&s);
    }
    printf("\n    %d runs; the nearest to the bound reaches %.0f %% of it\n", ran, 100 * nearest);
    CHECK(ran > 20);
}

static void open_models(void) {
    static const char *const texts[] = {"{network: tinyllama-1.1b, quant: q4_k_m}",
                                        "{network: olmoe-1b-7b, quant: q4_k_m}"};
    for (int i = 0; i < 2; i++) {
        sw_yaml *doc = NULL;
        sw_error err = {0};
        parse(&doc, texts[i]);
        if (sw_model_open(sw_yaml_root(doc), ".", SPILLWAY_SOURCE_DIR, &models[i], &err) != SW_OK)
            puts(err.text);
        CHECK(models[i] != NULL);
        sw_yaml_free(doc);
        if (!models[i]) exit(1);
    }
}

static void close_models(void) {
    for (int i = 0; i < 2; i++) sw_model_free(models[i]);
}

SW_TESTS("laws", {"models", open_models}, {"every policy, every allocator", every_policy},
         {"a faster part is never slower", faster_is_never_slower},
         {"belady fetches least", belady_fetches_least}, {"with contention", with_contention},
         {"models, closed", close_models})
