/* How a trace uses memory, for people and programs: steps, working sets, reuse, and whether
 * offloading can work at all (traces/info.h, traces/judge.h). */
#ifndef SW_CLI_TRACE_USE_H
#define SW_CLI_TRACE_USE_H

#include "sim/base/json.h"
#include "sim/report/table.h"
#include "traces/info.h"

sw_status sw_trace_use_text(const sw_trace_info *info, const sw_style *style, FILE *out,
                            sw_error *err);
/** Adds the same to an object. */
void sw_trace_use_json(const sw_trace_info *info, json_t *o);

#endif
