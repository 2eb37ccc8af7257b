/* A topology as a SimGrid platform (see platform.h). */
#include "backends/platform.h"
#include <errno.h>
#include <simgrid/engine.h>
#include <simgrid/version.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The defaults describe TCP over a network. One table, since keys are renamed between versions. */
static char *settings[] = {
    "spillway-worker",
    "--cfg=network/model:CM02",         /* no slow start, no bandwidth or latency factors of LV08 */
    "--cfg=network/crosstraffic:0",     /* the other direction is not slowed by acknowledgements */
    "--cfg=network/TCP-gamma:0",        /* no window limit */
    "--cfg=network/bandwidth-factor:1", /* a link gives what it says */
    "--cfg=network/latency-factor:1",
    "--cfg=network/weight-S:0", /* sharing does not depend on link speeds */
#if SIMGRID_VERSION < 33400
    "--cfg=surf/precision:1e-12", /* seconds */
#else
    "--cfg=precision/timing:1e-12",
#endif
    "--log=root.threshold:critical",
    NULL,
};

char **sw_platform_argv(int *argc) {
    *argc = (int)(sizeof settings / sizeof *settings) - 1;
    return settings;
}

static void add(sw_platform *p, int queue, int path) {
    if (queue < 0 || path < 0 || p->slot[queue][path] >= 0) return;
    p->slot[queue][path] = p->n_slots;
    p->n_slots += SW_PLATFORM_TWINS;
}

static bool touches(const sw_platform *p, const sw_topology *t, int queue, int res) {
    for (int i = 0; i < t->n_paths; i++)
        for (int k = 0; p->slot[queue][i] >= 0 && k < t->paths[i].n; k++)
            if (t->paths[i].res[k] == res) return true;
    return false;
}

void sw_platform_plan(sw_platform *p, const sw_topology *t) {
    memset(p->slot, -1, sizeof p->slot);
    p->n_slots = 0;
    for (int u = 0; u < t->n_units; u++) { /* kernels: the unit, and every port it has */
        int q = t->units[u].queue;
        add(p, q, t->units[u].path);
        if (t->units[u].core_of >= 0) add(p, q, t->units[t->units[u].core_of].path);
        for (int i = 0; i < t->n_tiers; i++) {
            add(p, q, t->ports[u][i].read_path);
            add(p, q, t->ports[u][i].write_path);
        }
    }
    for (int i = 0; i < t->n_routes; i++) { /* copies and copying threads; collectives */
        const sw_route *r = &t->routes[i];
        add(p, r->queue, r->path);
        if (r->driver >= 0) add(p, r->queue, t->units[r->driver].path);
        add(p, r->queue, t->tiers[r->src].time_path);
        add(p, r->queue, t->tiers[r->dst].time_path);
        bool peer = t->tiers[r->src].kind == SW_TIER_VRAM && t->tiers[r->dst].kind == SW_TIER_VRAM;
        for (int u = 0; u < t->n_units && peer; u++) add(p, t->units[u].queue, r->path);
    }
    for (p->n_hosts = 2; p->n_hosts * (p->n_hosts - 1) < p->n_slots;) p->n_hosts++;
    for (int r = 0; r < t->n_res; r++) {
        int users = 0;
        for (int q = 0; q < t->n_queues; q++) users += touches(p, t, q, r);
        p->exclusive[r] = users <= 1;
    }
}

void sw_platform_ends(const sw_platform *p, int slot, int *src, int *dst) {
    *src = slot / (p->n_hosts - 1);
    *dst = slot % (p->n_hosts - 1);
    *dst += *dst >= *src; /* never within one host */
}

static void write_route(const sw_platform *p, const sw_path *path, int slot, FILE *f) {
    int src, dst;
    sw_platform_ends(p, slot, &src, &dst);
    fprintf(f, "<route src=\"h%d\" dst=\"h%d\" symmetrical=\"NO\"><link_ctn id=\"c%d\"/>", src, dst,
            slot);
    for (int k = 0; k < path->n; k++) fprintf(f, "<link_ctn id=\"r%d\"/>", path->res[k]);
    fputs("</route>\n", f);
}

static void write_xml(const sw_platform *p, const sw_topology *t, FILE *f) {
    fputs("<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
          "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">\n",
          f);
    for (int i = 0; i < p->n_hosts; i++) fprintf(f, "<host id=\"h%d\" speed=\"1Gf\"/>\n", i);
    for (int r = 0; r < t->n_res; r++)
        fprintf(f, "<link id=\"r%d\" bandwidth=\"%.17gBps\" latency=\"0s\"/>\n", r, t->res[r].rate);
    for (int i = 0; i < p->n_slots; i++)
        fprintf(f, "<link id=\"c%d\" bandwidth=\"1Bps\" latency=\"0s\"/>\n", i);
    for (int q = 0; q < t->n_queues; q++) /* the format wants routes last */
        for (int i = 0; i < t->n_paths; i++)
            for (int k = 0; p->slot[q][i] >= 0 && k < SW_PLATFORM_TWINS; k++)
                write_route(p, &t->paths[i], p->slot[q][i] + k, f);
    fputs("</zone></platform>\n", f);
}

int sw_platform_file(const sw_platform *p, const sw_topology *topo, sw_error *err) {
    int fd = memfd_create("spillway-platform", 0);
    int copy = fd >= 0 ? dup(fd) : -1;
    FILE *f = copy >= 0 ? fdopen(copy, "w") : NULL;
    if (!f) {
        sw_fail(err, SW_RUN, "no memory file for the platform: %s", strerror(errno));
        if (copy >= 0) close(copy);
        if (fd >= 0) close(fd);
        return -1;
    }
    write_xml(p, topo, f);
    if (!fclose(f)) {
        lseek(fd, 0, SEEK_SET);
        return fd;
    }
    sw_fail(err, SW_RUN, "cannot write the platform: %s", strerror(errno));
    close(fd);
    return -1;
}
