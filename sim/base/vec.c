/* Growable arrays and checked allocation (see vec.h). */
#include "sim/base/vec.h"

bool sw_grow(void **items, size_t *cap, size_t need, size_t size) {
    size_t to = *cap ? *cap : 8;
    while (to < need) {
        if (to > SIZE_MAX / 2) return false;
        to *= 2;
    }
    if (size && to > SIZE_MAX / size) return false;
    void *p = realloc(*items, to * size);
    if (!p) return false;
    *items = p;
    *cap = to;
    return true;
}

void *sw_zalloc(size_t n, size_t size) {
    if (size && n > SIZE_MAX / size) return NULL;
    return calloc(n ? n : 1, size ? size : 1);
}

char *sw_strdup(const char *text) {
    return strdup(text);
}
