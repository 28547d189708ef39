/* Group norm of channels-last data. It reads memory twice and writes it once.
 *
 *   group_sums        gives, for a block of rows and each part of the channels within one group, sum and sum of squares
 *                     in double. A thread takes pieces of a few rows at a time and forms their mean and squared
 *                     deviations in float. It adds the sum of squares that follows from them in double, so that the
 *                     difference of large sums at the end keeps 53 bits.
 *   group_moments_of  adds these sums, one block per batch entry and group: mean and variance
 *   group_statistics  turns given moments into mean and 1 / sqrt(variance + eps) in float
 *   group_apply       normalises and applies weights, field and activation
 *
 * All sums have a fixed order. Bytes: x read twice, y written once. */
#include "kernels/cuda/epilogue.h"
#include "kernels/cuda/pieces.h"

enum {
    GROUP_ROWS = 4,    /* rows of a thread at a time */
    GROUP_WIDEST = 64, /* pieces of a row that a block takes */
    GROUP_TURNS = 2,   /* turns of a thread of group_apply, of GROUP_ROWS rows each, with one load of the channels */
    GROUP_BLOCKS = 8,  /* blocks of group_sums per multiprocessor */
    GROUP_MOST_BLOCKS = 4096
};

typedef struct {
    view x;
    int64_t batch, rows, C, groups;
    int64_t blocks, block_rows; /* per batch entry */
    int64_t parts;              /* of the channels; each in one group */
    double *sums;               /* [batch, blocks, parts, 2] */
    double *moments;            /* NULL, or [batch, groups, 2] mean, variance */
    float2 *statistics;         /* NULL, or [batch, groups] mean, 1 / sqrt(variance + eps) */
    double eps;
} moments_operands;

/* ---- moments ----------------------------------------------------------------------------------------------------- */

/* Sum and sum of squares of `rows` of the GROUP_ROWS rows of v at channels [first, first + PART). */
template <int WIDTH, int PART>
static __device__ inline void add_chunk(const float v[GROUP_ROWS][WIDTH], int first, int rows, double sums[2])
{
    float sum = 0.0f, squares = 0.0f;
#pragma unroll
    for (int k = 0; k < GROUP_ROWS; k++)
#pragma unroll
        for (int i = 0; i < PART; i++) sum += v[k][first + i]; /* missing rows are zero */
    float elements = (float)(rows * PART), mean = __fdividef(sum, elements);
#pragma unroll
    for (int k = 0; k < GROUP_ROWS; k++)
#pragma unroll
        for (int i = 0; i < PART; i++) {
            float difference = v[k][first + i] - mean;
            if (k < rows) squares = fmaf(difference, difference, squares);
        }
    /* sum of x^2 = sum of (x - m)^2 + m (2 sum of x - n m), for any m */
    sums[0] += (double)sum;
    sums[1] += (double)squares + (double)mean * (2.0 * (double)sum - (double)elements * (double)mean);
}

/* Adds up the sums of a column's threads, in order, and stores the result. */
template <int COUNT> static __device__ inline void store_column(double sums[COUNT], double *shared, double *out)
{
    int place = (int)(threadIdx.y * blockDim.x + threadIdx.x);
#pragma unroll
    for (int j = 0; j < COUNT; j++) shared[place * COUNT + j] = sums[j];
    __syncthreads();
    if (threadIdx.y > 0 || !out) return;
    for (int y = 1; y < (int)blockDim.y; y++)
#pragma unroll
        for (int j = 0; j < COUNT; j++) sums[j] += shared[(y * (int)blockDim.x + place) * COUNT + j];
#pragma unroll
    for (int j = 0; j < COUNT; j++) out[j] = sums[j];
}

