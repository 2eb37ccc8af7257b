/* spillway list: what there is. Plug-ins come from their tables, everything else from the files of
 * the catalogue. */
#include "cli/args.h"
#include "jobs/job.h"
#include "sim/base/vec.h"
#include "sim/base/yaml.h"
#include "sim/policy.h"
#include "sim/report/table.h"
#include <dirent.h>
#include <string.h>

typedef struct list_opts {
    bool plain;
} list_opts;

static const sw_opt opts[] = {
    {"plain", 0, SW_OPT_FLAG, NULL, offsetof(list_opts, plain), "ASCII only, no colour"}};

static const sw_column two[] = {{"name", NULL, SW_LEFT, false}, {"summary", NULL, SW_LEFT, false}};

/* --- plug-ins ------------------------------------------------------------------------------ */

static sw_status plugins(const sw_plugin *const *table, size_t n, uint32_t mask, uint32_t want,
                         const sw_style *s, sw_error *err) {
    sw_table *t = sw_table_new(two, 2, 0);
    for (size_t i = 0; i < n; i++) {
        if ((table[i]->flags & mask) != want) continue;
        sw_table_row(t);
        sw_table_cell(t, SW_TONE_BOLD, "%s", table[i]->name);
        sw_table_span(t, SW_TONE_NONE, "%s", table[i]->summary);
    }
    return sw_table_print(t, s, stdout, err);
}

/* Those of this program, and those of the worker. */
static sw_status backends(const sw_style *s, sw_error *err) {
    char path[512], cmd[600], line[400];
    sw_table *t = sw_table_new(two, 2, 0);
    FILE *in = NULL;
    if (sw_worker_path(path, sizeof path, NULL) == SW_OK && !strchr(path, '\'')) {
        snprintf(cmd, sizeof cmd, "'%s' --list", path);
        in = popen(cmd, "re");
    }
    while (in && fgets(line, sizeof line, in)) {
        line[strcspn(line, "\n")] = 0;
        char *tab = strchr(line, '\t');
        if (!tab) continue;
        *tab = 0;
        sw_table_row(t);
        sw_table_cell(t, SW_TONE_BOLD, "%s", line);
        sw_table_span(t, SW_TONE_NONE, "%s", tab + 1);
    }
    if (in && pclose(in) == 0) return sw_table_print(t, s, stdout, err);
    for (size_t i = 0; i < sw_backend_table_n; i++) {
        sw_table_row(t);
        sw_table_cell(t, SW_TONE_BOLD, "%s", sw_backend_table[i]->name);
        sw_table_span(t, SW_TONE_NONE, "%s", sw_backend_table[i]->summary);
    }
    return sw_table_print(t, s, stdout, err);
}

/* --- files of the catalogue ------------------------------------------------------------------ */

typedef struct names {
    char **v;
    size_t n, cap;
} names;

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_names(names *n) {
    for (size_t i = 0; i < n->n; i++) free(n->v[i]);
    sw_vec_free(n);
}

