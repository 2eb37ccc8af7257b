/* uvm: CUDA unified memory, at the grain of the driver's 2 MiB blocks.
 *
 * A block that a GPU touches and does not have faults and comes over whole. When the pool is full,
 * the block that came first leaves first: the driver's order is that of the last migration, and an
 * access to what is already there does not change it (FIFO, not LRU). It keeps no dirty bit, so
 * whatever leaves is copied, clean or not. A CPU that touches a block takes it back.
 *
 * Ignored: pages of 4 and 64 KiB and the density prefetcher's growing regions (a block costs
 * `service` whatever its pages), batches shared by several blocks, thrashing mitigation, remote
 * mappings, advice. All of it matters for sparse access; for a scan of whole layers the block is
 * what moves. docs/pagers.md has the source of the figures. */
#include "sim/base/vec.h"
#include "sim/pager.h"

#define NONE UINT32_MAX

typedef struct page {
    uint32_t prev, next; /* in order of arrival */
    bool here;
} page;

typedef struct ctx {
    uint64_t block_bytes;
    double service_s, evict_s;
    bool copy_clean, recency;
    SW_VEC(page) pages; /* by address / block_bytes */
    SW_VEC(bool) dirty;
    uint32_t oldest, newest;
    uint64_t n_here, n_pool;
    sw_pager_stats stats;
} ctx;

static sw_status uvm_open(void *pg, uint64_t pool_bytes, sw_error *err) {
    ctx *c = pg;
    c->oldest = c->newest = NONE;
    c->n_pool = pool_bytes / c->block_bytes;
    c->stats.pool_bytes = c->n_pool * c->block_bytes;
    if (c->n_pool) return SW_OK;
    return sw_fail(err, SW_FIT, "does not fit: no room for one block of the unified-memory pager");
}

static void unlink_page(ctx *c, uint32_t i) {
    page *p = &c->pages.v[i];
    *(p->prev == NONE ? &c->oldest : &c->pages.v[p->prev].next) = p->next;
    *(p->next == NONE ? &c->newest : &c->pages.v[p->next].prev) = p->prev;
}

static void append(ctx *c, uint32_t i) {
    page *p = &c->pages.v[i];
    *p = (page){.prev = c->newest, .next = NONE, .here = true};
    *(c->newest == NONE ? &c->oldest : &c->pages.v[c->newest].next) = i;
    c->newest = i;
}

static void leave(ctx *c, uint32_t i, sw_page_work *w) {
    unlink_page(c, i);
    if (c->copy_clean || c->dirty.v[i]) {
        w->out_bytes += c->block_bytes;
        c->stats.out_bytes += c->block_bytes;
    }
    w->fixed_s += c->evict_s;
    c->pages.v[i].here = c->dirty.v[i] = false;
    c->n_here--;
}

static void arrive(ctx *c, uint32_t i, sw_page_work *w) {
    if (c->n_here == c->n_pool) {
        leave(c, c->oldest, w);
        c->stats.evictions++;
    }
    append(c, i);
    c->n_here++;
    w->fixed_s += c->service_s;
    w->in_bytes += c->block_bytes;
    c->stats.in_bytes += c->block_bytes;
    c->stats.faults++;
}

static sw_status reach(ctx *c, uint64_t n) {
    size_t had = c->pages.n;
    if (n <= had) return SW_OK;
    if (n >= NONE || !sw_vec_reserve(&c->pages, n) || !sw_vec_reserve(&c->dirty, n))
        return SW_MEMORY;
    memset(c->pages.v + had, 0, (n - had) * sizeof *c->pages.v);
    memset(c->dirty.v + had, 0, (n - had) * sizeof *c->dirty.v);
    c->pages.n = c->dirty.n = n;
    return SW_OK;
}

static sw_status uvm_touch(void *pg, uint64_t addr, uint64_t bytes, bool write, bool near,
                           sw_page_work *w) {
    ctx *c = pg;
    uint64_t first = addr / c->block_bytes, end = (addr + bytes - 1) / c->block_bytes + 1;
    SW_TRY(reach(c, end));
    c->stats.touched_bytes += (end - first) * c->block_bytes;
    for (uint32_t i = (uint32_t)first; i < end; i++) {
        bool here = c->pages.v[i].here;
        if (!near && here) leave(c, i, w);
        if (!near) continue;
        if (!here)
            arrive(c, i, w);
        else if (c->recency)
            unlink_page(c, i), append(c, i);
        c->dirty.v[i] |= write;
    }
    return SW_OK;
}

static sw_status uvm_advise(void *pg, uint64_t addr, uint64_t bytes, sw_page_advice advice,
                            sw_page_work *w) {
    ctx *c = pg;
    double fixed_s = w->fixed_s; /* a prefetch is no fault */
    SW_TRY(uvm_touch(pg, addr, bytes, false, advice == SW_PAGE_WANT, w));
    c->stats.touched_bytes -=
        ((addr + bytes - 1) / c->block_bytes + 1 - addr / c->block_bytes) * c->block_bytes;
    w->fixed_s = fixed_s;
    return SW_OK;
}

static void uvm_stats(const void *pg, sw_pager_stats *out) {
    const ctx *c = pg;
    *out = c->stats;
    out->resident_bytes = c->n_here * c->block_bytes;
}

static void uvm_close(void *pg) {
    ctx *c = pg;
    sw_vec_free(&c->pages);
    sw_vec_free(&c->dirty);
}

static const sw_param params[] = {
    {"block", SW_PARAM_BYTES, "2 MiB", 4096, 1 << 30, NULL, offsetof(ctx, block_bytes),
     "what moves at once"},
    {"service", SW_PARAM_SECONDS, "160 us", 0, 1, NULL, offsetof(ctx, service_s),
     "fault handling for a block that comes, without its copy"},
    {"evict", SW_PARAM_SECONDS, "190 us", 0, 1, NULL, offsetof(ctx, evict_s),
     "handling for a block that leaves, without its copy"},
    {"copy_clean", SW_PARAM_BOOL, "true", 0, 0, NULL, offsetof(ctx, copy_clean),
     "no dirty bit: unchanged blocks are copied out too"},
    {"recency", SW_PARAM_BOOL, "false", 0, 0, NULL, offsetof(ctx, recency),
     "evict by last access, as the driver does not"},
};

const sw_pager_ops sw_pager_uvm = {
    .plugin = {.name = "uvm",
               .summary = "CUDA unified memory: 2 MiB blocks fault in, the first come leave first",
               .doc = "A block that a GPU touches and does not have faults and comes over whole; "
                      "when the pool is full the one that migrated first leaves, copied, clean or "
                      "not. Grain: the driver's 2 MiB block; see docs/pagers.md for what that "
                      "ignores.",
               .ctx_bytes = sizeof(ctx),
               .params = params,
               .n_params = sizeof params / sizeof *params},
    .open = uvm_open,
    .touch = uvm_touch,
    .advise = uvm_advise,
    .stats = uvm_stats,
    .close = uvm_close,
};
