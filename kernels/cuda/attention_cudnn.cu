/* Attention by cuDNN: finds a plan for a call and runs it (cudnn_attention.h builds the graphs).
 *
 * Each shape has a plan, which is made when the shape is first seen outside of a recording. For large calls plans are
 * timed on the call itself, whose result each of them writes. Workspace: [mask | keys | the plan's].
 */
#include "kernels/cuda/cuda.h"

#ifdef DIT_CUDA_CUDNN
#include "base/clock.h"
#include "kernels/cuda/beside_cudnn.h"
#include "kernels/cuda/cudnn_attention.h"
#include "kernels/cuda/cudnn_cache.h"
#include <stdlib.h>

enum { WORKSPACE_STEP = 256, TIMED_RUNS = 3 };
#ifdef DIT_CUDA_EMULATED
static constexpr double TIMED_FLOPS = 0;
#else
static constexpr double TIMED_FLOPS = 5e10; /* about 0.1 ms: plans for larger calls are compared */
#endif

struct dit_cuda_attention_library {
    dnn_cache cache;
};

static dit_status whole(dnn_graph *graph, const dnn_target *target, const void *key)
{
    return dnn_attention_whole(graph, target, (const dnn_attention *)key);
}

static dit_status parts(dnn_graph *graph, const dnn_target *target, const void *key)
{
    return dnn_attention_parts(graph, target, (const dnn_attention *)key);
}

dit_status cuda_attention_library_open(dit_cuda *cuda, dit_cuda_attention_library **out)
{
    dit_cuda_attention_library *library = (dit_cuda_attention_library *)calloc(1, sizeof *library);
    *out = NULL;
    if (!library) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for cuDNN's plans");
    library->cache.key_bytes = sizeof(dnn_attention);
    library->cache.ways[0] = whole, library->cache.ways[1] = parts;
    dit_status st = dnn_target_open(&library->cache.target, cuda->stream);
    if (st == DIT_OK)
        *out = library;
    else
        cuda_attention_library_close(library);
    return st;
}

void cuda_attention_library_close(dit_cuda_attention_library *library)
{
    if (!library) return;
    dnn_cache_release(&library->cache);
    dnn_target_close(&library->cache.target);
    free(library);
}

typedef struct {
    view q, k, v, out, lse, bias;
} views;

static views views_of(dit_cuda *cuda, const dit_attention_args *args)
{
    return views{view_of(cuda, args->q),   view_of(cuda, args->k),   view_of(cuda, args->v),
                 view_of(cuda, args->out), view_of(cuda, args->lse), view_of(cuda, args->bias)};
}

static dnn_attention_operands operands_of(const views *on)
{
    uintptr_t bits = (uintptr_t)on->q.data | (uintptr_t)on->k.data | (uintptr_t)on->v.data | (uintptr_t)on->out.data;
    bool there = on->q.data && on->k.data && on->v.data && on->out.data;
    return dnn_attention_operands{on->q.dtype,   on->k.dtype,   on->v.dtype,
                                  on->out.dtype, on->lse.dtype, there && bits % DNN_ALIGNMENT == 0};
}

static int64_t up_to_step(int64_t bytes)
{
    return (bytes + WORKSPACE_STEP - 1) / WORKSPACE_STEP * WORKSPACE_STEP;
}

/* A call, ready for any plan. */
typedef struct {
    dit_cuda *cuda;
    dnn_attention shape;
    int count;
    int64_t ids[DNN_BIAS];
    void *pointers[DNN_BIAS];
    float scale; /* cuDNN reads it before the call returns */
    void *workspace;
    int64_t room;
} call;

static void pointer_add(call *c, int64_t id, void *pointer)
{
    c->ids[c->count] = id;
    c->pointers[c->count++] = pointer;
}

static void pointers_set(call *c, const views *on, float *mask)
{
    int64_t skip = c->shape.first_key_head * c->shape.D;
    pointer_add(c, DNN_Q, on->q.data);
    pointer_add(c, DNN_K, view_at(on->k, skip).data);
    pointer_add(c, DNN_V, view_at(on->v, skip).data);
    pointer_add(c, DNN_OUT, on->out.data);
    pointer_add(c, DNN_SCALE, &c->scale);
    if (c->shape.stats) pointer_add(c, DNN_STATS, on->lse.data);
    if (c->shape.bias) pointer_add(c, DNN_BIAS, mask);
}

