/* Depthwise convolution: each thread makes one element of y, channels side by side; sums in float. */
#include "kernels/cuda/pieces.h"

typedef struct {
    view x, above, below, weight, bias, y;
    int64_t batch, height, width, C, kernel, ldx, ld_edge, ldy;
} depthwise_operands;

/* Adds the products of a row of u, whose pixel 0 is element `at`. */
static __device__ inline float add_row(const depthwise_operands &o, view u, int64_t at, int64_t ld, int64_t x,
                                       int64_t weight, float sum)
{
    for (int64_t dx = 0; dx < o.kernel; dx++) {
        int64_t column = x + dx - o.kernel / 2;
        if (column >= 0 && column < o.width)
            sum = fmaf(view_load(o.weight, weight + dx), view_load(u, at + column * ld), sum);
    }
    return sum;
}

static __global__ void __launch_bounds__(BLOCK_THREADS) convolve_channels(depthwise_operands o)
{
    int64_t all = o.batch * o.height * o.width * o.C;
    for (int64_t e = blockIdx.x * (int64_t)BLOCK_THREADS + threadIdx.x; e < all;
         e += (int64_t)gridDim.x * BLOCK_THREADS) {
        int64_t pixel = divide(e, o.C), c = e - pixel * o.C, row = divide(pixel, o.width), x = pixel - row * o.width;
        int64_t b = divide(row, o.height), r = row - b * o.height;
        float sum = o.bias.data ? view_load(o.bias, c) : 0.0f;
        for (int64_t dr = 0; dr < o.kernel; dr++) {
            int64_t at = r + dr - o.kernel / 2, weight = (c * o.kernel + dr) * o.kernel;
            view edge = at < 0 ? o.above : o.below;
            if (at >= 0 && at < o.height)
                sum = add_row(o, o.x, (b * o.height + at) * o.width * o.ldx + c, o.ldx, x, weight, sum);
            else if (edge.data)
                sum = add_row(o, edge, b * o.width * o.ld_edge + c, o.ld_edge, x, weight, sum);
        }
        view_store(o.y, pixel * o.ldy + c, sum);
    }
}

/* Finds an operand that may be NULL. Returns false if it belongs to no array. */
static bool find_optional(dit_cuda *cuda, const float *address, view *out)
{
    *out = view();
    if (address) *out = view_of(cuda, address);
    return !address || out->data;
}

void cuda_depthwise(dit_pool *pool, const dit_depthwise_args *args)
{
    int64_t all = args->batch * args->height * args->width * args->C;
    if (all <= 0) return;
    dit_cuda *cuda = cuda_of(pool);
    depthwise_operands o = {};
    o.batch = args->batch, o.height = args->height, o.width = args->width, o.C = args->C;
    o.kernel = args->kernel, o.ldx = args->ldx, o.ld_edge = args->ld_edge, o.ldy = args->ldy;
    o.x = view_of(cuda, args->x), o.y = view_of(cuda, args->y), o.weight = view_of(cuda, args->weight);
    bool found = find_optional(cuda, args->above, &o.above) && find_optional(cuda, args->below, &o.below) &&
                 find_optional(cuda, args->bias, &o.bias);
    if (!o.x.data || !o.y.data || !o.weight.data || !found) return;
    LAUNCH(cuda, convolve_channels, grid_x(divide_up(all, BLOCK_THREADS)), BLOCK_THREADS, 0, o);
}
