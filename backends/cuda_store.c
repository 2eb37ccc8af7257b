/* Memory and files behind the tiers (see cuda_store.h). */
#include "backends/cuda_store.h"
#include "backends/cuda_kernels.h"
#include "backends/host_kernel.h"
#include "sim/base/units.h"
#include <stdio.h>

#define VRAM_RESERVE (UINT64_C(512) << 20) /* left to CUDA itself and to who else uses the GPU */

sw_status sw_cuda_fail(sw_error *err, const char *what, cudaError_t e) {
    cudaGetLastError(); /* it has been told: the next call starts clean */
    return sw_fail(err, SW_RUN, "cuda: %s: %s", what, cudaGetErrorString(e));
}

static const char *tier_name(const sw_cuda_store *s, int tier) {
    return s->topo->tiers[tier].name;
}

/* NULL in a file. */
static char *where(const sw_cuda_tier *t, uint64_t addr) {
    return t->base ? t->base + addr : NULL;
}

/* --- opening and closing ----------------------------------------------------------------------- */

static sw_status open_file(sw_cuda_store *s, int tier, const char *path, bool direct,
                           sw_error *err) {
    char name[128];
    snprintf(name, sizeof name, "%s", path);
    if (*path && s->n_files) snprintf(name, sizeof name, "%s%u", path, s->n_files + 1);
    SW_TRY(sw_host_file_open(&s->tier[tier].file, name, direct, err));
    s->n_files++;
    s->n_buffered += direct && !s->tier[tier].file.direct;
    return SW_OK;
}

sw_status sw_cuda_store_open(sw_cuda_store *s, const char *file, bool direct, sw_error *err) {
    int concurrent = 0;
    if (sw_topology_tier(s->topo, SW_TIER_UNIFIED) >= 0) {
        SW_CUDA("cannot ask the GPU what it can do",
                cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, s->device),
                err);
        if (!concurrent)
            return sw_fail(err, SW_RUN,
                           "cuda: on this GPU the CPU may not use managed memory while a kernel "
                           "runs, so it has no unified tier");
    }
    for (int t = 0; t < s->topo->n_tiers; t++)
        if (s->topo->tiers[t].kind == SW_TIER_NVME) SW_TRY(open_file(s, t, file, direct, err));
    return SW_OK;
}

void sw_cuda_store_close(sw_cuda_store *s) {
    for (int t = 0; s->topo && t < s->topo->n_tiers; t++) {
        sw_cuda_tier *x = &s->tier[t];
        sw_host_file_close(&x->file);
        if (!x->base) continue;
        if (s->topo->tiers[t].kind != SW_TIER_RAM)
            cudaFree(x->base);
        else if (s->pinned)
            cudaFreeHost(x->base);
        else
            free(x->base);
        x->base = NULL;
    }
    sw_vec_free(&s->placed);
}

void sw_cuda_lane_close(sw_cuda_lane *l) {
    free(l->bounce.buf);
    l->bounce.buf = NULL;
    for (int i = 0; i < 2; i++) {
        if (l->stage[i]) cudaFreeHost(l->stage[i]);
        if (l->free[i]) cudaEventDestroy(l->free[i]);
        l->stage[i] = NULL, l->free[i] = NULL;
    }
    if (l->stream) cudaStreamDestroy(l->stream);
    l->stream = NULL;
}

/* --- what there is ----------------------------------------------------------------------------- */

bool sw_cuda_store_gpu_sees(const sw_cuda_store *s, int tier) {
    sw_tier_kind kind = s->topo->tiers[tier].kind;
    return kind != SW_TIER_NVME && (kind != SW_TIER_RAM || s->pinned);
}

