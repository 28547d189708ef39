/* Convolutions by cuDNN: finds a plan for a call and runs it (cudnn_conv.h builds the graphs).
 *
 * Each shape has a plan, which is made when the shape is first seen outside of a recording. Workspace: [copy of a band
 * | the plan's].
 */
#include "kernels/cuda/cuda.h"

#ifdef DIT_CUDA_CUDNN
#include "kernels/cuda/beside_cudnn.h"
#include "kernels/cuda/cudnn_cache.h"
#include "kernels/cuda/cudnn_conv.h"
#include <stdlib.h>

enum {
    WORKSPACE_STEP = 256,
    SHARES = 2 /* of the workspace: one for the copy, one for the plan, which may want a copy of y */
};

struct dit_cuda_conv_library {
    dnn_cache cache;
};

static dit_status describe(dnn_graph *graph, const dnn_target *target, const void *key)
{
    return dnn_conv_graph(graph, target, (const dnn_conv *)key);
}

dit_status cuda_conv_library_open(dit_cuda *cuda, dit_cuda_conv_library **out)
{
    dit_cuda_conv_library *library = (dit_cuda_conv_library *)calloc(1, sizeof *library);
    *out = NULL;
    if (!library) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for cuDNN's plans");
    library->cache.key_bytes = sizeof(dnn_conv);
    library->cache.ways[0] = describe;
    dit_status st = dnn_target_open(&library->cache.target, cuda->stream);
    if (st == DIT_OK)
        *out = library;
    else
        cuda_conv_library_close(library);
    return st;
}

void cuda_conv_library_close(dit_cuda_conv_library *library)
{
    if (!library) return;
    dnn_cache_release(&library->cache);
    dnn_target_close(&library->cache.target);
    free(library);
}

typedef struct {
    view x, y, residual, weight, bias, front, above, below;
} views;

static views views_of(dit_cuda *cuda, const dit_conv_args *args)
{
    const cuda_weights *w = weights_of(args->weights);
    return views{
        view_of(cuda, args->x),     view_of(cuda, args->y),     view_of(cuda, args->residual), w->weight, w->bias,
        view_of(cuda, args->front), view_of(cuda, args->above), view_of(cuda, args->below)};
}

static dnn_conv_operands operands_of(const views *on)
{
    uintptr_t bits = (uintptr_t)on->x.data | (uintptr_t)on->y.data | (uintptr_t)on->residual.data |
                     (uintptr_t)on->weight.data | (uintptr_t)on->bias.data;
    bool there = on->x.data && on->y.data && on->weight.data;
    return dnn_conv_operands{on->x.dtype,
                             on->weight.dtype,
                             on->bias.dtype,
                             on->y.dtype,
                             on->residual.dtype,
                             on->bias.data != NULL,
                             there && bits % DNN_ALIGNMENT == 0};
}

/* Finds or makes the plan of a shape. NULL: none fits, or the shape is new and a graph is being recorded. */
static dnn_entry *plan_of(dit_cuda *cuda, const dnn_conv *c, int64_t room)
{
    dnn_cache *cache = &cuda->conv->cache;
    dnn_entry *entry = dnn_cache_find(cache, c);
    dnn_limits limits = {};
    limits.workspace_bytes = room;
    limits.exact = c->type == CUDNN_DATA_FLOAT;
    if (!entry && !cuda->recording) entry = dnn_cache_make(cache, c, &limits, NULL);
    return entry && entry->plan.plan && entry->plan.workspace_bytes <= room ? entry : NULL;
}

/* Computes rows of y from row `first` on, from x or a copy of it. False: cuDNN refused, and nothing was written. */
static bool plan_run(dit_cuda *cuda, dnn_entry *entry, const dnn_conv *c, const views *on, view x, int64_t first,
                     void *workspace)
{
    int64_t ids[DNN_RESIDUAL], skip = first * c->out_stride[1];
    void *pointers[DNN_RESIDUAL];
    int n = 0;
    ids[n] = DNN_X, pointers[n++] = x.data;
    ids[n] = DNN_W, pointers[n++] = on->weight.data;
    ids[n] = DNN_Y, pointers[n++] = view_at(on->y, skip).data;
    if (c->bias) ids[n] = DNN_CONV_BIAS, pointers[n++] = on->bias.data;
    if (c->residual) ids[n] = DNN_RESIDUAL, pointers[n++] = view_at(on->residual, skip).data;
    dit_status st = dnn_plan_run(&entry->plan, cuda->conv->cache.target.handle, n, ids, pointers, workspace);
    if (st == DIT_ERR_UNSUPPORTED) {
        dnn_plan_release(&entry->plan);
        dit_error_clear();
        return false;
    }
    if (st != DIT_OK) cuda_fail(cuda, "convolution: %s", dit_error_last()->message);
    return true;
}

