/* Question: is SimGrid still as we know it? Each fact shaped the backend (backends/platform.h,
 * docs/model.md); if a new version changes one, this says which. */
#include "backends/platform.h"
#include "check.h"
#include "child.h"
#include "sim/backend.h"
#include <signal.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/link.h>
#include <simgrid/semaphore.h>
#include <stdlib.h>

extern const sw_backend_ops sw_backend_simgrid;

typedef struct shot { /* what a child is asked and what it found */
    const char *xml;
    bool ours; /* with the backend's settings */
    void (*actors)(void);
    double t[8];
    int order[8], n;
    bool returned;
} shot;

static shot *now; /* inside the child */

static sg_host_t host(const char *name) {
    return sg_host_by_name(name);
}
static void actor(const char *name, const char *at, void (*code)(int, char **)) {
    sg_actor_create(name, host(at), code, 0, NULL);
}

static int platform_fd(const char *body) {
    int fd = memfd_create("platform", 0);
    dprintf(fd,
            "<?xml version='1.0'?><!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">"
            "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\"><host id=\"a\" "
            "speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/>"
            "<host id=\"c\" speed=\"1Gf\"/><host id=\"d\" speed=\"1Gf\"/>%s</zone></platform>",
            body);
    return fd;
}

static void load(const char *body) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", platform_fd(body));
    simgrid_load_platform(path);
}

static void child(void *arg) {
    static char *plain[] = {"test", "--log=root.threshold:critical", NULL};
    now = arg;
    int argc = 2;
    char **argv = now->ours ? sw_platform_argv(&argc) : plain;
    simgrid_init(&argc, argv);
    load(now->xml);
    now->actors();
    simgrid_run();
    now->returned = true;
}

static shot *shoot(const char *xml, bool ours, void (*actors)(void)) {
    shot *s = shared(sizeof *s);
    *s = (shot){.xml = xml, .ours = ours, .actors = actors};
    CHECK_INT(in_child(child, s), 0);
    return s;
}

/* --- the defaults describe TCP ---------------------------------------------------------------- */

#define ONE_LINK                                                                                   \
    "<link id=\"l\" bandwidth=\"25e9Bps\" latency=\"10us\"/><route src=\"a\" dst=\"b\"><link_ctn " \
    "id=\"l\"/></route>"

static void small_copy(int argc, char **argv) {
    (void)argc, (void)argv;
    sg_host_sendto(host("a"), host("b"), 25e3);
    now->t[0] = simgrid_get_clock();
}
static void one_small_copy(void) {
    actor("x", "a", small_copy);
}

static void defaults_describe_tcp(void) {
    CHECK_REL(shoot(ONE_LINK, false, one_small_copy)->t[0], 131e-6,
              0.01); /* latency x 13.01, bandwidth x 0.97 */
    CHECK_REL(shoot(ONE_LINK, true, one_small_copy)->t[0], 11e-6,
              1e-9); /* with our settings: 10 us + 1 us */
}

/* --- flows share in inverse proportion to their latency --------------------------------------- */

static void send_ab(int argc, char **argv) {
    (void)argc, (void)argv;
    sg_host_sendto(host("a"), host("b"), 10e9);
    now->t[0] = simgrid_get_clock();
}
static void send_cd(int argc, char **argv) {
    (void)argc, (void)argv;
    sg_host_sendto(host("c"), host("d"), 10e9);
    now->t[1] = simgrid_get_clock();
}
static void two_sends(void) {
    actor("x", "a", send_ab);
    actor("y", "c", send_cd);
}

static void latency_weighs_in_sharing(void) {
    const char *slow = "<link id=\"s\" bandwidth=\"50e9Bps\" latency=\"0s\"/><link id=\"far\" "
                       "bandwidth=\"1e15Bps\" latency=\"80us\"/>"
                       "<link id=\"near\" bandwidth=\"1e15Bps\" latency=\"5us\"/><route src=\"a\" "
                       "dst=\"b\"><link_ctn id=\"far\"/><link_ctn "
                       "id=\"s\"/></route><route src=\"c\" dst=\"d\"><link_ctn "
                       "id=\"near\"/><link_ctn id=\"s\"/></route>";
    const char *none = "<link id=\"s\" bandwidth=\"50e9Bps\" latency=\"0s\"/><route src=\"a\" "
                       "dst=\"b\"><link_ctn id=\"s\"/></route>"
                       "<route src=\"c\" dst=\"d\"><link_ctn id=\"s\"/></route>";
    shot *s = shoot(slow, true, two_sends);
    CHECK_REL(s->t[0], 0.400, 0.001);
    CHECK_REL(s->t[1], 0.2125, 0.001);
    s = shoot(none, true, two_sends);
    CHECK_REL(s->t[0], 0.4, 1e-9);
    CHECK_REL(s->t[1], 0.4, 1e-9);
}

/* --- the loopback
 * ------------------------------------------------------------------------------------------------- *
 *  *
 *  ------------------------------------------------------------------------------------------------- */

static void send_aa(int argc, char **argv) {
    (void)argc, (void)argv;
    sg_host_sendto(host("a"), host("a"), 10e9);
    now->t[0] = simgrid_get_clock();
}
static void one_loop(void) {
    actor("x", "a", send_aa);
}

static void loopback_has_a_speed_of_its_own(void) {
    CHECK_REL(shoot(ONE_LINK, true, one_loop)->t[0], 1.0, 0.01); /* 10 GB/s */
}

/* --- a link named twice ----------------------------------------------------------------------- */

