/* What the tests of sources share: a source opened from YAML flow, and its events. */
#ifndef SW_TESTS_STREAM_H
#define SW_TESTS_STREAM_H

#include "../models/models.h"
#include "sim/base/vec.h"
#include "sim/scan.h"
#include "sim/trace.h"

typedef struct stream {
    const sw_source_ops *ops;
    void *so;
    sw_yaml *doc;
    sw_event ev;
    uint64_t seq;
    sw_error err;
    sw_status st;
} stream;

/* Opens a source; false, and s->err, on failure. Close it in either case. */
static inline bool stream_open(stream *s, const char *name, const char *flow, const sw_model *model,
                               const char *path, uint64_t seed) {
    *s = (stream){0};
    const sw_plugin *p;
    sw_source_env env = {.model = model, .path = path, .seed = seed};
    if (sw_plugin_find(sw_source_table, sw_source_table_n, "source", name, (sw_mark){0}, &p,
                       &s->err))
        return false;
    if (sw_yaml_parse(flow, strlen(flow), "test.yaml", &s->doc, &s->err)) return false;
    s->ops = (const sw_source_ops *)p;
    if (sw_plugin_new(p, "workload", sw_yaml_root(s->doc), &s->so, &s->err)) return false;
    return s->ops->open(s->so, &env, &s->err) == SW_OK;
}

/* The next event into s->ev; false at the end (s->st is SW_END) and on failure. */
static inline bool stream_next(stream *s) {
    s->ev = (sw_event){0};
    s->st = s->ops->next(s->so, NULL, &s->ev, &s->err);
    s->seq++;
    return s->st == SW_OK;
}

static inline void stream_close(stream *s) {
    if (s->so) s->ops->close(s->so);
    free(s->so);
    sw_yaml_free(s->doc);
}

/* Scans a source; NULL and *why on failure. */
static inline sw_scan *scan_of(const char *name, const char *flow, const sw_model *model,
                               const char *path, sw_error *why) {
    const sw_plugin *p;
    sw_yaml *doc = NULL;
    sw_scan *scan = NULL;
    sw_source_env env = {.model = model, .path = path, .seed = 1};
    sw_status st =
        sw_plugin_find(sw_source_table, sw_source_table_n, "source", name, (sw_mark){0}, &p, why);
    if (!st) st = sw_yaml_parse(flow, strlen(flow), "test.yaml", &doc, why);
    if (!st) st = sw_scan_run((const sw_source_ops *)p, sw_yaml_root(doc), &env, false, &scan, why);
    sw_yaml_free(doc);
    return st ? NULL : scan;
}

#endif
