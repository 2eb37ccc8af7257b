/* Memory and files behind the tiers (see cuda_store.h). */
#include "backends/cuda_store.h"
#include "backends/cuda_kernels.h"
#include "backends/host_kernel.h"
#include "sim/base/units.h"
#include <stdio.h>

#define MIB          (UINT64_C(1) << 20)
#define VRAM_RESERVE (512 * MIB) /* left to CUDA itself and to who else uses the GPU */
#define VRAM_SLACK   (128 * MIB) /* the same, where the rest is occupied */
#define LARGE_PAGE   (2 * MIB)
#define FILL         MIB /* bytes of a file at a time, before time starts */

sw_status sw_cuda_fail(sw_error *err, const char *what, cudaError_t e) {
    cudaGetLastError(); /* it has been told: the next call starts clean */
    return sw_fail(err, SW_RUN, "cuda: %s: %s", what, cudaGetErrorString(e));
}

static const char *tier_name(const sw_cuda_store *s, int tier) {
    return s->topo->tiers[tier].name;
}

/* --- opening and closing ----------------------------------------------------------------------- */

static sw_cuda_memory memory_of(const sw_cuda_store *s, int tier) {
    switch (s->topo->tiers[tier].kind) {
    case SW_TIER_NVME:
        return SW_CUDA_FILE;
    case SW_TIER_RAM:
        return s->opt->pinned ? SW_CUDA_PINNED : SW_CUDA_PAGEABLE;
    case SW_TIER_UNIFIED:
        return SW_CUDA_MANAGED;
    default:
        return SW_CUDA_DEVICE;
    }
}

static sw_status managed_works(const sw_cuda_store *s, sw_error *err) {
    int concurrent = 0;
    SW_CUDA("cannot ask the GPU what it can do",
            cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess,
                                   (int)s->opt->device),
            err);
    if (concurrent) return SW_OK;
    return sw_fail(err, SW_RUN,
                   "cuda: on this GPU the CPU may not use managed memory while a kernel runs: it "
                   "can neither page nor be a unified tier");
}

static sw_status open_file(sw_cuda_store *s, int tier, sw_error *err) {
    sw_cuda_tier *t = &s->tier[tier];
    const char *path = s->opt->file;
    char name[128];
    snprintf(name, sizeof name, "%s", path);
    if (*path && s->n_files) snprintf(name, sizeof name, "%s%u", path, s->n_files + 1);
    SW_TRY(sw_host_file_open(&t->file, name, s->opt->direct, err));
    s->n_files++;
    s->n_buffered += s->opt->direct && !t->file.direct;
    if (s->gds && t->file.direct) sw_cuda_gds_join(s->gds, t->file.fd, &t->gds);
    s->n_gds += t->gds != NULL;
    return SW_OK;
}

sw_status sw_cuda_store_open(sw_cuda_store *s, sw_error *err) {
    if (*s->opt->cufile && sw_topology_tier(s->topo, SW_TIER_NVME) >= 0)
        SW_TRY(sw_cuda_gds_open(s->opt->cufile, &s->gds, err));
    for (int t = 0; t < s->topo->n_tiers; t++) {
        s->tier[t].memory = memory_of(s, t);
        if (s->tier[t].memory == SW_CUDA_MANAGED) SW_TRY(managed_works(s, err));
        if (s->tier[t].memory == SW_CUDA_FILE) SW_TRY(open_file(s, t, err));
    }
    return SW_OK;
}

void sw_cuda_store_close(sw_cuda_store *s) {
    for (int i = 0; i < s->topo->n_tiers; i++) {
        sw_cuda_tier *t = &s->tier[i];
        if (t->gds) sw_cuda_gds_leave(s->gds, t->gds);
        if (t->mapped) sw_cuda_gds_unmap(s->gds, t->base);
        sw_host_file_close(&t->file);
        if (!t->base) continue;
        if (t->memory == SW_CUDA_PINNED)
            cudaFreeHost(t->base);
        else if (t->memory == SW_CUDA_PAGEABLE)
            free(t->base);
        else
            cudaFree(t->base);
    }
    if (s->occupied) cudaFree(s->occupied);
    sw_cuda_gds_close(s->gds);
    sw_vec_free(&s->placed);
}

/* --- what there is ----------------------------------------------------------------------------- */

