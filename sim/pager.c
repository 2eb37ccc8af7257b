/* Pagers: from an op's paged uses to the service that it waits for (see pager.h). */
#include "sim/pager.h"
#include "sim/base/error.h"

static void add(sw_page_service *s, const sw_route *r, uint64_t bytes) {
    if (!bytes) return;
    s->fixed_s += r->latency_s;
    s->flows[s->n_flows].queue = (uint16_t)r->queue;
    s->flows[s->n_flows++].flow = (sw_flow){r->path, (double)bytes, r->cap_Bps};
}

sw_status sw_paging_touch(const sw_op *op, sw_page_service *out, sw_error *err) {
    const sw_paging *p = op->paging;
    sw_page_work work = {0};
    bool near = op->unit >= 0 && p->topo->units[op->unit].tier == p->near;
    for (uint32_t i = 0; i < op->n_uses; i++) {
        const sw_use *u = &op->uses[i];
        if (!u->paged) continue;
        if (p->ops->touch(p->ctx, u->addr, u->bytes, u->mode != SW_READ, near, &work))
            return sw_fail(err, SW_MEMORY, "out of memory");
    }
    *out = (sw_page_service){.fixed_s = work.fixed_s};
    add(out, p->out, work.out_bytes);
    add(out, p->in, work.in_bytes);
    return SW_OK;
}

double sw_paging_solo_s(const sw_topology *topo, const sw_page_service *s) {
    double total = s->fixed_s;
    for (uint32_t i = 0; i < s->n_flows; i++) {
        double rate;
        sw_fair_share(topo, &s->flows[i].flow, 1, &rate);
        total += s->flows[i].flow.amount / rate;
    }
    return total;
}
