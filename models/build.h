/* A model under construction: what every reader (config, GGUF, safetensors) adds layers and tensors
 * with.
 *
 * A model made here owns its strings in chunks; nothing is freed one by one. Limits that hold for
 * every reader: SW_MAX_LAYERS, SW_MAX_TENSORS, SW_MAX_EXPERTS; every product is checked. */
#ifndef SW_MODELS_BUILD_H
#define SW_MODELS_BUILD_H

#include "sim/model.h"

enum { SW_MAX_LAYERS = 10000, SW_MAX_EXPERTS = 65536, SW_MAX_TENSORS = 2000000, SW_MAX_NAME = 512 };

/** An empty model, or NULL when memory is out. Free with sw_model_free. */
sw_model *sw_build_new(void);
/** Makes n zeroed layers (kv_shared_with -1). Once a model. */
sw_status sw_build_layers(sw_model *m, uint64_t n, sw_error *err);
/** Appends a copy of *t: copies the name, computes bytes from type and dims. `elems` is the number
 * of the network's weights that the tensor holds: all of its elements if `weights`, none if it is a
 * side tensor (scales, zero points). Fails SW_INPUT when a size overflows or there are too many
 * tensors. */
sw_status sw_build_tensor(sw_model *m, const sw_tensor *t, bool weights, sw_error *err);
/** Copies text into the model; NULL when memory is out. */
const char *sw_build_string(sw_model *m, const char *text);
/** Recomputes bytes (and elems, if it has any) of a tensor whose type changed. */
sw_status sw_build_resize(sw_tensor *t, sw_error *err);

/** Product of n dims, UINT64_MAX on overflow. */
uint64_t sw_build_product(const uint64_t *dims, uint32_t n);

/* Tensors by name: a sorted index. */
typedef struct sw_names {
    const sw_tensor **sorted;
    size_t n;
} sw_names;

/** Indexes m's tensors. Fails SW_INPUT, naming the first name that occurs twice. */
sw_status sw_names_open(const sw_model *m, sw_names *out, sw_error *err);
const sw_tensor *sw_names_find(const sw_names *names, const char *name);
void sw_names_close(sw_names *names);

/* The readers, each one file of its own; `name` stands in messages. */
sw_status sw_model_from_config(const char *path, const char *quant, sw_model **out, sw_error *err);
sw_status sw_model_from_network(const char *path, const char *quant, sw_model **out, sw_error *err);
sw_status sw_model_from_gguf(const char *path, sw_model **out, sw_error *err);
/** path: a .safetensors file or an index.json. config: the config.json; NULL: the one beside it. */
sw_status sw_model_from_safetensors(const char *path, const char *config, sw_model **out,
                                    sw_error *err);

#endif
