/* The headers of safetensors files: 8 bytes of length, then JSON with each tensor's dtype, shape
 * and offsets. Source: the format's README (huggingface/safetensors). */
#ifndef SW_MODELS_SAFETENSORS_H
#define SW_MODELS_SAFETENSORS_H

#include "models/build.h"

/** Appends a file's tensors to m as the header has them, roles unset (shapes reversed: innermost
 * first). The offsets must tile the data exactly. *whole: the file holds its data, not just the
 * header. Fails SW_INPUT, one line with the file and the tensor. */
sw_status sw_safetensors_read(const char *path, sw_model *m, bool *whole, sw_error *err);

#endif
