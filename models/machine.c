/* A machine from the `machine:` map of a scenario (sim/topology.h, docs/machines.md): which parts
 * it has, in which order they are added, and what they must not be combined with. */
#include "models/machine.h"
#include <stdio.h>
#include <string.h>

const sw_node *sw_machine_own(const sw_machine *m, const char *key) {
    for (int i = 0; i < m->part.n; i++) {
        const sw_node *node = sw_node_get(m->part.layers[i], key);
        if (node && strcmp(sw_part_file(&m->part, node), "_defaults")) return node;
    }
    return NULL;
}

sw_status sw_machine_part(sw_machine *m, sw_part_kind kind, const char *key,
                          const sw_part *fallback, const char *fallback_key, int times,
                          sw_part *out, sw_error *err) {
    const sw_node *nodes[SW_PART_LAYERS];
    int n = 0;
    if (fallback && !sw_machine_own(m, key))
        n = sw_part_nodes(fallback, fallback_key, nodes, SW_PART_LAYERS);
    if (n == 0) n = sw_part_nodes(&m->part, key, nodes, SW_PART_LAYERS);
    SW_TRY(sw_part_open(&m->shelf, kind, key, nodes, n, out, err));
    m->parts++;
    m->calibrated += sw_part_bool(out, "calibrated", false);
    double x;
    if (sw_part_find(out, "power", &x)) m->t->power_w += times * x;
    if (sw_part_find(out, "price", &x)) m->t->price_usd += times * x;
    return SW_OK;
}

void sw_machine_both(sw_topology *t, sw_route route) {
    sw_topo_route(t, route);
    route.pageable = true;
    sw_topo_route(t, route);
}

static bool is_none(const sw_node *node) {
    return node && node->kind == SW_NODE_SCALAR && !strcmp(node->text, "none");
}

/* A key that makes no sense beside another one. */
static sw_status refuse(const sw_machine *m, const char *const *keys, const char *why,
                        sw_error *err) {
    for (; *keys; keys++) {
        const sw_node *node = sw_machine_own(m, *keys);
        if (node) return sw_fail_at(err, SW_INPUT, node->mark, *keys, "%s", why);
    }
    return SW_OK;
}

/* `machine: NAME` may be a whole machine or a SoC; a map may `use` a machine. */
static sw_status open_machine(sw_machine *m, const sw_node *node, sw_part *soc, bool *is_soc,
                              sw_error *err) {
    sw_part_kind kind = SW_PART_MACHINE;
    if (node->kind == SW_NODE_SCALAR)
        SW_TRY(sw_part_kind_of(&m->shelf, node, "machine", &kind, err));
    *is_soc = kind == SW_PART_SOC;
    if (*is_soc) {
        SW_TRY(sw_part_open(&m->shelf, SW_PART_MACHINE, "machine", NULL, 0, &m->part, err));
        return sw_part_open(&m->shelf, SW_PART_SOC, "soc", &node, 1, soc, err);
    }
    if (kind == SW_PART_GPU || kind == SW_PART_CPU)
        return sw_fail_at(err, SW_INPUT, node->mark, "machine",
                          "\"%s\" is a %s, not a machine; write machine: {%s: %s}", node->text,
                          sw_part_kind_name(kind), sw_part_kind_name(kind), node->text);
    SW_TRY(sw_part_open(&m->shelf, SW_PART_MACHINE, "machine", &node, 1, &m->part, err));
    const sw_node *named = sw_machine_own(m, "soc");
    if (!named) return SW_OK;
    *is_soc = true;
    const sw_node *nodes[SW_PART_LAYERS];
    int n = sw_part_nodes(&m->part, "soc", nodes, SW_PART_LAYERS);
    return sw_part_open(&m->shelf, SW_PART_SOC, "soc", nodes, n, soc, err);
}

static sw_status compose(sw_machine *m, const sw_node *node, sw_error *err) {
    static const char *const not_soc[] = {"gpu", "gpus", "cpu", "ram", "link", "peer", "gds", NULL};
    static const char *const not_ram[] = {"memory", NULL};
    static const char *const not_cpu[] = {"gpus", "link", "peer", "gds", NULL};
    sw_part soc;
    bool is_soc;
    SW_TRY(open_machine(m, node, &soc, &is_soc, err));
    sw_topology *t = m->t;
    sw_topo_init(t, "");
    if (is_soc) {
        SW_TRY(refuse(m, not_soc, "a machine with a soc has none", err));
        SW_TRY(sw_machine_add_soc(m, &soc, err));
    } else {
        const sw_node *gpu = sw_machine_own(m, "gpu");
        bool has_gpu = gpu && !is_none(gpu);
        SW_TRY(refuse(m, not_ram, "only a machine with a soc has it; write ram", err));
        if (!has_gpu) {
            if (!sw_machine_own(m, "cpu"))
                return sw_fail_at(err, SW_INPUT, node->mark, "machine",
                                  "a gpu, a cpu or a soc is due");
            SW_TRY(refuse(m, not_cpu, "a machine without a gpu has none", err));
        }
        if (has_gpu)
            SW_TRY(sw_machine_add_gpus(m, err));
        else
            SW_TRY(sw_machine_add_cpu(m, err));
    }
    if (!is_none(sw_part_node(&m->part, "nvme")))
        SW_TRY(sw_machine_add_disk(m, is_soc ? &soc : NULL, err));
    if (m->gpus && sw_part_bool(&m->gpu_part, "emulated", false))
        SW_TRY(sw_machine_emulate(m, err));
    const char *name = sw_part_text(&m->part, "name", NULL);
    if (name) snprintf(t->name, sizeof t->name, "%s", name);
    double x;
    sw_part_find(&m->part, "wake", &t->wake_s);
    if (sw_part_find(&m->part, "power", &x)) t->power_w = x;
    if (sw_part_find(&m->part, "price", &x)) t->price_usd = x;
    t->measured = m->parts > 0 && m->calibrated == m->parts;
    return sw_topology_check(t, err);
}

sw_status sw_machine_open(const sw_node *machine, const char *dir, const char *data_dir,
                          sw_topology *out, json_t **figures, sw_error *err) {
    if (!machine) return sw_fail(err, SW_INPUT, "machine: a name or a map is due");
    sw_machine m = {.ram = -1, .cpu = -1, .cpu_copy = -1};
    m.host_h2d = m.host_d2h = m.host_both = -1;
    m.t = sw_zalloc(1, sizeof *m.t);
    if (!m.t) return sw_fail(err, SW_MEMORY, "no memory for a machine");
    sw_shelf_open(&m.shelf, dir, data_dir);
    if (figures) m.shelf.figures = json_array();
    sw_status status = compose(&m, machine, err);
    if (status == SW_OK) {
        *out = *m.t;
        if (figures) *figures = json_incref(m.shelf.figures);
    }
    json_decref(m.shelf.figures);
    sw_shelf_close(&m.shelf);
    free(m.t);
    return status;
}

sw_status sw_topology_open(const sw_node *machine, const char *dir, const char *data_dir,
                           sw_topology *out, sw_error *err) {
    return sw_machine_open(machine, dir, data_dir, out, NULL, err);
}
