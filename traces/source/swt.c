/* swt: Spillway's own trace format, text, version 1, plain or gzip (docs/trace-format.md).
 *
 * One record a line; read in one pass with a scanner written by hand, since traces have millions of
 * records. The text is untrusted: every number is checked against its range, every list against its
 * limit, and an error names line and column. Whether blocks live when they are used is checked by
 * sim/scan.c, as for every source; the reader only knows the sizes of living blocks, which a use of
 * a whole block leaves out. */
#include "traces/swt.h"
#include "sim/base/stream.h"
#include "sim/base/vec.h"

typedef struct slot {
    const char *text; /* interned; NULL: empty */
    uint32_t hash, bytes;
} slot;

typedef struct ctx {
    sw_reader *r;
    char *line;
    const char *at; /* where in the line */
    uint64_t n_events, n_blocks;
    bool ended;
    SW_VEC(uint64_t) bytes; /* by id, of living blocks; 0: none */
    SW_VEC(sw_ev_use) uses;
    slot *names; /* those seen so far: open addressing, a power of two */
    size_t n_names, names_cap, name_text;
    sw_error *err;
} ctx;

#define FAIL(c, ...) sw_fail_at((c)->err, SW_INPUT, here(c), NULL, __VA_ARGS__)

static sw_mark here(const ctx *c) {
    sw_mark m = sw_reader_mark(c->r);
    m.col = (int)(c->at - c->line) + 1;
    return m;
}

/* The word at hand for a message, in 40 printable bytes. */
typedef struct shown {
    char text[44];
} shown;

static shown show(const ctx *c, const char *until) {
    shown s = {0};
    size_t n = strcspn(c->at, until);
    for (size_t i = 0; i < n && i < 40; i++)
        s.text[i] = c->at[i] < 32 || c->at[i] > 126 ? '?' : c->at[i];
    return s;
}

/* --- numbers, words, names -------------------------------------------------------------------- */

static sw_status whole(ctx *c, uint64_t max, const char *what, uint64_t *out) {
    const char *start = c->at, *p = start;
    uint64_t x = 0;
    for (; *p >= '0' && *p <= '9'; p++) {
        if (p - start >= 19) { /* may not fit any more */
            uint64_t digit = (uint64_t)(*p - '0');
            if (x > (UINT64_MAX - digit) / 10) return FAIL(c, "%s: the number is too large", what);
        }
        x = x * 10 + (uint64_t)(*p - '0');
    }
    if (p == start) return FAIL(c, "%s: a whole number is expected here", what);
    if (x > max)
        return FAIL(c, "%s: %llu is above the limit of %llu", what, (unsigned long long)x,
                    (unsigned long long)max);
    c->at = p;
    *out = x;
    return SW_OK;
}

/* A finite decimal number, not negative; strtod alone would also take "nan" and hexadecimal. */
static sw_status real(ctx *c, const char *what, double *out) {
    size_t digits = strspn(c->at, "0123456789"), n = digits;
    char buf[64], *end;
    if (digits && digits <= 15 && (c->at[digits] == ' ' || !c->at[digits])) {
        uint64_t x = 0;
        for (size_t i = 0; i < digits; i++) x = x * 10 + (uint64_t)(c->at[i] - '0');
        c->at += digits;
        *out = (double)x;
        return SW_OK;
    }
    n = strspn(c->at, "+-.0123456789eE");
    if (n == 0 || n >= sizeof buf) return FAIL(c, "%s: a number is expected here", what);
    memcpy(buf, c->at, n);
    buf[n] = 0;
    double x = strtod(buf, &end);
    if (*end || !(x - x == 0)) return FAIL(c, "%s: a finite number is expected here", what);
    if (x < 0) return FAIL(c, "%s: is negative", what);
    c->at += n;
    *out = x;
    return SW_OK;
}

static bool skip(ctx *c, const char *text, size_t n) {
    if (strncmp(c->at, text, n)) return false;
    c->at += n;
    return true;
}
#define SKIP(c, text) skip((c), (text), sizeof(text) - 1)

static sw_status space(ctx *c) {
    if (*c->at != ' ') return FAIL(c, "a space is expected here");
    c->at++;
    return SW_OK;
}

static sw_status word(ctx *c, const char *const *words, int n, const char *what, int *out) {
    size_t len = strcspn(c->at, " ");
    for (int i = 0; i < n; i++)
        if (words[i][0] == c->at[0] && strlen(words[i]) == len && !memcmp(words[i], c->at, len)) {
            c->at += len;
            *out = i;
            return SW_OK;
        }
    shown got = show(c, " ");
    const char *near = sw_nearest(got.text, words, (size_t)n);
    return FAIL(c, "%s: \"%s\" is none%s%s%s", what, got.text, near ? "; did you mean \"" : "",
                near ? near : "", near ? "\"?" : "");
}

