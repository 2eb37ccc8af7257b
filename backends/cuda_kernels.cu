// The kernels of `cuda` (see cuda_kernels.h). Bytes are read and written 16 at a time, neighbouring
// threads neighbouring bytes; the ragged ends are done by one thread.
#include "backends/cuda_kernels.h"
#ifdef SPILLWAY_CUBLAS
#include <cublas_v2.h>
#include <dlfcn.h>
#include <stdlib.h>
#endif

namespace {

constexpr uint64_t STEP = 0x9e3779b97f4a7c15ull; // as in host_kernel.c
constexpr int THREADS = 256, MOST_BLOCKS = 2048;

// Eight bytes of the pattern, `shift` bits into the word w; words are stored little end first.
__device__ inline uint64_t cut(uint64_t w, unsigned shift) {
    return shift ? w >> shift | (w + STEP) << (64 - shift) : w;
}

__device__ inline unsigned char byte_at(uint64_t at, uint64_t seed) {
    return (unsigned char)((seed + at / 8 * STEP) >> 8 * (at % 8));
}

// The pattern's 16 bytes from `at` on, and then those `stride` bytes further, by additions alone: to
// multiply for each would take longer than to read. The stride is a multiple of 8.
struct pattern {
    uint64_t w, step;
    unsigned shift;
    __device__ pattern(uint64_t at, uint64_t seed, uint64_t stride)
        : w(seed + at / 8 * STEP), step(stride / 8 * STEP), shift(8 * (unsigned)(at % 8)) {}
    __device__ ulonglong2 get() const { return {cut(w, shift), cut(w + STEP, shift)}; }
    __device__ void next() { w += step; }
};

// Never kept in a register for the next round; pinned and managed memory are global as well.
__device__ inline ulonglong2 load16(const void *p) {
    ulonglong2 v;
    asm volatile("ld.global.v2.u64 {%0, %1}, [%2];" : "=l"(v.x), "=l"(v.y) : "l"(p));
    return v;
}

__device__ void report(const sw_cuda_read &r, sw_cuda_bad *bad, uint64_t at, uint64_t expected,
                       uint64_t found) {
    if (atomicCAS(&bad->op, 0ull, (unsigned long long)r.op) != 0ull) return;
    bad->use = r.use;
    bad->addr = r.addr + at;
    bad->expected = expected;
    bad->found = found;
}

// Splits n bytes at p into `head` bytes up to a multiple of 16, `n16` units and a tail.
__host__ __device__ inline void split(const void *p, uint64_t n, uint64_t *head, uint64_t *n16) {
    *head = (16 - (uintptr_t)p % 16) % 16;
    if (*head > n) *head = n;
    *n16 = (n - *head) / 16;
}

__device__ void check_bytes(const sw_cuda_read &r, sw_cuda_bad *bad, uint64_t from, uint64_t to,
                            uint64_t *sum) {
    const volatile unsigned char *p = (const unsigned char *)r.at;
    for (uint64_t i = from; i < to; i++) {
        unsigned char want = byte_at(r.skip + i, r.seed), got = p[i];
        *sum += got;
        if (r.check && got != want) report(r, bad, i, want, got);
    }
}

constexpr int CHAINS = SW_CUDA_TURN_FLOPS / 2; // independent, so that they hide a latency

struct arithmetic { // in single precision
    float a[CHAINS], add;
    __device__ arithmetic() : add(0.25f + 1e-6f * (float)threadIdx.x) {
        for (int k = 0; k < CHAINS; k++) a[k] = (float)k;
    }
    __device__ void run(uint64_t turns) {
        for (uint64_t i = 0; i < turns; i++)
#pragma unroll
            for (int k = 0; k < CHAINS; k++) a[k] = a[k] * 0.75f + add;
    }
    __device__ bool odd() const { // never, but the compiler does not know
        float sum = 0;
        for (int k = 0; k < CHAINS; k++) sum += a[k];
        return sum == -1.0f;
    }
};

// Without arithmetic its registers let all of a multiprocessor's threads run at once.
template <bool MATH> __global__ void check_kernel(sw_cuda_read r, sw_cuda_bad *bad) {
    arithmetic math;
    uint64_t head, n16, sum = 0, step = (uint64_t)gridDim.x * blockDim.x;
    uint64_t me = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    split(r.at, r.bytes, &head, &n16);
    const char *body = (const char *)r.at + head;
    for (uint64_t round = 0; round < r.rounds; round++) {
        if (me == 0) {
            check_bytes(r, bad, 0, head, &sum);
            check_bytes(r, bad, head + 16 * n16, r.bytes, &sum);
        }
        pattern p(r.skip + head + 16 * me, r.seed, 16 * step);
        for (uint64_t i = me; i < n16; i += step, p.next()) {
            ulonglong2 v = load16(body + 16 * i), want = p.get();
            sum += v.x + v.y;
            if (MATH) math.run(r.turns);
            if (!r.check) continue;
            if (v.x != want.x) report(r, bad, head + 16 * i, want.x, v.x);
            if (v.y != want.y) report(r, bad, head + 16 * i + 8, want.y, v.y);
        }
    }
    if ((sum == 1 && r.rounds == ~0ull) || (MATH && math.odd()))
        bad->found = sum; // so nothing is left out
}

__global__ void write_kernel(char *p, uint64_t skip, uint64_t bytes, uint64_t seed) {
    uint64_t head, n16, step = (uint64_t)gridDim.x * blockDim.x;
    uint64_t me = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    split(p, bytes, &head, &n16);
    if (me == 0) {
        for (uint64_t i = 0; i < head; i++) p[i] = (char)byte_at(skip + i, seed);
        for (uint64_t i = head + 16 * n16; i < bytes; i++) p[i] = (char)byte_at(skip + i, seed);
    }
    pattern pat(skip + head + 16 * me, seed, 16 * step);
    for (uint64_t i = me; i < n16; i += step, pat.next())
        *(ulonglong2 *)(p + head + 16 * i) = pat.get();
}

__global__ void flops_kernel(uint64_t turns, sw_cuda_bad *bad) {
    arithmetic math;
    math.run(turns);
    if (math.odd()) bad->found = 1;
}

__device__ inline uint64_t clock_ns() {
    uint64_t t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

__global__ void delay_kernel(uint64_t ns) {
    uint64_t since = clock_ns();
    while (clock_ns() - since < ns) {
    }
}

unsigned blocks_for(uint64_t n) {
    uint64_t b = (n + THREADS - 1) / THREADS;
    return (unsigned)(b < 1 ? 1 : b > MOST_BLOCKS ? MOST_BLOCKS : b);
}

} // namespace

extern "C" cudaError_t sw_cuda_stream_check(const sw_cuda_read *r, sw_cuda_bad *bad,
                                            cudaStream_t stream) {
    auto *kernel = r->turns ? check_kernel<true> : check_kernel<false>;
    kernel<<<blocks_for(r->bytes / 16), THREADS, 0, stream>>>(*r, bad);
    return cudaGetLastError();
}

extern "C" cudaError_t sw_cuda_stream_write(void *at, uint64_t skip, uint64_t bytes, uint64_t seed,
                                            cudaStream_t stream) {
    write_kernel<<<blocks_for(bytes / 16), THREADS, 0, stream>>>((char *)at, skip, bytes, seed);
    return cudaGetLastError();
}

extern "C" cudaError_t sw_cuda_flops(double n, sw_cuda_bad *bad, cudaStream_t stream) {
    unsigned blocks = blocks_for((uint64_t)(n / (SW_CUDA_TURN_FLOPS * 128.0)));
    uint64_t turns = (uint64_t)(n / ((double)SW_CUDA_TURN_FLOPS * THREADS * blocks)) + 1;
    flops_kernel<<<blocks, THREADS, 0, stream>>>(turns, bad);
    return cudaGetLastError();
}

extern "C" cudaError_t sw_cuda_delay(double seconds, cudaStream_t stream) {
    delay_kernel<<<1, 1, 0, stream>>>((uint64_t)(seconds * 1e9));
    return cudaGetLastError();
}

#ifdef SPILLWAY_CUBLAS

// The C form of cublasGemmEx: C++ has others of the same name.
typedef cublasStatus_t gemm_fn(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                               const void *, const void *, cudaDataType, int, const void *,
                               cudaDataType, int, const void *, void *, cudaDataType, int,
                               cublasComputeType_t, cublasGemmAlgo_t);

// cuBLAS is large and not everywhere: it is loaded when a run begins, not linked.
struct sw_cuda_gemm {
    void *lib;
    cublasHandle_t handle;
    decltype(&cublasCreate_v2) create;
    decltype(&cublasDestroy_v2) destroy;
    decltype(&cublasSetStream_v2) set_stream;
    gemm_fn *gemm;
    char *scratch; // three matrices
};

namespace {

constexpr uint64_t SIDE = 4096, ROWS = 8192; // the largest: ROWS x SIDE times SIDE x SIDE

// Halves in [1, 2), of varied bits: a product of zeros would draw less power, and so run faster.
__global__ void halves_kernel(unsigned short *p, uint64_t n) {
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        p[i] = 0x3c00 | (unsigned short)((i * STEP) >> 54);
}

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)

void *load_cublas() {
    const char *name = "libcublas.so." TEXT(CUBLAS_VER_MAJOR);
    void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
#ifdef SPILLWAY_CUDA_LIB_DIR
    if (!lib) lib = dlopen(SPILLWAY_CUDA_LIB_DIR "/libcublas.so", RTLD_NOW | RTLD_LOCAL);
#endif
    return lib;
}

template <typename F> bool find(void *lib, const char *name, F *out) {
    *out = (F)dlsym(lib, name);
    return *out != nullptr;
}

} // namespace

