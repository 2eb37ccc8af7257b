/* Finding the files of parts, for part.c (models/part.h). */
#ifndef SW_MODELS_SHELF_H
#define SW_MODELS_SHELF_H

#include "models/part.h"

/** The root and the id of the file that `name` names: a device, or with a '/' or a ".yaml" a path
 * from the scenario's folder. Fails SW_INPUT at `name`'s place, or in the file. */
sw_status sw_shelf_find(sw_shelf *s, sw_part_kind kind, const sw_node *name, const char *key,
                        const sw_node **root, const char **id, sw_error *err);
/** The root of models/devices/_defaults.yaml. */
sw_status sw_shelf_defaults(sw_shelf *s, const sw_node **root, sw_error *err);

#endif