/* blockIdx.x: entry and block of rows, blockIdx.y: pieces of the row. */
template <int DTYPE, int WIDTH, int PART>
static __global__ void __launch_bounds__(BLOCK_THREADS) group_sums(moments_operands o)
{
    enum { PARTS = WIDTH / PART };
    SHARED(double, shared);
    int64_t entry = blockIdx.x / (uint32_t)o.blocks, block = blockIdx.x % (uint32_t)o.blocks;
    int64_t p = (int64_t)blockIdx.y * blockDim.x + threadIdx.x, first = block * o.block_rows;
    int64_t end = first + o.block_rows < o.rows ? first + o.block_rows : o.rows;
    bool present = p < o.C / WIDTH;
    double sums[PARTS][2] = {};
    for (int64_t row = first + threadIdx.y * GROUP_ROWS; row < end && present; row += blockDim.y * GROUP_ROWS) {
        piece<DTYPE, WIDTH> raw[GROUP_ROWS];
        float v[GROUP_ROWS][WIDTH];
        int rows = end - row < GROUP_ROWS ? (int)(end - row) : (int)GROUP_ROWS;
#pragma unroll
        for (int k = 0; k < GROUP_ROWS; k++) {
            raw[k].clear();
            if (k < rows) raw[k].read(o.x, (entry * o.rows + row + k) * o.C + p * WIDTH);
        }
#pragma unroll
        for (int k = 0; k < GROUP_ROWS; k++) raw[k].floats(o.x, v[k]);
#pragma unroll
        for (int j = 0; j < PARTS; j++) add_chunk<WIDTH, PART>(v, j * PART, rows, sums[j]);
    }
    double *out = o.sums + ((int64_t)blockIdx.x * o.parts + p * PARTS) * 2;
    store_column<2 * PARTS>(&sums[0][0], shared, present ? out : NULL);
}

static __device__ inline void store_statistics(const moments_operands &o, int64_t i, double mean, double variance)
{
    if (o.statistics) o.statistics[i] = make_float2((float)mean, (float)(1.0 / sqrt(variance + o.eps)));
}

static __global__ void __launch_bounds__(BLOCK_THREADS) group_moments_of(moments_operands o)
{
    SHARED(double, scratch);
    int64_t width = o.parts / o.groups, count = o.blocks * width;
    for (int64_t i = blockIdx.x; i < o.batch * o.groups; i += gridDim.x) {
        int64_t entry = i / o.groups, group = i - entry * o.groups;
        double sum = 0, squares = 0, elements = (double)o.rows * (double)(o.C / o.groups);
        for (int64_t n = threadIdx.x; n < count; n += blockDim.x) {
            int64_t block = divide(n, width), part = group * width + n - block * width;
            const double *sums = o.sums + ((entry * o.blocks + block) * o.parts + part) * 2;
            sum += sums[0];
            squares += sums[1];
        }
        double mean = block_sum_exact(sum, scratch) / elements;
        double variance = block_sum_exact(squares, scratch) / elements - mean * mean;
        if (threadIdx.x > 0) continue;
        if (variance < 0) variance = 0;
        if (o.moments) o.moments[2 * i] = mean, o.moments[2 * i + 1] = variance;
        store_statistics(o, i, mean, variance);
    }
}

static __global__ void __launch_bounds__(BLOCK_THREADS) group_statistics(moments_operands o)
{
    int64_t step = (int64_t)gridDim.x * BLOCK_THREADS;
    for (int64_t i = (int64_t)blockIdx.x * BLOCK_THREADS + threadIdx.x; i < o.batch * o.groups; i += step)
        store_statistics(o, i, o.moments[2 * i], o.moments[2 * i + 1]);
}

template <int PART> static void launch_sums(dit_cuda *cuda, const moments_operands *o, piece_variant variant)
{
    piece_variant_launch(variant, [&](auto dtype, auto width) {
        enum { DTYPE = decltype(dtype)::value, WIDTH = decltype(width)::value, OWN = PART < WIDTH ? PART : WIDTH };
        piece_tile tile = piece_tile_of(o->C / WIDTH, GROUP_WIDEST);
        dim3 grid((unsigned)(o->batch * o->blocks), (unsigned)tile.across);
        size_t shared = (size_t)tile.block.x * tile.block.y * 2 * (WIDTH / OWN) * sizeof(double);
        LAUNCH(cuda, (group_sums<DTYPE, WIDTH, OWN>), grid, tile.block, shared, *o);
    });
}