static void a_link_named_twice_is_used_twice(void) {
    const char *xml =
        "<link id=\"l\" bandwidth=\"10e9Bps\" latency=\"0s\"/><route src=\"a\" dst=\"b\" "
        "symmetrical=\"NO\"><link_ctn id=\"l\"/>"
        "<link_ctn id=\"l\"/></route><route src=\"c\" dst=\"d\"><link_ctn id=\"l\"/></route>";
    shot *s = shoot(
        xml, true,
        two_sends); /* rates r and r with 2 r + r = 10 GB/s; then 10 GB/s (c-d) or 5 (a-b) alone */
    CHECK_REL(s->t[0], 3.0, 1e-9);
    CHECK_REL(s->t[1], 3.0, 1e-9);
}

/* --- deadlock, waking order, short sleeps ----------------------------------------------------- */

static void wait_for_ever(int argc, char **argv) {
    (void)argc, (void)argv;
    sg_sem_acquire(sg_sem_init(0));
}
static void one_waiter(void) {
    actor("x", "a", wait_for_ever);
}

static void deadlock_returns_normally(void) {
    CHECK(shoot(ONE_LINK, true, one_waiter)->returned);
}

static void sleep_one(int argc, char **argv) {
    (void)argc;
    int me = atoi(argv[1]);
    sg_actor_sleep_for(1);
    now->order[now->n++] = me;
}
static void eight_sleepers(void) {
    for (int i = 0; i < 8; i++) {
        char n[8], *argv[] = {"s", n, NULL};
        snprintf(n, sizeof n, "%d", i);
        sg_actor_create("s", host("a"), sleep_one, 2, argv);
    }
}

static void one_instant_wakes_in_reverse(void) {
    shot *s = shoot(ONE_LINK, true, eight_sleepers);
    CHECK_INT(s->n, 8);
    for (int i = 0; i < 8; i++) CHECK_INT(s->order[i], 7 - i);
}

static void sleep_short(int argc, char **argv) {
    (void)argc, (void)argv;
    sg_actor_sleep_for(1e-10);
    now->t[0] = simgrid_get_clock();
}
static void one_short_sleep(void) {
    actor("x", "a", sleep_short);
}

static void short_sleeps_stay_within_a_nanosecond(void) {
    double t = shoot(ONE_LINK, true, one_short_sleep)->t[0];
    CHECK(t >= 0 && t <= 1e-9 + 1e-15);
}

/* --- what aborts ------------------------------------------------------------------------------ */

static void load_twice(void *arg) {
    (void)arg;
    int argc;
    char **argv = sw_platform_argv(&argc);
    simgrid_init(&argc, argv);
    load(ONE_LINK);
    load(ONE_LINK);
}
static void bad_key(void *arg) {
    (void)arg;
    char *argv[] = {"test", "--cfg=no/such:key", NULL};
    int argc = 2;
    simgrid_init(&argc, argv);
}
static void no_file(void *arg) {
    (void)arg;
    char *argv[] = {"test", NULL};
    int argc = 1;
    simgrid_init(&argc, argv);
    simgrid_load_platform("/nowhere/at/all.xml");
}

static void mistakes_end_the_process(void) {
    CHECK(in_child(load_twice, NULL) != 0);
    CHECK(in_child(bad_key, NULL) != 0);
    CHECK(in_child(no_file, NULL) != 0);
}

/* --- our backend: a run that stalls is an error that names the ops ---------------------------- */

typedef struct stall {
    sw_status status;
    char text[256];
} stall;

static sw_status never(void *arg, sw_error *err) {
    void *be = arg;
    sw_op op = {.id = 1, .kind = SW_OP_DELAY, .fixed_s = 1, .name = "only", .unit = -1};
    sw_done done[8];
    uint32_t n;
    SW_TRY(sw_backend_simgrid.submit(be, &op, 1, err));
    return sw_backend_simgrid.wait(be, 2, done, 8, &n, err); /* there is no second op */
}

static void stall_child(void *arg) {
    stall *s = arg;
    sw_topology t;
    sw_error err = {0};
    sw_topology_simple(&t, 1e12, 1 << 30, 1e10, 5e10, 1 << 30, 5e9, 1e14, 1e12);
    void *be = calloc(1, sw_backend_simgrid.plugin.ctx_bytes);
    s->status = sw_backend_simgrid.open(be, &t, &err);
    if (!s->status) s->status = sw_backend_simgrid.run(be, never, be, &err);
    snprintf(s->text, sizeof s->text, "%.200s", err.text);
}

static void a_stall_is_reported(void) {
    stall *s = shared(sizeof *s);
    CHECK_INT(in_child(stall_child, s), 0);
    CHECK_INT(s->status, SW_RUN);
    CHECK(strstr(s->text, "stalled: 1 of 1 ops ended") != NULL);
}

SW_TESTS("simgrid facts", {"the defaults describe TCP", defaults_describe_tcp},
         {"latency weighs in sharing", latency_weighs_in_sharing},
         {"the loopback has a speed of its own", loopback_has_a_speed_of_its_own},
         {"a link named twice is used twice", a_link_named_twice_is_used_twice},
         {"a deadlock returns normally", deadlock_returns_normally},
         {"one instant wakes in reverse", one_instant_wakes_in_reverse},
         {"short sleeps stay within a nanosecond", short_sleeps_stay_within_a_nanosecond},
         {"mistakes end the process", mistakes_end_the_process},
         {"a stall is reported", a_stall_is_reported})
