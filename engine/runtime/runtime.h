/* Runtime: what one rank owns while it runs one case: kernels, threads, memory, communicators, clocks.
 *
 * Everything above it (models, attention policies, sampler, programs) takes a runtime as its first argument. Each arena
 * has a lifetime: `run` (weights, plans), `image` (latents, conditions), `step` (activations, allocated once and reused
 * by every step), `comm` (message buffers). The ops_* functions dispatch an operator and add its flops to the account.
 *
 * Where a device computes, operators and messages name arrays by the addresses that arenas gave. Host memory lies at
 * these addresses: the host uploads what it has written there, and downloads what it wants to read. Without a device
 * both do nothing, but every array that operators see still comes from an arena.
 */
#ifndef DIT_ENGINE_RUNTIME_H
#define DIT_ENGINE_RUNTIME_H

#include "base/arena.h"
#include "base/parallel.h"
#include "base/residency.h"
#include "engine/comm/comm.h"
#include "engine/runtime/guest.h"
#include "engine/timing/position.h"
#include "engine/timing/timing.h"
#include "kernels/device.h"

typedef enum {
    DIT_TIME_PREPARE,   /* text projections and their K, V: once per image */
    DIT_TIME_EMBED,     /* patch, position and timestep embedding          */
    DIT_TIME_BLOCKS,    /* transformer blocks, exchanges included          */
    DIT_TIME_CACHE,     /* what a cache keeps, compares and adds           */
    DIT_TIME_HEAD,      /* final norm and projection                       */
    DIT_TIME_SCHEDULER, /* guidance and solver                             */
    DIT_TIME_STAGES,    /* messages between the stages of a pipeline       */
    DIT_TIME_GATHER,    /* collecting the latents                          */
    DIT_TIME_DECODE,    /* latents to images                               */
    DIT_TIME_COUNT
} dit_time;
const char *dit_time_name(dit_time time);

typedef struct {
    double linear, attention, convolution, other;
    int64_t calls[DIT_OPERATOR_COUNT]; /* of each operator */
} dit_flops;

/* sum += sign * part, calls included. */
void dit_flops_add(dit_flops *sum, const dit_flops *part, double sign);

typedef struct {
    const char *backend;                     /* "cpu", "ref", or a device's: "cuda" (kernels/device.h) */
    dit_dtype dtype;                         /* of a device's activations and weights */
    bool fp8_linear;                         /* a device computes linear layers in fp8 */
    int64_t planned[DIT_MEMORY_CLASS_COUNT]; /* bytes that a device will need; 0: unknown */
    bool no_graphs;                          /* a device does not record forwards as graphs */
    bool counting;          /* instead of a backend: operators do nothing, memory is address space, nothing is sent and
                      all is counted, for `rank` of a mesh that need not run */
    const dit_guest *guest; /* NULL, or who runs this rank in a time of its own; outlives the runtime */
    int rank;
    int threads; /* per rank; 0: cores / ranks of this machine, at least 1 */
    dit_offload offload;
    dit_parallel parallel;
    dit_facts facts;
} dit_runtime_params;

typedef struct dit_runtime {
    const dit_kernels *kernels;
    const dit_guest *guest; /* NULL: the run is a plain one */
    dit_pool *pool;
    dit_device *device; /* NULL: the pool's threads compute */
    dit_timing *timing;
    int threads, cores, local_rank, local_size, devices; /* devices: of this machine, which its ranks share */
    bool oversubscribed, bound, no_graphs;
    dit_memory_ledger ledger;
    dit_arena run, image, step, comm_arena;
    dit_parallel parallel;
    dit_facts facts;
    int coordinates[DIT_AXIS_COUNT];
    dit_comm
        *comm[DIT_GROUP_COUNT]; /* size 1 where the axis is not used; all ranks, NULL when counting; of shards, NULL
                                        where there are none */
    dit_comm_counters counters;
    struct {
        float *partial, *sum;       /* [elements] as reserved */
        double *squares, *gathered; /* [rows], [degree][rows]  */
        int64_t elements, rows;
    } tensor; /* engine/runtime/tensor_parallel.h */
    int64_t time_ns[DIT_TIME_COUNT];
    dit_flops flops;
    int64_t parameters;   /* elements of all parameters read so far */
    int64_t stored_bytes; /* bytes that files have of them          */
    dit_offload offload;
    struct dit_weight_taker *taker;         /* NULL, or who loads weights instead (weights.h); not owned           */
    struct dit_weight_catalogue *catalogue; /* NULL, or who lists the parameters (weight_catalogue.h); not owned */
    dit_trace *trace;                       /* NULL: off. Set with dit_runtime_set_trace; not owned */
} dit_runtime;

/* Collective over the world: the product of the degrees must equal its size and the configuration must be legal.
 * Errors: DIT_ERR_CONSTRAINT_*, DIT_ERR_NOT_FOUND (backend), DIT_ERR_MEMORY, DIT_ERR_MPI. release takes a zeroed one.
 */
