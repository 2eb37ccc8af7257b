/* Writing the op log (see oplog.h); reading it is in oplog_read.c. */
#include "sim/report/oplog.h"
#include "sim/base/stream.h"
#include "sim/base/vec.h"
#include <inttypes.h>
#include <stdio.h>

struct sw_oplog {
    sw_writer *w;
    uint64_t n_ops;
};

static const char *const tier_kinds[] = {"vram", "ram", "nvme", "unified"};
static const char *const queue_kinds[] = {"host", "compute", "copy", "io"};
static const char *const res_kinds[] = {"tier", "link", "unit"};
static const char mode_letters[] = "?rwx"; /* by sw_mode */

char *sw_oplog_double(char *buf, double x) {
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buf, 32, "%.*g", digits, x);
        if (strtod(buf, NULL) == x) break;
    }
    return buf;
}

/* The rest of the line: a backslash and control characters are escaped. */
static void put_name(sw_writer *w, const char *name) {
    for (const char *p = name ? name : ""; *p; p++) {
        unsigned char c = (unsigned char)*p;
        if (c < 32 || c == 127 || c == '\\')
            sw_writer_printf(w, "\\x%02x", c);
        else
            sw_writer_put(w, p, 1);
    }
    sw_writer_put(w, "\n", 1);
}

static sw_status begin(void *arg, const sw_topology *t, sw_error *err) {
    sw_writer *w = ((sw_oplog *)arg)->w;
    char buf[32];
    (void)err;
    sw_writer_printf(w, "spillway-oplog %d\nmachine ", SW_OPLOG_VERSION);
    put_name(w, t->name);
    for (int i = 0; i < t->n_tiers; i++) {
        sw_writer_printf(w, "tier %d %s %" PRIu64 " ", i, tier_kinds[t->tiers[i].kind],
                         t->tiers[i].capacity_bytes);
        put_name(w, t->tiers[i].name);
    }
    for (int i = 0; i < t->n_queues; i++) {
        sw_writer_printf(w, "queue %d %s ", i, queue_kinds[t->queues[i].kind]);
        put_name(w, t->queues[i].name);
    }
    for (int i = 0; i < t->n_res; i++) {
        sw_writer_printf(w, "res %d %s %s ", i, res_kinds[t->res[i].kind],
                         sw_oplog_double(buf, t->res[i].rate));
        put_name(w, t->res[i].name);
    }
    return SW_OK;
}

static sw_status placed(void *arg, const sw_block *b, int tier, uint64_t addr, sw_error *err) {
    sw_writer *w = ((sw_oplog *)arg)->w;
    (void)err;
    sw_writer_printf(w, "placed %" PRIu32 " %d %" PRIu64 " %" PRIu64 " ", b->id, tier, addr,
                     b->bytes);
    put_name(w, b->name);
    return SW_OK;
}

static sw_status op(void *arg, const sw_op *o, const sw_done *done, sw_error *err) {
    sw_oplog *log = arg;
    sw_writer *w = log->w;
    char a[32], b[32], c[32];
    (void)err;
    sw_writer_printf(w,
                     "op %" PRIu64 " %s q=%u u=%d step=%" PRIu32 " event=%" PRIu64 " by=%" PRIu64
                     " known=%" PRIu64 " fixed=%s start=%s end=%s after=",
                     o->id, sw_op_kind_name((sw_op_kind)o->kind), o->queue, o->unit, o->step,
                     o->event, o->issued_by, o->needs_known, sw_oplog_double(a, o->fixed_s),
                     sw_oplog_double(b, done->start_s), sw_oplog_double(c, done->end_s));
    for (uint32_t i = 0; i < o->n_after; i++)
        sw_writer_printf(w, "%s%" PRIu64, i ? "," : "", o->after[i]);
    sw_writer_put(w, " uses=", 6);
    for (uint32_t i = 0; i < o->n_uses; i++) {
        const sw_use *u = &o->uses[i];
        sw_writer_printf(w, "%s%c:%" PRIu32 ":%" PRIu32 ":%d:%" PRIu64 ":%" PRIu64 ":%" PRIu64,
                         i ? "," : "", mode_letters[u->mode & 3], u->block, u->version, u->tier,
                         u->addr, u->bytes, u->touched);
    }
    sw_writer_put(w, " name=", 6);
    put_name(w, o->name);
    log->n_ops++;
    return SW_OK;
}

sw_status sw_oplog_open(const char *path, sw_oplog **out, sw_error *err) {
    sw_oplog *log = sw_zalloc(1, sizeof *log);
    if (!log) return sw_fail(err, SW_MEMORY, "out of memory");
    sw_status st = sw_writer_open(path, &log->w, err);
    if (st) {
        free(log);
        return st;
    }
    *out = log;
    return SW_OK;
}

sw_observer sw_oplog_observer(sw_oplog *log) {
    return (sw_observer){log, begin, placed, op};
}

sw_status sw_oplog_commit(sw_oplog *log, sw_error *err) {
    sw_writer_printf(log->w, "end %" PRIu64 "\n", log->n_ops);
    sw_status st = sw_writer_commit(log->w, err);
    free(log);
    return st;
}

void sw_oplog_abort(sw_oplog *log) {
    if (!log) return;
    sw_writer_abort(log->w);
    free(log);
}
