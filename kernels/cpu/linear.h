/* Linear layer over weights packed once: panels of TILE_WIDTH rows of W, transposed to [k][TILE_WIDTH], the last one
 * padded with zeros to whole vectors. The bias is padded alike.
 *
 * A job is a block of rows times a few panels. K is cut so that a job's piece of x and one panel stay in the L2 cache;
 * the sums wait in the worker's scratch between cuts. Bias, activation, gate and residual are applied after a tile's
 * last cut, while the tile is in the L1 cache. The blocking follows Goto and van de Geijn, ACM TOMS 34 (2008), with the
 * operands exchanged: here the weights stream and x stays.
 */
#ifndef DIT_KERNELS_CPU_LINEAR_H
#define DIT_KERNELS_CPU_LINEAR_H

#include "kernels/cpu/math.h"
#include "kernels/cpu/tile.h"

enum { LINEAR_ROWS = 144, LINEAR_PANELS = 4, LINEAR_DEPTH = 512, LINEAR_JOBS_PER_THREAD = 8 };

static int64_t linear_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t linear_ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t linear_padded(int64_t n)
{
    return linear_ceil_div(n, VF_LANES) * VF_LANES;
}

static int64_t linear_panel_width(int64_t n, int64_t panel)
{
    return linear_min(TILE_WIDTH, linear_padded(n) - panel * TILE_WIDTH);
}

/* Packs rows [row, row + count) of W, all of one panel, into the panel's columns. It takes one cache line of each row
 * in turn, so that what is written between two reads of a row stays in the L1 cache. */
static void linear_pack_rows(const dit_linear *linear, float *packed, int64_t row, int64_t count, const float *w)
{
    enum { LINE = 16 };
    int64_t k = linear->k, panel = row / TILE_WIDTH, width = linear_panel_width(linear->n, panel);
    float *first = packed + panel * TILE_WIDTH * k + row % TILE_WIDTH;
    for (int64_t begin = 0; begin < k; begin += LINE) {
        int64_t end = linear_min(begin + LINE, k);
        for (int64_t r = 0; r < count; r++)
            for (int64_t i = begin; i < end; i++) first[i * width + r] = w[r * k + i];
    }
}

/* Packs all rows of one source, panel by panel. */
static void linear_pack_piece(const dit_linear *linear, float *packed, int64_t row, int64_t rows, const float *w)
{
    for (int64_t done = 0; done < rows;) {
        int64_t count = linear_min(TILE_WIDTH - (row + done) % TILE_WIDTH, rows - done);
        linear_pack_rows(linear, packed, row + done, count, w + done * linear->k);
        done += count;
    }
}

typedef struct {
    const dit_linear *linear;
    float *packed;
    int64_t row; /* where the source's first row goes */
    const float *w;
} linear_pack_job;

static void linear_pack_range(void *context, int64_t begin, int64_t end, int worker)
{
    const linear_pack_job *job = context;
    (void)worker;
    linear_pack_piece(job->linear, job->packed, job->row + begin, end - begin, job->w + begin * job->linear->k);
}

static dit_status cpu_linear_pack(dit_pool *pool, dit_arena *arena, int64_t k, int pieces, const float *const *w,
                                  const float *const *bias, const int64_t *rows, dit_linear *out)
{
    void *packed, *packed_bias = NULL;
    bool has_bias = bias && bias[0];
    *out = (dit_linear){.k = k};
    for (int i = 0; i < pieces; i++) out->n += rows[i];
    DIT_TRY(dit_arena_alloc(arena, linear_padded(out->n) * k * (int64_t)sizeof(float), &packed));
    if (has_bias) DIT_TRY(dit_arena_alloc(arena, linear_padded(out->n) * (int64_t)sizeof(float), &packed_bias));
    out->packed = packed;
    out->bias = packed_bias;
    for (int64_t i = 0, row = 0; i < pieces; row += rows[i++]) {
        linear_pack_job job = {out, packed, row, w[i]};
        dit_pool_run(pool, rows[i], 2 * TILE_WIDTH, linear_pack_range, &job);
        if (has_bias) memcpy((float *)packed_bias + row, bias[i], (size_t)rows[i] * sizeof(float));
    }
    return DIT_OK;
}

/* Where rows of one entry go. */
typedef struct {
    float *y;              /* the first of the rows */
    const float *residual; /* as y, or NULL */
    const float *gate;     /* the entry's, or NULL */
} linear_target;

static linear_target linear_target_of(const dit_linear_args *a, int64_t entry, int64_t row)
{
    int64_t at = entry * a->entries.y + row * a->ldy;
    return (linear_target){a->y + at, a->residual ? a->residual + at : NULL,
                           a->gate ? a->gate + entry * a->entries.vector : NULL};
}

