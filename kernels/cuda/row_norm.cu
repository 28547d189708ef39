/* The two halves of an RMS norm of rows that several ranks share. Squares are summed over eight elements in float, then
 * in double, so a row's bits depend on nothing but the row.
 *
 * Bytes: row_squares reads rows x cols once, row_scale reads and writes them. */
#include "kernels/cuda/pieces.h"

enum { ROW_PIECES = 4 }; /* pieces of a thread that are under way at once */

typedef struct {
    view x, weight;
    int64_t batch, rows, cols, ld, stride;
    double *squares;
    const double *like;
    int64_t ranks;
    double total_cols, eps;
} row_operands;

static __device__ inline int64_t row_begin(const row_operands &o, int64_t row)
{
    int64_t entry = divide(row, o.rows);
    return entry * o.stride + (row - entry * o.rows) * o.ld;
}

template <int DTYPE, int WIDTH> static __global__ void __launch_bounds__(BLOCK_THREADS) square_rows(row_operands o)
{
    SHARED(double, scratch);
    int64_t pieces = o.cols / WIDTH;
    for (int64_t row = blockIdx.x; row < o.batch * o.rows; row += gridDim.x) {
        int64_t begin = row_begin(o, row);
        double sum = 0;
        for (int64_t p = threadIdx.x; p < pieces; p += (int64_t)blockDim.x * ROW_PIECES) {
            piece<DTYPE, WIDTH> raw[ROW_PIECES];
#pragma unroll
            for (int k = 0; k < ROW_PIECES; k++) {
                raw[k].clear();
                if (p + k * blockDim.x < pieces) raw[k].read(o.x, begin + (p + k * blockDim.x) * WIDTH);
            }
#pragma unroll
            for (int k = 0; k < ROW_PIECES; k++) {
                float v[WIDTH], squares = 0.0f;
                raw[k].floats(o.x, v);
#pragma unroll
                for (int i = 0; i < WIDTH; i++) squares = fmaf(v[i], v[i], squares);
                sum += (double)squares;
            }
        }
        sum = block_sum_exact(sum, scratch);
        if (threadIdx.x == 0) o.squares[row] = sum;
    }
}

/* Returns 1 / sqrt(mean of squares over all ranks + eps), or what makes the row as long as `like` says. */
static __device__ inline float row_factor(const row_operands &o, int64_t row)
{
    double sum = 0;
    for (int64_t rank = 0; rank < o.ranks; rank++) sum += o.squares[rank * o.batch * o.rows + row];
    if (o.like) return sum > 0 ? (float)sqrt(o.like[row] / sum) : 0.0f;
    return (float)(1.0 / sqrt(sum / o.total_cols + o.eps));
}

template <int DTYPE, int WIDTH> static __global__ void __launch_bounds__(BLOCK_THREADS) scale_rows(row_operands o)
{
    int64_t pieces = o.cols / WIDTH;
    for (int64_t row = blockIdx.x; row < o.batch * o.rows; row += gridDim.x) {
        int64_t begin = row_begin(o, row);
        float factor = row_factor(o, row);
        for (int64_t p = threadIdx.x; p < pieces; p += (int64_t)blockDim.x * ROW_PIECES) {
            piece<DTYPE, WIDTH> raw[ROW_PIECES];
#pragma unroll
            for (int k = 0; k < ROW_PIECES; k++) {
                raw[k].clear();
                if (p + k * blockDim.x < pieces) raw[k].read(o.x, begin + (p + k * blockDim.x) * WIDTH);
            }
#pragma unroll
            for (int k = 0; k < ROW_PIECES; k++) {
                int64_t c = (p + k * blockDim.x) * WIDTH;
                float v[WIDTH], weight[WIDTH];
                if (c >= o.cols) break;
                raw[k].floats(o.x, v);
                if (o.weight.data) piece_load<DTYPE, WIDTH>(o.weight, c, weight);
#pragma unroll
                for (int i = 0; i < WIDTH; i++) v[i] = v[i] * factor * (o.weight.data ? weight[i] : 1.0f);
                piece_store<DTYPE, WIDTH>(o.x, begin + c, v);
            }
        }
    }
}

/* Finds the operands. Returns false if one belongs to no array. */
static bool row_operands_of(dit_cuda *cuda, const dit_row_norm_args *args, row_operands *o)
{
    view squares = view_of(cuda, args->squares);
    *o = row_operands();
    o->x = view_of(cuda, args->x);
    o->batch = args->batch, o->rows = args->rows, o->cols = args->cols, o->ld = args->ld, o->stride = args->stride;
    o->squares = (double *)squares.data;
    o->ranks = args->ranks, o->total_cols = (double)args->total_cols, o->eps = (double)args->eps;
    if (!o->x.data || !squares.data) return false;
    if (squares.dtype == DIT_DTYPE_FP64) return true;
    cuda_fail(cuda, "sums of squares have dtype %s; fp64 is expected", dit_dtype_name(squares.dtype));
    return false;
}

static unsigned row_threads(int64_t pieces)
{
    int64_t threads = divide_up(divide_up(pieces, ROW_PIECES), WARP) * WARP;
    return threads < BLOCK_THREADS ? (unsigned)threads : (unsigned)BLOCK_THREADS;
}

void cuda_row_squares(dit_pool *pool, const dit_row_norm_args *args)
{
    if (args->batch * args->rows <= 0 || args->cols <= 0) return;
    dit_cuda *cuda = cuda_of(pool);
    row_operands o;
    if (!row_operands_of(cuda, args, &o)) return;
    piece_variant variant = piece_variant_of(o.cols, {{o.x, o.ld}, {o.x, o.stride}});
    piece_variant_launch(variant, [&](auto dtype, auto width) {
        LAUNCH(cuda, PIECE_KERNEL(square_rows, dtype, width), grid_x(o.batch * o.rows),
               row_threads(o.cols / width.value), WARP * sizeof(double), o);
    });
}

void cuda_row_scale(dit_pool *pool, const dit_row_norm_args *args)
{
    if (args->batch * args->rows <= 0 || args->cols <= 0) return;
    dit_cuda *cuda = cuda_of(pool);
    row_operands o;
    if (!row_operands_of(cuda, args, &o)) return;
    if (args->weight) o.weight = view_of(cuda, args->weight);
    if (args->like) o.like = (const double *)view_of(cuda, args->like).data;
    if ((args->weight && !o.weight.data) || (args->like && !o.like)) return;
    view weight = o.weight.data ? o.weight : o.x;
    piece_variant variant = piece_variant_of(o.cols, {{o.x, o.ld}, {o.x, o.stride}, {weight, 0}});
    piece_variant_launch(variant, [&](auto dtype, auto width) {
        LAUNCH(cuda, PIECE_KERNEL(scale_rows, dtype, width), grid_x(o.batch * o.rows),
               row_threads(o.cols / width.value), 0, o);
    });
}
