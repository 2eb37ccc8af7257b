/* cuda: really runs the ops on a GPU. VRAM is memory of the GPU, RAM is pinned, a compute queue and
 * each copy queue of the GPU is a stream; queues of the CPU, of files and of the host are threads.
 *
 * - Who waits for whom, and why that never ends in a deadlock: cuda_sched.h.
 * - Where the bytes lie: cuda_store.h. What an op does: cuda_work.h, cuda_kernels.h.
 * - Times. An op of a stream is timed by an event before it and one behind it, against one that was
 *   recorded when time began; an op of a thread by the monotonic clock, from the same instant. The
 *   time that putting ops on streams takes is added up apart (cuda.h).
 * - Contents are checked as by `host`: host_data.h says at submission what each read must find.
 *   Kernels report the first bytes that are wrong in a record on the GPU, which wait reads.
 * - The first failure is kept, everything stops, and wait returns it.
 * - One GPU. HOST and DELAY ops take their time; the fixed_s of copies and kernels is whatever it is
 *   here. */
#include "backends/cuda.h"
#include "backends/cuda_sched.h"
#include "sim/backend.h"
#include <inttypes.h>

typedef struct cuda_ctx {
    sw_cuda_options opt;
    sw_cuda_sched sched;
    sw_host_data *data;
    sw_host_spans spans; /* of the op at hand */
    sw_cuda_lane lane;   /* of the submitter */
    sw_cuda_bad *bad;    /* pinned: a copy of the GPU's */
    SW_VEC(sw_host_span *) expect;
    SW_VEC(size_t) n_expect;
} cuda_ctx;

/* --- opening ----------------------------------------------------------------------------------- */

static sw_status find_device(const cuda_ctx *c, const sw_topology *topo, sw_error *err) {
    int n = 0, gpus = 0;
    cudaError_t e = cudaGetDeviceCount(&n);
    if (e != cudaSuccess) return sw_cuda_fail(err, "no CUDA device", e);
    if (c->opt.device >= n)
        return sw_fail(err, SW_RUN, "cuda: no CUDA device: %d found, number %d asked for", n,
                       (int)c->opt.device);
    for (int u = 0; u < topo->n_units; u++) gpus += topo->units[u].kind == SW_UNIT_GPU;
    if (gpus != 1)
        return sw_fail(err, SW_RUN, "cuda: the machine has %d GPUs; this backend runs one", gpus);
    SW_CUDA("cannot use the device", cudaSetDevice((int)c->opt.device), err);
    return SW_OK;
}

static sw_status open_bad(cuda_ctx *c, sw_error *err) {
    void *p = NULL;
    SW_CUDA("cannot allocate the record of errors", cudaMalloc(&p, sizeof *c->bad), err);
    c->sched.work.bad = p;
    SW_CUDA("cannot allocate the record of errors", cudaHostAlloc(&p, sizeof *c->bad, 0), err);
    c->bad = p;
    SW_CUDA("cannot clear the record of errors",
            cudaMemsetAsync(c->sched.work.bad, 0, sizeof *c->bad, c->sched.side), err);
    return SW_OK;
}

static sw_status cuda_open(void *be, const sw_topology *topo, sw_error *err) {
    cuda_ctx *c = be;
    SW_TRY(find_device(c, topo, err));
    c->sched.topo = topo;
    sw_cuda_store *s = &c->sched.work.store;
    s->topo = topo;
    s->opt = &c->opt;
    if (c->opt.block % SW_HOST_SECTOR)
        return sw_fail(err, SW_INPUT, "cuda: block: %" PRIu64 " bytes are not a multiple of %d",
                       c->opt.block, SW_HOST_SECTOR);
    SW_TRY(sw_cuda_sched_open(&c->sched, err));
    SW_TRY(sw_cuda_lane_open(&c->lane, &c->opt, false, &c->sched.work.stop, err));
    SW_TRY(open_bad(c, err));
    SW_CUDA("cannot set cuBLAS up", sw_cuda_gemm_open(&c->sched.work.gemm), err);
    SW_TRY(sw_cuda_store_open(s, err));
    if (s->n_buffered)
        fprintf(stderr, "cuda: the file system of %s refuses O_DIRECT; the page cache takes part\n",
                *c->opt.file ? c->opt.file : "the temporary file");
    static atomic_flag said = ATOMIC_FLAG_INIT; /* once a process: probes are many runs */
    if (*c->opt.cufile && s->n_gds < s->n_files && !atomic_flag_test_and_set(&said))
        fprintf(stderr, "cuda: no GPUDirect Storage: %s %s; files go through pinned buffers\n",
                c->opt.cufile, s->gds ? "does not take the file" : "cannot be used here");
    return c->opt.verify ? sw_host_data_new(topo, &c->data, err) : SW_OK;
}

