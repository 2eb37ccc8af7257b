/* The tables of keys, one a kind of part (models/part_keys.h, docs/machines.md). */
#include "models/part_keys.h"

#define HEADER                                                                                     \
    {"spillway", SW_KEY_TEXT, 0, 0, 0}, {"kind", SW_KEY_TEXT, 0, 0, 0},                            \
        {"name", SW_KEY_TEXT, 0, 0, 0}, {"vendor", SW_KEY_TEXT, 0, 0, 0},                          \
        {"arch", SW_KEY_TEXT, 0, 0, 0}, {"note", SW_KEY_TEXT, 0, 0, 0},                            \
        {"use", SW_KEY_TEXT, 0, 0, 0}, {"sources", SW_KEY_ANY, 0, 0, 0},                           \
        {"calibrated", SW_KEY_BOOL, 0, 0, 0}, {"power", SW_KEY_FIGURE, SW_DIM_WATTS, 0, 1e7}, {    \
        "price", SW_KEY_FIGURE, SW_DIM_USD, 0, 1e9                                                 \
    }
#define RATE(path)                                                                                 \
    { path, SW_KEY_FIGURE, SW_DIM_RATE, 0, 1e16 }
#define FLOPS(path)                                                                                \
    { path, SW_KEY_FIGURE, SW_DIM_FLOPS, 0, 1e19 }
#define TIME(path)                                                                                 \
    { path, SW_KEY_FIGURE, SW_DIM_SECONDS, 1, 10 }
#define SHARE(path)                                                                                \
    { path, SW_KEY_FIGURE, SW_DIM_NONE, 0, 1 }
#define BOOST(path)                                                                                \
    { path, SW_KEY_FIGURE, SW_DIM_NONE, 0, 1.5 }
#define COUNT(path, most)                                                                          \
    { path, SW_KEY_COUNT, 0, 0, most }
#define BYTES(path)                                                                                \
    { path, SW_KEY_BYTES, 0, 0, 0 }
#define TEXT(path)                                                                                 \
    { path, SW_KEY_TEXT, 0, 0, 0 }
#define FLAG(path)                                                                                 \
    { path, SW_KEY_BOOL, 0, 0, 0 }
#define PART(path)                                                                                 \
    { path, SW_KEY_PART, 0, 0, 0 }
#define PEAKS(at)                                                                                  \
    FLOPS(at "fp32"), FLOPS(at "fp16"), FLOPS(at "fp8"), FLOPS(at "fp4"), FLOPS(at "int8")
#define KERNELS(at)                                                                                \
    TIME(at "fixed"), SHARE(at "gemm_memory"), BOOST(at "gemm_compute"), BOOST(at "fp8_compute"),  \
        BOOST(at "prefill_compute"), SHARE(at "attention_memory"), TIME(at "attention_fixed")

static const sw_key gpu[] = {HEADER,
                             BYTES("memory.capacity"),
                             RATE("memory.bandwidth"),
                             SHARE("memory.achievable"),
                             PEAKS("compute."),
                             KERNELS("kernels."),
                             PART("host_link"),
                             PART("peer_link"),
                             FLAG("emulated"),
                             RATE("memory.write")};

static const sw_key cpu[] = {HEADER,
                             BYTES("memory.capacity"),
                             RATE("memory.bandwidth"),
                             SHARE("memory.achievable"),
                             {"cores", SW_KEY_FIGURE, SW_DIM_NONE, 0, 4096},
                             RATE("core_bandwidth"),
                             FLAG("single_thread"),
                             PEAKS("compute."),
                             KERNELS("kernels."),
                             RATE("host_io.each"),
                             RATE("host_io.both")};

static const sw_key link[] = {HEADER,
                              RATE("nominal"),
                              RATE("h2d"),
                              RATE("d2h"),
                              RATE("both"),
                              TIME("latency"),
                              FLAG("host_io"),
                              FLAG("pageable.dma"),
                              RATE("pageable.h2d"),
                              RATE("pageable.d2h"),
                              TIME("pageable.latency")};

