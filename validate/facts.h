/* What the verifier knows of blocks, by hash.
 *
 * fact    what is known of a block (its newest version), or of a block in a tier: the newest
 *         version there, how many bytes are defined, and its epoch
 * extent  where the whole block lies in the tier, once a copy or its placing has told
 * epoch   counts how often the block began anew in a tier: a run of bytes is live only if it was
 *         written in the present one. So a replica is forgotten at once, wherever its bytes are */
#ifndef SW_FACTS_H
#define SW_FACTS_H

#include "validate/runs.h"

typedef struct sw_fact {
    uint64_t key; /* + 1; 0: empty */
    uint32_t epoch, newest;
    uint64_t live, made_by;
    uint64_t addr, bytes; /* the extent; bytes 0: not known yet */
    bool known;
} sw_fact;

typedef struct sw_facts {
    sw_fact *v; /* open addressing; cap is a power of two */
    size_t n, cap;
} sw_facts;

enum { SW_FACT_WHOLE = 255 }; /* as a tier: what is known of the block itself */

/** Makes room for a few more, so that pointers hold until the next call. False when memory is out.
 */
bool sw_facts_reserve(sw_facts *f);
/** The fact of a block in a tier, made if there is none. */
sw_fact *sw_facts_get(sw_facts *f, uint32_t block, int tier);
/** Likewise, NULL if there is none. */
sw_fact *sw_facts_find(const sw_facts *f, uint32_t block, int tier);
void sw_facts_free(sw_facts *f);

/** Does the run hold what its block has in the tier now? */
static inline bool sw_fact_live(const sw_fact *f, const sw_run *r) {
    return f && f->known && r->epoch == f->epoch;
}
/** Forgets the replica. */
static inline void sw_fact_begin_anew(sw_fact *f) {
    f->epoch++;
    f->live = f->bytes = 0;
}

#endif
