/* Linear attention with ReLU: each thread makes one element of a state, or of the result; sums in float. Plain loads alone, so
 * every dtype, stride and width goes; the caches hold what neighbours read.
 *
 * Bytes: linear_state reads k and v, linear_attention reads q and writes out; a state has D (D + 1) floats a head. */
#include "kernels/cuda/pieces.h"

typedef struct {
    view q, k, v, state, out;
    int64_t B, H, S, D, ldq, ldk, ldv, batch_q, batch_k, batch_v, ldo, batch_o;
    float eps;
} linear_operands;

/* A NaN stays one. */
static __device__ inline float linear_relu(float x)
{
    return x < 0.0f ? 0.0f : x;
}

/* Grid: x heads of all batch entries, y elements of a state. */
static __global__ void __launch_bounds__(BLOCK_THREADS) make_states(linear_operands o)
{
    int64_t size = o.D * (o.D + 1), square = o.D * o.D;
    for (int64_t head = blockIdx.x; head < o.B * o.H; head += gridDim.x) {
        int64_t b = divide(head, o.H), column = (head - b * o.H) * o.D;
        for (int64_t e = blockIdx.y * (int64_t)BLOCK_THREADS + threadIdx.x; e < size;
             e += (int64_t)gridDim.y * BLOCK_THREADS) {
            int64_t j = e < square ? divide(e, o.D) : e - square, i = e - j * o.D;
            int64_t k = b * o.batch_k + column + j, v = b * o.batch_v + column + i;
            float sum = 0.0f;
            for (int64_t s = 0; s < o.S; s++) {
                float key = linear_relu(view_load(o.k, k + s * o.ldk));
                sum = e < square ? fmaf(key, view_load(o.v, v + s * o.ldv), sum) : sum + key;
            }
            view_store(o.state, head * size + e, sum);
        }
    }
}

static __global__ void __launch_bounds__(BLOCK_THREADS) attend_to_states(linear_operands o)
{
    int64_t size = o.D * (o.D + 1), C = o.H * o.D, all = o.B * o.S * C;
    for (int64_t e = blockIdx.x * (int64_t)BLOCK_THREADS + threadIdx.x; e < all;
         e += (int64_t)gridDim.x * BLOCK_THREADS) {
        int64_t row = divide(e, C), c = e - row * C, b = divide(row, o.S), s = row - b * o.S;
        int64_t h = divide(c, o.D), i = c - h * o.D;
        int64_t q = b * o.batch_q + s * o.ldq + h * o.D, state = (b * o.H + h) * size;
        float sum = 0.0f, weights = o.eps;
        for (int64_t j = 0; j < o.D; j++) {
            float query = linear_relu(view_load(o.q, q + j));
            sum = fmaf(query, view_load(o.state, state + j * o.D + i), sum);
            weights = fmaf(query, view_load(o.state, state + o.D * o.D + j), weights);
        }
        view_store(o.out, b * o.batch_o + s * o.ldo + c, sum / weights);
    }
}

/* Gives the sizes and the state. Returns false where the state belongs to no array or is not fp32. */
static bool linear_operands_of(dit_cuda *cuda, const dit_linear_attention_args *args, linear_operands *o)
{
    *o = linear_operands();
    o->B = args->B, o->H = args->H, o->S = args->S, o->D = args->D, o->eps = args->eps;
    o->ldq = args->ldq, o->ldk = args->ldk, o->ldv = args->ldv, o->ldo = args->ldo;
    o->batch_q = args->batch_q, o->batch_k = args->batch_k, o->batch_v = args->batch_v, o->batch_o = args->batch_o;
    o->state = view_of(cuda, args->state);
    if (!o->state.data) return false;
    if (o->state.dtype == DIT_DTYPE_FP32) return true;
    cuda_fail(cuda, "a state has dtype %s; fp32 is expected", dit_dtype_name(o->state.dtype));
    return false;
}

void cuda_linear_state(dit_pool *pool, const dit_linear_attention_args *args)
{
    if (args->B * args->H <= 0 || args->D <= 0) return;
    dit_cuda *cuda = cuda_of(pool);
    linear_operands o;
    if (!linear_operands_of(cuda, args, &o)) return;
    o.k = view_of(cuda, args->k), o.v = view_of(cuda, args->v);
    if (!o.k.data || !o.v.data) return;
    dim3 grid(grid_x(o.B * o.H), grid_y(divide_up(o.D * (o.D + 1), BLOCK_THREADS)));
    LAUNCH(cuda, make_states, grid, BLOCK_THREADS, 0, o);
}

void cuda_linear_attention(dit_pool *pool, const dit_linear_attention_args *args)
{
    if (args->B * args->H * args->S <= 0 || args->D <= 0) return;
    dit_cuda *cuda = cuda_of(pool);
    linear_operands o;
    if (!linear_operands_of(cuda, args, &o)) return;
    o.q = view_of(cuda, args->q), o.out = view_of(cuda, args->out);
    if (!o.q.data || !o.out.data) return;
    LAUNCH(cuda, attend_to_states, grid_x(divide_up(o.B * o.S * o.H * o.D, BLOCK_THREADS)), BLOCK_THREADS, 0, o);
}
