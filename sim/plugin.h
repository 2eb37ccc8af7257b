/* The head of every plug-in: policy, allocator, backend, event source.
 *
 * A plug-in is one file that ends in one const struct with designated initialisers; everything
 * above it is static. CMake globs its folder and generates the table, so adding one edits no list,
 * and a file that forgets its symbol fails at link. The file NAME.c in the folder of kind KIND
 * defines sw_KIND_NAME. */
#ifndef SW_PLUGIN_H
#define SW_PLUGIN_H

#include "sim/base/params.h"

typedef struct sw_plugin {
    const char *name;    /* one word, as in YAML */
    const char *summary; /* one line, for `spillway list` */
    const char *doc; /* a paragraph for `spillway help KIND NAME`: idea, source, when it is wrong */
    uint32_t flags;  /* of its kind */
    size_t ctx_bytes;       /* zeroed by the core, freed by the core */
    const sw_param *params; /* may be NULL */
    size_t n_params;
} sw_plugin;

/** Finds NAME in a table of plug-ins whose first member is sw_plugin. Fails SW_INPUT at `mark` with
 * a did-you-mean. `kind` names the kind in the message ("policy"). */
sw_status sw_plugin_find(const sw_plugin *const *table, size_t n, const char *kind,
                         const char *name, sw_mark mark, const sw_plugin **out, sw_error *err);

/** Allocates the plug-in's context and fills its options from `map` (may be NULL; its key "name" is
 *  ignored, and of a "workload" or "source" also "generator", "trace" and "format"). Free with
 *  free(). */
sw_status sw_plugin_new(const sw_plugin *plugin, const char *kind, const sw_node *map, void **ctx,
                        sw_error *err);

#endif