/* ---- normalisation ----------------------------------------------------------------------------------------------- */

typedef struct {
    view x, y, weight, bias, scale, shift;
    int64_t rows, C, groups, blocks, ldf; /* blocks: of rows, per batch entry */
    uint32_t group_width, frames, height, width, field_frames, field_height, field_width;
    const float2 *statistics;
    bool first_apart;
    dit_activation activation;
} apply_operands;

/* The position of the field that row `row` of a batch entry sees. */
static __device__ inline int64_t field_position(const apply_operands &o, uint32_t row)
{
    uint32_t line = row / o.width, x = row % o.width, t = line / o.height, y = line % o.height;
    uint32_t frame = t * o.field_frames / o.frames;
    if (o.first_apart) frame = t == 0 ? 0 : 1 + (t - 1) * (o.field_frames - 1) / (o.frames - 1);
    int64_t field_line = (int64_t)frame * o.field_height + y * o.field_height / o.height;
    return field_line * o.field_width + x * o.field_width / o.width;
}

/* What a thread keeps of its channels: y = (x - mean) * factor + offset. Folding mean * factor into the offset would
 * save a product, but rounding would then give a group of equal values a result other than 0. */
template <int WIDTH> struct channels {
    float mean[WIDTH], factor[WIDTH], offset[WIDTH];
};

template <int DTYPE, int WIDTH>
static __device__ inline void channels_load(const apply_operands &o, int64_t entry, int64_t c, channels<WIDTH> *out)
{
    float weight[WIDTH];
    piece_load_or<DTYPE, WIDTH>(o.weight, c, 1.0f, weight);
    piece_load_or<DTYPE, WIDTH>(o.bias, c, 0.0f, out->offset);
#pragma unroll
    for (int i = 0; i < WIDTH; i++) {
        float2 statistics = o.statistics[entry * o.groups + (uint32_t)(c + i) / o.group_width];
        out->mean[i] = statistics.x;
        out->factor[i] = statistics.y * weight[i];
    }
}

template <int DTYPE, int WIDTH>
static __device__ inline void apply_field(const apply_operands &o, int64_t row, int64_t c, float v[WIDTH])
{
    int64_t at = field_position(o, (uint32_t)row) * o.ldf + c;
    float scale[WIDTH], shift[WIDTH];
    piece_load<DTYPE, WIDTH>(o.scale, at, scale);
    piece_load<DTYPE, WIDTH>(o.shift, at, shift);
#pragma unroll
    for (int i = 0; i < WIDTH; i++) v[i] = fmaf(v[i], scale[i], shift[i]);
}

/* blockIdx.x: entry and block of rows, blockIdx.y: pieces of the row. */
template <int DTYPE, int WIDTH> static __global__ void __launch_bounds__(BLOCK_THREADS) group_apply(apply_operands o)
{
    int64_t entry = blockIdx.x / (uint32_t)o.blocks, block = blockIdx.x % (uint32_t)o.blocks;
    int64_t c = ((int64_t)blockIdx.y * blockDim.x + threadIdx.x) * WIDTH;
    int64_t row = (block * blockDim.y * GROUP_TURNS + threadIdx.y) * GROUP_ROWS;
    channels<WIDTH> channel;
    if (c >= o.C) return;
    channels_load<DTYPE, WIDTH>(o, entry, c, &channel);
    for (int turn = 0; turn < GROUP_TURNS; turn++, row += blockDim.y * GROUP_ROWS) {
        piece<DTYPE, WIDTH> raw[GROUP_ROWS];
        int64_t begin = (entry * o.rows + row) * o.C + c;
#pragma unroll
        for (int k = 0; k < GROUP_ROWS; k++) {
            raw[k].clear();
            if (row + k < o.rows) raw[k].read(o.x, begin + k * o.C);
        }
#pragma unroll
        for (int k = 0; k < GROUP_ROWS; k++) {
            float v[WIDTH];
            if (row + k >= o.rows) return;
            raw[k].floats(o.x, v);
#pragma unroll
            for (int i = 0; i < WIDTH; i++) v[i] = fmaf(v[i] - channel.mean[i], channel.factor[i], channel.offset[i]);
            if (o.scale.data) apply_field<DTYPE, WIDTH>(o, row + k, c, v);
            activate<WIDTH>(o.activation, v);
            piece_store<DTYPE, WIDTH>(o.y, begin + k * o.C, v);
        }
    }
}