dit_status dit_runtime_init(const dit_runtime_params *params, dit_runtime *out);
void dit_runtime_release(dit_runtime *rt);
/* Gives a rank its share of all cores of this machine, for work that is not timed, or with `all` false the threads that
 * the case says. Results do not depend on how many compute. Nothing where a device computes, where the ranks share a
 * process, and where the case has no fewer threads. Not during an operator. Errors: DIT_ERR_ENVIRONMENT, DIT_ERR_MEMORY; the
 * threads are then those before. */
dit_status dit_runtime_use_cores(dit_runtime *rt, bool all);
void dit_runtime_set_phase(dit_runtime *rt, dit_phase phase);
/* Records everything in `trace` from now on; NULL ends that. The trace must outlive the recording. */
void dit_runtime_set_trace(dit_runtime *rt, dit_trace *trace);
/* Tell trace and position which diffusion step, and which band of a pipeline (DIT_WINDOW_ALL: all rows), the rank is
 * at; -1: none. */
void dit_runtime_set_step(dit_runtime *rt, int step);
void dit_runtime_set_patch(dit_runtime *rt, int band);
/* Forgets counters, times and flops, and lowers the memory peaks to what is in use: the start of a measured region. */
void dit_runtime_reset_account(dit_runtime *rt);

/* Copy `elements` elements of one array, from `address` on, from host memory to the device, or back. They do nothing
 * without a device, and where memory is only counted. Errors: DIT_ERR_DEVICE, DIT_ERR_TIMEOUT. */
dit_status dit_runtime_upload(dit_runtime *rt, const void *address, int64_t elements);
dit_status dit_runtime_download(dit_runtime *rt, const void *address, int64_t elements);
/* How many of `count` values the host must compute: none where memory is only address space, which nobody reads, and
 * which takes memory once it is written. */
static inline int64_t dit_runtime_values(const dit_runtime *rt, int64_t count)
{
    return rt->ledger.counting_only ? 0 : count;
}
/* y = x, and y = a + b, without account or trace; nothing where only counting. y apart from x. */
void dit_runtime_copy(dit_runtime *rt, const float *x, int64_t elements, float *y);
void dit_runtime_add(dit_runtime *rt, const float *a, const float *b, int64_t elements, float *y);
/* True when messages move without calls of the thread that computes: those of a device, and those that only count. Then
 * it does not help to cut a computation into pieces and poll between them. */
static inline bool dit_runtime_messages_move(const dit_runtime *rt)
{
    return rt->ledger.counting_only || rt->device;
}
/* Waits until everything is done, and adds up the times of pieces. Errors: what failed since the last wait. */
dit_status dit_runtime_synchronize(dit_runtime *rt);

/* Runs a statement and adds the time it took to rt->time_ns[which]. The statement may return from the function that it
 * stands in (DIT_TRY): then no time is added, and the position keeps the phase, so that an error tells in which one it
 * happened. */
#define DIT_TIMED(rt, which, ...)                                                                                      \
    do {                                                                                                               \
        int64_t timed_began_ = dit_timing_now((rt)->timing);                                                           \
        if ((rt)->trace) (rt)->trace->phase = dit_time_name(which);                                                    \
        dit_position_set_phase(dit_time_name(which));                                                                  \
        __VA_ARGS__;                                                                                                   \
        dit_position_set_phase(NULL);                                                                                  \
        dit_runtime_end_phase(rt, which, timed_began_);                                                                \
    } while (0)
void dit_runtime_end_phase(dit_runtime *rt, dit_time which, int64_t began);

/* The two ends of an interval that a trace shows. */
static inline int64_t dit_runtime_trace_begin(dit_runtime *rt)
{
    return rt->trace ? dit_timing_now(rt->timing) : 0;
}
void dit_runtime_trace_end(dit_runtime *rt, dit_trace_category category, const char *name, int64_t began);

/* Runs a statement as block `index` (from 0) of the transformer, for trace and position. A statement that returns
 * leaves the position in the block, as DIT_TIMED leaves the phase. */
#define DIT_LAYER(rt, index, ...)                                                                                      \
    do {                                                                                                               \
        int64_t layer_began_ = dit_runtime_trace_begin(rt);                                                            \
        if ((rt)->trace) (rt)->trace->layer = (int32_t)(index);                                                        \
        dit_position_set_layer(index);                                                                                 \
        __VA_ARGS__;                                                                                                   \
        dit_runtime_trace_end(rt, DIT_TRACE_LAYER, "block", layer_began_);                                             \
        if ((rt)->trace) (rt)->trace->layer = -1;                                                                      \
        dit_position_set_layer(-1);                                                                                    \
    } while (0)

/* ops_NAME(rt, args): calls an operator of rt's kernels, adds its flops to the account, and its interval to the trace
 * where there is one. */
#define OPS_PROTOTYPE(ID, name, args_type, ...) void ops_##name(dit_runtime *rt, const args_type *args);
DIT_OPERATOR_LIST(OPS_PROTOTYPE)
#undef OPS_PROTOTYPE

#endif
