/* Does the reader of traces take what the format's page says, and refuse all else with its
 * place? */
#include "stream.h"
#include "traces/swt_write.h"

/* Reads a text to its end; returns the number of events, or -1 with the error. */
static int read_text(const char *text, size_t n, sw_error *err) {
    stream s;
    const char *path = scratch("text.swt");
    write_file(path, text, n);
    int events = stream_open(&s, "swt", "{}", NULL, path, 1) ? 0 : -1;
    while (events >= 0 && stream_next(&s)) events++;
    if (events >= 0 && s.st != SW_END) events = -1;
    *err = s.err;
    stream_close(&s);
    unlink(path);
    return events;
}

/* The example of docs/trace-format.md. */
static void example(void) {
    static const char head[] = "\n```\nswt 1\n";
    char page[32768];
    sw_error err = {0};
    FILE *f = fopen(SPILLWAY_SOURCE_DIR "/docs/trace-format.md", "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    page[fread(page, 1, sizeof page - 1, f)] = 0;
    fclose(f);
    char *start = strstr(page, head), *end = start ? strstr(start + 5, "```") : NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(end);
    int n = read_text(start + 5, (size_t)(end - start - 5), &err);
    if (n < 0) puts(err.text);
    CHECK_INT(n, 13);
    const char *path = scratch("example.swt");
    write_file(path, start + 5, (size_t)(end - start - 5));
    sw_scan *scan = scan_of("swt", "{}", NULL, path, &err);
    if (!scan) puts(err.text);
    CHECK(scan != NULL);
    sw_scan_free(scan);
    unlink(path);
}

static void freedoms(void) {
    static const char text[] = "swt 1\r\n# windows\r\n\r\nblock 0 weight 10 = a b\r\n"
                               "op 0 fp16 gemm 1 r0 = x\r\nend 2\r\n# done\r\n\r\n";
    sw_error err = {0};
    CHECK_INT(read_text(text, sizeof text - 1, &err), 2);
    CHECK_INT(read_text("swt 1\nmark\nend 1", 16, &err), 1); /* no line break at the end */
    CHECK_INT(read_text("swt 1\nend 0\n", 12, &err), 0);
}

/* Every cut of a trace is refused with one line, but that which only lacks the last line break. */
static void truncations(void) {
    static const char text[] = "swt 1\n# head\nblock 0 weight 4096 layer=0 = w\nalloc 1 act 64\n"
                               "step 0 decode 1 1\nop 1.5 fp16 gemm 2 gather r0@0+64~9 x1 = o\n"
                               "predict r0\nhost 0.25\nmark = m\nfree 1\nend 8\n";
    sw_error err = {0};
    size_t n = sizeof text - 1;
    CHECK_INT(read_text(text, n, &err), 8);
    CHECK_INT(read_text(text, n - 1, &err), 8);
    for (size_t cut = 0; cut < n - 1; cut++) {
        err = (sw_error){0};
        CHECK_INT(read_text(text, cut, &err), -1);
        check_line(&err, "text.swt:");
        if (cut > 5 && text[cut - 1] == '\n') check_line(&err, "broken off");
    }
}

/* The same of a compressed one, whose check comes last. */
static void gzip_truncations(void) {
    char packed[4096];
    sw_swt_file *f = NULL;
    sw_error err = {0};
    const char *path = scratch("whole.swt.gz");
    sw_event ev = {.kind = SW_EV_MARK, .name = "m"};
    CHECK_INT(sw_swt_open(path, "cut", &f, &err), SW_OK);
    for (int i = 0; i < 50; i++) CHECK_INT(sw_swt_put(f, &ev, &err), SW_OK);
    CHECK_INT(sw_swt_commit(f, &err), SW_OK);
    FILE *in = fopen(path, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(in);
    size_t n = fread(packed, 1, sizeof packed, in);
    fclose(in);
    unlink(path);
    CHECK_INT(read_text(packed, n, &err), 50);
    for (size_t cut = 0; cut < n; cut++) {
        err = (sw_error){0};
        CHECK_INT(read_text(packed, cut, &err), -1);
        check_line(&err, "text.swt");
    }
}

static void refusals(void) {
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "is empty"},
        {"swt\n", "text.swt:1:1: a trace begins with"},
        {"GGUF", "1:1: a trace begins with"},
        {"swt 2\n", "1:6: version 2; this program reads version 1"},
        {"swt 1 \n", "1:6: nothing may follow the version"},
        {"swt 1\n", "broken off"},
        {"swt 1\nmark\n", "broken off"},
        {"swt 1\nmark\nend 2\n", "3:5: 2 events are promised, 1 came"},
        {"swt 1\nend 0\nmark\n", "3:1: nothing may follow \"end\""},
        {"swt 1\nend 0 \n", "2:6: nothing may follow"},
        {"swt 1\nblok 0 weight 1\n", "2:1: record: \"blok\" is none; did you mean \"block\"?"},
        {"swt 1\nblock 0 wight 1\n",
         "2:9: kind of block: \"wight\" is none; did you mean \"weight\"?"},
        {"swt 1\nblock 0 weight 0\n", "2:16: a block without bytes"},
        {"swt 1\nblock 0 weight 1 layer=1 layer=1\n", "2:26: \"layer\" comes twice"},
        {"swt 1\nblock 0 weight 1 layer=-1\n", "2:24: layer: a whole number"},
        {"swt 1\nblock 0 weight 1 gather\n", "2:18: \"gather\" is not expected here"},
        {"swt 1\nblock 0 weight 18446744073709551616\n", "2:16: bytes: the number is too large"},
        {"swt 1\nblock 16777216 weight 1\n", "2:7: block: 16777216 is above the limit"},
        {"swt 1\nblock 65537 weight 1\n", "2:7: block 65537 is far beyond"},
        {"swt 1\nblock  0 weight 1\n", "2:7: block: a whole number"},
        {"swt 1\nblock 0 weight 1 = \x1b[1m\n", "2:20: a control character in a name"},
        {"swt 1\nblock 0 weight 1 = \xc3\n", "2:20: a name that is no UTF-8"},
        {"swt 1\nop\n", "2:3: a space and the record's fields"},
        {"swt 1\nop nan fp16 gemm 1\n", "2:4: flops: a number is expected"},
        {"swt 1\nop 1e999 fp16 gemm 1\n", "2:4: flops: a finite number"},
        {"swt 1\nop 1e fp16 gemm 1\n", "2:4: flops: a finite number"},
        {"swt 1\nop -1 fp16 gemm 1\n", "2:4: flops: is negative"},
        {"swt 1\nop 0x10 fp16 gemm 1\n", "2:5: a space is expected"},
        {"swt 1\nop 1 fp61 gemm 1\n",
         "2:6: number format: \"fp61\" is none; did you mean \"fp16\"?"},
        {"swt 1\nop 1 fp16 gem 1\n", "2:11: class of kernel: \"gem\" is none"},
        {"swt 1\nop 1 fp16 gemm 1 r0\n", "2:18: block 0 does not live"},
        {"swt 1\nop 1 fp16 gemm 1 r0@1\n", "2:22: \"+\" and a number of bytes"},
        {"swt 1\nop 1 fp16 gemm 1 q0@0+1\n", "2:18: \"q0@0+1\" is not expected here"},
        {"swt 1\nop 1 fp16 gemm 1 r0@0+1~\n", "2:25: bytes touched: a whole number"},
        {"swt 1\nop 1 fp16 gemm 1 r0@0+1 \n", "2:25: \"\" is not expected here"},
        {"swt 1\nfree 0 = x\n", "2:8: \"=\" is not expected here"},
        {"swt 1\nfree 0 r0@0+1\n", "2:8: \"r0@0+1\" is not expected here"},
        {"swt 1\nstep 0 decod 1 1\n", "2:8: phase: \"decod\" is none; did you mean \"decode\"?"},
        {"swt 1\nstep 4294967296 decode 1 1\n", "2:6: step: 4294967296 is above the limit"},
        {"swt 1\nhost -3\n", "2:6: seconds: is negative"},
        {"swt 1\npredictr0@0+1\n", "2:1: record: \"predictr0@0+1\" is none"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sw_error err = {0};
        CHECK_INT(read_text(bad[i].text, strlen(bad[i].text), &err), -1);
        check_line(&err, bad[i].says);
    }
}

/* A name of 257 bytes; a million and one uses. */
static void limits(void) {
    SW_VEC(char) text = {0};
    sw_error err = {0};
    char line[400];
    int n = snprintf(line, sizeof line, "swt 1\nmark = %0257d\n", 0);
    CHECK_INT(read_text(line, (size_t)n, &err), -1);
    check_line(&err, "2:8: a name is longer than 256 bytes");
    n = snprintf(line, sizeof line, "swt 1\nmark = %0256d\nend 1\n", 0);
    CHECK_INT(read_text(line, (size_t)n, &err), 1);
    CHECK(sw_vec_reserve(&text, 64 + 3 * (1 << 20)));
    n = snprintf(text.v, 64, "swt 1\nblock 0 weight 1\npredict");
    for (int i = 0; i < (1 << 20) + 1; i++) memcpy(text.v + n + i * 3, " r0", 3);
    CHECK_INT(read_text(text.v, (size_t)n + 3 * (1 << 20) + 3, &err), -1);
    check_line(&err, "more than 1 M uses");
    sw_vec_free(&text);
}

/* What cannot be written is refused, and leaves no file. */
static void writer_refuses(void) {
    sw_swt_file *f = NULL;
    sw_error err = {0};
    const char *path = scratch("refused.swt");
    CHECK_INT(sw_swt_open(path, NULL, &f, &err), SW_OK);
    sw_ev_use dead = {.block = 1, .mode = 9, .bytes = 1};
    sw_event bad[] = {
        {.kind = SW_EV_BLOCK, .block = {.id = 0, .layer = -1, .expert = -1, .bytes = 0}},
        {.kind = SW_EV_BLOCK, .block = {.id = 1 << 24, .layer = -1, .expert = -1, .bytes = 1}},
        {.kind = SW_EV_ACCESS, .work = {NAN, 0, 0, 1}},
        {.kind = SW_EV_ACCESS, .work = {INFINITY, 0, 0, 1}},
        {.kind = SW_EV_ACCESS, .work = {1, SW_MATH_COUNT, 0, 1}},
        {.kind = SW_EV_ACCESS, .uses = &dead, .n_uses = 1},
        {.kind = SW_EV_HOST, .host_s = -1},
        {.kind = SW_EV_MARK, .name = "two\nlines"},
        {.kind = (sw_event_kind)99},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_INT(sw_swt_put(f, &bad[i], &err), SW_INPUT);
        check_line(&err, "event 1 cannot be written");
    }
    sw_swt_abort(f);
    CHECK(access(path, F_OK) != 0);
}

static void sniffs(void) {
    const sw_plugin *p = NULL;
    CHECK(!sw_plugin_find(sw_source_table, sw_source_table_n, "source", "swt", (sw_mark){0}, &p,
                          NULL));
    const sw_source_ops *ops = (const sw_source_ops *)p;
    CHECK_INT(ops->sniff("x", "swt 1\n", 6), 100);
    CHECK_INT(ops->sniff("x", "GGUF", 4), 0);
    CHECK_INT(ops->sniff("x", "", 0), 0);
    CHECK(p->flags & SW_SOURCE_IMPORTER);
}

SW_TESTS("swt", {"the page's example", example}, {"freedoms", freedoms},
         {"truncations", truncations}, {"gzip truncations", gzip_truncations},
         {"refusals", refusals}, {"limits", limits}, {"the writer refuses", writer_refuses},
         {"sniffs", sniffs})
