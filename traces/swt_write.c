/* Writing traces (see swt_write.h). Numbers are printed by hand: a trace has millions. */
#include "traces/swt_write.h"
#include "sim/base/json.h"
#include "traces/swt.h"
#include <math.h>

enum { LINE_MAX_BYTES = 16 << 20, USE_BYTES = 96 };

/* --- pieces of a line; room is reserved before ------------------------------------------------ */

static void put(sw_swt_text *t, const char *s, size_t n) {
    memcpy(t->buf.v + t->buf.n, s, n);
    t->buf.n += n;
}

static void word(sw_swt_text *t, const char *s) {
    put(t, s, strlen(s));
}

static void number(sw_swt_text *t, uint64_t x) {
    char digits[20], *p = digits + sizeof digits;
    do *--p = (char)('0' + x % 10);
    while (x /= 10);
    put(t, p, (size_t)(digits + sizeof digits - p));
}

static void item(sw_swt_text *t, const char *key, uint64_t x) {
    word(t, key);
    number(t, x);
}

/* The shortest text that reads back to the bit. */
static void real(sw_swt_text *t, double x) {
    char buf[40];
    if (x >= 0 && x < 0x1p53 && x == floor(x) && !signbit(x))
        number(t, (uint64_t)x);
    else
        word(t, sw_json_double(buf, x));
}

static void use(sw_swt_text *t, const sw_ev_use *u) {
    char mode[2] = {' ', sw_swt_modes[u->mode]};
    put(t, mode, 2);
    number(t, u->block);
    uint64_t whole = u->block < t->bytes.n ? t->bytes.v[u->block] : 0;
    if (!whole || u->offset || u->bytes != whole) {
        item(t, "@", u->offset);
        item(t, "+", u->bytes);
    }
    if (u->touched != u->bytes) item(t, "~", u->touched);
}

/* --- events ----------------------------------------------------------------------------------- */

static sw_status cannot(const sw_swt_text *t, const char *why, sw_error *err) {
    return sw_fail(err, SW_INPUT, "event %llu cannot be written: %s",
                   (unsigned long long)t->n_events + 1, why);
}

static const char *bad_block(const sw_block *b, bool whole) {
    if (b->id >= SW_SWT_IDS) return "a block id over 16 M";
    if (!whole) return NULL;
    if ((unsigned)b->kind >= SW_SWT_KINDS) return "no known kind of block";
    if (b->bytes == 0) return "a block without bytes";
    if (b->layer < -1 || b->layer >= SW_SWT_LAYERS || b->expert < -1 || b->expert >= SW_SWT_LAYERS)
        return "a layer or expert out of range";
    return b->name ? sw_swt_name_bad(b->name, strlen(b->name)) : NULL;
}

static const char *bad_uses(const sw_event *ev) {
    if (ev->n_uses > SW_SWT_USES) return "more than 1 M uses";
    for (uint32_t i = 0; i < ev->n_uses; i++) {
        if (ev->uses[i].block >= SW_SWT_IDS) return "a block id over 16 M";
        if (ev->uses[i].mode < SW_READ || ev->uses[i].mode > SW_RW) return "no known mode of use";
    }
    return NULL;
}

/* Why the event cannot be written, or NULL. */
static const char *bad(const sw_event *ev) {
    const char *why;
    switch (ev->kind) {
    case SW_EV_BLOCK:
    case SW_EV_ALLOC:
        return bad_block(&ev->block, true);
    case SW_EV_FREE:
        return bad_block(&ev->block, false);
    case SW_EV_ACCESS:
        if (!(ev->work.flops >= 0) || isinf(ev->work.flops)) return "flops that are no number";
        if (ev->work.math >= SW_MATH_COUNT || ev->work.cls >= SW_CLASS_COUNT)
            return "no known format or class";
        if ((why = bad_uses(ev))) return why;
        break;
    case SW_EV_STEP:
        if ((unsigned)ev->phase >= SW_SWT_PHASES) return "no known phase";
        break;
    case SW_EV_PREDICT:
        if ((why = bad_uses(ev))) return why;
        break;
    case SW_EV_HOST:
        if (!(ev->host_s >= 0) || isinf(ev->host_s)) return "seconds that are no number";
        break;
    case SW_EV_MARK:
        break;
    default:
        return "no known kind of event";
    }
    return ev->name ? sw_swt_name_bad(ev->name, strlen(ev->name)) : NULL;
}

static const char *block(sw_swt_text *t, const sw_event *ev) {
    const sw_block *b = &ev->block;
    item(t, ev->kind == SW_EV_BLOCK ? "block " : "alloc ", b->id);
    word(t, " ");
    word(t, sw_swt_kinds[b->kind]);
    item(t, " ", b->bytes);
    if (b->layer >= 0) item(t, " layer=", (uint64_t)b->layer);
    if (b->expert >= 0) item(t, " expert=", (uint64_t)b->expert);
    t->bytes.v[b->id] = b->bytes;
    return b->name;
}

