/* Commands and their options as rows of tables: parsing, --help, did-you-mean come from the rows.
 *
 * An option's value lives in the command's own struct at `offset`, as a plug-in's options do
 * (sim/base/params.h). Every command takes --help too. */
#ifndef SW_CLI_ARGS_H
#define SW_CLI_ARGS_H

#include "sim/base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { SW_LIST_MAX = 128 };

typedef enum sw_opt_type {
    SW_OPT_FLAG, /* bool */
    SW_OPT_TEXT, /* const char *: the last one given */
    SW_OPT_LIST, /* sw_opt_list: all of them, in order */
    SW_OPT_COUNT /* int64_t, 1 to 1e6 */
} sw_opt_type;

typedef struct sw_opt_list {
    const char *items[SW_LIST_MAX];
    size_t n;
} sw_opt_list;

typedef struct sw_opt {
    const char *name; /* long: "policy" */
    char letter;      /* short: 'j'; 0 none */
    sw_opt_type type;
    const char *arg; /* what stands for the value in the help: "NAME" */
    size_t offset;
    const char *help;
} sw_opt;

typedef struct sw_command {
    const char *name;    /* "run" */
    const char *summary; /* one line, for the overview */
    const char *usage;   /* behind the name: "SCENARIO [options]" */
    const char *doc;     /* a paragraph; may be NULL */
    const char *example; /* whole lines */
    const sw_opt *opts;
    size_t n_opts;
    int min_args, max_args; /* words that are no options */
    /* argv[0] is the command's name. Returns the program's outcome; err.text is printed unless it
     * is empty. */
    sw_status (*run)(const struct sw_command *cmd, int argc, char **argv, sw_error *err);
} sw_command;

/** Fills `opts` (zeroed by the caller) and moves the other words to the front of argv (from 1).
 *  *n_args  how many there are; between the command's min and max.
 *  Fails SW_INPUT. SW_END: --help was printed, there is nothing more to do. */
sw_status sw_args_read(const sw_command *cmd, int argc, char **argv, void *opts, int *n_args,
                       sw_error *err);
/** Whether a file can be written there: its folder is there, and what stands under its name is a
 * regular file if anything (the writer puts a new file in its place, which must not happen to a
 * device). NULL and "-" pass. Fails SW_INPUT before any work is done. */
sw_status sw_output_ok(const char *option, const char *path, sw_error *err);
/** The help of a command. */
void sw_command_help(const sw_command *cmd, FILE *out);

/** The commands; ended by NULL. */
extern const sw_command *const sw_commands[];
const sw_command *sw_command_find(const char *name);
/** "unknown WHAT "name"; did you mean …?" */
sw_status sw_unknown(const char *what, const char *name, const char *const *words, size_t n,
                     sw_error *err);

#endif
