/* What `model` shows and `trace info` shows too when it is given a model's file (cmd_model.c). */
#ifndef SW_CLI_OUT_H
#define SW_CLI_OUT_H

#include "sim/base/error.h"
#include <stdbool.h>

/** Prints the model of a file and writes its figures. json NULL: no file. */
sw_status sw_model_show(const char *file, const char *json, bool quiet, bool plain, sw_error *err);

#endif
