/* Element-wise operators; memory bandwidth limits all of them.
 *
 *   sum_elements  y = activation(a0 x0 + ... + a3 x3): combine, activate, and a dense copy between dtypes
 *   add_rows      y = residual + gate * activation(x + bias): gated_add, and the epilogue of a product
 *   multiply_rows y = activation(x) * factor: gated linear units
 *   copy_rows     rows of bits between strides: packing for exchanges
 *   convert_rows  rows between strides and dtypes
 */
#include "kernels/cuda/epilogue.h"
#include "kernels/cuda/pieces.h"

/* ---- sums of arrays ---------------------------------------------------------------------------------------------- */

enum { SUM_TERMS = 4, SUM_PIECES = 2 }; /* pieces of a thread */

typedef struct {
    int64_t elements;
    int count;
    view x[SUM_TERMS];
    float a[SUM_TERMS];
    view y;
    dit_activation activation;
} sum_operands;

/* Sums a[j] times the terms that were read. */
template <int DTYPE, int WIDTH>
static __device__ inline void sum_terms(const sum_operands &o, const piece<DTYPE, WIDTH> raw[SUM_TERMS], float *sum)
{
    float term[WIDTH];
    raw[0].floats(o.x[0], sum);
#pragma unroll
    for (int i = 0; i < WIDTH; i++) sum[i] *= o.a[0];
#pragma unroll
    for (int j = 1; j < SUM_TERMS; j++) {
        if (j >= o.count) break;
        raw[j].floats(o.x[j], term);
#pragma unroll
        for (int i = 0; i < WIDTH; i++) sum[i] = fmaf(o.a[j], term[i], sum[i]);
    }
}

/* Sums up to PIECES pieces, which lie a block apart and before the end. */
template <int DTYPE, int WIDTH, int PIECES>
static __device__ inline void sum_pieces(const sum_operands &o, int64_t first, int64_t pieces)
{
    piece<DTYPE, WIDTH> raw[PIECES][SUM_TERMS];
#pragma unroll
    for (int k = 0; k < PIECES; k++)
#pragma unroll
        for (int j = 0; j < SUM_TERMS; j++) {
            raw[k][j].clear();
            int64_t at = first + k * BLOCK_THREADS;
            if (j < o.count && at < pieces) raw[k][j].read(o.x[j], at * WIDTH);
        }
#pragma unroll
    for (int k = 0; k < PIECES; k++) {
        int64_t at = first + k * BLOCK_THREADS;
        float sum[WIDTH];
        if (at >= pieces) return;
        sum_terms<DTYPE, WIDTH>(o, raw[k], sum);
        activate<WIDTH>(o.activation, sum);
        piece_store<DTYPE, WIDTH>(o.y, at * WIDTH, sum);
    }
}

template <int DTYPE, int WIDTH> static __global__ void __launch_bounds__(BLOCK_THREADS) sum_elements(sum_operands o)
{
    int64_t pieces = o.elements / WIDTH, step = (int64_t)gridDim.x * BLOCK_THREADS * SUM_PIECES;
    int64_t first = (int64_t)blockIdx.x * BLOCK_THREADS * SUM_PIECES + threadIdx.x;
    for (int64_t i = first; i < pieces; i += step) sum_pieces<DTYPE, WIDTH, SUM_PIECES>(o, i, pieces);
    if (WIDTH > 1 && first < o.elements % WIDTH) /* the elements after the last whole piece, one thread each */
        sum_pieces<DTYPE, 1, 1>(o, pieces * WIDTH + first, o.elements);
}

