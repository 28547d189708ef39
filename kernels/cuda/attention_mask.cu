/* Prepares attention masks for cuDNN, whose kernels need finite values.
 *
 * A key whose bias is -INFINITY does not exist. With MASK_FLOOR instead its weight is exactly 0 as long as any real key
 * exists; batch entries without a real key are corrected afterwards. Bytes: the mask, twice. The correction reads only
 * a flag per block.
 */
#include "kernels/cuda/beside_cudnn.h"
#include "kernels/cuda/launch.h"

enum { THREADS = 256, ROWS = 16 /* queries of one block */ };
static constexpr float MASK_FLOOR = -1e30f; /* stays finite when it is multiplied by log2(e) */

static __global__ void mask_prepare_kernel(view bias, int64_t Sk, float *mask, int32_t *keys)
{
    SHARED(float, scratch);
    int64_t first = blockIdx.x * Sk;
    float found = 0.0f;
    for (int64_t j = threadIdx.x; j < Sk; j += blockDim.x) {
        float b = view_load(bias, first + j);
        mask[first + j] = b < MASK_FLOOR ? MASK_FLOOR : b;
        if (b != -INFINITY) found = 1.0f;
    }
    found = block_sum(found, scratch);
    if (threadIdx.x == 0) keys[blockIdx.x] = found > 0.0f;
}

void cuda_mask_prepare(dit_cuda *cuda, view bias, int64_t B, int64_t Sk, float *mask, int32_t *keys)
{
    LAUNCH(cuda, mask_prepare_kernel, dim3((unsigned)B), dim3(THREADS), sizeof(float) * THREADS / WARP, bias, Sk, mask,
           keys);
}

typedef struct {
    int64_t H, S, D, ld, batch;
    view out, lse;
    const int32_t *keys;
} finish;

static __global__ void mask_finish_kernel(finish f)
{
    int64_t b = blockIdx.y, first = (int64_t)blockIdx.x * ROWS;
    if (f.keys[b]) return;
    int64_t left = f.S - first, rows = left < ROWS ? left : (int64_t)ROWS, width = f.H * f.D;
    for (int64_t i = threadIdx.x; i < rows * width; i += blockDim.x)
        view_store(f.out, b * f.batch + (first + i / width) * f.ld + i % width, 0.0f);
    for (int64_t i = threadIdx.x; f.lse.data && i < rows * f.H; i += blockDim.x)
        view_store(f.lse, (b * f.H + i / rows) * f.S + first + i % rows, -INFINITY);
}

void cuda_mask_finish(dit_cuda *cuda, const dit_attention_args *args, view out, view lse, const int32_t *keys)
{
    finish f = {args->H, args->Sq, args->D, args->ldo, args->batch_o, out, lse, keys};
    dim3 grid((unsigned)((args->Sq + ROWS - 1) / ROWS), (unsigned)args->B);
    LAUNCH(cuda, mask_finish_kernel, grid, dim3(THREADS), 0, f);
}
