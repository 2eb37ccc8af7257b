/* Reader of gguf files: to come. */
#include "models/build.h"

sw_status sw_model_from_gguf(const char *path, sw_model **out, sw_error *err) {
    (void)out;
    return sw_fail(err, SW_INPUT, "%s: GGUF files are not read yet", path);
}
