/* Hybrids of attention and state-space layers. */
#include "models/hf.h"

const hf_arch hf_hybrid[] = {{0}};
