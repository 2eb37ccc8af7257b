/* Which modules of a checkpoint are stored in which format: the lists of names inside
 * quantization_config.
 *
 * An entry is a module ("model.layers.0.self_attn", with everything below it), a bare word ("gate":
 * any part of a path), a glob ("model.layers.0.self_attn*") or a regular expression
 * ("re:.*self_attn.*": literals, '.',
 * '.*', '\.', '^', '$' and one group (a|b); others are refused). Modules come first, then patterns
 * in order. */
#ifndef SW_MODELS_HF_FILTER_H
#define SW_MODELS_HF_FILTER_H

#include "models/hf.h"

typedef struct hf_filter hf_filter;

hf_filter *sw_hf_filter_new(void);
void sw_hf_filter_free(hf_filter *f);
/** Adds an entry; text is borrowed from the JSON document. Fails SW_INPUT on a pattern out of the
 * language. */
sw_status sw_hf_filter_add(hf_filter *f, const char *text, hf_scheme scheme, sw_error *err);
/** Sorts the entries; after the last add. */
void sw_hf_filter_ready(hf_filter *f);
/** Sets *scheme if an entry matches module. Fails SW_INPUT when matching costs too much in all. */
sw_status sw_hf_filter(hf_filter *f, const char *module, hf_scheme *scheme, sw_error *err);

/** Reads quantization_config into c->store (hf_quant.c). */
sw_status sw_hf_store_config(hf_cfg *c, sw_error *err);

#endif