static void run_sum(dit_cuda *cuda, const sum_operands *o)
{
    for (int j = 0; j < o->count; j++)
        if (!o->x[j].data) return;
    if (!o->y.data) return;
    piece_variant variant = piece_variant_of(0, {{o->y, 0}, {o->x[0], 0}, {o->x[1], 0}, {o->x[2], 0}, {o->x[3], 0}});
    piece_variant_launch(variant, [&](auto dtype, auto width) {
        int64_t blocks = divide_up(divide_up(o->elements, width.value), BLOCK_THREADS * SUM_PIECES);
        LAUNCH(cuda, PIECE_KERNEL(sum_elements, dtype, width), grid_x(blocks), BLOCK_THREADS, 0, *o);
    });
}

void cuda_combine(dit_pool *pool, const dit_combine_args *args)
{
    if (args->elements <= 0) return;
    dit_cuda *cuda = cuda_of(pool);
    sum_operands o = {};
    o.elements = args->elements, o.count = args->count;
    o.y = view_of(cuda, args->y);
    for (int j = 0; j < args->count; j++) o.x[j] = view_of(cuda, args->x[j]), o.a[j] = args->a[j];
    run_sum(cuda, &o);
}

static sum_operands sum_of_one(int64_t elements, view x, view y, dit_activation activation)
{
    sum_operands o = {};
    o.elements = elements, o.count = 1, o.activation = activation;
    o.x[0] = x, o.a[0] = 1.0f, o.y = y;
    return o;
}

void cuda_activate(dit_pool *pool, const dit_activate_args *args)
{
    if (args->elements <= 0) return;
    dit_cuda *cuda = cuda_of(pool);
    sum_operands o = sum_of_one(args->elements, view_of(cuda, args->x), view_of(cuda, args->y), args->activation);
    run_sum(cuda, &o);
}

/* ---- sums of rows ------------------------------------------------------------------------------------------------ */

enum { ADD_ROWS = 4 }; /* rows of a thread, which share a gate and a bias */

/* Returns the blocks of a multiprocessor: as many as run without spilling, with 64 to 96 KiB of operands under way. */
static constexpr int add_blocks(int dtype)
{
    return dtype == DIT_DTYPE_BF16 || dtype == DIT_DTYPE_FP16 ? 3 : 2;
}

template <int DTYPE, int WIDTH>
static __global__ void __launch_bounds__(BLOCK_THREADS, add_blocks(DTYPE)) add_rows(epilogue_args o)
{
    int64_t c = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) * WIDTH;
    int64_t step = (int64_t)gridDim.y * blockDim.y * ADD_ROWS;
    float gate[WIDTH], bias[WIDTH];
    if (c >= o.cols) return;
    piece_load_or<DTYPE, WIDTH>(o.gate, c, 1.0f, gate);
    piece_load_or<DTYPE, WIDTH>(o.bias, c, 0.0f, bias);
    for (int64_t row = ((int64_t)blockIdx.y * blockDim.y + threadIdx.y) * ADD_ROWS; row < o.rows; row += step) {
        piece<DTYPE, WIDTH> x[ADD_ROWS], residual[ADD_ROWS];
#pragma unroll
        for (int k = 0; k < ADD_ROWS; k++) {
            x[k].clear(), residual[k].clear();
            if (row + k < o.rows) x[k].read(o.x, (row + k) * o.ldx + c);
            if (row + k < o.rows && o.residual.data) residual[k].read(o.residual, (row + k) * o.ldr + c);
        }
#pragma unroll
        for (int k = 0; k < ADD_ROWS; k++) {
            float value[WIDTH], base[WIDTH];
            if (row + k >= o.rows) break;
            x[k].floats(o.x, value);
            residual[k].floats(o.residual, base);
#pragma unroll
            for (int i = 0; i < WIDTH; i++) value[i] += bias[i];
            activate<WIDTH>(o.activation, value);
#pragma unroll
            for (int i = 0; i < WIDTH; i++) value[i] = fmaf(gate[i], value[i], base[i]);
            piece_store<DTYPE, WIDTH>(o.y, (row + k) * o.ldy + c, value);
        }
    }
}