static void launch_apply(dit_cuda *cuda, apply_operands *o, int64_t batch)
{
    piece_variant variant = piece_variant_of(
        o->C, {{o->x, 0}, {o->y, 0}, {o->weight, 0}, {o->bias, 0}, {o->scale, o->ldf}, {o->shift, o->ldf}});
    piece_variant_launch(variant, [&](auto dtype, auto width) {
        piece_tile tile = piece_tile_of(o->C / width.value, GROUP_WIDEST);
        o->blocks = divide_up(o->rows, tile.block.y * GROUP_ROWS * GROUP_TURNS);
        dim3 grid((unsigned)(batch * o->blocks), (unsigned)tile.across);
        LAUNCH(cuda, PIECE_KERNEL(group_apply, dtype, width), grid, tile.block, 0, *o);
    });
}

/* ---- the operators ----------------------------------------------------------------------------------------------- */

/* Returns how many channels a thread may add up without crossing groups: for wide pieces, a divisor of the group. */
static int part_of(int64_t group_width, bool wide)
{
    int part = wide ? VIEW_WIDTH : 1;
    while (group_width % part) part /= 2;
    return part;
}

/* Divides the workspace into statistics and sums, and chooses the blocks: enough to fill the device, each with rows for
 * all of its threads, and no more than fit the workspace. False when not one fits. */
static bool moments_plan(dit_cuda *cuda, moments_operands *o, int part)
{
    int64_t statistics = divide_up(o->batch * o->groups * (int64_t)sizeof(float2), 16) * 16;
    int64_t multiprocessors = cuda->multiprocessors > 0 ? cuda->multiprocessors : 1;
    o->parts = o->C / part;
    o->statistics = (float2 *)cuda->workspace;
    o->sums = (double *)((char *)cuda->workspace + statistics);
    int64_t room = (cuda->workspace_bytes - statistics) / (o->batch * o->parts * 2 * (int64_t)sizeof(double));
    int64_t wanted = divide_up(GROUP_BLOCKS * multiprocessors, o->batch);
    if (wanted > GROUP_MOST_BLOCKS) wanted = GROUP_MOST_BLOCKS;
    if (wanted > room) wanted = room;
    if (cuda->workspace && wanted > 0) {
        int64_t rows = divide_up(o->rows, wanted), least = 4 * GROUP_ROWS;
        o->block_rows = rows > least ? rows : least;
        o->blocks = divide_up(o->rows, o->block_rows);
        return true;
    }
    cuda_fail(cuda, "group norm of %lld batch entries and %lld channels does not fit a workspace of %lld bytes",
              (long long)o->batch, (long long)o->C, (long long)cuda->workspace_bytes);
    return false;
}

static void run_moments(dit_cuda *cuda, moments_operands *o, piece_variant variant, int part)
{
    switch (part) {
    case 8: launch_sums<8>(cuda, o, variant); break;
    case 4: launch_sums<4>(cuda, o, variant); break;
    case 2: launch_sums<2>(cuda, o, variant); break;
    default: launch_sums<1>(cuda, o, variant);
    }
    LAUNCH(cuda, group_moments_of, grid_x(o->batch * o->groups), BLOCK_THREADS, WARP * sizeof(double), *o);
}