/* The .yaml files of a folder, sorted, without the ending; those that begin with '_' aside. */
static sw_status folder(const char *dir, names *out, sw_error *err) {
    DIR *d = opendir(dir);
    if (!d) return sw_fail(err, SW_INPUT, "%s: cannot be read; is SPILLWAY_DATA right?", dir);
    for (struct dirent *e; (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        if (n < 6 || e->d_name[0] == '_' || e->d_name[0] == '.' ||
            strcmp(e->d_name + n - 5, ".yaml"))
            continue;
        char *copy = sw_strdup(e->d_name);
        if (copy) copy[n - 5] = 0;
        if (!copy || !sw_vec_push(out, copy)) {
            free(copy);
            closedir(d);
            return sw_fail(err, SW_MEMORY, "out of memory");
        }
    }
    closedir(d);
    if (out->n) qsort(out->v, out->n, sizeof *out->v, by_name);
    return SW_OK;
}

/* The first of these dotted keys that the file has, as it is written there; "". */
static const char *text_at(const sw_node *root, const char *const *keys) {
    for (; *keys; keys++) {
        const sw_node *n = root;
        char part[64];
        for (const char *p = *keys; n && *p;) {
            size_t len = strcspn(p, ".");
            snprintf(part, sizeof part, "%.*s", (int)len, p);
            n = sw_node_get(n, part);
            p += len + (p[len] == '.');
        }
        if (n && n->kind == SW_NODE_MAP) n = sw_node_get(n, "value");
        if (n && n->kind == SW_NODE_SCALAR) return n->text;
    }
    return "";
}

/* A file's opening comment, its first line. */
static void opening(const char *path, char *buf, size_t n) {
    FILE *in = fopen(path, "r");
    buf[0] = 0;
    if (in && fgets(buf, (int)n, in)) buf[strcspn(buf, "\n")] = 0;
    if (in) fclose(in);
    size_t skip = strspn(buf, "# ");
    if (buf[0] != '#')
        buf[0] = 0;
    else
        memmove(buf, buf + skip, strlen(buf + skip) + 1);
}

typedef struct field {
    const char *keys[6]; /* NULL-ended */
} field;

/* One row a file: its name, then the fields; the last column takes the rest of the line. */
static sw_status catalogue(const char *sub, const sw_column *cols, const field *fields, int n,
                           const sw_style *s, sw_error *err) {
    char data[400], dir[480], path[800], comment[400];
    names list = {0};
    sw_data_dir(NULL, data, sizeof data);
    snprintf(dir, sizeof dir, "%s/%s", data, sub);
    SW_TRY(folder(dir, &list, err));
    sw_table *t = sw_table_new(cols, n + 1, 0);
    sw_status st = SW_OK;
    for (size_t i = 0; i < list.n && !st; i++) {
        sw_yaml *doc;
        snprintf(path, sizeof path, "%s/%s.yaml", dir, list.v[i]);
        st = sw_yaml_load(path, &doc, err);
        if (st) break;
        sw_table_row(t);
        sw_table_cell(t, SW_TONE_BOLD, "%s", list.v[i]);
        for (int k = 0; k < n; k++) {
            const char *text = text_at(sw_yaml_root(doc), fields[k].keys);
            if (!*text && !strcmp(fields[k].keys[0], "question")) {
                opening(path, comment, sizeof comment);
                text = comment;
            }
            if (k == n - 1)
                sw_table_span(t, SW_TONE_NONE, "%s", text);
            else
                sw_table_cell(t, SW_TONE_NONE, "%s", text);
        }
        sw_yaml_free(doc);
    }
    free_names(&list);
    if (st) {
        FILE *none = fopen("/dev/null", "w");
        sw_table_print(t, s, none ? none : stderr, NULL); /* frees it */
        if (none) fclose(none);
        return st;
    }
    return sw_table_print(t, s, stdout, err);
}

static sw_status devices(const sw_style *s, sw_error *err) {
    static const sw_column cols[] = {
        {"name", NULL, SW_LEFT, false},    {"kind", NULL, SW_LEFT, false},
        {"memory", NULL, SW_RIGHT, false}, {"bandwidth", NULL, SW_RIGHT, false},
        {"price", NULL, SW_RIGHT, false},  {"full name", NULL, SW_LEFT, false}};
    static const field fields[] = {
        {{"kind"}},
        {{"memory.capacity", "memory", "capacity", "ram"}},
        {{"memory.bandwidth", "h2d", "nominal", "read.max", "nominal.read"}},
        {{"price"}},
        {{"name"}}};
    return catalogue("models/devices", cols, fields, 5, s, err);
}

static sw_status networks(const sw_style *s, sw_error *err) {
    static const sw_column cols[] = {{"name", NULL, SW_LEFT, false},
                                     {"architecture", NULL, SW_LEFT, false},
                                     {"layers", NULL, SW_RIGHT, false},
                                     {"experts", NULL, SW_RIGHT, false},
                                     {"full name", NULL, SW_LEFT, false}};
    static const field fields[] = {
        {{"config.model_type"}},
        {{"config.num_hidden_layers", "config.text_config.num_hidden_layers", "config.n_layer"}},
        {{"config.num_local_experts", "config.num_experts", "config.n_routed_experts",
          "config.text_config.num_local_experts"}},
        {{"network"}}};
    return catalogue("models/networks", cols, fields, 4, s, err);
}

static sw_status runtimes(const sw_style *s, sw_error *err) {
    static const sw_column cols[] = {{"name", NULL, SW_LEFT, false},
                                     {"launch", "device", SW_RIGHT, false},
                                     {"step", "host", SW_RIGHT, false},
                                     {"version", NULL, SW_LEFT, false}};
    static const field fields[] = {{{"launch_device"}}, {{"step_host"}}, {{"version"}}};
    return catalogue("models/runtimes", cols, fields, 3, s, err);
}

static sw_status scenarios(const sw_style *s, sw_error *err) {
    static const sw_column cols[] = {{"name", NULL, SW_LEFT, false},
                                     {"question", NULL, SW_LEFT, false}};
    static const field fields[] = {{{"question"}}};
    return catalogue("scenarios", cols, fields, 1, s, err);
}

/* --- the command --------------------------------------------------------------------------- */

static sw_status list(const char *what, const sw_style *s, sw_error *err) {
    static const char *const words[] = {"policies",   "allocators", "pagers",   "devices",
                                        "networks",   "runtimes",   "backends", "importers",
                                        "generators", "scenarios"};
    if (!strcmp(what, "policies")) return plugins(sw_policy_table, sw_policy_table_n, 0, 0, s, err);
    if (!strcmp(what, "pagers")) return plugins(sw_pager_table, sw_pager_table_n, 0, 0, s, err);
    if (!strcmp(what, "allocators")) return plugins(sw_alloc_table, sw_alloc_table_n, 0, 0, s, err);
    if (!strcmp(what, "devices")) return devices(s, err);
    if (!strcmp(what, "networks")) return networks(s, err);
    if (!strcmp(what, "runtimes")) return runtimes(s, err);
    if (!strcmp(what, "backends")) return backends(s, err);
    if (!strcmp(what, "importers"))
        return plugins(sw_source_table, sw_source_table_n, SW_SOURCE_IMPORTER, SW_SOURCE_IMPORTER,
                       s, err);
    if (!strcmp(what, "generators"))
        return plugins(sw_source_table, sw_source_table_n, SW_SOURCE_IMPORTER, 0, s, err);
    if (!strcmp(what, "scenarios")) return scenarios(s, err);
    return sw_unknown("list", what, words, sizeof words / sizeof *words, err);
}

static sw_status run(const sw_command *cmd, int argc, char **argv, sw_error *err) {
    list_opts o = {0};
    int n;
    SW_TRY(sw_args_read(cmd, argc, argv, &o, &n, err));
    sw_style s = sw_style_for(stdout, o.plain);
    return list(argv[1], &s, err);
}

const sw_command sw_cmd_list = {
    .name = "list",
    .summary =
        "list policies, allocators, pagers, devices, networks, runtimes, backends, importers, "
        "generators or scenarios",
    .usage = "policies|allocators|pagers|devices|networks|runtimes|backends|importers|generators|"
             "scenarios",
    .example = "  spillway list devices\n  spillway list policies\n",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
