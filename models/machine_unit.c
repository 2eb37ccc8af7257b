/* Peaks and efficiencies of a unit from a part's figures (models/machine.h, docs/machines.md). */
#include "models/machine.h"
#include <stdio.h>

static bool find(const sw_part *p, const char *at, const char *key, double *out) {
    char path[64];
    snprintf(path, sizeof path, "%s%s", at, key);
    return sw_part_find(p, path, out);
}

sw_status sw_machine_peaks(const sw_part *p, const char *at, double *peak, sw_error *err) {
    char path[64];
    snprintf(path, sizeof path, "%scompute.fp32", at);
    SW_TRY(sw_part_need(p, path, &peak[SW_FP32], err));
    peak[SW_FP16] = peak[SW_FP32];
    find(p, at, "compute.fp16", &peak[SW_FP16]);
    peak[SW_FP8] = peak[SW_FP4] = peak[SW_INT8] = peak[SW_FP16];
    double gemm = 1, fp8 = 0, rate;
    find(p, at, "kernels.gemm_compute", &gemm);
    if (find(p, at, "compute.fp8", &rate))
        peak[SW_FP8] = find(p, at, "kernels.fp8_compute", &fp8) ? rate * fp8 / gemm : rate;
    find(p, at, "compute.fp4", &peak[SW_FP4]);
    find(p, at, "compute.int8", &peak[SW_INT8]);
    return SW_OK;
}

/* f * nominal = memory * ceiling, and no kernel reads faster than the ceiling. */
static double against_ceiling(double f, double nominal, double ceiling) {
    double memory = f * nominal / ceiling;
    return memory < 1 ? memory : 1;
}

void sw_machine_kernels(const sw_part *p, const char *at, double nominal_Bps, double ceiling_Bps,
                        sw_unit *unit) {
    double x, fixed = 0, gemm_memory = 1, gemm_compute = 1;
    find(p, at, "kernels.fixed", &fixed);
    find(p, at, "kernels.gemm_compute", &gemm_compute);
    if (find(p, at, "kernels.gemm_memory", &x))
        gemm_memory = against_ceiling(x, nominal_Bps, ceiling_Bps);
    double attention = gemm_memory, attention_fixed = fixed, prefill = gemm_compute;
    if (find(p, at, "kernels.attention_memory", &x))
        attention = against_ceiling(x, nominal_Bps, ceiling_Bps);
    find(p, at, "kernels.attention_fixed", &attention_fixed);
    find(p, at, "kernels.prefill_compute", &prefill);

    /* What only streams runs at the ceiling; what multiplies, at the fits of matrix products. */
    for (int c = 0; c < SW_CLASS_COUNT; c++) unit->eff[c] = (sw_efficiency){1, gemm_compute, fixed};
    unit->eff[SW_CLASS_GEMM].memory = gemm_memory;
    unit->eff[SW_CLASS_EXPERT].memory = gemm_memory;
    unit->eff[SW_CLASS_ROUTER].memory = gemm_memory;
    unit->eff[SW_CLASS_ATTN_DECODE] = (sw_efficiency){attention, gemm_compute, attention_fixed};
    unit->eff[SW_CLASS_ATTN_PREFILL] = (sw_efficiency){gemm_memory, prefill, fixed};
}