static void cuda_close(void *be) {
    cuda_ctx *c = be;
    if (c->sched.work.store.topo) {
        sw_cuda_sched_close(&c->sched); /* first: nothing is under way from here on */
        sw_cuda_gemm_close(c->sched.work.gemm);
        sw_cuda_store_close(&c->sched.work.store);
        sw_cuda_lane_close(&c->lane);
        if (c->sched.work.bad) cudaFree(c->sched.work.bad);
        if (c->bad) cudaFreeHost(c->bad);
    }
    for (size_t i = 0; i < c->expect.n; i++) free(c->expect.v[i]);
    sw_vec_free(&c->expect);
    sw_vec_free(&c->n_expect);
    sw_vec_free(&c->spans);
    sw_host_data_free(c->data);
    c->data = NULL;
    c->sched.work.store.topo = NULL;
}

/* --- running ----------------------------------------------------------------------------------- */

void sw_cuda_stats_of(const void *be, sw_cuda_stats *out) {
    const cuda_ctx *c = be;
    *out = (sw_cuda_stats){.n_enqueues = c->sched.n_enqueues,
                           .enqueue_s = c->sched.enqueue_s,
                           .n_events = c->sched.n_events,
                           .checked_bytes = (double)c->sched.work.checked,
                           .has_cublas = c->sched.work.gemm != NULL,
                           .has_cufile = c->sched.work.store.n_gds > 0,
                           .occupied_bytes = c->sched.work.store.occupied_bytes};
}

static void say(const cuda_ctx *c) {
    sw_cuda_stats s;
    sw_cuda_stats_of(c, &s);
    fprintf(stderr,
            "cuda: %" PRIu64 " ops enqueued in %.3f ms, %.2f us each; %.3f GB checked; matrix "
            "products by %s; files by %s; %.1f GB of VRAM occupied\n",
            s.n_enqueues, 1e3 * s.enqueue_s,
            s.n_enqueues ? 1e6 * s.enqueue_s / (double)s.n_enqueues : 0, 1e-9 * s.checked_bytes,
            s.has_cublas ? "cuBLAS" : "plain arithmetic",
            s.has_cufile ? "cuFile" : "pinned buffers", 1e-9 * (double)s.occupied_bytes);
}

static sw_status cuda_run(void *be, sw_body_fn *body, void *arg, sw_error *err) {
    cuda_ctx *c = be;
    sw_cuda_sched *s = &c->sched;
    sw_status st = sw_cuda_sched_start(s, err);
    if (st == SW_OK) st = body(arg, err);
    sw_cuda_sched_stop(s);
    if (st == SW_OK && s->failure.status) {
        st = s->failure.status;
        if (err) *err = s->failure;
    }
    if (st == SW_OK && c->opt.stats) say(c);
    return st;
}

static sw_status cuda_page(void *be, const sw_paging *paging, sw_error *err) {
    return sw_cuda_store_page(&((cuda_ctx *)be)->sched.work.store, paging, err);
}

static sw_status cuda_place(void *be, const sw_block *block, int tier, uint64_t addr,
                            sw_error *err) {
    cuda_ctx *c = be;
    SW_TRY(sw_cuda_store_place(&c->sched.work.store, block, tier, addr, err));
    return c->data ? sw_host_data_placed(c->data, block, tier, addr, err) : SW_OK;
}