extern "C" cudaError_t sw_cuda_gemm_open(sw_cuda_gemm **out) {
    *out = NULL;
    void *lib = load_cublas();
    if (!lib) return cudaSuccess;
    sw_cuda_gemm *g = (sw_cuda_gemm *)calloc(1, sizeof *g);
    if (!g) return dlclose(lib), cudaErrorMemoryAllocation;
    g->lib = lib;
    bool ok = find(lib, "cublasCreate_v2", &g->create) &&
              find(lib, "cublasDestroy_v2", &g->destroy) &&
              find(lib, "cublasSetStream_v2", &g->set_stream) &&
              find(lib, "cublasGemmEx", &g->gemm) && g->create(&g->handle) == 0;
    if (!ok) return sw_cuda_gemm_close(g), cudaSuccess;
    uint64_t bytes = 2 * (2 * ROWS * SIDE + SIDE * SIDE);
    cudaError_t e = cudaMalloc((void **)&g->scratch, bytes);
    if (e == cudaSuccess) {
        halves_kernel<<<MOST_BLOCKS, THREADS>>>((unsigned short *)g->scratch, bytes / 2);
        e = cudaGetLastError();
    }
    if (e == cudaSuccess) e = cudaDeviceSynchronize();
    if (e != cudaSuccess) return sw_cuda_gemm_close(g), e;
    *out = g;
    return cudaSuccess;
}

