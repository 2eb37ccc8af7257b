/* Growable arrays and checked allocation.
 *
 *   SW_VEC(uint64_t) ids = {0};
 *   if (!sw_vec_push(&ids, 7)) return SW_MEMORY;   // evaluates to false when memory is out
 *   for (size_t i = 0; i < ids.n; i++) use(ids.v[i]);
 *   sw_vec_free(&ids); */
#ifndef SW_BASE_VEC_H
#define SW_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SW_VEC(type)                                                                               \
    struct {                                                                                       \
        type *v;                                                                                   \
        size_t n, cap;                                                                             \
    }

/** Grows *items to hold `need` elements of `size` bytes; false (nothing changed) when memory is
 *  out. */
bool sw_grow(void **items, size_t *cap, size_t need, size_t size);

#define sw_vec_reserve(vec, need)                                                                  \
    ((need) <= (vec)->cap || sw_grow((void **)&(vec)->v, &(vec)->cap, (need), sizeof *(vec)->v))
#define sw_vec_push(vec, item)                                                                     \
    (sw_vec_reserve((vec), (vec)->n + 1) ? ((vec)->v[(vec)->n++] = (item), true) : false)
#define sw_vec_free(vec) (free((vec)->v), (vec)->v = NULL, (vec)->n = (vec)->cap = 0)

/** calloc, with overflow check; NULL when memory is out. */
void *sw_zalloc(size_t n, size_t size);
/** strdup of at most what fits; NULL when memory is out. */
char *sw_strdup(const char *text);

#endif
