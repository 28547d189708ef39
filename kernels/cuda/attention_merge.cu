/* Merges one block of keys into the running attention result, by the formulas of kernels/operators.h. As in
 * kernels/ref/attention_merge.c, a side that has seen no key may hold anything, even NaN.
 *
 * A few lanes of a warp share a row, with eight channels each. Bytes: B S H D times (out read and written, block_out
 * read), which limits the speed.
 */
#include "kernels/cuda/launch.h"

#include <math.h>

namespace
{

enum { MERGE_THREADS = 128 };

struct merge_call {
    view out, lse, block_out, block_lse;
    int64_t rows; /* B S H, heads fastest */
    int64_t ldo, batch_o;
    int S, H, D;
    int lanes; /* per row, a power of two */
    bool wide; /* eight channels at once, of out and of block_out */
};

/* The weights of out and block_out. */
struct merge_weights {
    float kept, added;
};

__device__ __forceinline__ float merged(merge_weights w, float out, float block_out)
{
    float kept = w.kept > 0 ? w.kept * out : 0.0f, added = w.added > 0 ? w.added * block_out : 0.0f;
    return (kept + added) / (w.kept + w.added);
}

__device__ __forceinline__ void merge_wide(const merge_call &call, merge_weights w, int64_t out, int64_t block_out)
{
    float x[VIEW_WIDTH], y[VIEW_WIDTH];
    view_load_wide(call.out, out, x);
    view_load_wide(call.block_out, block_out, y);
#pragma unroll
    for (int i = 0; i < VIEW_WIDTH; i++) x[i] = merged(w, x[i], y[i]);
    view_store_wide(call.out, out, x);
}

__device__ __forceinline__ void merge_channels(const merge_call &call, merge_weights w, int64_t out, int64_t block_out,
                                               int lane)
{
    if (call.wide) {
        for (int d = lane * VIEW_WIDTH; d < call.D; d += call.lanes * VIEW_WIDTH)
            merge_wide(call, w, out + d, block_out + d);
        return;
    }
    for (int d = lane; d < call.D; d += call.lanes)
        view_store(call.out, out + d,
                   merged(w, view_load(call.out, out + d), view_load(call.block_out, block_out + d)));
}

__global__ void __launch_bounds__(MERGE_THREADS) attention_merge(merge_call call)
{
    int64_t row = ((int64_t)blockIdx.x * MERGE_THREADS + threadIdx.x) / call.lanes;
    int lane = (int)threadIdx.x % call.lanes;
    bool there = row < call.rows;
    int64_t h = row % call.H, s = row / call.H % call.S, b = row / call.H / call.S;
    int64_t place = (b * call.H + h) * call.S + s; /* in lse */
    float before = there ? view_load(call.lse, place) : 0.0f, block = there ? view_load(call.block_lse, place) : 0.0f;
    __syncwarp(); /* all lanes of a row have read lse before one writes it */
    float max = before > block ? before : block;
    if (!there || max == -INFINITY) return; /* neither side has seen a key */
    merge_weights w = {expf(before - max), expf(block - max)};
    merge_channels(call, w, b * call.batch_o + s * call.ldo + h * call.D, row * call.D, lane);
    if (lane == 0) view_store(call.lse, place, max + logf(w.kept + w.added));
}

int lanes_for(int64_t pieces)
{
    int lanes = 1;
    while (lanes < WARP && lanes < pieces) lanes *= 2;
    return lanes;
}

} // namespace

void cuda_attention_merge(dit_pool *pool, const dit_merge_args *args)
{
    dit_cuda *cuda = cuda_of(pool);
    merge_call call = {};
    call.rows = args->B * args->S * args->H;
    if (!call.rows || !args->D) return;
    call.out = view_of(cuda, args->out), call.lse = view_of(cuda, args->lse);
    call.block_out = view_of(cuda, args->block_out), call.block_lse = view_of(cuda, args->block_lse);
    if (!call.out.data || !call.lse.data || !call.block_out.data || !call.block_lse.data) return;
    call.ldo = args->ldo, call.batch_o = args->batch_o;
    call.S = (int)args->S, call.H = (int)args->H, call.D = (int)args->D;
    call.wide = args->D % VIEW_WIDTH == 0 && view_is_wide(call.out, args->ldo) &&
                view_is_wide(call.out, args->batch_o) && view_is_wide(call.block_out, args->D) &&
                call.out.dtype != DIT_DTYPE_FP64 && call.block_out.dtype != DIT_DTYPE_FP64;
    call.lanes = lanes_for(call.wide ? args->D / VIEW_WIDTH : args->D);
    int64_t rows_per_block = MERGE_THREADS / call.lanes;
    LAUNCH(cuda, attention_merge, dim3((unsigned)((call.rows + rows_per_block - 1) / rows_per_block)),
           dim3(MERGE_THREADS), 0, call);
}
