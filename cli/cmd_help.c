/* spillway help: plug-ins with their options, the figures of a run, scenario files, commands. */
#include "cli/args.h"
#include "sim/alloc.h"
#include "sim/backend.h"
#include "sim/pager.h"
#include "sim/policy.h"
#include "sim/report/stats.h"
#include "sim/report/table.h"
#include "sim/trace.h"
#include <string.h>

/* --- plug-ins ------------------------------------------------------------------------------ */

static void plugin_help(const sw_plugin *p, const char *kind) {
    sw_style s = sw_style_for(stdout, false);
    printf("%s %s\n\n", kind, p->name);
    sw_paragraph(&s, stdout, 2, 2, SW_TONE_BOLD, p->summary);
    if (p->doc) {
        putchar('\n');
        sw_paragraph(&s, stdout, 2, 2, SW_TONE_NONE, p->doc);
    }
    if (!p->n_params) return;
    static const sw_column cols[] = {{"option", NULL, SW_LEFT, false},
                                     {"default", NULL, SW_LEFT, false},
                                     {"range", NULL, SW_LEFT, true},
                                     {"meaning", NULL, SW_LEFT, false}};
    putchar('\n');
    sw_table *t = sw_table_new(cols, 4, 2);
    for (size_t i = 0; i < p->n_params; i++) {
        const sw_param *o = &p->params[i];
        sw_table_row(t);
        sw_table_cell(t, SW_TONE_BOLD, "%s", o->name);
        sw_table_cell(t, SW_TONE_NONE, "%s", o->def);
        if (o->type == SW_PARAM_CHOICE)
            sw_table_cell(t, SW_TONE_NONE, "%s", o->choices);
        else if (o->type == SW_PARAM_BOOL)
            sw_table_cell(t, SW_TONE_NONE, "true|false");
        else if (o->min != o->max)
            sw_table_cell(t, SW_TONE_NONE, "%.15g to %.15g", o->min, o->max);
        else
            sw_table_cell(t, SW_TONE_NONE, "%s", "");
        sw_table_span(t, SW_TONE_NONE, "%s", o->help);
    }
    sw_table_print(t, &s, stdout, NULL);
}

static const struct kind {
    const char *name, *key; /* the key of a scenario that names one */
    const sw_plugin *const *table;
    const size_t *n;
} kinds[] = {{"policy", "policy", sw_policy_table, &sw_policy_table_n},
             {"allocator", "allocator", sw_alloc_table, &sw_alloc_table_n},
             {"pager", "pager", sw_pager_table, &sw_pager_table_n},
             {"generator", "workload", sw_source_table, &sw_source_table_n},
             {"importer", "workload", sw_source_table, &sw_source_table_n},
             {"backend", "backend", sw_backend_table, &sw_backend_table_n}};

static sw_status help_plugin(const struct kind *k, const char *name, sw_error *err) {
    const sw_plugin *p;
    if (!strcmp(k->name, "backend") && !strcmp(name, "simgrid")) {
        sw_style s = sw_style_for(stdout, false);
        printf("backend simgrid\n\n");
        sw_paragraph(&s, stdout, 2, 2, SW_TONE_BOLD,
                     "max-min fair sharing of every link, memory and unit");
        putchar('\n');
        sw_paragraph(&s, stdout, 2, 2, SW_TONE_NONE,
                     "The simulator. Each queue is an actor of SimGrid; it runs in the executable "
                     "spillway-worker, one process a run.");
        return SW_OK;
    }
    SW_TRY(sw_plugin_find(k->table, *k->n, k->name, name, (sw_mark){0}, &p, err));
    plugin_help(p, k->name);
    printf("\nIn a scenario:\n\n");
    if (!strcmp(k->name, "importer"))
        printf("  workload: {trace: FILE, format: %s}\n", p->name);
    else if (!strcmp(k->name, "generator"))
        printf("  workload: {generator: %s%s%s%s%s}\n", p->name, p->n_params ? ", " : "",
               p->n_params ? p->params[0].name : "", p->n_params ? ": " : "",
               p->n_params ? p->params[0].def : "");
    else if (p->n_params)
        printf("  %s: {name: %s, %s: %s}\n", k->key, p->name, p->params[0].name, p->params[0].def);
    else
        printf("  %s: %s\n", k->key, p->name);
    return SW_OK;
}

/* --- topics -------------------------------------------------------------------------------- */