bool sw_cuda_store_gpu_sees(const sw_cuda_store *s, int tier) {
    sw_cuda_memory m = s->tier[tier].memory;
    return m != SW_CUDA_FILE && m != SW_CUDA_PAGEABLE;
}

bool sw_cuda_store_cpu_sees(const sw_cuda_store *s, int tier) {
    sw_cuda_memory m = s->tier[tier].memory;
    return m != SW_CUDA_FILE && m != SW_CUDA_DEVICE;
}

static sw_status outside(const sw_cuda_store *s, int tier, uint64_t addr, uint64_t bytes,
                         uint64_t end, const char *what, sw_error *err) {
    char have[32];
    sw_format_bytes(have, sizeof have, (double)end);
    return sw_fail(err, SW_RUN, "cuda: %s+%llu, %llu bytes, goes past the %s %s",
                   tier_name(s, tier), (unsigned long long)addr, (unsigned long long)bytes, have,
                   what);
}

sw_status sw_cuda_store_reach(sw_cuda_store *s, int tier, uint64_t addr, uint64_t bytes,
                              sw_error *err) {
    uint64_t cap = s->topo->tiers[tier].capacity_bytes;
    sw_cuda_tier *t = &s->tier[tier];
    if (addr > cap || bytes > cap - addr)
        return outside(s, tier, addr, bytes, cap, "of the tier", err);
    if (t->memory == SW_CUDA_FILE) return sw_host_file_reach(&t->file, addr + bytes, err);
    if (addr < t->hole + t->hole_bytes && addr + bytes > t->hole)
        return sw_fail(err, SW_RUN, "cuda: %s+%llu, %llu bytes, lies in the pager's pool",
                       tier_name(s, tier), (unsigned long long)addr, (unsigned long long)bytes);
    if (addr + bytes <= t->end) return SW_OK;
    return outside(s, tier, addr, bytes, t->end,
                   t->memory == SW_CUDA_DEVICE
                       ? "that this GPU has for it"
                       : "taken for it: the option host_arena says how much beyond what is placed",
                   err);
}

