/* A stand-in for a GPU: the calls of cuda_runtime_api.h and of backends/cuda_kernels.h, on the CPU.
 *
 * Work is lazy and its order is drawn by lot. What is put on a stream waits there; each time that
 * somebody synchronises or asks, streams are chosen at random, and the first piece of work of one is
 * done, until what was waited for has happened. So each seed is another order that CUDA would allow,
 * and whatever relies on more than streams and events promise comes out wrong under some of them.
 * Fresh memory holds rubbish. One lock for all: the calls may come from any thread.
 *
 * Event times are virtual: each piece of work moves its stream's clock on, from the moment when it
 * was put there at the earliest. */
#ifndef SW_TESTS_STANDIN_H
#define SW_TESTS_STANDIN_H

#include <stdint.h>

typedef struct standin_options {
    uint64_t seed;
    int devices; /* how many there are; 0: none */
    uint64_t memory_bytes;
    uint64_t fail_at; /* the call with this number fails; 0: none. Calls that release are not
                         counted and do not fail */
    int concurrent;   /* may the CPU use managed memory while kernels run? */
    uint64_t lose_wait, lose_sync; /* a mistake of the caller's: the cudaStreamWaitEvent with this
                                      number is left out, or the cudaEventSynchronize among those
                                      for events without times; 0: none */
} standin_options;

/** Begins anew. Nothing of the run before may be left. */
void standin_reset(const standin_options *o);
/** Calls so far that could have failed. */
uint64_t standin_calls(void);
/** Blocks, streams and events that were made and not given back. */
uint64_t standin_left(void);
/** Bytes of the device that were never taken, and managed bytes that were prefetched. */
uint64_t standin_free(void);
uint64_t standin_prefetched(void);
/** Pieces of work that were done, and synchronisations that could never have ended. */
uint64_t standin_done(void);
uint64_t standin_deadlocks(void);

/** Operations that kernels were to do, since the program began. */
double standin_flops(void);

/** For kernels: counts as a call, puts fn(arg, bytes of arg) on the stream, which takes so long.
 * The bytes are copied. Returns a cudaError_t. */
struct standin_stream;
int standin_put(struct standin_stream *s, void (*fn)(void *arg), const void *arg, uint64_t bytes,
                double seconds);

#endif