static const sw_key disk[] = {HEADER,
                              BYTES("capacity"),
                              TEXT("interface"),
                              RATE("nominal.read"),
                              RATE("nominal.write"),
                              TIME("read.latency"),
                              RATE("read.stream"),
                              RATE("read.max"),
                              {"read.iops", SW_KEY_FIGURE, SW_DIM_IOPS, 0, 1e9},
                              {"read.sharpness", SW_KEY_FIGURE, SW_DIM_NONE, 0, 100},
                              RATE("write.max"),
                              TIME("write.latency"),
                              {"serves", SW_KEY_FIGURE, SW_DIM_NONE, 1, 2},
                              RATE("core.read"),
                              RATE("core.write")};

static const sw_key soc[] = {HEADER,
                             BYTES("memory.capacity"),
                             RATE("memory.bandwidth"),
                             SHARE("memory.achievable"),
                             RATE("memory.gpu"),
                             RATE("memory.cpu"),
                             SHARE("memory.cpu_share"),
                             SHARE("memory.wired"),
                             TEXT("memory.wired_table"),
                             PEAKS("compute."),
                             KERNELS("kernels."),
                             COUNT("cpu.cores", 4096),
                             RATE("cpu.core_bandwidth"),
                             PEAKS("cpu.compute."),
                             KERNELS("cpu.kernels."),
                             PART("nvme")};

static const sw_key machine[] = {HEADER,
                                 PART("gpu"),
                                 COUNT("gpus", 8),
                                 PART("cpu"),
                                 BYTES("ram"),
                                 PART("link"),
                                 PART("peer"),
                                 PART("nvme"),
                                 BYTES("nvme_capacity"),
                                 BYTES("io.block"),
                                 COUNT("io.depth", 65536),
                                 FLAG("gds"),
                                 {"wake", SW_KEY_FIGURE, SW_DIM_SECONDS, 1, 10},
                                 PART("soc"),
                                 BYTES("memory")};

#define FACTOR(at)                                                                                 \
    {at "memory", SW_KEY_FIGURE, SW_DIM_NONE, 0, 4},                                               \
        {at "compute", SW_KEY_FIGURE, SW_DIM_NONE, 0, 4}, TIME(at "fixed")

static const sw_key runtime[] = {HEADER,
                                 TEXT("version"),
                                 TIME("launch_host"),
                                 TIME("launch_device"),
                                 TIME("copy_host"),
                                 TIME("sync_host"),
                                 TIME("step_host"),
                                 TIME("event_host"),
                                 TIME("alloc_host"),
                                 {"run_ahead", SW_KEY_COUNT, 0, 1, 1e6},
                                 FLAG("pinned"),
                                 {"vram_reserved", SW_KEY_BYTES, 0, 1, 0},
                                 FACTOR("factor.generic."),
                                 FACTOR("factor.gemm."),
                                 FACTOR("factor.attention_prefill."),
                                 FACTOR("factor.attention_decode."),
                                 FACTOR("factor.embedding."),
                                 FACTOR("factor.elementwise."),
                                 FACTOR("factor.router."),
                                 FACTOR("factor.expert_gemm."),
                                 FACTOR("factor.sample.")};

const sw_key *sw_part_keys(sw_part_kind kind, size_t *n) {
    static const struct {
        const sw_key *rows;
        size_t n;
    } tables[SW_PART_KINDS] = {
#define ROWS(table) {table, sizeof table / sizeof *table}
        [SW_PART_GPU] = ROWS(gpu),         [SW_PART_CPU] = ROWS(cpu),
        [SW_PART_LINK] = ROWS(link),       [SW_PART_DISK] = ROWS(disk),
        [SW_PART_SOC] = ROWS(soc),         [SW_PART_MACHINE] = ROWS(machine),
        [SW_PART_RUNTIME] = ROWS(runtime),
#undef ROWS
    };
    *n = tables[kind].n;
    return tables[kind].rows;
}