static sw_status check_order(const cuda_ctx *c, const sw_op *op, uint64_t id, sw_error *err) {
    bool ok = op->id == id && op->queue < c->sched.topo->n_queues && op->issued_by < id;
    for (uint32_t k = 0; k < op->n_after && ok; k++) ok = op->after[k] && op->after[k] < id;
    return ok ? SW_OK
              : sw_fail(err, SW_RUN,
                        "cuda: op %" PRIu64 " is out of order, on no queue, or waits for one that "
                        "comes later",
                        op->id);
}

/* What the op must find. */
static sw_status prepare(cuda_ctx *c, const sw_op *op, sw_error *err) {
    const sw_cuda_queue *q = &c->sched.queues[op->queue];
    SW_TRY(sw_cuda_work_allows(&c->sched.work, op, q->is_stream, err));
    c->spans.n = 0;
    if (c->data) SW_TRY(sw_host_data_op(c->data, op, &c->spans, err));
    sw_host_span *copy = NULL;
    if (c->spans.n) {
        copy = malloc(c->spans.n * sizeof *copy);
        if (!copy) return sw_fail(err, SW_MEMORY, "out of memory");
        memcpy(copy, c->spans.v, c->spans.n * sizeof *copy);
    }
    if (sw_vec_push(&c->n_expect, c->spans.n) && sw_vec_push(&c->expect, copy)) return SW_OK;
    free(copy);
    return sw_fail(err, SW_MEMORY, "out of memory");
}

static sw_status begin(cuda_ctx *c, sw_error *err) {
    SW_TRY(sw_cuda_store_begin(&c->sched.work.store, &c->lane, c->sched.side, err));
    return sw_cuda_sched_begin(&c->sched, err);
}

static sw_status cuda_submit(void *be, const sw_op *ops, uint32_t n, sw_error *err) {
    cuda_ctx *c = be;
    sw_cuda_sched *s = &c->sched;
    if (!s->timed) SW_TRY(begin(c, err));
    c->n_expect.n = 0;
    for (uint32_t i = 0; i < n; i++) {
        SW_TRY(check_order(c, &ops[i], s->ops.next + i, err));
        SW_TRY(prepare(c, &ops[i], err));
    }
    pthread_mutex_lock(&s->lock);
    sw_status st = sw_cuda_sched_add(s, ops, n, c->expect.v, c->n_expect.v, err);
    pthread_mutex_unlock(&s->lock);
    if (st == SW_OK) c->expect.n = 0; /* else some are still ours: see close */
    return st;
}

/* What the GPU's kernels have found by now. Of the submitter, without the lock. */
static sw_status check_bad(cuda_ctx *c, sw_error *err) {
    sw_cuda_sched *s = &c->sched;
    if (!c->data) return SW_OK;
    SW_CUDA("cannot read the record of errors",
            cudaMemcpyAsync(c->bad, s->work.bad, sizeof *c->bad, cudaMemcpyDeviceToHost, s->side),
            err);
    SW_CUDA("cannot read the record of errors", cudaStreamSynchronize(s->side), err);
    if (!c->bad->op) return SW_OK;
    pthread_mutex_lock(&s->lock);
    const sw_op *op = s->jobs[c->bad->op & s->mask].op;
    pthread_mutex_unlock(&s->lock);
    return sw_cuda_work_wrong(&s->work, op, c->bad, err);
}

static sw_status cuda_wait(void *be, uint64_t upto, sw_done *out, uint32_t cap, uint32_t *n,
                           sw_error *err) {
    cuda_ctx *c = be;
    sw_cuda_sched *s = &c->sched;
    sw_status st = SW_OK;
    *n = 0;
    pthread_mutex_lock(&s->lock);
    if (!upto)
        st = sw_cuda_sched_wait_any(s, out, cap, n, err);
    else if (upto >= s->ops.next)
        upto = s->ops.next - 1;
    for (uint64_t id = s->ops.first; id <= upto && st == SW_OK; id++)
        st = sw_cuda_sched_wait(s, &s->waiter, id, err);
    pthread_mutex_unlock(&s->lock);
    if (st == SW_OK) st = check_bad(c, err);
    if (st != SW_OK || !upto) return st;
    pthread_mutex_lock(&s->lock);
    *n = sw_cuda_sched_take(s, upto, out, cap);
    pthread_mutex_unlock(&s->lock);
    return SW_OK;
}