/* Writes all but what every kind may carry; returns the name. */
static const char *body(sw_swt_text *t, const sw_event *ev) {
    switch (ev->kind) {
    case SW_EV_BLOCK:
    case SW_EV_ALLOC:
        return block(t, ev);
    case SW_EV_FREE:
        item(t, "free ", ev->block.id);
        if (ev->block.id < t->bytes.n) t->bytes.v[ev->block.id] = 0;
        return NULL;
    case SW_EV_ACCESS:
        word(t, "op ");
        real(t, ev->work.flops);
        word(t, " ");
        word(t, sw_swt_maths[ev->work.math]);
        word(t, " ");
        word(t, sw_swt_classes[ev->work.cls]);
        item(t, " ", ev->work.launches);
        if (ev->gather) word(t, " gather");
        if (ev->makes_known) word(t, " makes_known");
        return ev->name;
    case SW_EV_STEP:
        item(t, "step ", ev->step);
        word(t, " ");
        word(t, sw_swt_phases[ev->phase]);
        item(t, " ", ev->tokens);
        item(t, " ", ev->outputs);
        return ev->name;
    case SW_EV_PREDICT:
        word(t, "predict");
        return ev->name;
    case SW_EV_HOST:
        word(t, "host ");
        real(t, ev->host_s);
        return ev->name;
    case SW_EV_MARK:
    default: /* refused by bad() */
        break;
    }
    word(t, "mark");
    return ev->name;
}

sw_status sw_swt_event(sw_swt_text *t, const sw_event *ev, sw_error *err) {
    const char *why = bad(ev);
    if (why) return cannot(t, why, err);
    bool declares = ev->kind == SW_EV_BLOCK || ev->kind == SW_EV_ALLOC;
    bool uses = ev->kind == SW_EV_ACCESS || ev->kind == SW_EV_PREDICT;
    size_t start = t->buf.n, need = 512 + SW_SWT_NAME + (uses ? ev->n_uses : 0) * (size_t)USE_BYTES;
    while (declares && t->bytes.n <= ev->block.id)
        if (!sw_vec_push(&t->bytes, 0)) return sw_fail(err, SW_MEMORY, "out of memory");
    if (!sw_vec_reserve(&t->buf, start + need)) return sw_fail(err, SW_MEMORY, "out of memory");
    const char *name = body(t, ev);
    if (ev->known_after) item(t, " known_after=", ev->known_after);
    for (uint32_t i = 0; uses && i < ev->n_uses; i++) use(t, &ev->uses[i]);
    if (name) {
        word(t, " = ");
        word(t, name);
    }
    word(t, "\n");
    if (t->buf.n - start > LINE_MAX_BYTES) {
        t->buf.n = start;
        return cannot(t, "its line would be longer than 16 MiB", err);
    }
    t->n_events++;
    return SW_OK;
}

static sw_status line(sw_swt_text *t, const char *before, uint64_t x, const char *comment,
                      sw_error *err) {
    size_t n = comment ? strcspn(comment, "\r\n") : 0;
    if (!sw_vec_reserve(&t->buf, t->buf.n + 64 + n))
        return sw_fail(err, SW_MEMORY, "out of memory");
    item(t, before, x);
    word(t, "\n");
    if (comment) {
        word(t, "# ");
        put(t, comment, n);
        word(t, "\n");
    }
    return SW_OK;
}

sw_status sw_swt_begin(sw_swt_text *t, const char *comment, sw_error *err) {
    return line(t, "swt ", SW_SWT_VERSION, comment, err);
}

sw_status sw_swt_end(sw_swt_text *t, sw_error *err) {
    return line(t, "end ", t->n_events, NULL, err);
}

void sw_swt_text_free(sw_swt_text *t) {
    sw_vec_free(&t->buf);
    sw_vec_free(&t->bytes);
}

/* --- files ------------------------------------------------------------------------------------ */

struct sw_swt_file {
    sw_writer *w;
    sw_swt_text text;
};

static void flush(sw_swt_file *f) {
    sw_writer_put(f->w, f->text.buf.v, f->text.buf.n);
    f->text.buf.n = 0;
}

sw_status sw_swt_open(const char *path, const char *comment, sw_swt_file **out, sw_error *err) {
    sw_swt_file *f = sw_zalloc(1, sizeof *f);
    if (!f) return sw_fail(err, SW_MEMORY, "out of memory");
    sw_status st = sw_writer_open(path, &f->w, err);
    if (!st) st = sw_swt_begin(&f->text, comment, err);
    if (st)
        sw_swt_abort(f);
    else
        *out = f;
    return st;
}

sw_status sw_swt_put(sw_swt_file *f, const sw_event *ev, sw_error *err) {
    SW_TRY(sw_swt_event(&f->text, ev, err));
    if (f->text.buf.n >= 64 << 10) flush(f);
    return SW_OK;
}

sw_status sw_swt_commit(sw_swt_file *f, sw_error *err) {
    sw_status st = sw_swt_end(&f->text, err);
    if (!st) {
        flush(f);
        st = sw_writer_commit(f->w, err);
        f->w = NULL;
    }
    sw_swt_abort(f);
    return st;
}

void sw_swt_abort(sw_swt_file *f) {
    if (!f) return;
    if (f->w) sw_writer_abort(f->w);
    sw_swt_text_free(&f->text);
    free(f);
}

sw_status sw_swt_record(const sw_source_ops *ops, const sw_node *map, const sw_source_env *env,
                        const char *path, const char *comment, sw_error *err) {
    void *so = NULL;
    sw_swt_file *f = NULL;
    if (ops->plugin.flags & SW_SOURCE_CLOSED_LOOP)
        return sw_fail(err, SW_INPUT, "%s makes its events up as it goes: record it while it runs",
                       ops->plugin.name);
    SW_TRY(sw_plugin_new(&ops->plugin, "workload", map, &so, err));
    sw_status st = ops->open(so, env, err);
    if (!st) st = sw_swt_open(path, comment, &f, err);
    while (!st) {
        sw_event ev = {0};
        st = ops->next(so, NULL, &ev, err);
        if (!st) st = sw_swt_put(f, &ev, err);
    }
    ops->close(so);
    free(so);
    if (st == SW_END) return sw_swt_commit(f, err);
    sw_swt_abort(f);
    return st;
}