sw_status sw_cuda_store_page(sw_cuda_store *s, const sw_paging *p, sw_error *err) {
    sw_cuda_tier *near = &s->tier[p->near];
    if (s->topo->tiers[p->home].kind != SW_TIER_RAM || near->memory != SW_CUDA_DEVICE)
        return sw_fail(err, SW_RUN, "cuda: pages move between RAM and VRAM, not from %s to %s",
                       tier_name(s, p->home), tier_name(s, p->near));
    SW_TRY(managed_works(s, err));
    s->tier[p->home].memory = SW_CUDA_MANAGED;
    s->pool_bytes = p->pool_bytes;
    /* whole large pages, so that what lies behind the hole stays aligned */
    uint64_t lo = (p->pool_addr + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    uint64_t hi = (p->pool_addr + p->pool_bytes) / LARGE_PAGE * LARGE_PAGE;
    if (hi > lo) near->hole = lo, near->hole_bytes = hi - lo;
    return SW_OK;
}

sw_status sw_cuda_store_place(sw_cuda_store *s, const sw_block *block, int tier, uint64_t addr,
                              sw_error *err) {
    uint64_t cap = s->topo->tiers[tier].capacity_bytes;
    if (addr > cap || block->bytes > cap - addr)
        return outside(s, tier, addr, block->bytes, cap, "of the tier", err);
    if (!sw_vec_push(&s->placed, ((sw_cuda_placed){block->id, tier, addr, block->bytes})))
        return sw_fail(err, SW_MEMORY, "out of memory");
    if (addr + block->bytes > s->tier[tier].placed) s->tier[tier].placed = addr + block->bytes;
    return SW_OK;
}

/* --- allocation -------------------------------------------------------------------------------- */

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

static sw_status free_vram(uint64_t *out, sw_error *err) {
    size_t free_bytes = 0, total = 0;
    SW_CUDA("cannot ask the GPU for its memory", cudaMemGetInfo(&free_bytes, &total), err);
    *out = free_bytes;
    return SW_OK;
}

/* Where the tier's addresses end: with its capacity, or with what can be taken for it. */
static sw_status find_end(sw_cuda_store *s, int tier, sw_error *err) {
    const sw_tier *about = &s->topo->tiers[tier];
    sw_cuda_tier *t = &s->tier[tier];
    uint64_t most = about->capacity_bytes;
    if (about->kind == SW_TIER_VRAM) {
        SW_TRY(free_vram(&most, err)); /* the hole is of it, though not ours to take */
        most = most > VRAM_RESERVE ? most - VRAM_RESERVE : most / 2;
    } else if (about->kind == SW_TIER_RAM) {
        most = t->placed + s->opt->host_arena;
        if (!s->opt->host_arena && t->memory != SW_CUDA_MANAGED) most = available() / 2;
        if (most < t->placed) most = t->placed;
    }
    t->end = about->capacity_bytes < most ? about->capacity_bytes : most;
    if (t->end > t->hole && t->end < t->hole + t->hole_bytes) t->end = t->hole;
    return SW_OK;
}

static cudaError_t take(sw_cuda_memory memory, uint64_t bytes, void **out) {
    if (memory == SW_CUDA_DEVICE) return cudaMalloc(out, bytes);
    if (memory == SW_CUDA_MANAGED) return cudaMallocManaged(out, bytes, cudaMemAttachGlobal);
    if (memory == SW_CUDA_PINNED)
        return cudaHostAlloc(out, bytes, cudaHostAllocPortable | cudaHostAllocMapped);
    *out = aligned_alloc(SW_HOST_SECTOR,
                         (bytes + SW_HOST_SECTOR - 1) / SW_HOST_SECTOR * SW_HOST_SECTOR);
    return *out ? cudaSuccess : cudaErrorMemoryAllocation;
}

static sw_status allocate(sw_cuda_store *s, int tier, sw_error *err) {
    static const char *const kinds[] = {"", "", " of pinned memory", "", " of managed memory"};
    sw_cuda_tier *t = &s->tier[tier];
    char what[96], size[32];
    void *p = NULL;
    SW_TRY(find_end(s, tier, err));
    uint64_t bytes = t->end > t->hole ? t->end - t->hole_bytes : t->end;
    sw_format_bytes(size, sizeof size, (double)bytes);
    snprintf(what, sizeof what, "cannot allocate %s%s for %s", size, kinds[t->memory],
             tier_name(s, tier));
    SW_CUDA(what, take(t->memory, bytes ? bytes : 1, &p), err);
    t->base = p;
    if (s->gds && t->memory == SW_CUDA_DEVICE) t->mapped = sw_cuda_gds_map(s->gds, p, bytes);
    return SW_OK;
}

/* What pages find free is the pool and no more. */
static sw_status occupy(sw_cuda_store *s, sw_error *err) {
    uint64_t room = 0;
    char have[32], want[32];
    if (!s->pool_bytes) return SW_OK;
    SW_TRY(free_vram(&room, err));
    sw_format_bytes(have, sizeof have, (double)room);
    sw_format_bytes(want, sizeof want, (double)s->pool_bytes);
    if (room < s->pool_bytes)
        return sw_fail(err, SW_RUN, "cuda: the pager's pool is %s, and this GPU has %s left for it",
                       want, have);
    if (!s->opt->occupy || room < s->pool_bytes + VRAM_SLACK + LARGE_PAGE) return SW_OK;
    s->occupied_bytes = (room - s->pool_bytes - VRAM_SLACK) / LARGE_PAGE * LARGE_PAGE;
    SW_CUDA("cannot occupy the rest of VRAM", cudaMalloc(&s->occupied, s->occupied_bytes), err);
    return SW_OK;
}

/* --- managed memory ---------------------------------------------------------------------------- */

#if CUDART_VERSION >= 13000
typedef struct cudaMemLocation location;
#define DEVICE(n)                  ((location){.type = cudaMemLocationTypeDevice, .id = (int)(n)})
#define HOST                       ((location){.type = cudaMemLocationTypeHost})
#define PREFETCH(p, n, to, stream) cudaMemPrefetchAsync(p, n, to, 0, stream)
#else
typedef int location;
#define DEVICE(n)                  ((int)(n))
#define HOST                       cudaCpuDeviceId
#define PREFETCH(p, n, to, stream) cudaMemPrefetchAsync(p, n, to, stream)
#endif

sw_status sw_cuda_store_prefetch(const sw_cuda_store *s, int tier, uint64_t addr, uint64_t bytes,
                                 cudaStream_t stream, sw_error *err) {
    SW_CUDA("cannot prefetch managed memory",
            PREFETCH(sw_cuda_store_at(s, tier, addr), bytes, DEVICE(s->opt->device), stream), err);
    return SW_OK;
}

static sw_status advise(const sw_cuda_store *s, int tier, sw_error *err) {
    const sw_cuda_tier *t = &s->tier[tier];
    bool mostly = s->opt->advise == SW_CUDA_ADVISE_READ_MOSTLY;
    location where = s->opt->advise == SW_CUDA_ADVISE_HOST ? HOST : DEVICE(s->opt->device);
    if (s->opt->advise == SW_CUDA_ADVISE_NONE || !t->end) return SW_OK;
    SW_CUDA("cannot give advice on managed memory",
            cudaMemAdvise(t->base, t->end,
                          mostly ? cudaMemAdviseSetReadMostly : cudaMemAdviseSetPreferredLocation,
                          where),
            err);
    return SW_OK;
}

static sw_status prefetch_placed(const sw_cuda_store *s, int tier, cudaStream_t stream,
                                 sw_error *err) {
    uint64_t bytes = s->tier[tier].placed;
    if (s->pool_bytes && bytes > s->pool_bytes) bytes = s->pool_bytes;
    if (s->opt->prefetch != SW_CUDA_PREFETCH_START || !bytes) return SW_OK;
    return sw_cuda_store_prefetch(s, tier, 0, bytes, stream, err);
}

/* --- what is there when time starts ------------------------------------------------------------ */

static sw_status fill_file(sw_cuda_store *s, sw_cuda_lane *l, const sw_cuda_placed *p,
                           uint64_t seed, sw_error *err) {
    void *buf = NULL;
    if (posix_memalign(&buf, SW_HOST_SECTOR, FILL) != 0)
        return sw_fail(err, SW_MEMORY, "out of memory");
    sw_status st = SW_OK;
    for (uint64_t at = 0, n; at < p->bytes && st == SW_OK; at += n) {
        n = p->bytes - at < FILL ? p->bytes - at : FILL;
        sw_host_fill(buf, at, n, seed);
        st = sw_host_file_write(&s->tier[p->tier].file, &l->mover, p->addr + at, buf, n, err);
    }
    free(buf);
    return st;
}

static sw_status fill(sw_cuda_store *s, sw_cuda_lane *l, const sw_cuda_placed *p,
                      cudaStream_t stream, sw_error *err) {
    uint64_t seed = sw_host_seed(p->block, 0, 0, 0);
    SW_TRY(sw_cuda_store_reach(s, p->tier, p->addr, p->bytes, err));
    if (s->tier[p->tier].memory == SW_CUDA_FILE) return fill_file(s, l, p, seed, err);
    char *at = sw_cuda_store_at(s, p->tier, p->addr);
    if (s->topo->tiers[p->tier].kind == SW_TIER_RAM)
        sw_host_fill(at, 0, p->bytes, seed);
    else
        SW_CUDA("cannot start a kernel", sw_cuda_stream_write(at, 0, p->bytes, seed, stream), err);
    return SW_OK;
}

sw_status sw_cuda_store_begin(sw_cuda_store *s, sw_cuda_lane *l, cudaStream_t stream,
                              sw_error *err) {
    for (int t = 0; t < s->topo->n_tiers; t++)
        if (s->tier[t].memory != SW_CUDA_FILE) SW_TRY(allocate(s, t, err));
    SW_TRY(occupy(s, err));
    for (int t = 0; t < s->topo->n_tiers; t++)
        if (s->tier[t].memory == SW_CUDA_MANAGED) SW_TRY(advise(s, t, err));
    for (size_t i = 0; i < s->placed.n; i++) SW_TRY(fill(s, l, &s->placed.v[i], stream, err));
    for (int t = 0; t < s->topo->n_tiers; t++)
        if (s->tier[t].memory == SW_CUDA_MANAGED) SW_TRY(prefetch_placed(s, t, stream, err));
    sw_vec_free(&s->placed);
    SW_CUDA("writing the first contents", cudaStreamSynchronize(stream), err);
    return SW_OK;
}