static void help_stats(void) {
    static const sw_column cols[] = {{"figure", NULL, SW_LEFT, false},
                                     {"unit", NULL, SW_LEFT, false},
                                     {"meaning", NULL, SW_LEFT, false}};
    static const char *const items[] = {"", "CATEGORY", "TIER", "RESOURCE", "QUEUE", "NAME"};
    sw_style s = sw_style_for(stdout, false);
    sw_paragraph(
        &s, stdout, 0, 0, SW_TONE_NONE,
        "Figures of a run, as they stand in the JSON and CSV results and in the expressions "
        "of claims (\"a.tokens_per_s / b.tokens_per_s\"); fits is 1 or 0.");
    putchar('\n');
    sw_table *t = sw_table_new(cols, 3, 0);
    for (size_t i = 0; i < sw_stats_n; i++) {
        const sw_stat *x = &sw_stats[i];
        sw_table_row(t);
        if (x->family == SW_FAMILY_RUN)
            sw_table_cell(t, SW_TONE_BOLD, "%s", x->key);
        else if (x->family == SW_FAMILY_COUNTER)
            sw_table_cell(t, SW_TONE_BOLD, "counter.NAME");
        else
            sw_table_cell(t, SW_TONE_BOLD, "%s.%s.%s", sw_family_name(x->family), items[x->family],
                          x->key);
        sw_table_cell(t, SW_TONE_NONE, "%s", x->unit);
        sw_table_span(t, SW_TONE_NONE, "%s", x->text);
    }
    sw_table_print(t, &s, stdout, NULL);
    sw_heading(&s, stdout, "Categories");
    static const sw_column two[] = {{NULL, NULL, SW_LEFT, false}, {NULL, NULL, SW_LEFT, false}};
    t = sw_table_new(two, 2, 2);
    for (int c = 0; c < SW_CAT_COUNT; c++) {
        sw_table_row(t);
        sw_table_cell(t, SW_TONE_BOLD, "%s", sw_cat_key((sw_cat)c));
        sw_table_span(t, SW_TONE_NONE, "%s", sw_cat_text((sw_cat)c));
    }
    sw_table_print(t, &s, stdout, NULL);
}

static void help_scenario(void) {
    fputs("A scenario is a YAML file: a machine, a model, a workload, a policy.\n\n"
          "  spillway: 1                # the format's version; always first\n"
          "  question: Is the GPU or the link the limit?\n"
          "  seed: 1\n"
          "  machine:   {gpu: rtx4090, cpu: ddr5-6000-2ch, ram: 64 GiB, nvme: nvme-gen4}\n"
          "  model:     {network: llama-3-70b, quant: q4_k_m}\n"
          "  workload:  {generator: llm, batch: 1, prompt: 512, generate: 64}\n"
          "  policy:    {name: prefetch, depth: 1}    # or just a name\n"
          "  runtime:   llamacpp                      # default: ideal, no cost at all\n"
          "  allocator: best_fit\n"
          "  pager:     uvm                           # for the policies that page\n"
          "  backend:   simgrid                       # null: no contention; host: real\n"
          "  scale:     {pcie: 2}                     # the same machine with a figure changed\n\n"
          "Quantities carry a unit (24 GiB, 25 GB/s, 80 us); GB is 1e9 bytes, GiB is 2^30.\n"
          "A recorded trace instead of a generator:  workload: {trace: FILE}\n"
          "Any key can be set from the command line: --set workload.batch=8\n\n"
          "What there is:  spillway list devices|networks|runtimes|policies|generators\n"
          "Their options:  spillway help policy|allocator|generator|backend NAME\n",
          stdout);
}

static sw_status help_run(const sw_command *cmd, int argc, char **argv, sw_error *err) {
    int n;
    SW_TRY(sw_args_read(cmd, argc, argv, NULL, &n, err));
    if (n == 0) {
        sw_command_help(cmd, stdout);
        return SW_OK;
    }
    const char *topic = argv[1];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, topic)) continue;
        if (n == 2) return help_plugin(&kinds[i], argv[2], err);
        return sw_fail(err, SW_INPUT, "which %s? see spillway list", topic);
    }
    if (n == 1 && !strcmp(topic, "stats")) return help_stats(), SW_OK;
    if (n == 1 && !strcmp(topic, "scenario")) return help_scenario(), SW_OK;
    const sw_command *c = sw_command_find(topic);
    if (c && n == 1) return sw_command_help(c, stdout), SW_OK;
    const char *words[48] = {"policy",   "allocator", "pager", "generator",
                             "importer", "backend",   "stats", "scenario"};
    size_t k = 7;
    for (size_t i = 0; sw_commands[i] && k < 48; i++) words[k++] = sw_commands[i]->name;
    return sw_unknown("help topic", topic, words, k, err);
}

const sw_command sw_cmd_help = {
    .name = "help",
    .summary = "explain a policy, allocator, pager, generator or backend with its options, the "
               "figures of a "
               "run, scenario files, or a command",
    .usage = "policy|allocator|pager|generator|importer|backend NAME, or stats|scenario|COMMAND",
    .example = "  spillway help policy prefetch\n  spillway help stats\n",
    .min_args = 0,
    .max_args = 2,
    .run = help_run,
};
