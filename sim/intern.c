/* Interned text: one copy of each name for the life of the process (see trace.h). */
#include "sim/base/vec.h"
#include "sim/trace.h"
#include <pthread.h>

static struct {
    char **slots; /* open addressing, a power of two */
    size_t n, cap;
} table;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t hash(const char *s) {
    uint64_t h = 0xcbf29ce484222325u;
    for (; *s; s++) h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    return h;
}

static size_t slot_of(char **slots, size_t cap, const char *text) {
    size_t i = hash(text) & (cap - 1);
    while (slots[i] && strcmp(slots[i], text)) i = (i + 1) & (cap - 1);
    return i;
}

static bool grow(void) {
    size_t cap = table.cap ? table.cap * 2 : 1024;
    char **slots = sw_zalloc(cap, sizeof *slots);
    if (!slots) return false;
    for (size_t i = 0; i < table.cap; i++)
        if (table.slots[i]) slots[slot_of(slots, cap, table.slots[i])] = table.slots[i];
    free(table.slots);
    table.slots = slots;
    table.cap = cap;
    return true;
}

const char *sw_intern(const char *text) {
    const char *out = NULL;
    pthread_mutex_lock(&lock);
    if (table.n * 2 < table.cap || grow()) {
        size_t i = slot_of(table.slots, table.cap, text);
        if (!table.slots[i] && (table.slots[i] = sw_strdup(text))) table.n++;
        out = table.slots[i];
    }
    pthread_mutex_unlock(&lock);
    return out;
}
