/* Sums of |a - b| and |b|. A block adds up a row: eight elements in float, then in double. Then one block adds up the
 * rows, each thread its own in order, so the bits depend on the shape alone.
 *
 * Bytes: both operands are read once. */
#include "kernels/cuda/pieces.h"

enum { DIFFERENCE_PIECES = 4 }; /* pieces of a thread that are under way at once */

typedef struct {
    view a, b;
    int64_t rows, cols;
    double *of_rows, *sums;
} difference_operands;

template <int DTYPE, int WIDTH>
static __global__ void __launch_bounds__(BLOCK_THREADS) difference_rows(difference_operands o)
{
    SHARED(double, scratch);
    int64_t pieces = o.cols / WIDTH;
    for (int64_t row = blockIdx.x; row < o.rows; row += gridDim.x) {
        int64_t begin = row * o.cols;
        double difference = 0, size = 0;
        for (int64_t p = threadIdx.x; p < pieces; p += (int64_t)blockDim.x * DIFFERENCE_PIECES) {
            piece<DTYPE, WIDTH> raw_a[DIFFERENCE_PIECES], raw_b[DIFFERENCE_PIECES];
#pragma unroll
            for (int k = 0; k < DIFFERENCE_PIECES; k++) {
                int64_t at = p + k * blockDim.x;
                raw_a[k].clear(), raw_b[k].clear();
                if (at < pieces) raw_a[k].read(o.a, begin + at * WIDTH), raw_b[k].read(o.b, begin + at * WIDTH);
            }
#pragma unroll
            for (int k = 0; k < DIFFERENCE_PIECES; k++) {
                float a[WIDTH], b[WIDTH], piece_difference = 0.0f, piece_size = 0.0f;
                raw_a[k].floats(o.a, a);
                raw_b[k].floats(o.b, b);
#pragma unroll
                for (int i = 0; i < WIDTH; i++) {
                    piece_difference += fabsf(a[i] - b[i]);
                    piece_size += fabsf(b[i]);
                }
                difference += (double)piece_difference;
                size += (double)piece_size;
            }
        }
        difference = block_sum_exact(difference, scratch);
        size = block_sum_exact(size, scratch);
        if (threadIdx.x == 0) o.of_rows[2 * row] = difference, o.of_rows[2 * row + 1] = size;
    }
}

static __global__ void __launch_bounds__(BLOCK_THREADS) difference_sums(difference_operands o)
{
    SHARED(double, scratch);
    double difference = 0, size = 0;
    for (int64_t row = threadIdx.x; row < o.rows; row += blockDim.x) {
        difference += o.of_rows[2 * row];
        size += o.of_rows[2 * row + 1];
    }
    difference = block_sum_exact(difference, scratch);
    size = block_sum_exact(size, scratch);
    if (threadIdx.x == 0) o.sums[0] = difference, o.sums[1] = size;
}

static unsigned difference_threads(int64_t pieces)
{
    int64_t threads = divide_up(divide_up(pieces, DIFFERENCE_PIECES), WARP) * WARP;
    return threads < BLOCK_THREADS ? (unsigned)threads : (unsigned)BLOCK_THREADS;
}

/* Finds an array of sums. Returns NULL if it belongs to no array or has another type. */
static double *sums_of(dit_cuda *cuda, double *address)
{
    view v = view_of(cuda, address);
    if (v.data && v.dtype == DIT_DTYPE_FP64) return (double *)v.data;
    if (v.data) cuda_fail(cuda, "sums of differences have dtype %s; fp64 is expected", dit_dtype_name(v.dtype));
    return NULL;
}

void cuda_difference(dit_pool *pool, const dit_difference_args *args)
{
    if (args->rows <= 0 || args->cols <= 0) return;
    dit_cuda *cuda = cuda_of(pool);
    difference_operands o = {};
    o.a = view_of(cuda, args->a), o.b = view_of(cuda, args->b);
    o.rows = args->rows, o.cols = args->cols;
    o.of_rows = sums_of(cuda, args->of_rows), o.sums = sums_of(cuda, args->sums);
    if (!o.a.data || !o.b.data || !o.of_rows || !o.sums) return;
    piece_variant variant = piece_variant_of(o.cols, {{o.a, o.cols}, {o.b, o.cols}});
    piece_variant_launch(variant, [&](auto dtype, auto width) {
        LAUNCH(cuda, PIECE_KERNEL(difference_rows, dtype, width), grid_x(o.rows),
               difference_threads(o.cols / width.value), WARP * sizeof(double), o);
    });
    LAUNCH(cuda, difference_sums, grid_x(1), BLOCK_THREADS, WARP * sizeof(double), o);
}