static bool more_names(ctx *c) {
    size_t cap = c->names_cap ? c->names_cap * 2 : 256;
    slot *names = sw_zalloc(cap, sizeof *names);
    if (!names) return false;
    for (size_t i = 0; i < c->names_cap; i++) {
        if (!c->names[i].text) continue;
        size_t k = c->names[i].hash & (cap - 1);
        while (names[k].text) k = (k + 1) & (cap - 1);
        names[k] = c->names[i];
    }
    free(c->names);
    c->names = names;
    c->names_cap = cap;
    return true;
}

/* The rest of the line, interned. A file names few things, many times: they are looked up in a
 * table of its own, without a lock. */
static sw_status name(ctx *c, const char **out) {
    uint32_t h = 2166136261u;
    size_t n = 0;
    for (; c->at[n]; n++) h = (h ^ (unsigned char)c->at[n]) * 16777619u;
    if (c->n_names * 2 >= c->names_cap && !more_names(c))
        return sw_fail(c->err, SW_MEMORY, "out of memory");
    size_t k = h & (c->names_cap - 1);
    for (; c->names[k].text; k = (k + 1) & (c->names_cap - 1))
        if (c->names[k].hash == h && c->names[k].bytes == n &&
            !memcmp(c->names[k].text, c->at, n)) {
            c->at += n;
            *out = c->names[k].text;
            return SW_OK;
        }
    const char *why = sw_swt_name_bad(c->at, n);
    if (why) return FAIL(c, "%s", why);
    if (c->n_names >= SW_SWT_NAMES || c->name_text + n > SW_SWT_NAME_TEXT)
        return FAIL(c, "more than 1 M different names, or 64 MiB of them");
    const char *text = sw_intern(c->at);
    if (!text) return sw_fail(c->err, SW_MEMORY, "out of memory");
    c->names[k] = (slot){text, h, (uint32_t)n};
    c->n_names++;
    c->name_text += n;
    c->at += n;
    *out = text;
    return SW_OK;
}

/* --- what may follow a record's own fields ---------------------------------------------------- */

enum { LAYER = 1, EXPERT = 2, GATHER = 4, TELLS = 8, KNOWN = 16, USES = 32 };

/* MODE BLOCK [@OFFSET+BYTES] [~TOUCHED] */
static sw_status use(ctx *c) {
    sw_ev_use u = {.mode = *c->at == 'r' ? SW_READ : *c->at == 'w' ? SW_WRITE : SW_RW};
    uint64_t id;
    const char *start = c->at++;
    SW_TRY(whole(c, SW_SWT_IDS - 1, "block", &id));
    u.block = (uint32_t)id;
    if (*c->at == '@') {
        c->at++;
        SW_TRY(whole(c, UINT64_MAX, "offset", &u.offset));
        if (*c->at != '+') return FAIL(c, "\"+\" and a number of bytes are expected here");
        c->at++;
        SW_TRY(whole(c, UINT64_MAX, "bytes", &u.bytes));
    } else {
        u.bytes = id < c->bytes.n ? c->bytes.v[id] : 0;
        if (!u.bytes) {
            c->at = start;
            return FAIL(c, "block %u does not live, so its size is not known", u.block);
        }
    }
    u.touched = u.bytes;
    if (*c->at == '~') {
        c->at++;
        SW_TRY(whole(c, UINT64_MAX, "bytes touched", &u.touched));
    }
    if (c->uses.n == SW_SWT_USES) return FAIL(c, "more than 1 M uses in one event");
    if (!sw_vec_push(&c->uses, u)) return sw_fail(c->err, SW_MEMORY, "out of memory");
    return SW_OK;
}

static sw_status one_item(ctx *c, unsigned allowed, unsigned *seen, sw_event *ev) {
    uint64_t x;
    unsigned what = 0;
    const char *start = c->at;
    if (SKIP(c, "known_after=")) {
        what = KNOWN;
        SW_TRY(whole(c, UINT64_MAX, "known_after", &ev->known_after));
    } else if (allowed & GATHER && SKIP(c, "gather")) {
        what = GATHER;
        ev->gather = true;
    } else if (allowed & TELLS && SKIP(c, "makes_known")) {
        what = TELLS;
        ev->makes_known = true;
    } else if (allowed & LAYER && SKIP(c, "layer=")) {
        what = LAYER;
        SW_TRY(whole(c, SW_SWT_LAYERS - 1, "layer", &x));
        ev->block.layer = (int32_t)x;
    } else if (allowed & EXPERT && SKIP(c, "expert=")) {
        what = EXPERT;
        SW_TRY(whole(c, SW_SWT_LAYERS - 1, "expert", &x));
        ev->block.expert = (int32_t)x;
    } else {
        return FAIL(c, "\"%s\" is not expected here", show(c, " ").text);
    }
    if (*seen & what) {
        c->at = start;
        return FAIL(c, "\"%s\" comes twice", show(c, " =").text);
    }
    *seen |= what;
    return SW_OK;
}