void epilogue_add(dit_cuda *cuda, const epilogue_args *args)
{
    if (args->rows <= 0 || args->cols <= 0 || !args->x.data || !args->y.data) return;
    piece_variant variant = piece_variant_of(
        args->cols,
        {{args->x, args->ldx}, {args->y, args->ldy}, {args->residual, args->ldr}, {args->bias, 0}, {args->gate, 0}});
    piece_variant_launch(variant, [&](auto dtype, auto width) {
        piece_tile tile = piece_tile_of(args->cols / width.value, BLOCK_THREADS);
        dim3 grid(grid_x(tile.across), grid_y(divide_up(args->rows, tile.block.y * ADD_ROWS)));
        LAUNCH(cuda, PIECE_KERNEL(add_rows, dtype, width), grid, tile.block, 0, *args);
    });
}

void cuda_gated_add(dit_pool *pool, const dit_gated_add_args *args)
{
    if (args->rows <= 0 || args->cols <= 0) return;
    dit_cuda *cuda = cuda_of(pool);
    epilogue_args add = {};
    add.rows = args->rows, add.cols = args->cols;
    add.x = view_of(cuda, args->x), add.ldx = args->ldx;
    add.y = add.residual = view_of(cuda, args->y), add.ldy = add.ldr = args->ldy;
    add.bias = view_of(cuda, args->bias), add.gate = view_of(cuda, args->gate);
    epilogue_add(cuda, &add);
}

/* ---- products of rows -------------------------------------------------------------------------------------------- */

typedef struct {
    int64_t rows, cols, ldx, ld_factor, ldy;
    view x, factor, y;
    dit_activation activation;
} multiply_operands;

template <int DTYPE, int WIDTH> static __global__ void __launch_bounds__(BLOCK_THREADS) multiply_rows(multiply_operands o)
{
    int64_t c = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) * WIDTH, step = (int64_t)gridDim.y * blockDim.y;
    if (c >= o.cols) return;
    for (int64_t row = (int64_t)blockIdx.y * blockDim.y + threadIdx.y; row < o.rows; row += step) {
        piece<DTYPE, WIDTH> x, factor;
        float value[WIDTH], times[WIDTH];
        x.read(o.x, row * o.ldx + c);
        factor.read(o.factor, row * o.ld_factor + c);
        x.floats(o.x, value);
        factor.floats(o.factor, times);
        activate<WIDTH>(o.activation, value);
#pragma unroll
        for (int i = 0; i < WIDTH; i++) value[i] *= times[i];
        piece_store<DTYPE, WIDTH>(o.y, row * o.ldy + c, value);
    }
}

