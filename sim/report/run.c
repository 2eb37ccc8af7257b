/* A run for the reports: filling it in, ranking what would help, and the words and numbers that the
 * texts share (see report.h). */
#include "sim/report/report.h"
#include <math.h>
#include <string.h>

void sw_report_fill(sw_report *r, sw_status status, const char *why, const sw_result *result) {
    r->outcome.topo = r->scenario ? &r->scenario->topo : NULL;
    r->outcome.status = status;
    r->outcome.why = status ? why : NULL;
    r->outcome.result = status ? NULL : result;
    if (!r->outcome.label && r->scenario) r->outcome.label = r->scenario->policy->name;
}

bool sw_report_decodes(const sw_report *r) {
    return r->outcome.result && r->outcome.result->tokens_per_s > 0;
}

void sw_report_rank(sw_report *r) {
    for (int i = 0; i < r->n_whatif; i++) {
        sw_whatif *w = &r->whatif[i];
        if (w->status || !r->outcome.result) continue;
        if (sw_report_decodes(r))
            w->speedup = w->tokens_per_s / r->outcome.result->tokens_per_s;
        else if (w->makespan_s > 0)
            w->speedup = r->outcome.result->makespan_s / w->makespan_s;
    }
    for (int i = 1; i < r->n_whatif; i++) /* stable: equals stay in the order of the knobs */
        for (int k = i; k > 0; k--) {
            sw_whatif *a = &r->whatif[k - 1], *b = &r->whatif[k], t = *a;
            double ka = r->outcome.result ? a->speedup : a->tokens_per_s;
            double kb = r->outcome.result ? b->speedup : b->tokens_per_s;
            if (ka >= kb - 1e-9) break;
            *a = *b, *b = t;
        }
}

/* --- words and numbers --------------------------------------------------------------------- */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void sw_report_subject(const sw_report *r, char *buf, size_t n) {
    const sw_scenario *s = r->scenario;
    if (s->trace_path[0])
        snprintf(buf, n, "%s", base_name(s->trace_path));
    else if (s->model && s->model->quant[0])
        snprintf(buf, n, "%s %s", s->model->name, s->model->quant);
    else if (s->model)
        snprintf(buf, n, "%s", s->model->name);
    else
        snprintf(buf, n, "%s trace", s->source->name);
}

char *sw_text_num(char *buf, size_t n, double x) {
    double a = fabs(x);
    int digits = a >= 99.95 || a == 0 ? 0 : a >= 9.995 ? 1 : a >= 0.9995 ? 2 : 3;
    for (double lim = 0.0995; digits > 2 && digits < 9 && a < lim; lim /= 10) digits++;
    snprintf(buf, n, "%.*f", digits, x);
    return buf;
}

char *sw_text_bytes10(char *buf, size_t n, double bytes) {
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    int u = 0;
    while (u < 6 && bytes >= 999.5) bytes /= 1000, u++;
    char num[32];
    if (u == 0) snprintf(num, sizeof num, "%.0f", bytes);
    snprintf(buf, n, "%s %s", u ? sw_text_num(num, sizeof num, bytes) : num, units[u]);
    return buf;
}

const char *sw_text_limit(sw_cat c, bool brief) {
    static const char *const words[SW_CAT_COUNT][2] = {
        [SW_CAT_GPU_COMPUTE] = {"GPU arithmetic", "GPU arithmetic"},
        [SW_CAT_GPU_MEMORY] = {"GPU memory bandwidth", "GPU memory"},
        [SW_CAT_CPU_COMPUTE] = {"CPU arithmetic", "CPU arithmetic"},
        [SW_CAT_CPU_MEMORY] = {"RAM bandwidth", "RAM bandwidth"},
        [SW_CAT_IN_PLACE] = {"kernels that read over the link", "link reads"},
        [SW_CAT_H2D] = {"copies to the GPU", "copies in"},
        [SW_CAT_D2H] = {"copies from the GPU", "copies out"},
        [SW_CAT_PEER] = {"copies between GPUs", "peer copies"},
        [SW_CAT_NVME_READ] = {"NVMe reads", "NVMe reads"},
        [SW_CAT_NVME_WRITE] = {"NVMe writes", "NVMe writes"},
        [SW_CAT_FAULT] = {"page faults", "page faults"},
        [SW_CAT_ALLOC] = {"allocation calls", "allocation"},
        [SW_CAT_SETUP] = {"copy and kernel set-up", "set-up"},
        [SW_CAT_HOST] = {"the host thread", "host thread"},
        [SW_CAT_COLLECTIVE] = {"collectives", "collectives"},
        [SW_CAT_IDLE] = {"waiting", "waiting"},
    };
    const char *w = words[c][brief];
    return w ? w : "";
}