static dit_status call_run(const call *c, const dnn_plan *plan)
{
    return dnn_plan_run(plan, c->cuda->attention->cache.target.handle, c->count, c->ids, c->pointers, c->workspace);
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

/* Waits for the event. Returns false at the deadline, or when the device failed: the plan then counts as not
 * running. */
static bool event_wait(const dit_cuda *cuda, cudaEvent_t event)
{
    double given = cuda->params.deadline_s, seconds = given > 0 ? given : (double)DIT_DEVICE_DEADLINE_S;
    int64_t until_ns = dit_clock_ns() + (int64_t)(seconds * 1e9);
    cudaError_t code = cudaEventQuery(event);
    while (code == cudaErrorNotReady && dit_clock_ns() < until_ns) code = cudaEventQuery(event);
    return code == cudaSuccess;
}

static double timed(const call *c, const dnn_plan *plan, cudaEvent_t from, cudaEvent_t to)
{
    float ms = -1;
    bool done = call_run(c, plan) == DIT_OK && CUDA_CHECK(c->cuda, cudaEventRecord(from, c->cuda->stream));
    for (int i = 0; done && i < TIMED_RUNS; i++) done = call_run(c, plan) == DIT_OK;
    done = done && CUDA_CHECK(c->cuda, cudaEventRecord(to, c->cuda->stream)) && event_wait(c->cuda, to);
    if (!done || cudaEventElapsedTime(&ms, from, to) != cudaSuccess) return -1;
    return ms;
}

static double plan_measure(void *context, const dnn_plan *plan)
{
    const call *c = (const call *)context;
    cudaEvent_t from = NULL, to = NULL;
    double ms = -1;
    if (CUDA_CHECK(c->cuda, cudaEventCreate(&from)) && CUDA_CHECK(c->cuda, cudaEventCreate(&to)))
        ms = timed(c, plan, from, to);
    if (from) cudaEventDestroy(from);
    if (to) cudaEventDestroy(to);
    return ms;
}

static bool is_worth_timing(const dnn_attention *a)
{
    return 4.0 * (double)a->B * (double)a->H * (double)a->Sq * (double)a->Sk * (double)a->D >= TIMED_FLOPS;
}

static bool is_usable(const call *c, const dnn_entry *entry)
{
    return entry && entry->plan.plan && entry->plan.workspace_bytes <= c->room;
}

/* False if the shape is known to have no plan, or if it is new and a graph is being recorded. */
static bool may_have_plan(const call *c)
{
    const dnn_entry *entry = dnn_cache_find(&c->cuda->attention->cache, &c->shape);
    return entry ? is_usable(c, entry) : !c->cuda->recording;
}

/* Finds or makes the plan. The mask must be ready, because plans may be timed. */
static dnn_entry *plan_of(call *c)
{
    dnn_cache *cache = &c->cuda->attention->cache;
    dnn_entry *entry = dnn_cache_find(cache, &c->shape);
    dnn_stopwatch watch = {plan_measure, c};
    dnn_limits limits = {};
    limits.workspace_bytes = c->room;
    if (!entry) entry = dnn_cache_make(cache, &c->shape, &limits, is_worth_timing(&c->shape) ? &watch : NULL);
    return is_usable(c, entry) ? entry : NULL;
}

/* Runs the plan. Returns false if cuDNN refuses at the last moment: nothing is written, and the caller goes on with
 * other kernels. Other failures end the run. */
static bool plan_run(const call *c, dnn_entry *entry)
{
    dit_status st = call_run(c, &entry->plan);
    if (st == DIT_OK) return true;
    if (st == DIT_ERR_UNSUPPORTED) {
        dnn_plan_release(&entry->plan);
        dit_error_clear();
        return false;
    }
    cuda_fail(c->cuda, "attention: %s", dit_error_last()->message);
    return true;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

bool cuda_attention_library_run(dit_cuda *cuda, const dit_attention_args *args)
{
    if (!args->B || !args->H || !args->Sq) return true;
    views on = views_of(cuda, args);
    dnn_attention_operands operands = operands_of(&on);
    if (dnn_attention_declines(args, &operands, cuda->sm)) return false;
    call c = {};
    c.cuda = cuda, c.shape = dnn_attention_of(args, &operands), c.scale = args->scale;
    int64_t mask_bytes = c.shape.bias ? up_to_step(args->B * args->Sk * (int64_t)sizeof(float)) : 0;
    int64_t used = mask_bytes + (c.shape.bias ? up_to_step(args->B * (int64_t)sizeof(int32_t)) : 0);
    if (used > cuda->workspace_bytes) return false;
    c.workspace = (char *)cuda->workspace + used, c.room = cuda->workspace_bytes - used;
    float *mask = (float *)cuda->workspace;
    int32_t *keys = (int32_t *)((char *)cuda->workspace + mask_bytes);
    if (!may_have_plan(&c)) return false;
    pointers_set(&c, &on, mask);
    if (c.shape.bias) cuda_mask_prepare(cuda, on.bias, args->B, args->Sk, mask, keys);
    dnn_entry *entry = plan_of(&c);
    bool done = entry && plan_run(&c, entry);
    if (done && c.shape.bias) cuda_mask_finish(cuda, args, on.out, on.lse, keys);
    return done;
}
#endif