void cuda_multiply(dit_pool *pool, const dit_multiply_args *args)
{
    if (args->rows <= 0 || args->cols <= 0) return;
    dit_cuda *cuda = cuda_of(pool);
    multiply_operands o = {};
    o.rows = args->rows, o.cols = args->cols, o.activation = args->activation;
    o.x = view_of(cuda, args->x), o.ldx = args->ldx;
    o.factor = view_of(cuda, args->factor), o.ld_factor = args->ld_factor;
    o.y = view_of(cuda, args->y), o.ldy = args->ldy;
    if (!o.x.data || !o.factor.data || !o.y.data) return;
    piece_variant variant = piece_variant_of(o.cols, {{o.x, o.ldx}, {o.factor, o.ld_factor}, {o.y, o.ldy}});
    piece_variant_launch(variant, [&](auto dtype, auto width) {
        piece_tile tile = piece_tile_of(o.cols / width.value, BLOCK_THREADS);
        dim3 grid(grid_x(tile.across), grid_y(divide_up(o.rows, tile.block.y)));
        LAUNCH(cuda, PIECE_KERNEL(multiply_rows, dtype, width), grid, tile.block, 0, o);
    });
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

enum { COPY_LEVELS = 3, COPY_ROWS = 4 }; /* rows of a thread */

/* n[0] x n[1] x n[2] rows of `inner` side by side; counted in elements, or in units of bits. */
typedef struct {
    view src, dst;
    int64_t n[COPY_LEVELS], inner, from[COPY_LEVELS], to[COPY_LEVELS], rows;
} copy_operands;

/* A row, and where it begins in source and target. */
typedef struct {
    int64_t i1, i2, from, to;
} copy_place;

static __device__ inline copy_place copy_find(const copy_operands &o, int64_t row)
{
    copy_place p;
    int64_t outer = o.n[2] == 1 ? row : divide(row, o.n[2]);
    int64_t i0 = o.n[1] == 1 ? outer : divide(outer, o.n[1]);
    p.i2 = row - outer * o.n[2];
    p.i1 = outer - i0 * o.n[1];
    p.from = i0 * o.from[0] + p.i1 * o.from[1] + p.i2 * o.from[2];
    p.to = i0 * o.to[0] + p.i1 * o.to[1] + p.i2 * o.to[2];
    return p;
}

/* The next row. */
static __device__ inline void copy_advance(const copy_operands &o, copy_place *p)
{
    p->from += o.from[2], p->to += o.to[2];
    if (++p->i2 < o.n[2]) return;
    p->i2 = 0;
    p->from += o.from[1] - o.n[2] * o.from[2], p->to += o.to[1] - o.n[2] * o.to[2];
    if (++p->i1 < o.n[1]) return;
    p->i1 = 0;
    p->from += o.from[0] - o.n[1] * o.from[1], p->to += o.to[0] - o.n[1] * o.to[1];
}

template <typename UNIT> static __global__ void __launch_bounds__(BLOCK_THREADS) copy_rows(copy_operands o)
{
    int64_t c = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, step = (int64_t)gridDim.y * blockDim.y * COPY_ROWS;
    if (c >= o.inner) return;
    for (int64_t row = ((int64_t)blockIdx.y * blockDim.y + threadIdx.y) * COPY_ROWS; row < o.rows; row += step) {
        copy_place place = copy_find(o, row);
        UNIT unit[COPY_ROWS];
        int64_t to[COPY_ROWS];
#pragma unroll
        for (int k = 0; k < COPY_ROWS; k++) {
            to[k] = place.to;
            if (row + k < o.rows) unit[k] = ((const UNIT *)o.src.data)[place.from + c];
            copy_advance(o, &place);
        }
#pragma unroll
        for (int k = 0; k < COPY_ROWS; k++)
            if (row + k < o.rows) ((UNIT *)o.dst.data)[to[k] + c] = unit[k];
    }
}

template <int WIDTH> static __global__ void __launch_bounds__(BLOCK_THREADS) convert_rows(copy_operands o)
{
    int64_t c = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) * WIDTH, step = (int64_t)gridDim.y * blockDim.y;
    if (c >= o.inner) return;
    for (int64_t row = (int64_t)blockIdx.y * blockDim.y + threadIdx.y; row < o.rows; row += step) {
        copy_place place = copy_find(o, row);
        float value[WIDTH];
        piece_load<ANY_DTYPE, WIDTH>(o.src, place.from + c, value);
        piece_store<ANY_DTYPE, WIDTH>(o.dst, place.to + c, value);
    }
}

/* Joins levels that are contiguous in source and target to the row. */
static void copy_flatten(copy_operands *o)
{
    for (int level = COPY_LEVELS - 1; level >= 0; level--) {
        if (o->n[level] != 1 && (o->from[level] != o->inner || o->to[level] != o->inner)) break;
        o->inner *= o->n[level];
        o->n[level] = 1;
    }
    o->rows = o->n[0] * o->n[1] * o->n[2];
}