static sw_status items(ctx *c, unsigned allowed, const char **text, sw_event *ev) {
    unsigned seen = 0;
    while (*c->at) {
        SW_TRY(space(c));
        bool digit = c->at[0] && c->at[1] >= '0' && c->at[1] <= '9';
        if (digit && allowed & USES && (*c->at == 'r' || *c->at == 'w' || *c->at == 'x')) {
            SW_TRY(use(c));
        } else if (text && c->at[0] == '=' && c->at[1] == ' ') {
            c->at += 2;
            return name(c, text);
        } else {
            SW_TRY(one_item(c, allowed, &seen, ev));
        }
    }
    return SW_OK;
}

/* --- records ---------------------------------------------------------------------------------- */

static sw_status block_line(ctx *c, sw_event *ev, bool is_static) {
    uint64_t id;
    int kind = 0;
    const char *start = c->at;
    ev->kind = is_static ? SW_EV_BLOCK : SW_EV_ALLOC;
    SW_TRY(whole(c, SW_SWT_IDS - 1, "block", &id));
    if (id > 2 * c->n_blocks + 65536) {
        c->at = start;
        return FAIL(c, "block %llu is far beyond the number of blocks so far: ids are dense from 0",
                    (unsigned long long)id);
    }
    SW_TRY(space(c));
    SW_TRY(word(c, sw_swt_kinds, SW_SWT_KINDS, "kind of block", &kind));
    SW_TRY(space(c));
    ev->block = (sw_block){(uint32_t)id, (sw_block_kind)kind, -1, -1, 0, NULL};
    start = c->at;
    SW_TRY(whole(c, UINT64_MAX, "bytes", &ev->block.bytes));
    if (!ev->block.bytes) {
        c->at = start;
        return FAIL(c, "a block without bytes");
    }
    SW_TRY(items(c, LAYER | EXPERT, &ev->block.name, ev));
    while (c->bytes.n <= id)
        if (!sw_vec_push(&c->bytes, 0)) return sw_fail(c->err, SW_MEMORY, "out of memory");
    c->bytes.v[id] = ev->block.bytes;
    c->n_blocks++;
    return SW_OK;
}

static sw_status free_line(ctx *c, sw_event *ev) {
    uint64_t id;
    ev->kind = SW_EV_FREE;
    SW_TRY(whole(c, SW_SWT_IDS - 1, "block", &id));
    ev->block.id = (uint32_t)id;
    if (id < c->bytes.n) c->bytes.v[id] = 0;
    return items(c, 0, NULL, ev);
}

static sw_status op_line(ctx *c, sw_event *ev) {
    uint64_t launches;
    int math = 0, cls = 0;
    ev->kind = SW_EV_ACCESS;
    SW_TRY(real(c, "flops", &ev->work.flops));
    SW_TRY(space(c));
    SW_TRY(word(c, sw_swt_maths, SW_MATH_COUNT, "number format", &math));
    SW_TRY(space(c));
    SW_TRY(word(c, sw_swt_classes, SW_CLASS_COUNT, "class of kernel", &cls));
    SW_TRY(space(c));
    SW_TRY(whole(c, UINT32_MAX, "launches", &launches));
    ev->work.math = (uint8_t)math;
    ev->work.cls = (uint8_t)cls;
    ev->work.launches = (uint32_t)launches;
    return items(c, GATHER | TELLS | USES, &ev->name, ev);
}

static sw_status step_line(ctx *c, sw_event *ev) {
    uint64_t step;
    int phase = 0;
    ev->kind = SW_EV_STEP;
    SW_TRY(whole(c, UINT32_MAX, "step", &step));
    SW_TRY(space(c));
    SW_TRY(word(c, sw_swt_phases, SW_SWT_PHASES, "phase", &phase));
    SW_TRY(space(c));
    SW_TRY(whole(c, UINT64_MAX, "tokens", &ev->tokens));
    SW_TRY(space(c));
    SW_TRY(whole(c, UINT64_MAX, "outputs", &ev->outputs));
    ev->step = (uint32_t)step;
    ev->phase = (sw_phase)phase;
    return items(c, 0, &ev->name, ev);
}

