/* Reading command lines and printing help (see args.h). */
#include "cli/args.h"
#include "sim/report/table.h"
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPTS_MAX = 48, HELP_ID = 1000, OPT_BASE = 1001 };

sw_status sw_unknown(const char *what, const char *name, const char *const *words, size_t n,
                     sw_error *err) {
    const char *near = sw_nearest(name, words, n);
    return sw_fail(err, SW_INPUT, "unknown %s \"%.60s\"%s%s%s", what, name,
                   near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

static sw_status unknown_option(const sw_command *cmd, const char *word, sw_error *err) {
    const char *names[OPTS_MAX + 1];
    char bare[64];
    size_t n = 0;
    for (; n < cmd->n_opts && n < OPTS_MAX; n++) names[n] = cmd->opts[n].name;
    names[n++] = "help";
    while (*word == '-') word++;
    snprintf(bare, sizeof bare, "%.*s", (int)strcspn(word, "="), word);
    const char *near = sw_nearest(bare, names, n);
    return sw_fail(err, SW_INPUT, "%s has no option --%s%s%s%s", cmd->name, bare,
                   near ? "; did you mean --" : " (see spillway ", near ? near : cmd->name,
                   near ? "?" : " --help)");
}

static sw_status store(const sw_command *cmd, const sw_opt *o, char *text, void *opts,
                       sw_error *err) {
    void *at = (char *)opts + o->offset;
    switch (o->type) {
    case SW_OPT_FLAG:
        *(bool *)at = true;
        return SW_OK;
    case SW_OPT_TEXT:
        *(const char **)at = text;
        return SW_OK;
    case SW_OPT_LIST: {
        sw_opt_list *list = at;
        if (list->n == SW_LIST_MAX)
            return sw_fail(err, SW_INPUT, "--%s may be given %d times", o->name, SW_LIST_MAX);
        list->items[list->n++] = text;
        return SW_OK;
    }
    case SW_OPT_COUNT: {
        char *end;
        errno = 0;
        long long v = strtoll(text, &end, 10);
        if (errno || end == text || *end || v < 1 || v > 1000000)
            return sw_fail(err, SW_INPUT, "%s: --%s: \"%.40s\" is no count from 1 to 1000000",
                           cmd->name, o->name, text);
        *(int64_t *)at = v;
        return SW_OK;
    }
    }
    return SW_OK;
}

sw_status sw_args_read(const sw_command *cmd, int argc, char **argv, void *opts, int *n_args,
                       sw_error *err) {
    struct option rows[OPTS_MAX + 2] = {{0}};
    char shorts[2 * OPTS_MAX + 8] = ":h";
    size_t at = 2;
    for (size_t i = 0; i < cmd->n_opts; i++) {
        const sw_opt *o = &cmd->opts[i];
        rows[i] = (struct option){o->name, o->type == SW_OPT_FLAG ? no_argument : required_argument,
                                  NULL, OPT_BASE + (int)i};
        if (!o->letter) continue;
        shorts[at++] = o->letter;
        if (o->type != SW_OPT_FLAG) shorts[at++] = ':';
    }
    rows[cmd->n_opts] = (struct option){"help", no_argument, NULL, HELP_ID};
    opterr = 0;
    optind = 0;
    for (int c; (c = getopt_long(argc, argv, shorts, rows, NULL)) != -1;) {
        if (c == HELP_ID || c == 'h') {
            sw_command_help(cmd, stdout);
            return SW_END;
        }
        if (c == ':')
            return sw_fail(err, SW_INPUT, "%s: %s wants a value", cmd->name, argv[optind - 1]);
        if (c == '?') return unknown_option(cmd, argv[optind - 1], err);
        size_t i = (size_t)(c - OPT_BASE);
        if (c < OPT_BASE)
            for (i = 0; cmd->opts[i].letter != c;) i++;
        SW_TRY(store(cmd, &cmd->opts[i], optarg, opts, err));
    }
    int n = argc - optind;
    for (int i = 0; i < n; i++) argv[1 + i] = argv[optind + i];
    if (n < cmd->min_args || n > cmd->max_args)
        return sw_fail(err, SW_INPUT, "usage: spillway %s %s", cmd->name, cmd->usage);
    *n_args = n;
    return SW_OK;
}

sw_status sw_output_ok(const char *option, const char *path, sw_error *err) {
    struct stat info;
    char dir[600];
    if (!path || !strcmp(path, "-")) return SW_OK;
    if (!*path || strlen(path) >= sizeof dir - 32)
        return sw_fail(err, SW_INPUT, "--%s: the file's name is %s", option,
                       *path ? "too long" : "empty");
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return sw_fail(err, SW_INPUT, "--%s: %s is no regular file (\"-\" is standard output)",
                       option, path);
    const char *slash = strrchr(path, '/');
    snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
    if (stat(dir, &info) || !S_ISDIR(info.st_mode))
        return sw_fail(err, SW_INPUT, "--%s: %s: there is no folder %s", option, path, dir);
    if (access(dir, W_OK))
        return sw_fail(err, SW_IO, "--%s: %s: the folder cannot be written", option, path);
    return SW_OK;
}

void sw_command_help(const sw_command *cmd, FILE *out) {
    static const sw_column cols[] = {{NULL, NULL, SW_LEFT, false}, {NULL, NULL, SW_LEFT, false}};
    sw_style s = sw_style_for(out, false);
    fprintf(out, "spillway %s %s\n\n", cmd->name, cmd->usage);
    sw_paragraph(&s, out, 2, 2, SW_TONE_NONE, cmd->summary);
    if (cmd->doc) {
        fputc('\n', out);
        sw_paragraph(&s, out, 2, 2, SW_TONE_NONE, cmd->doc);
    }
    if (cmd->n_opts) {
        sw_heading(&s, out, "Options");
        sw_table *t = sw_table_new(cols, 2, 2);
        for (size_t i = 0; i < cmd->n_opts; i++) {
            const sw_opt *o = &cmd->opts[i];
            char letter[8] = "";
            if (o->letter) snprintf(letter, sizeof letter, "-%c, ", o->letter);
            sw_table_row(t);
            sw_table_cell(t, SW_TONE_BOLD, "%s--%s%s%s", letter, o->name, o->arg ? " " : "",
                          o->arg ? o->arg : "");
            sw_table_span(t, SW_TONE_NONE, "%s", o->help);
        }
        sw_table_print(t, &s, out, NULL);
    }
    sw_heading(&s, out, "Example");
    fprintf(out, "%s", cmd->example);
}
