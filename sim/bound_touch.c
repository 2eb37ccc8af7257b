/* What a step touches (see bound_touch.h). */
#include "sim/bound_touch.h"

bool sw_touch_block(sw_touch *t, uint32_t block, uint64_t bytes, bool is_static) {
    if (block >= t->views.n) {
        size_t n = (size_t)block + 1;
        if (!sw_vec_reserve(&t->views, n)) return false;
        memset(t->views.v + t->views.n, 0, (n - t->views.n) * sizeof *t->views.v);
        t->views.n = n;
    }
    sw_touch_view *v = &t->views.v[block];
    v->old_lo = v->lo = v->hi = 0;
    v->old_hi = is_static ? bytes : 0;
    v->step = t->step;
    return true;
}

/* Begins the block's account of this step. */
static sw_touch_view *current(sw_touch *t, uint32_t block) {
    sw_touch_view *v = &t->views.v[block];
    if (v->step == t->step) return v;
    if (v->old_lo == v->old_hi) {
        v->old_lo = v->lo, v->old_hi = v->hi;
    } else if (v->lo < v->hi) {
        if (v->lo < v->old_lo) v->old_lo = v->lo;
        if (v->hi > v->old_hi) v->old_hi = v->hi;
    }
    v->lo = v->hi = 0;
    v->step = t->step;
    return v;
}

/* The part of a read that existed before the step; of two pieces the larger. */
static bool existing(sw_touch *t, const sw_ev_use *u, sw_touch_use *out) {
    const sw_touch_view *v = current(t, u->block);
    uint64_t lo = u->offset, hi = u->offset + u->bytes;
    if (lo < v->old_lo) lo = v->old_lo;
    if (hi > v->old_hi) hi = v->old_hi;
    if (v->lo < hi && v->hi > lo) {
        uint64_t left = v->lo > lo ? v->lo - lo : 0, right = hi > v->hi ? hi - v->hi : 0;
        if (left >= right)
            hi = lo + left;
        else
            lo = hi - right;
    }
    if (hi <= lo || !u->touched) return false;
    *out = (sw_touch_use){u->block, lo, hi, u->touched < hi - lo ? u->touched : 0};
    return true;
}

bool sw_touch_op(sw_touch *t, const sw_event *ev, size_t *first) {
    *first = t->uses.n;
    for (uint32_t i = 0; i < ev->n_uses; i++) {
        sw_touch_use u;
        if (ev->uses[i].mode != SW_WRITE && existing(t, &ev->uses[i], &u) &&
            !sw_vec_push(&t->uses, u))
            return false;
    }
    for (uint32_t i = 0; i < ev->n_uses; i++) {
        if (ev->uses[i].mode == SW_READ) continue;
        sw_touch_view *v = current(t, ev->uses[i].block);
        uint64_t lo = ev->uses[i].offset, hi = lo + ev->uses[i].bytes;
        if (v->lo == v->hi) v->lo = lo, v->hi = hi;
        if (lo < v->lo) v->lo = lo;
        if (hi > v->hi) v->hi = hi;
    }
    return true;
}

/* Adds the use to what the step touches of the block. A hull only where the pieces meet, else the
 * larger piece: never more than the truth. */
static void touch(sw_touch_view *v, const sw_touch_use *u) {
    if (u->rows) {
        v->same = false;
        if (u->rows > v->most) v->most = u->rows;
        return;
    }
    v->n_touched++;
    if (v->t_lo == v->t_hi) {
        v->t_lo = u->lo, v->t_hi = u->hi;
        return;
    }
    if (u->lo == v->t_lo && u->hi == v->t_hi) return;
    v->same = false;
    if (u->lo <= v->t_hi && u->hi >= v->t_lo) {
        if (u->lo < v->t_lo) v->t_lo = u->lo;
        if (u->hi > v->t_hi) v->t_hi = u->hi;
    } else if (u->hi - u->lo > v->t_hi - v->t_lo) {
        v->t_lo = u->lo, v->t_hi = u->hi;
    }
}

static double touched(const sw_touch_view *v) {
    uint64_t dense = v->t_hi - v->t_lo;
    return (double)(dense > v->most ? dense : v->most);
}

double sw_touch_count(sw_touch *t, size_t first, size_t n) {
    double sum = 0;
    for (size_t k = first; k < first + n; k++) {
        sw_touch_view *v = &t->views.v[t->uses.v[k].block];
        if (v->stamp != t->step + 1) {
            v->stamp = t->step + 1;
            v->n_touched = 0;
            v->same = true;
            v->t_lo = v->t_hi = v->most = 0;
        }
        sum -= touched(v);
        touch(v, &t->uses.v[k]);
        sum += touched(v);
    }
    return sum;
}

double sw_touch_spared(const sw_touch *t, size_t first, size_t n) {
    double sum = 0;
    for (size_t k = first; k < first + n; k++) {
        const sw_touch_use *u = &t->uses.v[k];
        const sw_touch_view *v = &t->views.v[u->block];
        double bytes = (double)(u->rows ? u->rows : u->hi - u->lo);
        sum += v->same ? bytes / v->n_touched : bytes;
    }
    return sum;
}

void sw_touch_next(sw_touch *t) {
    t->uses.n = 0;
    t->step++;
}

void sw_touch_free(sw_touch *t) {
    sw_vec_free(&t->views);
    sw_vec_free(&t->uses);
}
