/* What yaml.c and yaml_set.c share: a document, the memory of its nodes, and reading into it. */
#ifndef SW_BASE_YAML_PARTS_H
#define SW_BASE_YAML_PARTS_H

#include "sim/base/yaml.h"

enum { SW_YAML_DEPTH = 64 };

struct sw_yaml {
    sw_node *root;
    struct block *blocks;
};

/** Memory that lives as long as the document; NULL when there is none left. */
void *sw_yaml_take(sw_yaml *doc, size_t bytes);
/** A copy of n bytes of text, NUL-terminated, in such memory. */
const char *sw_yaml_keep(sw_yaml *doc, const char *text, size_t n);
/** Reads text into doc's memory without touching its root; `depth` is that of the text's root. */
sw_status sw_yaml_read(sw_yaml *doc, const char *text, size_t bytes, const char *name, int depth,
                       sw_node **root, sw_error *err);

#endif
