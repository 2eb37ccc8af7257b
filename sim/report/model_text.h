/* What a model weighs and what it needs: bytes by role and format, layers, KV cache by context. */
#ifndef SW_REPORT_MODEL_TEXT_H
#define SW_REPORT_MODEL_TEXT_H

#include "sim/base/json.h"
#include "sim/model.h"
#include "sim/report/table.h"

/** KV cache and recurrent state of one sequence after `tokens` tokens, at `bytes_per_elem` (2 is
 * FP16). */
double sw_model_kv_bytes(const sw_model *m, uint64_t tokens, double bytes_per_elem);
/** Weight bytes that one decoded token reads: attention, feed-forward, router, shared and top-k
 * experts, output. */
double sw_model_token_bytes(const sw_model *m);

sw_status sw_model_text(const sw_model *m, const sw_style *style, FILE *out, sw_error *err);
/** The same as an object; new reference. */
json_t *sw_model_json(const sw_model *m);

#endif
