/* Memory and files behind the tiers (see host_store.h). */
#include "backends/host_store.h"
#include "backends/host_kernel.h"
#include "sim/base/units.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define HUGE_PAGE (UINT64_C(2) << 20)

static double clock_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What the kernel thinks could be used without swapping; all there is where it does not say. */
static uint64_t available(void) {
    char line[128];
    unsigned long long kib = 0;
    FILE *f = fopen("/proc/meminfo", "r");
    if (!f) return UINT64_MAX;
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %llu", &kib) == 1) break;
    fclose(f);
    return kib ? kib * 1024 : UINT64_MAX;
}

/* Address space only: pages come with the first touch. Aligned so that they can be huge. */
static sw_status open_memory(sw_host_store *s, int tier, sw_error *err) {
    sw_host_tier *t = &s->tier[tier];
    t->map_bytes = s->topo->tiers[tier].capacity_bytes + 2 * HUGE_PAGE;
    t->map = mmap(NULL, t->map_bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (t->map == MAP_FAILED) {
        t->map = NULL;
        return sw_fail(err, SW_RUN, "host: no room to map %s: %s", s->topo->tiers[tier].name,
                       strerror(errno));
    }
    t->base = (char *)t->map + (HUGE_PAGE - (uintptr_t)t->map % HUGE_PAGE) % HUGE_PAGE;
    madvise(t->map, t->map_bytes, MADV_HUGEPAGE);
    return SW_OK;
}

/* Pages before time starts, as a GPU's memory has them: a first touch costs as much as the copy that
 * makes it. Where the tiers are a large part of the machine, only what is used gets pages. */
static void populate(sw_host_store *s) {
    double sum = 0;
    for (int t = 0; t < s->topo->n_tiers; t++)
        if (s->tier[t].map) sum += (double)s->tier[t].map_bytes;
    if (sum > (double)s->available / 2) return;
    for (int t = 0; t < s->topo->n_tiers; t++)
        if (s->tier[t].map && madvise(s->tier[t].map, s->tier[t].map_bytes, MADV_POPULATE_WRITE))
            memset(s->tier[t].map, 0, s->tier[t].map_bytes);
}

static sw_status open_file(sw_host_store *s, int tier, const char *path, bool direct,
                           sw_error *err) {
    char name[128];
    snprintf(name, sizeof name, "%s", path);
    if (*path && s->n_files) snprintf(name, sizeof name, "%s%u", path, s->n_files + 1);
    sw_host_file *f = &s->tier[tier].file;
    SW_TRY(sw_host_file_open(f, name, direct, err));
    s->n_files++;
    s->n_buffered += direct && !f->direct;
    return SW_OK;
}

sw_status sw_host_store_open(sw_host_store *s, const sw_topology *topo, const char *file,
                             bool direct, sw_error *err) {
    *s = (sw_host_store){.topo = topo, .available = available()};
    for (int t = 0; t < topo->n_tiers; t++)
        SW_TRY(topo->tiers[t].kind == SW_TIER_NVME ? open_file(s, t, file, direct, err)
                                                   : open_memory(s, t, err));
    populate(s);
    return SW_OK;
}

void sw_host_store_close(sw_host_store *s) {
    for (int t = 0; t < SW_TIERS_MAX; t++) {
        if (s->tier[t].map) munmap(s->tier[t].map, s->tier[t].map_bytes);
        s->tier[t].map = NULL;
        sw_host_file_close(&s->tier[t].file);
    }
}

/* --- what is used ------------------------------------------------------------------------------ */

sw_status sw_host_store_reach(sw_host_store *s, int tier, uint64_t addr, uint64_t bytes,
                              sw_error *err) {
    const sw_tier *about = &s->topo->tiers[tier];
    sw_host_tier *t = &s->tier[tier];
    if (addr > about->capacity_bytes || bytes > about->capacity_bytes - addr)
        return sw_fail(err, SW_RUN, "host: %s+%llu, %llu bytes, goes over the tier's %llu bytes",
                       about->name, (unsigned long long)addr, (unsigned long long)bytes,
                       (unsigned long long)about->capacity_bytes);
    if (addr + bytes <= t->used) return SW_OK;
    t->used = addr + bytes;
    if (!t->base) return sw_host_file_reach(&t->file, t->used, err);
    uint64_t sum = 0;
    for (int i = 0; i < s->topo->n_tiers; i++)
        if (s->tier[i].base) sum += (s->tier[i].used + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    if (sum <= s->available) return SW_OK;
    char need[32], have[32];
    sw_format_bytes(need, sizeof need, (double)sum);
    sw_format_bytes(have, sizeof have, (double)s->available);
    return sw_fail(err, SW_RUN, "host: the run needs %s of real memory by now; %s are available",
                   need, have);
}

sw_status sw_host_store_place(sw_host_store *s, sw_host_lane *l, const sw_block *block, int tier,
                              uint64_t addr, sw_error *err) {
    sw_host_tier *t = &s->tier[tier];
    uint64_t seed = sw_host_seed(block->id, 0, 0, 0);
    SW_TRY(sw_host_store_reach(s, tier, addr, block->bytes, err));
    if (t->base) {
        sw_host_fill(t->base + addr, 0, block->bytes, seed);
        return SW_OK;
    }
    enum { PIECE = 1 << 20 };
    void *buf = NULL;
    if (posix_memalign(&buf, SW_HOST_SECTOR, PIECE) != 0)
        return sw_fail(err, SW_MEMORY, "out of memory");
    sw_status st = SW_OK;
    for (uint64_t at = 0, n; at < block->bytes && st == SW_OK; at += n) {
        n = block->bytes - at < PIECE ? block->bytes - at : PIECE;
        sw_host_fill(buf, at, n, seed);
        st = sw_host_file_write(&t->file, &l->mover, addr + at, buf, n, err);
    }
    free(buf);
    return st;
}

/* --- copies ------------------------------------------------------------------------------------ */

sw_status sw_host_store_copy(sw_host_store *s, sw_host_lane *l, const sw_use *from,
                             const sw_use *to, sw_error *err) {
    sw_host_tier *a = &s->tier[from->tier], *b = &s->tier[to->tier];
    double start = clock_s(), bytes = (double)from->bytes;
    if (!a->base && !b->base) return sw_fail(err, SW_RUN, "host: no copy goes from file to file");
    if (!a->base) {
        SW_TRY(sw_host_file_read(&a->file, &l->mover, from->addr, b->base + to->addr, from->bytes,
                                 err));
        l->stats.file_read_bytes += bytes;
    } else if (!b->base) {
        SW_TRY(sw_host_file_write(&b->file, &l->mover, to->addr, a->base + from->addr, from->bytes,
                                  err));
        l->stats.file_write_bytes += bytes;
    } else {
        memmove(b->base + to->addr, a->base + from->addr, from->bytes);
        l->stats.copy_bytes += bytes;
        l->stats.copy_s += clock_s() - start;
        return SW_OK;
    }
    l->stats.file_s += clock_s() - start;
    return SW_OK;
}
