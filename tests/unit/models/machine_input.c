/* Is every mistake in a machine answered by one line with its place and its key? May a scenario
 * bring device files of its own? */
#include "check.h"
#include "models/machine.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static sw_topology topo;
static sw_error error;

static sw_status compose_in(const char *dir, const char *text, json_t **figures) {
    sw_yaml *doc;
    memset(&error, 0, sizeof error);
    SW_TRY(sw_yaml_parse(text, strlen(text), "s.yaml", &doc, &error));
    sw_status status = sw_machine_open(sw_node_get(sw_yaml_root(doc), "machine"), dir,
                                       SPILLWAY_SOURCE_DIR, &topo, figures, &error);
    sw_yaml_free(doc);
    return status;
}

/* Refusals --------------------------------------------------------------------------------------
 */

static void refusals(void) {
    static const char *const lines[][2] = {
        {"machine: {gpu: rtx409}",
         "s.yaml:1:16: gpu: no device \"rtx409\"; did you mean \"rtx4090\"?"},
        {"machine: {gpu: pcie4-x16}", "s.yaml:1:16: gpu: \"pcie4-x16\" is a link; a gpu is due"},
        {"machine: {gpu: rtx4090, cpu: rtx4090}",
         "s.yaml:1:30: cpu: \"rtx4090\" is a gpu; a cpu is due"},
        {"machine: rtx4090", "s.yaml:1:10: machine: \"rtx4090\" is a gpu, not a machine; write "
                             "machine: {gpu: rtx4090}"},
        {"machine: {gpuu: rtx4090}",
         "s.yaml:1:11: gpuu: a machine has no such key; did you mean \"gpu\"?"},
        {"machine: {gpu: {use: rtx4090, memory: {bandwith: 3 GB/s}}}",
         "s.yaml:1:40: memory.bandwith: a gpu has no such key; did you mean \"bandwidth\"?"},
        {"machine: {gpu: {use: rtx4090, memory: {achievable: 1.2}}}",
         "s.yaml:1:52: memory.achievable: 1.2 is more than 1"},
        {"machine: {gpu: {use: rtx4090, memory: {capacity: 0 GiB}}}",
         "s.yaml:1:50: memory.capacity: must be above zero"},
        {"machine: {gpu: {memory: {capacity: 8 GiB}}}",
         "s.yaml:1:16: memory.bandwidth: missing: a gpu needs it"},
        {"machine: {soc: m3-max, ram: 3 GiB}", "s.yaml:1:29: ram: a machine with a soc has none"},
        {"machine: {soc: m3-max, memory: 256 GiB}",
         "s.yaml:1:32: memory: Apple M3 Max (40-core) has at most 128 GiB"},
        {"machine: {gpu: rtx4090, memory: 3 GiB}",
         "s.yaml:1:33: memory: only a machine with a soc has it; write ram"},
        {"machine: {cpu: grace, gpus: 2}", "s.yaml:1:29: gpus: a machine without a gpu has none"},
        {"machine: {gpus: 2}", "s.yaml:1:10: machine: a gpu, a cpu or a soc is due"},
        {"machine: {gpu: {use: rtx4090, memory.capacity: 8 GiB}}",
         "s.yaml:1:31: memory.capacity: a gpu has no such key"},
        {"machine: {use: m3-max}", "s.yaml:1:16: machine: \"m3-max\" is a soc; a machine is due"},
        {"machine: [rtx4090]", "s.yaml:1:10: machine: a name or a map is due"},
        {"machine: {gpu: {use: rtx4090, memory: {bandwidth: {value: 3 GB/s, kind: guessed}}}}",
         "s.yaml:1:73: kind: \"guessed\" is none of nominal, measured, fitted, derived, estimate, "
         "default"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        CHECK(compose_in(".", lines[i][0], NULL) == SW_INPUT);
        CHECK_STR(error.text, lines[i][1]);
    }
    /* Those whose words the base library chooses: the place and the key. */
    static const char *const places[][2] = {
        {"machine: {gpu: rtx4090, gpus: 0}", "s.yaml:1:31: gpus: "},
        {"machine: {gpu: rtx4090, gpus: 1000}", "s.yaml:1:31: gpus: "},
        {"machine: {gpu: rtx4090, gds: maybe}", "s.yaml:1:30: gds: "},
        {"machine: {gpu: {use: rtx4090, memory: {bandwidth: 3 GB}}}",
         "s.yaml:1:51: memory.bandwidth: "},
        {"machine: {gpu: {use: rtx4090, memory: {bandwidth: nan GB/s}}}",
         "s.yaml:1:51: memory.bandwidth: "},
        {"machine: {gpu: {use: rtx4090, memory: {bandwidth: 0 GB/s}}}",
         "s.yaml:1:51: memory.bandwidth: "},
        {"machine: {gpu: {use: rtx4090, memory: {bandwidth: -3 GB/s}}}",
         "s.yaml:1:51: memory.bandwidth: "},
        {"machine: {gpu: {use: rtx4090, memory: {bandwidth: 1008}}}",
         "s.yaml:1:51: memory.bandwidth: "},
        {"machine: {gpu: rtx4090, io: {depth: 1.5}}", "s.yaml:1:37: io.depth: "},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        CHECK(compose_in(".", places[i][0], NULL) == SW_INPUT);
        bool same = !strncmp(error.text, places[i][1], strlen(places[i][1]));
        if (!same) printf("\n  %s\n", error.text);
        CHECK(same);
    }
}

static void write_file(const char *dir, const char *name, const char *text) {
    char file[600];
    snprintf(file, sizeof file, "%s/%s", dir, name);
    FILE *f = fopen(file, "w");
    CHECK(f != NULL);
    if (!f) return;
    fputs(text, f);
    fclose(f);
}

static void parts_of_a_scenario(void) {
    char dir[] = "/tmp/spillway-partsXXXXXX", expected[256];
    CHECK(mkdtemp(dir) != NULL);
    write_file(dir, "a.yaml", "spillway: device/1\nkind: gpu\nuse: ./b.yaml\n");
    write_file(dir, "b.yaml", "spillway: device/1\nkind: gpu\nuse: ./a.yaml\n");
    write_file(dir, "c.yaml",
               "spillway: device/1\nkind: gpu\nuse: rtx3090\nmemory: {capacity: 48 GiB}\n");
    write_file(dir, "d.yaml", "spillway: device/2\nkind: gpu\n");
    write_file(dir, "e.yaml", "spillway: device/1\nkind: toaster\n");
    CHECK(compose_in(dir, "machine: {gpu: ./a.yaml}", NULL) == SW_INPUT);
    snprintf(expected, sizeof expected, "%s/./b.yaml:3:6: use: \"./a.yaml\" uses itself", dir);
    CHECK_STR(error.text, expected);
    CHECK(compose_in(dir, "machine: {gpu: ./c.yaml}", NULL) == SW_OK);
    CHECK(topo.tiers[0].capacity_bytes == UINT64_C(48) << 30);
    CHECK_REL(topo.res[topo.tiers[0].res].rate, 936.2e9 * 0.888, 1e-12);
    CHECK(compose_in(dir, "machine: {gpu: ./d.yaml}", NULL) == SW_INPUT);
    CHECK(strstr(error.text, "d.yaml:1:11: spillway: \"device/2\" where \"device/1\" is due") !=
          NULL);
    CHECK(compose_in(dir, "machine: {gpu: ./e.yaml}", NULL) == SW_INPUT);
    CHECK(strstr(error.text, "e.yaml:2:7: kind: \"toaster\" is none of gpu, cpu, link") != NULL);
    CHECK(compose_in(dir, "machine: {gpu: ./f.yaml}", NULL) == SW_INPUT);
    snprintf(expected, sizeof expected, "s.yaml:1:16: gpu: cannot read the file %s/./f.yaml", dir);
    CHECK_STR(error.text, expected);
    for (char name[] = "/a.yaml"; name[1] < 'f'; name[1]++) {
        char file[64];
        snprintf(file, sizeof file, "%s%s", dir, name);
        unlink(file);
    }
    rmdir(dir);
}

SW_TESTS("machines, as they are written", {"bad input is refused with its place", refusals},
         {"parts of a scenario's own", parts_of_a_scenario})
