/* A pager moves memory by itself when an op touches it: a unified-memory driver, the page cache.
 *
 * Blocks in a paged range have one address, in the pager's home tier, and no policy moves them. The
 * pager keeps what it likes of them in its pool, a piece of the near tier. An op that touches them
 * stays one op: a simulated backend asks the pager when the op starts (sw_paging_touch), and
 * before the op's own flows begin it lets the pager service what is missing, on a serial queue of
 * the pager's own. A real backend runs the op whole and leaves the rest to the real pager.
 *
 * What lies where is thus decided while ops run and not in plan order: decision logs say nothing
 * of it, and backends are compared by the counters (sw_pager_stats). */
#ifndef SW_PAGER_H
#define SW_PAGER_H

#include "sim/op.h"
#include "sim/plugin.h"

/* What a touch asks of the machine, added up over the op. */
typedef struct sw_page_work {
    double fixed_s;     /* faults and bookkeeping */
    uint64_t in_bytes;  /* home tier to near tier */
    uint64_t out_bytes; /* near tier to home tier */
} sw_page_work;

typedef struct sw_pager_stats {
    uint64_t touched_bytes;     /* in whole pages */
    uint64_t faults, evictions; /* pages brought, pages that had to make room */
    uint64_t in_bytes, out_bytes;
    uint64_t resident_bytes, pool_bytes;
} sw_pager_stats;

typedef enum sw_page_advice { SW_PAGE_WANT, SW_PAGE_DROP } sw_page_advice;

typedef struct sw_pager_ops {
    sw_plugin plugin;
    /* Once. pool_bytes > 0. Fails SW_FIT when the pool is smaller than one page. */
    sw_status (*open)(void *pg, uint64_t pool_bytes, sw_error *err);
    /* [addr, addr + bytes) of the home tier is touched by a unit whose own tier is the near one
     * (near) or the home one. Adds to *work. Fails SW_MEMORY. */
    sw_status (*touch)(void *pg, uint64_t addr, uint64_t bytes, bool write, bool near,
                       sw_page_work *work);
    /* Optional. The range will be wanted (bring it), or not any more (drop it). Adds to *work. */
    sw_status (*advise)(void *pg, uint64_t addr, uint64_t bytes, sw_page_advice advice,
                        sw_page_work *work);
    void (*stats)(const void *pg, sw_pager_stats *out);
    /* Always, also after a failed open. */
    void (*close)(void *pg);
} sw_pager_ops;

extern const sw_plugin *const sw_pager_table[];
extern const size_t sw_pager_table_n;

/* A pager at work in one run: what an op with paged uses points to. */
typedef struct sw_paging {
    const sw_pager_ops *ops;
    void *ctx;
    const sw_topology *topo;
    int16_t home, near;
    uint64_t pool_addr, pool_bytes; /* in the near tier: the pool */
    const sw_route *in, *out;       /* of the topology */
} sw_paging;

/* The service of one op: fixed_s, then the flows one after the other (a page's room is made before
 * it comes). */
typedef struct sw_page_service {
    double fixed_s;
    uint32_t n_flows;
    struct {
        uint16_t queue; /* the copy engine that carries it */
        sw_flow flow;
    } flows[2];
} sw_page_service;

/** The op starts: what its pager has to do first. Fails SW_MEMORY. O(pages touched). */
sw_status sw_paging_touch(const sw_op *op, sw_page_service *out, sw_error *err);
/** Seconds that a service takes when nothing else runs. */
double sw_paging_solo_s(const sw_topology *topo, const sw_page_service *s);

#endif