static sw_status end_line(ctx *c) {
    uint64_t n;
    const char *start = c->at;
    SW_TRY(whole(c, UINT64_MAX, "number of events", &n));
    if (*c->at) return FAIL(c, "nothing may follow");
    if (n != c->n_events) {
        c->at = start;
        return FAIL(c, "%llu events are promised, %llu came", (unsigned long long)n,
                    (unsigned long long)c->n_events);
    }
    c->ended = true;
    return SW_OK;
}

static sw_status record(ctx *c, sw_event *ev) {
    static const char *const records[] = {"block", "alloc",   "free", "op",  "step",
                                          "host",  "predict", "mark", "end", "#"};
    c->uses.n = 0;
    if (SKIP(c, "op ")) return op_line(c, ev);
    if (SKIP(c, "alloc ")) return block_line(c, ev, false);
    if (SKIP(c, "free ")) return free_line(c, ev);
    if (SKIP(c, "block ")) return block_line(c, ev, true);
    if (SKIP(c, "step ")) return step_line(c, ev);
    if (SKIP(c, "host ")) {
        ev->kind = SW_EV_HOST;
        SW_TRY(real(c, "seconds", &ev->host_s));
        return items(c, 0, &ev->name, ev);
    }
    if (!strncmp(c->at, "predict", 7) && (!c->at[7] || c->at[7] == ' ')) {
        c->at += 7;
        ev->kind = SW_EV_PREDICT;
        return items(c, USES, &ev->name, ev);
    }
    if (!strncmp(c->at, "mark", 4) && (!c->at[4] || c->at[4] == ' ')) {
        c->at += 4;
        ev->kind = SW_EV_MARK;
        return items(c, 0, &ev->name, ev);
    }
    int i;
    return word(c, records, sizeof records / sizeof *records, "record", &i)
               ? SW_INPUT
               : FAIL(c, "a space and the record's fields are expected here");
}

/* --- the source ------------------------------------------------------------------------------- */

static int swt_sniff(const char *path, const void *head, size_t bytes) {
    (void)path;
    return bytes >= 4 && !memcmp(head, "swt ", 4) ? 100 : 0;
}

static sw_status swt_open(void *so, const sw_source_env *env, sw_error *err) {
    ctx *c = so;
    size_t n;
    uint64_t version;
    if (!env->path) return sw_fail(err, SW_INPUT, "workload: swt reads a file: trace: FILE");
    SW_TRY(sw_reader_open(env->path, &c->r, err));
    sw_status st = sw_reader_line(c->r, &c->line, &n, err);
    if (st == SW_END) return sw_fail(err, SW_INPUT, "%s: is empty", env->path);
    SW_TRY(st);
    c->err = err;
    c->at = c->line;
    if (!SKIP(c, "swt ")) return FAIL(c, "a trace begins with \"swt 1\"");
    SW_TRY(whole(c, UINT64_MAX, "version", &version));
    if (version != SW_SWT_VERSION)
        return FAIL(c, "version %llu; this program reads version %d", (unsigned long long)version,
                    SW_SWT_VERSION);
    if (*c->at) return FAIL(c, "nothing may follow the version");
    return SW_OK;
}

static sw_status swt_next(void *so, const sw_feedback *fb, sw_event *ev, sw_error *err) {
    ctx *c = so;
    size_t n;
    (void)fb;
    c->err = err;
    for (;;) {
        sw_status st = sw_reader_line(c->r, &c->line, &n, err);
        if (st == SW_END && !c->ended)
            return sw_fail_at(err, SW_INPUT, sw_reader_mark(c->r), NULL,
                              "the trace is broken off: its last line, \"end\", is missing");
        SW_TRY(st);
        c->at = c->line;
        if (*c->at == '#' || !*c->at) continue;
        if (c->ended) return FAIL(c, "nothing may follow \"end\"");
        if (SKIP(c, "end ")) {
            SW_TRY(end_line(c));
            continue;
        }
        *ev = (sw_event){0};
        SW_TRY(record(c, ev));
        ev->uses = c->uses.v;
        ev->n_uses = (uint32_t)c->uses.n;
        c->n_events++;
        return SW_OK;
    }
}

static void swt_close(void *so) {
    ctx *c = so;
    sw_reader_close(c->r);
    sw_vec_free(&c->bytes);
    sw_vec_free(&c->uses);
    free(c->names);
}

const sw_source_ops sw_source_swt = {
    .plugin =
        {.name = "swt",
         .summary = "Spillway's own trace format, text, plain or gzip",
         .doc =
             "Reads a recorded stream of events (docs/trace-format.md): what `spillway trace gen` "
             "writes, and what other programs may write.",
         .flags = SW_SOURCE_IMPORTER,
         .ctx_bytes = sizeof(ctx)},
    .sniff = swt_sniff,
    .open = swt_open,
    .next = swt_next,
    .close = swt_close,
};
