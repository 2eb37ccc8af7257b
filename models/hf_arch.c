/* The table of architectures: the families' tables, searched by model_type. */
#include "models/hf.h"

const hf_arch *sw_hf_arch(const char *model_type) {
    static const hf_arch *const families[] = {hf_llama, hf_experts, hf_classic, hf_hybrid,
                                              hf_gemma4};
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (const hf_arch *a = families[f]; a->model_type; a++)
            if (strcmp(a->model_type, model_type) == 0) return a;
    return NULL;
}
