/* Attention by cuDNN: the device code of cudnn_attention.h.
 *
 * A plan per shape, made when the shape is first seen outside a recording. Workspace: [mask | keys | the plan's].
 */
#include "kernels/cuda/cuda.h"

#ifdef DIT_CUDA_CUDNN
#include "kernels/cuda/beside_cudnn.h"
#include "kernels/cuda/cudnn_attention.h"
#include "kernels/cuda/cudnn_cache.h"
#include <stdlib.h>

enum { WORKSPACE_STEP = 256 };

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
    return dnn_attention_operands{on->q.element,   on->k.element,   on->v.element,
                                  on->out.element, on->lse.element, there && bits % DNN_ALIGNMENT == 0};
}

static int64_t up_to_step(int64_t bytes)
{
    return (bytes + WORKSPACE_STEP - 1) / WORKSPACE_STEP * WORKSPACE_STEP;
}

/* The plan of a shape, if there is one that fits, and it may be looked for now. */
static dnn_entry *plan_of(dit_cuda *cuda, const dnn_attention *a, int64_t room)
{
    dnn_cache *cache = &cuda->attention->cache;
    dnn_entry *entry = dnn_cache_find(cache, a);
    dnn_limits limits = {};
    limits.workspace_bytes = room;
    if (!entry && !cuda->recording) entry = dnn_cache_make(cache, a, &limits);
    return entry && entry->plan.plan && entry->plan.workspace_bytes <= room ? entry : NULL;
}

/* The ids and pointers of a call; the scale is read before the call returns. */
static int pointers_set(const dnn_attention *a, const views *on, float *scale, float *mask, int64_t ids[DNN_BIAS],
                        void *pointers[DNN_BIAS])
{
    int n = 0;
    int64_t skip = a->first_key_head * a->D;
    ids[n] = DNN_Q, pointers[n++] = on->q.data;
    ids[n] = DNN_K, pointers[n++] = view_at(on->k, skip).data;
    ids[n] = DNN_V, pointers[n++] = view_at(on->v, skip).data;
    ids[n] = DNN_OUT, pointers[n++] = on->out.data;
    ids[n] = DNN_SCALE, pointers[n++] = scale;
    if (a->stats) ids[n] = DNN_STATS, pointers[n++] = on->lse.data;
    if (a->bias) ids[n] = DNN_BIAS, pointers[n++] = mask;
    return n;
}

/* cuDNN's refusal at the last moment is taken back to the caller, as nothing was written; other failures are its end.
 */
static bool plan_run(dit_cuda *cuda, dnn_entry *entry, int n, const int64_t *ids, void *const *pointers,
                     void *workspace)
{
    dit_status st = dnn_plan_run(&entry->plan, cuda->attention->cache.target.handle, n, ids, pointers, workspace);
    if (st == DIT_OK) return true;
    if (st == DIT_ERR_UNSUPPORTED) {
        dnn_plan_release(&entry->plan);
        dit_error_clear();
        return false;
    }
    cuda_fail(cuda, "attention: %s", dit_error_last()->message);
    return true;
}

bool cuda_attention_library_run(dit_cuda *cuda, const dit_attention_args *args)
{
    if (!args->B || !args->H || !args->Sq) return true;
    views on = views_of(cuda, args);
    dnn_attention_operands operands = operands_of(&on);
    if (dnn_attention_declines(args, &operands, cuda->sm)) return false;
    dnn_attention a = dnn_attention_of(args, &operands);
    int64_t mask_bytes = a.bias ? up_to_step(args->B * args->Sk * (int64_t)sizeof(float)) : 0;
    int64_t used = mask_bytes + (a.bias ? up_to_step(args->B * (int64_t)sizeof(int32_t)) : 0);
    dnn_entry *entry = used <= cuda->workspace_bytes ? plan_of(cuda, &a, cuda->workspace_bytes - used) : NULL;
    if (!entry) return false;
    float scale = args->scale, *mask = (float *)cuda->workspace;
    int32_t *keys = (int32_t *)((char *)cuda->workspace + mask_bytes);
    int64_t ids[DNN_BIAS];
    void *pointers[DNN_BIAS];
    int n = pointers_set(&a, &on, &scale, mask, ids, pointers);
    if (a.bias) cuda_mask_prepare(cuda, on.bias, args->B, args->Sk, mask, keys);
    bool done = plan_run(cuda, entry, n, ids, pointers, (char *)cuda->workspace + used);
    if (done && a.bias) cuda_mask_finish(cuda, args, on.out, on.lse, keys);
    return done;
}
#endif