static bool run_in_place(dit_cuda *cuda, const dit_conv_args *args, const dnn_conv_operands *operands, const views *on)
{
    dnn_conv c = dnn_conv_of(args, operands, 0);
    dnn_entry *entry = plan_of(cuda, &c, cuda->workspace_bytes);
    return entry && plan_run(cuda, entry, &c, on, on->x, 0, cuda->workspace);
}

static void band_gather(dit_cuda *cuda, const dit_conv_args *args, const dnn_conv *c, const views *on, int64_t first)
{
    cuda_gather g = {};
    g.x = on->x, g.front = on->front, g.above = on->above, g.below = on->below;
    g.frames = args->frames, g.height = args->height, g.width = args->width, g.channels = args->channels;
    g.front_frame = args->front_frame, g.front_frames = args->padding[0], g.up = args->up;
    g.replicate = args->replicate;
    for (int axis = 0; axis < 3; axis++) g.extent[axis] = c->in[axis], g.first[axis] = -args->padding[axis];
    g.first[1] += first * args->stride[1];
    g.copy = view{cuda->workspace, on->x.dtype};
    cuda_conv_gather(cuda, &g);
}

typedef struct {
    dnn_conv c;
    dnn_entry *entry;
    int64_t copy_bytes;
} band;

static bool band_plan(dit_cuda *cuda, const dit_conv_args *args, const dnn_conv_operands *operands, int64_t rows,
                      band *out)
{
    out->c = dnn_conv_of(args, operands, rows);
    int64_t copy = out->c.in[0] * out->c.in_stride[0] * dit_dtype_bytes(operands->x);
    out->copy_bytes = (copy + WORKSPACE_STEP - 1) / WORKSPACE_STEP * WORKSPACE_STEP;
    out->entry = out->copy_bytes <= cuda->workspace_bytes
                     ? plan_of(cuda, &out->c, cuda->workspace_bytes - out->copy_bytes)
                     : NULL;
    return out->entry != NULL;
}

/* Computes y in bands of nearly equal heights. All plans are made before the first band is written: y may be the
 * residual, and what has been added to it cannot be computed again by another kernel. */
static bool run_by_bands(dit_cuda *cuda, const dit_conv_args *args, const dnn_conv_operands *operands, const views *on)
{
    int64_t room = cuda->workspace_bytes / SHARES, height = args->out[1];
    int64_t fit = dnn_conv_band_rows(args, dit_dtype_bytes(operands->x), room);
    if (fit <= 0) return false;
    int64_t bands = (height + fit - 1) / fit, rows = (height + bands - 1) / bands, last = height - (bands - 1) * rows;
    if (last <= 0) bands = (height + rows - 1) / rows, last = height - (bands - 1) * rows;
    band most, end;
    if (!band_plan(cuda, args, operands, rows, &most) || !band_plan(cuda, args, operands, last, &end)) return false;
    for (int64_t i = 0; i < bands; i++) {
        const band *b = i + 1 < bands ? &most : &end;
        band_gather(cuda, args, &b->c, on, i * rows);
        if (!plan_run(cuda, b->entry, &b->c, on, view{cuda->workspace, on->x.dtype}, i * rows,
                      (char *)cuda->workspace + b->copy_bytes)) {
            if (i > 0) cuda_fail(cuda, "convolution: cuDNN refused after a part was done");
            return i > 0;
        }
    }
    return true;
}

bool cuda_conv_library_run(dit_cuda *cuda, const dit_conv_args *args)
{
    if (args->out[0] <= 0 || args->out[1] <= 0 || args->out[2] <= 0 || args->weights->n <= 0) return true;
    views on = views_of(cuda, args);
    dnn_conv_operands operands = operands_of(&on);
    if (dnn_conv_declines(args, &operands, cuda->sm)) return false;
    return dnn_conv_gathers(args) ? run_by_bands(cuda, args, &operands, &on) : run_in_place(cuda, args, &operands, &on);
}
#endif
