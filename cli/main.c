/* spillway: what happens to speed when a model does not fit where it should? This file is the table
 * of contents: one command a file cmd_*.c, each ending in its row. */
#include "cli/args.h"
#include "sim/report/table.h"
#include <ctype.h>
#include <locale.h>
#include <string.h>

extern const sw_command sw_cmd_run, sw_cmd_compare, sw_cmd_list, sw_cmd_help, sw_cmd_verify,
    sw_cmd_calibrate, sw_cmd_validate, sw_cmd_claims, sw_cmd_model, sw_cmd_trace;

const sw_command *const sw_commands[] = {&sw_cmd_run,
                                         &sw_cmd_compare,
                                         &sw_cmd_model,
                                         &sw_cmd_trace,
                                         &sw_cmd_list,
                                         &sw_cmd_claims,
                                         &sw_cmd_verify,
                                         &sw_cmd_calibrate,
                                         &sw_cmd_validate,
                                         &sw_cmd_help,
                                         NULL};

const sw_command *sw_command_find(const char *name) {
    for (size_t i = 0; sw_commands[i]; i++)
        if (!strcmp(sw_commands[i]->name, name)) return sw_commands[i];
    return NULL;
}

static void overview(FILE *out) {
    static const sw_column cols[] = {{NULL, NULL, SW_LEFT, false}, {NULL, NULL, SW_LEFT, true}};
    sw_style s = sw_style_for(out, false);
    fprintf(out, "spillway COMMAND …\n\n");
    sw_paragraph(
        &s, out, 2, 2, SW_TONE_NONE,
        "Simulates AI models on machines whose fast memory is too small for them: how fast, "
        "what limits it, what would help.");
    sw_heading(&s, out, "Commands");
    sw_table *t = sw_table_new(cols, 2, 2);
    for (size_t i = 0; sw_commands[i]; i++) {
        sw_table_row(t);
        sw_table_cell(t, SW_TONE_BOLD, "%s", sw_commands[i]->name);
        sw_table_span(t, SW_TONE_NONE, "%s", sw_commands[i]->summary);
    }
    sw_table_print(t, &s, out, NULL);
    sw_heading(&s, out, "Exit codes");
    fputs("  0 ok   1 the run failed   2 bad input   3 outside tolerance   4 does not fit\n", out);
    sw_heading(&s, out, "Example");
    fputs("  spillway list scenarios\n  spillway run scenarios/llama3-70b-q4-rtx4090.yaml\n"
          "  spillway COMMAND --help\n",
          out);
}

/* A message that begins with a place ("file:3:7: …", "model.gguf: byte 24: …") stands as it is. */
static bool placed(const char *text) {
    size_t n = strcspn(text, " ");
    if (n < 2 || text[n] != ' ' || text[n - 1] != ':') return false;
    for (size_t i = 0; i + 1 < n; i++)
        if (text[i] == '/' || text[i] == '.' ||
            (text[i] == ':' && isdigit((unsigned char)text[i + 1])))
            return true;
    return false;
}

static sw_status dispatch(int argc, char **argv, sw_error *err) {
    if (argc < 2) {
        overview(stdout);
        return SW_INPUT;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
        overview(stdout);
        return SW_OK;
    }
    if (!strcmp(argv[1], "--version")) {
        printf("spillway %s\n", SPILLWAY_VERSION);
        return SW_OK;
    }
    const sw_command *cmd = sw_command_find(argv[1]);
    if (cmd) return cmd->run(cmd, argc - 1, argv + 1, err);
    const char *names[32];
    size_t n = 0;
    for (; sw_commands[n] && n < 32; n++) names[n] = sw_commands[n]->name;
    return sw_unknown("command", argv[1], names, n, err);
}

int main(int argc, char **argv) {
    setlocale(LC_CTYPE, ""); /* block characters only; numbers stay as they are */
    sw_error err = {0};
    sw_status st = dispatch(argc, argv, &err);
    if (fflush(stdout) || ferror(stdout))
        if (!st) st = sw_fail(&err, SW_IO, "standard output: cannot write");
    if (st && err.text[0])
        fprintf(stderr, "%s%s\n", placed(err.text) ? "" : "spillway: ", err.text);
    return sw_exit_code(st);
}