/* Finishes `rows` rows of a panel of y. `sums` is TILE_WIDTH wide, with row stride `stride`. What the compiler knows of the
 * layer, it does not ask for each vector. */
DIT_INLINE void linear_finish_as(const dit_linear_args *a, const linear_target *to, int64_t rows, int64_t panel,
                                 const float *sums, int64_t stride, dit_activation activation, bool residual)
{
    int64_t begin = panel * TILE_WIDTH, end = linear_min(begin + TILE_WIDTH, a->weights->n);
    for (int64_t column = begin; column < end; column += VF_LANES) {
        int64_t left = end - column;
        vf bias = a->weights->bias ? vf_load(a->weights->bias + column) : vf_zero();
        vf gate = residual && to->gate ? vf_load_next(to->gate + column, left) : vf_set1(1.0f);
        for (int64_t i = 0; i < rows; i++) {
            int64_t at = i * a->ldy + column;
            vf value = vf_load(sums + i * stride + column - begin);
            if (a->weights->bias) value = value + bias;
            value = vf_activation(value, activation);
            if (residual) value = vf_fma(gate, value, vf_load_next(to->residual + at, left));
            vf_store_next(to->y + at, value, left);
        }
    }
}

static void linear_finish(const dit_linear_args *a, const linear_target *to, int64_t rows, int64_t panel,
                          const float *sums, int64_t stride)
{
#define LINEAR_FINISH(activation, residual) linear_finish_as(a, to, rows, panel, sums, stride, activation, residual)
    bool residual = a->residual != NULL;
    switch (a->activation) {
    case DIT_ACT_GELU_TANH: LINEAR_FINISH(DIT_ACT_GELU_TANH, residual); break;
    case DIT_ACT_GELU_ERF: LINEAR_FINISH(DIT_ACT_GELU_ERF, residual); break;
    case DIT_ACT_SILU: LINEAR_FINISH(DIT_ACT_SILU, residual); break;
    case DIT_ACT_RELU: LINEAR_FINISH(DIT_ACT_RELU, residual); break;
    case DIT_ACT_TANH: LINEAR_FINISH(DIT_ACT_TANH, residual); break;
    default:
        if (residual)
            LINEAR_FINISH(DIT_ACT_NONE, true);
        else
            LINEAR_FINISH(DIT_ACT_NONE, false);
    }
#undef LINEAR_FINISH
}

/* Brings what linear_finish will read and write of a panel's rows into the cache, while a tile is multiplied: it is a line
 * of each row, which no processor foresees. */
static void linear_expect(const dit_linear_args *a, const linear_target *to, int64_t rows, int64_t panel)
{
    enum { LINE = 16 };
    for (int64_t i = 0; i < rows; i++)
        for (int64_t column = 0; column < TILE_WIDTH; column += LINE) {
            int64_t at = i * a->ldy + linear_min(panel * TILE_WIDTH + column, a->weights->n - 1);
            __builtin_prefetch(to->y + at, 1);
            if (to->residual) __builtin_prefetch(to->residual + at);
        }
}

typedef struct {
    const dit_linear_args *args;
    dit_pool *pool;
    int64_t panels, panels_per_job, depth;
    int64_t entries, entries_per_job, rows, row_blocks, rows_per_job; /* rows, row blocks: of an entry */
} linear_plan;

/* What a job multiplies: rows [begin, begin + count) of each of its entries, and the piece of x of one cut. */
typedef struct {
    int64_t entry, entries, begin, count;
    const float *x; /* of the first entry's first row */
    int64_t ldx;
} linear_rows;

/* Returns where the weights of one cut of one panel begin. */
static const float *linear_weights(const linear_plan *plan, int64_t panel, int64_t k0)
{
    const dit_linear *w = plan->args->weights;
    return w->packed + panel * TILE_WIDTH * w->k + k0 * linear_panel_width(w->n, panel);
}

/* Multiplies one cut of one panel with the job's rows. `next` is the weights of the cut that follows: every tile
 * prefetches its share of them. */