bool sw_cuda_store_cpu_sees(const sw_cuda_store *s, int tier) {
    sw_tier_kind kind = s->topo->tiers[tier].kind;
    return kind == SW_TIER_RAM || kind == SW_TIER_UNIFIED;
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
    if (s->topo->tiers[tier].kind == SW_TIER_NVME)
        return sw_host_file_reach(&t->file, addr + bytes, err);
    if (addr + bytes <= t->bytes) return SW_OK;
    return outside(s, tier, addr, bytes, t->bytes,
                   s->topo->tiers[tier].kind == SW_TIER_RAM
                       ? "taken for it: the option host_arena says how much beyond what is placed"
                       : "that this GPU has for it",
                   err);
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

static sw_status size_of(const sw_cuda_store *s, int tier, uint64_t *out, sw_error *err) {
    const sw_tier *about = &s->topo->tiers[tier];
    uint64_t placed = s->tier[tier].placed, most = about->capacity_bytes;
    if (about->kind == SW_TIER_VRAM) {
        size_t free_bytes = 0, total = 0;
        SW_CUDA("cannot ask the GPU for its memory", cudaMemGetInfo(&free_bytes, &total), err);
        most = free_bytes > VRAM_RESERVE ? free_bytes - VRAM_RESERVE : free_bytes / 2;
    } else if (about->kind == SW_TIER_RAM) {
        most = s->host_arena ? placed + s->host_arena : available() / 2;
        if (most < placed) most = placed;
    }
    *out = about->capacity_bytes < most ? about->capacity_bytes : most;
    return SW_OK;
}

static cudaError_t take(const sw_cuda_store *s, sw_tier_kind kind, uint64_t bytes, void **out) {
    if (kind == SW_TIER_VRAM) return cudaMalloc(out, bytes);
    if (kind == SW_TIER_UNIFIED) return cudaMallocManaged(out, bytes, cudaMemAttachGlobal);
    if (s->pinned) return cudaHostAlloc(out, bytes, cudaHostAllocPortable | cudaHostAllocMapped);
    *out = aligned_alloc(SW_HOST_SECTOR,
                         (bytes + SW_HOST_SECTOR - 1) / SW_HOST_SECTOR * SW_HOST_SECTOR);
    return *out ? cudaSuccess : cudaErrorMemoryAllocation;
}

static sw_status allocate(sw_cuda_store *s, int tier, sw_error *err) {
    sw_tier_kind kind = s->topo->tiers[tier].kind;
    char what[96], size[32];
    uint64_t bytes = 0;
    void *p = NULL;
    SW_TRY(size_of(s, tier, &bytes, err));
    sw_format_bytes(size, sizeof size, (double)bytes);
    snprintf(what, sizeof what, "cannot allocate %s%s for %s", size,
             kind == SW_TIER_RAM && s->pinned ? " of pinned memory" : "", tier_name(s, tier));
    SW_CUDA(what, take(s, kind, bytes ? bytes : 1, &p), err);
    s->tier[tier].base = p;
    s->tier[tier].bytes = bytes;
    return SW_OK;
}

#if CUDART_VERSION >= 13000
#define ON_DEVICE(n)                ((struct cudaMemLocation){.type = cudaMemLocationTypeDevice, .id = (n)})
#define PREFETCH(p, n, dev, stream) cudaMemPrefetchAsync(p, n, ON_DEVICE(dev), 0, stream)
#else
#define ON_DEVICE(n)                (n)
#define PREFETCH(p, n, dev, stream) cudaMemPrefetchAsync(p, n, dev, stream)
#endif

static sw_status advise(sw_cuda_store *s, int tier, cudaStream_t stream, sw_error *err) {
    sw_cuda_tier *t = &s->tier[tier];
    if (s->advise == SW_CUDA_ADVISE_NONE || !t->bytes) return SW_OK;
    SW_CUDA(
        "cannot give advice on managed memory",
        cudaMemAdvise(t->base, t->bytes, cudaMemAdviseSetPreferredLocation, ON_DEVICE(s->device)),
        err);
    if (s->advise == SW_CUDA_ADVISE_PREFETCH && t->placed)
        SW_CUDA("cannot prefetch managed memory", PREFETCH(t->base, t->placed, s->device, stream),
                err);
    return SW_OK;
}

/* --- what is there when time starts ------------------------------------------------------------ */

static sw_status fill_file(sw_cuda_store *s, sw_cuda_lane *l, const sw_cuda_placed *p,
                           uint64_t seed, sw_error *err) {
    void *buf = NULL;
    if (posix_memalign(&buf, SW_HOST_SECTOR, SW_HOST_BOUNCE) != 0)
        return sw_fail(err, SW_MEMORY, "out of memory");
    sw_status st = SW_OK;
    for (uint64_t at = 0, n; at < p->bytes && st == SW_OK; at += n) {
        n = p->bytes - at < SW_HOST_BOUNCE ? p->bytes - at : SW_HOST_BOUNCE;
        sw_host_fill(buf, at, n, seed);
        st = sw_host_file_write(&s->tier[p->tier].file, &l->bounce, p->addr + at, buf, n, err);
    }
    free(buf);
    return st;
}

static sw_status fill(sw_cuda_store *s, sw_cuda_lane *l, const sw_cuda_placed *p,
                      cudaStream_t stream, sw_error *err) {
    uint64_t seed = sw_host_seed(p->block, 0, 0, 0);
    SW_TRY(sw_cuda_store_reach(s, p->tier, p->addr, p->bytes, err));
    char *at = where(&s->tier[p->tier], p->addr);
    switch (s->topo->tiers[p->tier].kind) {
    case SW_TIER_NVME:
        return fill_file(s, l, p, seed, err);
    case SW_TIER_RAM:
        sw_host_fill(at, 0, p->bytes, seed);
        return SW_OK;
    default:
        SW_CUDA("cannot start a kernel", sw_cuda_stream_write(at, 0, p->bytes, seed, stream), err);
        return SW_OK;
    }
}

sw_status sw_cuda_store_begin(sw_cuda_store *s, sw_cuda_lane *l, cudaStream_t stream,
                              sw_error *err) {
    for (int t = 0; t < s->topo->n_tiers; t++) {
        if (s->topo->tiers[t].kind == SW_TIER_NVME) continue;
        SW_TRY(allocate(s, t, err));
        if (s->topo->tiers[t].kind == SW_TIER_UNIFIED) SW_TRY(advise(s, t, stream, err));
    }
    for (size_t i = 0; i < s->placed.n; i++) SW_TRY(fill(s, l, &s->placed.v[i], stream, err));
    sw_vec_free(&s->placed);
    SW_CUDA("writing the first contents", cudaStreamSynchronize(stream), err);
    return SW_OK;
}

/* --- copies by a thread ------------------------------------------------------------------------ */

static sw_status make_stage(sw_cuda_lane *l, sw_error *err) {
    if (l->ready) return SW_OK;
    if (!l->stream)
        SW_CUDA("cannot make a stream",
                cudaStreamCreateWithFlags(&l->stream, cudaStreamNonBlocking), err);
    for (int i = 0; i < 2; i++) {
        void *p = NULL;
        SW_CUDA("cannot allocate a pinned buffer",
                cudaHostAlloc(&p, SW_CUDA_STAGE, cudaHostAllocPortable), err);
        l->stage[i] = p;
        SW_CUDA("cannot make an event",
                cudaEventCreateWithFlags(&l->free[i], cudaEventDisableTiming), err);
    }
    l->ready = true;
    return SW_OK;
}

static uint64_t part(uint64_t at, uint64_t bytes) {
    return bytes - at < SW_CUDA_STAGE ? bytes - at : SW_CUDA_STAGE;
}

/* One buffer is read into while the other one's bytes go up. */
static sw_status up(sw_cuda_lane *l, sw_host_file *f, uint64_t from, char *to, uint64_t bytes,
                    sw_error *err) {
    int i = 0;
    for (uint64_t at = 0, n; at < bytes; at += n, i ^= 1) {
        n = part(at, bytes);
        SW_CUDA("a staged copy", cudaEventSynchronize(l->free[i]), err); /* never recorded: free */
        SW_TRY(sw_host_file_read(f, &l->bounce, from + at, l->stage[i], n, err));
        SW_CUDA("cannot start a copy",
                cudaMemcpyAsync(to + at, l->stage[i], n, cudaMemcpyDefault, l->stream), err);
        SW_CUDA("cannot record an event", cudaEventRecord(l->free[i], l->stream), err);
    }
    SW_CUDA("a staged copy", cudaStreamSynchronize(l->stream), err);
    return SW_OK;
}

static sw_status fetch_down(sw_cuda_lane *l, int i, const char *from, uint64_t n, sw_error *err) {
    SW_CUDA("cannot start a copy",
            cudaMemcpyAsync(l->stage[i], from, n, cudaMemcpyDefault, l->stream), err);
    SW_CUDA("cannot record an event", cudaEventRecord(l->free[i], l->stream), err);
    return SW_OK;
}

/* One buffer is written to the file while the next bytes come down into the other. */
static sw_status down(sw_cuda_lane *l, const char *from, sw_host_file *f, uint64_t to,
                      uint64_t bytes, sw_error *err) {
    int i = 0;
    SW_TRY(fetch_down(l, 0, from, part(0, bytes), err));
    for (uint64_t at = 0, n; at < bytes; at += n, i ^= 1) {
        n = part(at, bytes);
        if (at + n < bytes) SW_TRY(fetch_down(l, i ^ 1, from + at + n, part(at + n, bytes), err));
        SW_CUDA("a staged copy", cudaEventSynchronize(l->free[i]), err);
        SW_TRY(sw_host_file_write(f, &l->bounce, to + at, l->stage[i], n, err));
    }
    return SW_OK;
}

sw_status sw_cuda_store_copy(sw_cuda_store *s, sw_cuda_lane *l, const sw_use *from,
                             const sw_use *to, sw_error *err) {
    sw_cuda_tier *a = &s->tier[from->tier], *b = &s->tier[to->tier];
    sw_tier_kind ka = s->topo->tiers[from->tier].kind, kb = s->topo->tiers[to->tier].kind;
    char *src = where(a, from->addr), *dst = where(b, to->addr);
    if (ka == SW_TIER_NVME && kb == SW_TIER_NVME)
        return sw_fail(err, SW_RUN, "cuda: no copy goes from file to file");
    if (ka == SW_TIER_NVME && kb == SW_TIER_RAM)
        return sw_host_file_read(&a->file, &l->bounce, from->addr, dst, from->bytes, err);
    if (ka == SW_TIER_RAM && kb == SW_TIER_NVME)
        return sw_host_file_write(&b->file, &l->bounce, to->addr, src, from->bytes, err);
    if (ka == SW_TIER_RAM && kb == SW_TIER_RAM) {
        memmove(dst, src, from->bytes);
        return SW_OK;
    }
    SW_TRY(make_stage(l, err));
    if (ka == SW_TIER_NVME) return up(l, &a->file, from->addr, dst, from->bytes, err);
    if (kb == SW_TIER_NVME) return down(l, src, &b->file, to->addr, from->bytes, err);
    SW_CUDA("cannot start a copy",
            cudaMemcpyAsync(dst, src, from->bytes, cudaMemcpyDefault, l->stream), err);
    SW_CUDA("a copy", cudaStreamSynchronize(l->stream), err);
    return SW_OK;
}