/* Checks that positions, channels and products of two extents fit 32 bits, in which divisions are fast. */
static bool fits(dit_cuda *cuda, const dit_group_norm_args *args)
{
    int64_t extents[] = {args->frames,       args->height,       args->width,
                         args->field_frames, args->field_height, args->field_width};
    bool is = args->frames * args->height * args->width <= UINT32_MAX && args->C <= INT32_MAX;
    for (int64_t extent : extents) is = is && extent < 1 << 16;
    if (!is)
        cuda_fail(cuda, "group norm of %lld x %lld x %lld positions and %lld channels is too large",
                  (long long)args->frames, (long long)args->height, (long long)args->width, (long long)args->C);
    return is;
}

static bool is_empty(const dit_group_norm_args *args)
{
    return args->batch <= 0 || args->frames <= 0 || args->height <= 0 || args->width <= 0 || args->C <= 0;
}

/* Finds and checks the operands. Returns false, with the failure remembered, when one is wrong. */
static bool moments_operands_of(dit_cuda *cuda, const dit_group_norm_args *args, moments_operands *o,
                                piece_variant *variant, int *part)
{
    view moments = view_of(cuda, args->moments);
    *o = moments_operands();
    o->x = view_of(cuda, args->x);
    o->batch = args->batch, o->rows = args->frames * args->height * args->width;
    o->C = args->C, o->groups = args->groups, o->eps = (double)args->eps;
    o->moments = (double *)moments.data;
    *variant = piece_variant_of(o->C, {{o->x, 0}});
    *part = part_of(o->C / o->groups, variant->wide);
    if (!o->x.data || (args->moments && !moments.data) || !fits(cuda, args)) return false;
    if (moments.data && moments.dtype != DIT_DTYPE_FP64) {
        cuda_fail(cuda, "moments have dtype %s; fp64 is expected", dit_dtype_name(moments.dtype));
        return false;
    }
    return moments_plan(cuda, o, *part);
}

static apply_operands apply_operands_of(dit_cuda *cuda, const dit_group_norm_args *args, const moments_operands *m)
{
    apply_operands o = {};
    o.x = m->x, o.y = view_of(cuda, args->y);
    o.weight = view_of(cuda, args->weight), o.bias = view_of(cuda, args->bias);
    o.scale = view_of(cuda, args->scale), o.shift = view_of(cuda, args->shift);
    o.rows = m->rows, o.C = m->C, o.groups = m->groups, o.group_width = (uint32_t)(m->C / m->groups);
    o.frames = (uint32_t)args->frames, o.height = (uint32_t)args->height, o.width = (uint32_t)args->width;
    o.field_frames = (uint32_t)args->field_frames, o.field_height = (uint32_t)args->field_height;
    o.field_width = (uint32_t)args->field_width, o.ldf = args->ldf, o.first_apart = args->first_apart;
    o.statistics = m->statistics;
    o.activation = args->activation;
    return o;
}

void cuda_group_moments(dit_pool *pool, const dit_group_norm_args *args)
{
    if (is_empty(args)) return;
    dit_cuda *cuda = cuda_of(pool);
    moments_operands o;
    piece_variant variant;
    int part;
    if (!moments_operands_of(cuda, args, &o, &variant, &part)) return;
    o.statistics = NULL;
    run_moments(cuda, &o, variant, part);
}

void cuda_group_norm(dit_pool *pool, const dit_group_norm_args *args)
{
    if (is_empty(args)) return;
    dit_cuda *cuda = cuda_of(pool);
    moments_operands o;
    piece_variant variant;
    int part;
    if (!moments_operands_of(cuda, args, &o, &variant, &part)) return;
    apply_operands apply = apply_operands_of(cuda, args, &o);
    if (!apply.y.data || (apply.scale.data && !apply.shift.data)) return;
    if (o.moments)
        LAUNCH(cuda, group_statistics, grid_x(divide_up(o.batch * o.groups, BLOCK_THREADS)), BLOCK_THREADS, 0, o);
    else
        run_moments(cuda, &o, variant, part);
    launch_apply(cuda, &apply, o.batch);
}
