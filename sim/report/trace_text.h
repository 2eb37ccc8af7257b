/* What a trace holds, before any policy sees it: events, blocks, peaks, the largest op. */
#ifndef SW_REPORT_TRACE_TEXT_H
#define SW_REPORT_TRACE_TEXT_H

#include "sim/base/json.h"
#include "sim/report/table.h"
#include "sim/scan.h"

sw_status sw_trace_text(const sw_scan *s, const char *name, const sw_style *style, FILE *out,
                        sw_error *err);
/** The same as an object; new reference. */
json_t *sw_trace_json(const sw_scan *s, const char *name);

#endif