/* Converts counts to the largest unit of 16, 8, 4 or 2 bytes that fits everything, and returns that unit. */
static int64_t copy_count_units(copy_operands *o)
{
    int64_t bytes = view_bytes(o->src), unit = 16;
    uint64_t all = (uint64_t)(uintptr_t)o->src.data | (uint64_t)(uintptr_t)o->dst.data | (uint64_t)(o->inner * bytes);
    for (int i = 0; i < COPY_LEVELS; i++)
        if (o->n[i] > 1) all |= (uint64_t)(o->from[i] * bytes) | (uint64_t)(o->to[i] * bytes);
    while (all % (uint64_t)unit) unit /= 2;
    o->inner = o->inner * bytes / unit;
    for (int i = 0; i < COPY_LEVELS; i++) {
        o->from[i] = o->from[i] * bytes / unit;
        o->to[i] = o->to[i] * bytes / unit;
    }
    return unit;
}

template <typename UNIT> static void launch_copy(dit_cuda *cuda, const copy_operands *o)
{
    piece_tile tile = piece_tile_of(o->inner, BLOCK_THREADS);
    dim3 grid(grid_x(tile.across), grid_y(divide_up(o->rows, tile.block.y * COPY_ROWS)));
    LAUNCH(cuda, copy_rows<UNIT>, grid, tile.block, 0, *o);
}

static void copy_bits(dit_cuda *cuda, copy_operands *o)
{
    if (o->rows == 1) {
        size_t bytes = (size_t)(o->inner * view_bytes(o->src));
        CUDA_CHECK(cuda, cudaMemcpyAsync(o->dst.data, o->src.data, bytes, cudaMemcpyDeviceToDevice, cuda->stream));
        return;
    }
    switch (copy_count_units(o)) {
    case 16: launch_copy<uint4>(cuda, o); break;
    case 8: launch_copy<uint2>(cuda, o); break;
    case 4: launch_copy<uint32_t>(cuda, o); break;
    default: launch_copy<uint16_t>(cuda, o);
    }
}

static void copy_converted(dit_cuda *cuda, const copy_operands *o)
{
    bool wide = o->inner % VIEW_WIDTH == 0;
    if (o->rows == 1) {
        sum_operands one = sum_of_one(o->inner, o->src, o->dst, DIT_ACT_NONE);
        run_sum(cuda, &one);
        return;
    }
    for (int i = 0; i < COPY_LEVELS; i++)
        if (o->n[i] > 1 && (!view_is_wide(o->src, o->from[i]) || !view_is_wide(o->dst, o->to[i]))) wide = false;
    piece_tile tile = piece_tile_of(o->inner / (wide ? VIEW_WIDTH : 1), BLOCK_THREADS);
    dim3 grid(grid_x(tile.across), grid_y(divide_up(o->rows, tile.block.y)));
    if (wide)
        LAUNCH(cuda, convert_rows<VIEW_WIDTH>, grid, tile.block, 0, *o);
    else
        LAUNCH(cuda, convert_rows<1>, grid, tile.block, 0, *o);
}

void cuda_copy(dit_pool *pool, const dit_copy_args *args)
{
    const int64_t n[COPY_LEVELS] = {args->n0, args->n1, args->n2};
    if (args->n0 <= 0 || args->n1 <= 0 || args->n2 <= 0 || args->inner <= 0) return;
    dit_cuda *cuda = cuda_of(pool);
    copy_operands o = {};
    o.src = view_of(cuda, args->src), o.dst = view_of(cuda, args->dst);
    if (!o.src.data || !o.dst.data) return;
    o.inner = args->inner;
    for (int i = 0; i < COPY_LEVELS; i++) {
        o.n[i] = n[i];
        o.from[i] = n[i] > 1 ? args->src_stride[i] : 0; /* the stride of a level of one is never used */
        o.to[i] = n[i] > 1 ? args->dst_stride[i] : 0;
    }
    copy_flatten(&o);
    if (o.src.dtype == o.dst.dtype)
        copy_bits(cuda, &o);
    else
        copy_converted(cuda, &o);
}
