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
    if (path >= 0 && p->pair[queue][path] < 0) p->pair[queue][path] = (int16_t)p->n_pairs++;
}

void sw_platform_plan(sw_platform *p, const sw_topology *t) {
    memset(p->pair, -1, sizeof p->pair);
    p->n_pairs = 0;
    for (int u = 0; u < t->n_units; u++) { /* kernels: the unit, and every port it has */
        int q = t->units[u].queue;
        add(p, q, t->units[u].path);
        for (int i = 0; i < t->n_tiers; i++) {
            add(p, q, t->ports[u][i].read_path);
            add(p, q, t->ports[u][i].write_path);
        }
    }
    for (int r = 0; r < t->n_routes;
         r++) { /* copies, their copying threads, and collectives over the same links */
        const sw_route *route = &t->routes[r];
        add(p, route->queue, route->path);
        if (route->driver >= 0) add(p, route->queue, t->units[route->driver].path);
        for (int u = 0; u < t->n_units; u++)
            if (t->tiers[route->src].kind == SW_TIER_VRAM &&
                t->tiers[route->dst].kind == SW_TIER_VRAM)
                add(p, t->units[u].queue, route->path);
    }
    for (int r = 0; r < t->n_res; r++) {
        int users = 0;
        for (int q = 0; q < t->n_queues; q++) {
            bool uses = false;
            for (int i = 0; i < t->n_paths; i++)
                for (int k = 0; p->pair[q][i] >= 0 && k < t->paths[i].n; k++)
                    uses |= t->paths[i].res[k] == r;
            users += uses;
        }
        p->exclusive[r] = users <= 1;
    }
}

static void write_xml(const sw_platform *p, const sw_topology *t, FILE *f) {
    fputs("<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
          "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">\n<host id=\"conductor\" "
          "speed=\"1Gf\"/>\n",
          f);
    for (int i = 0; i < p->n_pairs; i++)
        fprintf(f, "<host id=\"s%d\" speed=\"1Gf\"/><host id=\"d%d\" speed=\"1Gf\"/>\n", i, i);
    for (int r = 0; r < t->n_res; r++)
        fprintf(f, "<link id=\"r%d\" bandwidth=\"%.17gBps\" latency=\"0s\"/>\n", r, t->res[r].rate);
    for (int i = 0; i < p->n_pairs; i++)
        fprintf(f, "<link id=\"c%d\" bandwidth=\"1Bps\" latency=\"0s\"/>\n", i);
    for (int q = 0; q < t->n_queues; q++)
        for (int i = 0; i < t->n_paths; i++) {
            int n = p->pair[q][i];
            if (n < 0) continue;
            fprintf(f, "<route src=\"s%d\" dst=\"d%d\" symmetrical=\"NO\"><link_ctn id=\"c%d\"/>",
                    n, n, n);
            for (int k = 0; k < t->paths[i].n; k++)
                fprintf(f, "<link_ctn id=\"r%d\"/>", t->paths[i].res[k]);
            fputs("</route>\n", f);
        }
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
