/* Sinusoid of timesteps, in the float32 arithmetic of kernels/ref/timestep.c, which explains its order. No sum follows
 * a product here, so the compiler cannot contract them. */
#include "kernels/cuda/pieces.h"

typedef struct {
    view t, y;
    int64_t count, dim;
    float unit, scale, log_period;
} timestep_operands;

/* Returns exp(x), x <= 0, as exp_as_reference of kernels/ref/timestep.c does. */
static __device__ float exp_as_reference(float x)
{
    const float polynomial[] = {0x1.a057b4p-13f, 0x1.6d2d92p-10f, 0x1.11114cp-7f, 0x1.5554f4p-5f, 0x1.555556p-3f, 0.5f};
    float q = rintf(x * 1.44269504f);
    float s = fmaf(q, -1.428606765e-6f, fmaf(q, -0.693145751953125f, x));
    float u = polynomial[0];
#pragma unroll
    for (int i = 1; i < 6; i++) u = fmaf(u, s, polynomial[i]);
    return ldexpf(1.0f + fmaf(s * s, u, s), (int)q);
}

/* Writes the sinusoid. Angles are few and reach thousands of turns, so sine and cosine are taken in double and rounded
 * once, as the C library's are. */
static __global__ void __launch_bounds__(BLOCK_THREADS) timestep_sinusoid(timestep_operands o)
{
    int64_t half = o.dim / 2, columns = half + o.dim % 2, step = (int64_t)gridDim.x * BLOCK_THREADS;
    for (int64_t i = (int64_t)blockIdx.x * BLOCK_THREADS + threadIdx.x; i < o.count * columns; i += step) {
        int64_t row = divide(i, columns), column = i - row * columns;
        if (column == half) { /* the last column of an odd dim */
            view_store(o.y, row * o.dim + o.dim - 1, 0.0f);
            continue;
        }
        float exponent = -o.log_period * (float)column;
        exponent = exponent / (float)half;
        float angle = view_load(o.t, row) * o.unit * exp_as_reference(exponent);
        if (o.scale != 0) angle = o.scale * angle;
        view_store(o.y, row * o.dim + column, (float)cos((double)angle));
        view_store(o.y, row * o.dim + half + column, (float)sin((double)angle));
    }
}

void cuda_timestep(dit_pool *pool, const dit_timestep_args *args)
{
    if (args->count <= 0 || args->dim <= 0) return;
    dit_cuda *cuda = cuda_of(pool);
    timestep_operands o = {};
    o.t = view_of(cuda, args->t), o.y = view_of(cuda, args->y);
    if (!o.t.data || !o.y.data) return;
    o.count = args->count, o.dim = args->dim, o.unit = args->unit, o.scale = args->scale;
    o.log_period = (float)log(10000.0);
    int64_t blocks = divide_up(o.count * (o.dim / 2 + o.dim % 2), BLOCK_THREADS);
    LAUNCH(cuda, timestep_sinusoid, grid_x(blocks), BLOCK_THREADS, 0, o);
}
