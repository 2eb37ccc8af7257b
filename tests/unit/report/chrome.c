/* Is a Chrome trace valid JSON, in the order of time on each track, and the same run as the ops? */
#include "sim/report/chrome.h"
#include "run.h"
#include "sim/base/json.h"
#include <unistd.h>

typedef struct seen { /* what the run itself said */
    double start_s, end_s;
} seen;

typedef struct ops {
    SW_VEC(seen) list; /* by id - 1 */
    uint64_t n_joins;
} ops;

static sw_status on_op(void *arg, const sw_op *op, const sw_done *done, sw_error *err) {
    ops *o = arg;
    seen s = {done->start_s, done->end_s};
    (void)err;
    o->n_joins += op->kind == SW_OP_JOIN;
    return sw_vec_push(&o->list, s) ? SW_OK : SW_MEMORY;
}

static const char *text(const json_t *o, const char *key) {
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}
static double num(const json_t *o, const char *key) {
    return json_number_value(json_object_get(o, key));
}

static json_t *trace(const sw_scenario *s, ops *o, sw_result *r) {
    char path[] = "/tmp/spillway-chrome-XXXXXX.json";
    int fd = mkstemps(path, 5);
    sw_chrome *c;
    json_t *doc = NULL;
    CHECK(fd >= 0);
    close(fd);
    CHECK_INT(sw_chrome_open(path, &c, NULL), SW_OK);
    sw_observer obs[] = {sw_chrome_observer(c), {.arg = o, .op = on_op}};
    CHECK_INT(run_here(s, obs, 2, r, NULL), SW_OK);
    CHECK_INT(sw_chrome_commit(c, NULL), SW_OK);
    CHECK_INT(sw_json_load(path, &doc, NULL), SW_OK);
    unlink(path);
    return doc;
}

static void slices(const json_t *events, const ops *o) {
    double end_us[SW_QUEUES_MAX] = {0};
    uint64_t n = 0;
    size_t i;
    const json_t *e;
    json_array_foreach(events, i, e) {
        if (strcmp(text(e, "ph"), "X")) continue;
        int q = (int)num(e, "tid");
        const json_t *args = json_object_get(e, "args");
        uint64_t id = (uint64_t)num(args, "op");
        double ts = num(e, "ts"), dur = num(e, "dur");
        n++;
        CHECK(ts >= end_us[q] - 1e-6); /* a queue runs its ops one after another */
        CHECK(dur >= 0);
        end_us[q] = ts + dur;
        CHECK(id >= 1 && id <= o->list.n);
        const seen *s = &o->list.v[id - 1];
        CHECK(fabs(ts * 1e-6 - s->start_s) < 1e-9);
        CHECK(fabs((ts + dur) * 1e-6 - s->end_s) < 2e-9);
        CHECK(json_object_get(args, "bytes") != NULL);
        CHECK(*text(e, "name") && *text(e, "cat"));
    }
    CHECK_INT(n, o->list.n - o->n_joins);
}

static void counters(const json_t *events, const sw_topology *t) {
    double last[SW_TIERS_MAX];
    int points = 0;
    size_t i;
    const json_t *e;
    for (int k = 0; k < SW_TIERS_MAX; k++) last[k] = -1;
    json_array_foreach(events, i, e) {
        char name[64];
        if (strcmp(text(e, "ph"), "C")) continue;
        for (int k = 0; k < t->n_tiers; k++) {
            snprintf(name, sizeof name, "%s bytes", t->tiers[k].name);
            if (strcmp(name, text(e, "name"))) continue;
            double bytes = num(json_object_get(e, "args"), "bytes");
            CHECK(num(e, "ts") >= last[k]);
            CHECK(bytes >= 0 && bytes <= (double)t->tiers[k].capacity_bytes);
            last[k] = num(e, "ts");
            points++;
        }
    }
    CHECK(points > 3);
}

static void arrows(const json_t *events) {
    size_t i;
    const json_t *e;
    double start = -1, id = 0, from = -1;
    int n = 0;
    json_array_foreach(events, i, e) {
        const char *ph = text(e, "ph");
        if (!strcmp(ph, "s")) {
            start = num(e, "ts"), id = num(e, "id"), from = num(e, "tid");
        } else if (!strcmp(ph, "f")) {
            CHECK(num(e, "id") == id);
            CHECK(num(e, "ts") >= start);
            CHECK(num(e, "tid") != from);
            n++;
        }
    }
    CHECK(n > 0);
}

static void whole(void) {
    const char *policies[] = {"prefetch", "demand", "split"};
    for (int p = 0; p < 3; p++) {
        sw_override over = {"policy", policies[p]};
        sw_scenario *s = open_stream(&over, 1);
        ops o = {0};
        sw_result *r = sw_zalloc(1, sizeof *r);
        json_t *doc = trace(s, &o, r);
        const json_t *events = json_object_get(doc, "traceEvents");
        CHECK(json_is_array(events));
        slices(events, &o);
        counters(events, &s->topo);
        if (p == 0) arrows(events);
        int names = 0;
        size_t i;
        const json_t *e;
        json_array_foreach(events, i, e) names += !strcmp(text(e, "name"), "thread_name");
        CHECK_INT(names, s->topo.n_queues);
        json_decref(doc);
        sw_vec_free(&o.list);
        free(r);
        sw_scenario_free(s);
    }
}

SW_TESTS("chrome", {"whole", whole})
