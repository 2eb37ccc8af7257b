/* The words and limits of Spillway's own trace format, text, version 1 (docs/trace-format.md). The
 * importer is traces/source/swt.c, the writer traces/swt_write.c. */
#ifndef SW_SWT_H
#define SW_SWT_H

#include "sim/trace.h"

enum {
    SW_SWT_VERSION = 1,
    SW_SWT_IDS = 16 << 20,      /* block ids are below this */
    SW_SWT_USES = 1 << 20,      /* uses of an event */
    SW_SWT_LAYERS = 1 << 20,    /* layers and experts are below this */
    SW_SWT_NAME = 256,          /* bytes of a name */
    SW_SWT_NAMES = 1 << 20,     /* different names of a file */
    SW_SWT_NAME_TEXT = 64 << 20 /* bytes of all of them */
};

/* By their enums. */
extern const char *const sw_swt_kinds[];   /* sw_block_kind */
extern const char *const sw_swt_phases[];  /* sw_phase */
extern const char *const sw_swt_maths[];   /* sw_math */
extern const char *const sw_swt_classes[]; /* sw_class */
enum { SW_SWT_KINDS = SW_BLOCK_EMBED + 1, SW_SWT_PHASES = SW_PHASE_OTHER + 1 };
extern const char sw_swt_modes[]; /* sw_mode */

/** NULL when the bytes can be a name, else why not: too long, a control character, no UTF-8. */
const char *sw_swt_name_bad(const char *text, size_t bytes);

#endif
