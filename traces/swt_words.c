/* The words of the trace format (see swt.h). */
#include "traces/swt.h"

const char *const sw_swt_kinds[] = {"weight", "expert", "kv", "state", "act", "other", "embed"};
const char *const sw_swt_phases[] = {"prefill", "decode", "train", "other"};
const char *const sw_swt_maths[] = {"fp32", "fp16", "fp8", "fp4", "int8"};
const char *const sw_swt_classes[] = {"generic",     "gemm",   "attn_prefill",
                                      "attn_decode", "embed",  "elementwise",
                                      "router",      "expert", "sample"};
const char sw_swt_modes[] = "?rwx";

_Static_assert(sizeof sw_swt_kinds / sizeof *sw_swt_kinds == SW_SWT_KINDS, "a word a kind");
_Static_assert(sizeof sw_swt_phases / sizeof *sw_swt_phases == SW_SWT_PHASES, "a word a phase");
_Static_assert(sizeof sw_swt_maths / sizeof *sw_swt_maths == SW_MATH_COUNT, "a word a format");
_Static_assert(sizeof sw_swt_classes / sizeof *sw_swt_classes == SW_CLASS_COUNT, "a word a class");

/* Bytes of the UTF-8 character at p, 0 if it is none (RFC 3629: shortest form, no surrogates). */
static size_t character(const unsigned char *p, size_t left) {
    size_t n = *p < 0xc2 ? 0 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : *p < 0xf5 ? 4 : 0;
    if (n == 0 || n > left) return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
        (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    return n;
}

const char *sw_swt_name_bad(const char *text, size_t bytes) {
    const unsigned char *p = (const unsigned char *)text;
    if (bytes > SW_SWT_NAME) return "a name is longer than 256 bytes";
    for (size_t i = 0; i < bytes;) {
        if (p[i] < 32 || p[i] == 127) return "a control character in a name";
        size_t n = p[i] < 128 ? 1 : character(p + i, bytes - i);
        if (!n) return "a name that is no UTF-8";
        i += n;
    }
    return NULL;
}
