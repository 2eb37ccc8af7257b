/* Composing a machine from parts. The rules and their sources: docs/machines.md. */
#ifndef SW_MODELS_MACHINE_H
#define SW_MODELS_MACHINE_H

#include "models/part.h"
#include "sim/topology_build.h"

/** sw_topology_open, which also lists the figures that it used.
 *  figures  NULL, or receives a new array of {part, key, value, file, kind, source}: "file" is the
 *           device that the figure stands in, "_defaults" for a default, "" for the scenario. */
sw_status sw_machine_open(const sw_node *machine, const char *dir, const char *data_dir,
                          sw_topology *out, json_t **figures, sw_error *err);

/* A machine under construction; shared by the files machine*.c. */
typedef struct sw_machine {
    sw_shelf shelf;
    sw_part part; /* the machine itself */
    sw_topology *t;
    int16_t ram, cpu;                      /* tier and unit of the host; -1 in unified machines */
    int16_t cpu_copy;                      /* queue */
    int16_t host_h2d, host_d2h, host_both; /* resources that several GPUs share; -1 */
    int gpus;
    struct {
        int16_t unit, tier, h2d, d2h, both, q_h2d, q_d2h;
        bool host_io;
        double latency_s;
    } gpu[8];
    sw_part gpu_part;
    int parts, calibrated; /* parts opened, and those that were measured on this machine */
} sw_machine;

/** The node of a key that the scenario or a machine file has; NULL if only the defaults do. */
const sw_node *sw_machine_own(const sw_machine *m, const char *key);
/** Opens the part under a key of the machine, or under `fallback`'s key if the machine has none.
 *  Sums its price and power, `times` over. */
sw_status sw_machine_part(sw_machine *m, sw_part_kind kind, const char *key,
                          const sw_part *fallback, const char *fallback_key, int times,
                          sw_part *out, sw_error *err);
sw_status sw_machine_add_cpu(sw_machine *m, sw_error *err);
sw_status sw_machine_add_gpus(sw_machine *m, sw_error *err);
sw_status sw_machine_add_soc(sw_machine *m, sw_part *soc, sw_error *err);
/** soc: whose `nvme` counts if the machine names none; NULL. */
sw_status sw_machine_add_disk(sw_machine *m, const sw_part *soc, sw_error *err);

/** The last step for a machine whose GPU says `emulated`: the CPU plays its part, as the backend
 * `host` does. */
sw_status sw_machine_emulate(sw_machine *m, sw_error *err);

/* Figures that GPUs, CPUs and SoCs share; `at` is "" or "cpu." (a SoC's CPU). */
/** peak[]: fp32 is needed; a class that the part lacks runs at the rate of the one that stands in.
 */
sw_status sw_machine_peaks(const sw_part *p, const char *at, double *peak, sw_error *err);
/** eff[]: memory efficiencies are given against nominal_Bps and kept against ceiling_Bps. */
void sw_machine_kernels(const sw_part *p, const char *at, double nominal_Bps, double ceiling_Bps,
                        sw_unit *unit);
/** Both variants of a route that pinning does not change. */
void sw_machine_both(sw_topology *t, sw_route route);

#endif
