/* Does a scan count right, and does it catch every breach of the rules of trace.h? */
#include "sim/base/rng.h"
#include "stream.h"

static sw_scan *scan_text(const char *text, bool next_uses, sw_error *err) {
    const sw_plugin *p = NULL;
    sw_scan *scan = NULL;
    const char *path = scratch("scan.swt");
    sw_source_env env = {.path = path};
    write_file(path, text, strlen(text));
    CHECK(!sw_plugin_find(sw_source_table, sw_source_table_n, "source", "swt", (sw_mark){0}, &p,
                          err));
    sw_status st = sw_scan_run((const sw_source_ops *)p, NULL, &env, next_uses, &scan, err);
    unlink(path);
    return st ? NULL : scan;
}

static void counts(void) {
    static const char text[] = "swt 1\n"
                               "block 0 weight 100 layer=0\n"
                               "block 1 expert 50 layer=2 expert=3\n"
                               "step 0 prefill 7 0\n"
                               "alloc 2 kv 30 layer=0\n"
                               "alloc 3 act 8\n"
                               "op 5 fp16 gemm 1 r0@0+60 r0@60+40 w2 r1@0+10\n"
                               "free 2\n"
                               "alloc 2 kv 40 layer=0\n"
                               "free 3\n"
                               "alloc 3 act 20\n"
                               "step 1 decode 1 1\n"
                               "op 5 fp16 gemm 1 x3\n"
                               "predict r9@0+1\n"
                               "host 0.5\n"
                               "end 14\n";
    sw_error err = {0};
    sw_scan *s = scan_text(text, true, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CHECK_INT(s->n_events, 14);
    CHECK_INT(s->n_accesses, 2);
    CHECK_INT(s->n_steps, 2);
    CHECK_INT(s->n_tokens, 8);
    CHECK_INT(s->n_outputs, 1);
    CHECK_INT(s->n_blocks, 4);
    CHECK_INT(s->n_layers, 3);
    CHECK_INT(s->static_bytes, 150);
    CHECK_INT(s->largest_block_bytes, 100);
    CHECK_INT(s->peak_dynamic_bytes, 60);
    CHECK_INT(s->peak_act_bytes, 20);
    CHECK_INT(s->layer_static_bytes[0], 100);
    CHECK_INT(s->layer_static_bytes[2], 50);
    CHECK_INT(s->layer_dynamic_bytes[0], 40);
    CHECK_INT(s->largest_access_bytes, 180); /* block 0 once */
    CHECK_INT(s->largest_access_extent, 140);
    CHECK_INT(s->blocks[2].bytes, 40);
    CHECK(s->is_static[1] && !s->is_static[2]);
    static const uint64_t at[] = {0, 1, 2, 3, 4}, seq[] = {6, 6, 6, 12};
    CHECK(!memcmp(s->use_at, at, sizeof at));
    CHECK(!memcmp(s->use_seq, seq, sizeof seq));
    sw_scan_free(s);
}

static void breaches(void) {
    static const struct {
        const char *body, *says;
    } bad[] = {
        {"mark\nblock 0 weight 1\n", "event 2: block 0 is declared after the run has begun"},
        {"block 0 weight 1\nblock 0 weight 1\n", "event 2: block 0 is allocated while it lives"},
        {"block 0 weight 1\nfree 0\nalloc 0 kv 1\n",
         "declared from the start and is allocated anew"},
        {"alloc 0 kv 1\nalloc 0 kv 1\n", "is allocated while it lives"},
        {"free 0\n", "event 1: block 0 is freed but does not live"},
        {"alloc 0 kv 1\nfree 0\nfree 0\n", "event 3: block 0 is freed but does not live"},
        {"op 0 fp16 gemm 1 r7@0+1\n", "block 7 is used but does not live"},
        {"alloc 0 kv 1\nfree 0\nop 0 fp16 gemm 1 r0@0+1\n", "block 0 is used but does not live"},
        {"alloc 0 kv 9\nop 0 fp16 gemm 1 r0@0+10\n", "block 0 is used outside its bounds"},
        {"alloc 0 kv 9\nop 0 fp16 gemm 1 r0@9+1\n", "block 0 is used outside its bounds"},
        {"alloc 0 kv 9\nop 0 fp16 gemm 1 r0@18446744073709551615+2\n", "outside its bounds"},
        {"alloc 0 kv 9\nop 0 fp16 gemm 1 r0@0+0\n", "outside its bounds"},
        {"alloc 0 kv 9\nop 0 fp16 gemm 1 r0~18446744073709551615\n", "is touched too much"},
        {"op 1e25 fp16 gemm 1\n", "event 1 does impossible flops"},
        {"op 1 fp16 gemm 0\n", "event 1 launches no kernel, or too many"},
        {"op 1 fp16 gemm 1 known_after=1\n", "event 1 is known after event 1"},
        {"step 1 decode 1 1\n", "event 1 is a step out of turn"},
        {"step 0 decode 1 1\nstep 2 decode 1 1\n", "event 2 is a step out of turn"},
        {"host 1e10\n", "event 1 keeps the host busy for an impossible time"},
        {"block 65536 kv 1\nblock 65537 kv 1\nblock 65541 kv 1\n", "far beyond"},
        {"block 0 kv 1152921504606846977\n", "exceed 2^60 bytes"},
        {"block 0 kv 1152921504606846976\nalloc 1 kv 1\n", "exceed 2^60 bytes"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[512];
        sw_error err = {0};
        int lines = 0;
        for (const char *p = bad[i].body; *p; p++) lines += *p == '\n';
        snprintf(text, sizeof text, "swt 1\n%send %d\n", bad[i].body, lines);
        CHECK(scan_text(text, false, &err) == NULL);
        check_line(&err, bad[i].says);
    }
}

/* The index of next uses against a plain list. */
static void next_uses(void) {
    static const char flow[] = "{blocks: 20, passes: 30, pattern: zipf, uses: 3, scratch: 1 B}";
    const sw_plugin *p = NULL;
    sw_error err = {0};
    sw_yaml *doc = NULL;
    sw_scan *scan = NULL;
    sw_source_env env = {.seed = 5};
    CHECK(!sw_plugin_find(sw_source_table, sw_source_table_n, "source", "synthetic", (sw_mark){0},
                          &p, &err));
    CHECK(!sw_yaml_parse(flow, strlen(flow), "test.yaml", &doc, &err));
    CHECK(!sw_scan_run((const sw_source_ops *)p, sw_yaml_root(doc), &env, true, &scan, &err));
    sw_yaml_free(doc);
    uint64_t at[32];
    for (uint32_t b = 0; b < scan->n_blocks; b++) at[b] = scan->use_at[b];
    stream s;
    CHECK(stream_open(&s, "synthetic", flow, NULL, NULL, 5));
    while (stream_next(&s))
        for (uint32_t i = 0; i < s.ev.n_uses && s.ev.kind == SW_EV_ACCESS; i++)
            CHECK_INT(scan->use_seq[at[s.ev.uses[i].block]++], s.seq);
    for (uint32_t b = 0; b < scan->n_blocks; b++) CHECK_INT(at[b], scan->use_at[b + 1]);
    stream_close(&s);
    sw_scan_free(scan);
}

SW_TESTS("scan", {"counts", counts}, {"breaches", breaches}, {"next uses", next_uses})
