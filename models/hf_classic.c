/* Older decoders and encoders. */
#include "models/hf.h"

const hf_arch hf_classic[] = {{0}};