static double cuda_now(void *be) {
    return sw_cuda_sched_now(&((cuda_ctx *)be)->sched);
}

#define AT(option) offsetof(cuda_ctx, opt.option)
static const sw_param params[] = {
    {"device", SW_PARAM_INT, "0", 0, 63, NULL, AT(device),
     "the number of the GPU, as CUDA counts them"},
    {"pinned", SW_PARAM_BOOL, "true", 0, 0, NULL, AT(pinned),
     "RAM is pinned; else pageable, and no kernel of the GPU reads it in place"},
    {"host_arena", SW_PARAM_BYTES, "0 B", 0, 1e15, NULL, AT(host_arena),
     "RAM to take beyond what is placed there when time starts (0: up to half of what is free)"},
    {"advise", SW_PARAM_CHOICE, "none", 0, 0, "none|device|host|read_mostly", AT(advise),
     "managed memory: which memory it prefers, or that it is mostly read"},
    {"prefetch", SW_PARAM_CHOICE, "none", 0, 0, "none|start|use", AT(prefetch),
     "managed memory goes to the GPU when a kernel faults, or also before time starts as far as "
     "there is room, or before each kernel that uses it"},
    {"occupy", SW_PARAM_BOOL, "true", 0, 0, NULL, AT(occupy),
     "where pages move by themselves: VRAM beyond the scenario's is taken first"},
    {"file", SW_PARAM_STRING, "", 0, 0, NULL, AT(file),
     "what stands in for the NVMe: a new file, or a folder to make one in; removed at the end "
     "(empty: a temporary one)"},
    {"direct", SW_PARAM_BOOL, "true", 0, 0, NULL, AT(direct),
     "the file is read and written without the page cache (O_DIRECT) where it can be"},
    {"io", SW_PARAM_CHOICE, "auto", 0, 0, "auto|uring|threads", AT(io),
     "how requests of the file are kept in flight: io_uring, or a thread each (auto: threads where "
     "io_uring is refused)"},
    {"block", SW_PARAM_BYTES, "1 MiB", SW_HOST_SECTOR, 64 << 20, NULL, AT(block),
     "the file is read and written in requests of so many bytes, a multiple of 4 KiB"},
    {"depth", SW_PARAM_INT, "32", 1, 256, NULL, AT(depth),
     "requests in flight, for each queue that reads or writes the file"},
    {"cufile", SW_PARAM_STRING, "libcufile.so.0", 0, 0, NULL, AT(cufile),
     "the library for GPUDirect Storage, used where there is one (empty: not looked for)"},
    {"verify", SW_PARAM_BOOL, "true", 0, 0, NULL, AT(verify),
     "kernels check every byte that they read"},
    {"stats", SW_PARAM_BOOL, "false", 0, 0, NULL, AT(stats),
     "one line at the end: ops enqueued and the time that took, bytes checked, libraries used"},
};

const sw_backend_ops sw_backend_cuda = {
    .plugin =
        {.name = "cuda",
         .summary = "really runs it on a GPU: streams, events, kernels, pinned copies",
         .doc = "VRAM is memory of the GPU, RAM is pinned memory (where pages move by themselves: "
                "managed memory), NVMe is a file that threads "
                "read through two pinned buffers, or with cuFile; each queue of the GPU is a "
                "stream. Kernels read, write and compute for real and check what they "
                "read. One GPU. It takes real time and real memory, and no two runs take the "
                "same.",
         .flags = SW_BACKEND_MOVES_BYTES,
         .ctx_bytes = sizeof(cuda_ctx),
         .params = params,
         .n_params = sizeof params / sizeof *params},
    .open = cuda_open,
    .run = cuda_run,
    .page = cuda_page,
    .place = cuda_place,
    .submit = cuda_submit,
    .wait = cuda_wait,
    .now_s = cuda_now,
    .close = cuda_close,
};
