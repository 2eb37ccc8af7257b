/* Plug-ins: look-up and creation (see plugin.h). */
#include "sim/plugin.h"
#include "sim/base/vec.h"

sw_status sw_plugin_find(const sw_plugin *const *table, size_t n, const char *kind,
                         const char *name, sw_mark mark, const sw_plugin **out, sw_error *err) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(table[i]->name, name)) {
            *out = table[i];
            return SW_OK;
        }
    const char **names = malloc((n + 1) * sizeof *names);
    if (!names) return sw_fail(err, SW_MEMORY, "out of memory");
    for (size_t i = 0; i < n; i++) names[i] = table[i]->name;
    const char *near = sw_nearest(name, names, n);
    sw_status st = sw_fail_at(err, SW_INPUT, mark, kind, "unknown %s \"%.60s\"%s%s%s", kind, name,
                              near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    free(names);
    return st;
}

sw_status sw_plugin_new(const sw_plugin *plugin, const char *kind, const sw_node *map, void **ctx,
                        sw_error *err) {
    static const char *const ignore[] = {"name", "generator", "trace", "format"};
    bool source = !strcmp(kind, "workload") || !strcmp(kind, "source");
    void *c = sw_zalloc(1, plugin->ctx_bytes);
    if (!c) return sw_fail(err, SW_MEMORY, "out of memory");
    sw_status st =
        sw_params_read(plugin->params, plugin->n_params, map, kind, ignore, source ? 4 : 1, c, err);
    if (st)
        free(c);
    else
        *ctx = c;
    return st;
}