static void linear_panel(const linear_plan *plan, const linear_rows *rows, int64_t panel, int64_t k0, const float *next,
                         float *sums)
{
    const dit_linear_args *a = plan->args;
    const dit_linear *w = a->weights;
    int64_t width = linear_panel_width(w->n, panel), stride = plan->panels_per_job * TILE_WIDTH;
    int64_t tiles = rows->entries * linear_ceil_div(rows->count, TILE_ROWS);
    bool last = k0 + plan->depth >= w->k;
    tile_args t = {.depth = linear_min(plan->depth, w->k - k0), .a_row = rows->ldx, .a_depth = 1, .c = sums};
    t.b = linear_weights(plan, panel, k0);
    t.b_depth = width;
    t.c_row = stride;
    t.accumulate = k0 > 0;
    t.prefetch_step = next ? linear_ceil_div(TILE_WIDTH, tiles) : 0;
    t.prefetch = next ? next : t.b;
    for (int64_t entry = 0; entry < rows->entries; entry++)
        for (int64_t i = 0, count; i < rows->count; i += count) {
            linear_target to = linear_target_of(a, rows->entry + entry, rows->begin + i);
            count = linear_min(TILE_ROWS, rows->count - i);
            t.a = rows->x + entry * a->entries.x + i * rows->ldx;
            if (last) linear_expect(a, &to, count, panel);
            tile_functions[width / VF_LANES - 1][count - 1](&t);
            t.prefetch += t.depth * t.prefetch_step;
            if (last) linear_finish(a, &to, count, panel, t.c, stride);
            t.c += count * stride;
        }
}

/* Multiplies one cut of panels [first, last), which all read the piece of x from the cache. */
static void linear_cut(const linear_plan *plan, const linear_rows *rows, int64_t first, int64_t last, int64_t k0,
                       float *sums)
{
    for (int64_t panel = first; panel < last; panel++) {
        const float *next = NULL;
        if (panel + 1 < last)
            next = linear_weights(plan, panel + 1, k0);
        else if (k0 + plan->depth < plan->args->weights->k)
            next = linear_weights(plan, first, k0 + plan->depth);
        linear_panel(plan, rows, panel, k0, next, sums + (panel - first) * TILE_WIDTH);
    }
}

static void linear_job(void *context, int64_t begin, int64_t end, int worker)
{
    const linear_plan *plan = context;
    const dit_linear_args *a = plan->args;
    int64_t groups = linear_ceil_div(plan->panels, plan->panels_per_job);
    for (int64_t job = begin; job < end; job++) {
        int64_t first = job % groups * plan->panels_per_job, block = job / groups;
        linear_rows rows = {.entry = block / plan->row_blocks * plan->entries_per_job,
                            .begin = block % plan->row_blocks * plan->rows_per_job};
        rows.entries = linear_min(plan->entries_per_job, plan->entries - rows.entry);
        rows.count = linear_min(plan->rows_per_job, plan->rows - rows.begin);
        rows.ldx = a->ldx;
        for (int64_t k0 = 0; k0 < a->weights->k; k0 += plan->depth) {
            rows.x = a->x + rows.entry * a->entries.x + rows.begin * a->ldx + k0;
            linear_cut(plan, &rows, first, linear_min(first + plan->panels_per_job, plan->panels), k0,
                       dit_pool_scratch(plan->pool, worker));
        }
    }
}

/* A job has a block of rows of one entry, or all rows of a few short ones. */
static void cpu_linear(dit_pool *pool, const dit_linear_args *args)
{
    const dit_linear *w = args->weights;
    linear_plan plan = {.args = args, .pool = pool, .panels_per_job = LINEAR_PANELS};
    if (args->rows == 0) return;
    plan.panels = linear_ceil_div(w->n, TILE_WIDTH);
    plan.rows = args->entries.rows ? args->entries.rows : args->rows;
    plan.entries = args->rows / plan.rows;
    plan.row_blocks = linear_ceil_div(plan.rows, LINEAR_ROWS);
    /* Blocks and cuts are of equal size: a small last one would run at a low rate. */
    plan.rows_per_job = linear_ceil_div(linear_ceil_div(plan.rows, plan.row_blocks), TILE_ROWS) * TILE_ROWS;
    plan.row_blocks = linear_ceil_div(plan.rows, plan.rows_per_job);
    int64_t groups = linear_ceil_div(plan.entries, plan.rows < LINEAR_ROWS ? LINEAR_ROWS / plan.rows : 1);
    plan.entries_per_job = linear_ceil_div(plan.entries, groups);
    int64_t blocks = linear_ceil_div(plan.entries, plan.entries_per_job) * plan.row_blocks;
    plan.depth = linear_ceil_div(w->k, linear_ceil_div(w->k, LINEAR_DEPTH));
    while (plan.panels_per_job > 1 &&
           blocks * plan.panels / plan.panels_per_job < (int64_t)LINEAR_JOBS_PER_THREAD * dit_pool_threads(pool))
        plan.panels_per_job /= 2;
    dit_pool_run(pool, blocks * linear_ceil_div(plan.panels, plan.panels_per_job), 1, linear_job, &plan);
}

#endif