// Near a cube while that is small, then SIDE wide and as high as it takes.
extern "C" cudaError_t sw_cuda_gemm_run(sw_cuda_gemm *g, double n, cudaStream_t stream) {
    const float one = 1, zero = 0;
    char *a = g->scratch, *b = a + 2 * ROWS * SIDE, *c = b + 2 * SIDE * SIDE;
    uint64_t side = 64;
    while (side < SIDE && 2.0 * side * side * side < n) side += 64;
    if (g->set_stream(g->handle, stream) != 0) return cudaErrorUnknown;
    for (double left = n; left > 0;) {
        double want = left / (2.0 * side * side);
        uint64_t rows = want >= ROWS ? ROWS : ((uint64_t)want / 8 + 1) * 8;
        int s = (int)side;
        if (g->gemm(g->handle, CUBLAS_OP_N, CUBLAS_OP_N, (int)rows, s, s, &one, a, CUDA_R_16F,
                    (int)rows, b, CUDA_R_16F, s, &zero, c, CUDA_R_16F, (int)rows,
                    CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT) != 0)
            return cudaErrorUnknown;
        left -= 2.0 * (double)rows * side * side;
    }
    return cudaSuccess;
}

extern "C" void sw_cuda_gemm_close(sw_cuda_gemm *g) {
    if (!g) return;
    if (g->scratch) cudaFree(g->scratch);
    if (g->handle) g->destroy(g->handle);
    dlclose(g->lib);
    free(g);
}

#else

extern "C" cudaError_t sw_cuda_gemm_open(sw_cuda_gemm **out) {
    *out = NULL;
    return cudaSuccess;
}
extern "C" cudaError_t sw_cuda_gemm_run(sw_cuda_gemm *, double, cudaStream_t) {
    return cudaErrorNotSupported;
}
extern "C" void sw_cuda_gemm_close(sw_cuda_gemm *) {}

#endif
