/* Runs of bytes (see runs.h). A range is worked on by splitting the treap in three: what lies
 * before, within and after. */
#include "validate/runs.h"
#include "sim/base/rng.h"
#include <stdlib.h>
#include <string.h>

struct sw_run_node {
    sw_run run;
    uint32_t left, right, priority;
};

/* Room for n more nodes, so that what follows cannot fail half-way. */
static bool reserve(sw_runs *m, uint32_t n) {
    uint32_t have = m->cap - m->n, need = m->n + n;
    for (uint32_t f = m->free; f && have < n; f = m->nodes[f].left) have++;
    if (have >= n && m->cap) return true;
    uint32_t cap = m->cap ? m->cap * 2 : 64;
    if (cap < need || cap < m->cap) return false;
    sw_run_node *v = realloc(m->nodes, cap * sizeof *v);
    if (!v) return false;
    m->nodes = v;
    m->cap = cap;
    if (!m->n) memset(&v[m->n++], 0, sizeof *v);
    return true;
}

static uint32_t make(sw_runs *m, const sw_run *run) {
    uint32_t at = m->free;
    if (at)
        m->free = m->nodes[at].left;
    else
        at = m->n++;
    m->nodes[at] = (sw_run_node){*run, 0, 0, (uint32_t)sw_splitmix64(&m->random)};
    return at;
}

static void drop(sw_runs *m, uint32_t t) {
    if (!t) return;
    drop(m, m->nodes[t].left);
    drop(m, m->nodes[t].right);
    m->nodes[t].left = m->free;
    m->free = t;
}

/* Runs that begin before `key` to *l, the others to *r. */
static void split(sw_runs *m, uint32_t t, uint64_t key, uint32_t *l, uint32_t *r) {
    if (!t) {
        *l = *r = 0;
    } else if (m->nodes[t].run.lo < key) {
        split(m, m->nodes[t].right, key, &m->nodes[t].right, r);
        *l = t;
    } else {
        split(m, m->nodes[t].left, key, l, &m->nodes[t].left);
        *r = t;
    }
}

static uint32_t merge(sw_runs *m, uint32_t l, uint32_t r) {
    if (!l || !r) return l ? l : r;
    if (m->nodes[l].priority > m->nodes[r].priority) {
        m->nodes[l].right = merge(m, m->nodes[l].right, r);
        return l;
    }
    m->nodes[r].left = merge(m, l, m->nodes[r].left);
    return r;
}

/* As split, and a run that lies across `key` is cut in two. */
static void cut(sw_runs *m, uint32_t t, uint64_t key, uint32_t *l, uint32_t *r) {
    split(m, t, key, l, r);
    uint32_t last = *l;
    while (last && m->nodes[last].right) last = m->nodes[last].right;
    if (!last || m->nodes[last].run.hi <= key) return;
    sw_run tail = m->nodes[last].run;
    m->nodes[last].run.hi = key;
    tail.lo = key;
    *r = merge(m, make(m, &tail), *r);
}

static void walk(sw_runs *m, uint32_t t, void (*fn)(void *arg, sw_run *run), void *arg) {
    if (!t) return;
    walk(m, m->nodes[t].left, fn, arg);
    fn(arg, &m->nodes[t].run);
    walk(m, m->nodes[t].right, fn, arg);
}

bool sw_runs_visit(sw_runs *m, uint64_t lo, uint64_t hi, void (*fn)(void *arg, sw_run *run),
                   void *arg) {
    uint32_t before, within, behind;
    if (!reserve(m, 2)) return false;
    cut(m, m->root, lo, &before, &within);
    cut(m, within, hi, &within, &behind);
    walk(m, within, fn, arg);
    m->root = merge(m, merge(m, before, within), behind);
    return true;
}

bool sw_runs_put(sw_runs *m, sw_run run) {
    uint32_t before, within, behind;
    if (!reserve(m, 3)) return false;
    cut(m, m->root, run.lo, &before, &within);
    cut(m, within, run.hi, &within, &behind);
    drop(m, within);
    m->root = merge(m, merge(m, before, make(m, &run)), behind);
    return true;
}

void sw_runs_free(sw_runs *m) {
    free(m->nodes);
    *m = (sw_runs){0};
}
