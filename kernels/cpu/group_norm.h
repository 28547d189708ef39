/* Group norm in two passes over memory, each of which can run by itself. The first takes blocks of rows that fit the
 * cache: it computes mean and squared deviations of each group of a block (no cancellation), which are then merged in
 * double (Chan, Golub and LeVeque, 1979). The second normalises and applies the field and the activation. Both correct
 * for the error of a mean that is rounded to float. Blocks depend on C alone, so the bits do not depend on the number
 * of threads.
 */
#ifndef DIT_KERNELS_CPU_GROUP_NORM_H
#define DIT_KERNELS_CPU_GROUP_NORM_H

#include "kernels/cpu/math.h"
#include "kernels/group_norm_workspace.h"

#include <math.h>

enum { GROUP_NORM_VECTORS = 4 }; /* channels summed side by side */

typedef struct {
    const dit_group_norm_args *args;
    dit_pool *pool;
    group_norm_layout layout;
} group_norm_plan;

/* Does the work of group_norm_column_sums for `vectors` vectors of columns from x on; `left` columns are left. */
DIT_INLINE void group_norm_vector_sums(const float *x, int64_t rows, int64_t C, int vectors, int64_t left,
                                       const float *mean, float *sums, float *squares)
{
    vf sum[GROUP_NORM_VECTORS], square[GROUP_NORM_VECTORS], m[GROUP_NORM_VECTORS];
    for (int j = 0; j < vectors; j++) {
        sum[j] = square[j] = vf_zero();
        m[j] = mean ? vf_load_next(mean + j * VF_LANES, left - j * VF_LANES) : vf_zero();
    }
    for (int64_t row = 0; row < rows; row++)
        for (int j = 0; j < vectors; j++) {
            vf value = vf_load_next(x + row * C + j * VF_LANES, left - j * VF_LANES);
            if (mean) value = value - m[j];
            sum[j] = sum[j] + value;
            if (squares) square[j] = vf_fma(value, value, square[j]);
        }
    for (int j = 0; j < vectors; j++) {
        vf_store_next(sums + j * VF_LANES, sum[j], left - j * VF_LANES);
        if (squares) vf_store_next(squares + j * VF_LANES, square[j], left - j * VF_LANES);
    }
}

/* sums[c] = sum over rows of x - mean[c] (mean NULL: zero); squares[c], unless NULL, the sum of its squares. */
DIT_INLINE void group_norm_column_sums(const float *x, int64_t rows, int64_t C, const float *mean, float *sums,
                                       float *squares)
{
    const int64_t step = GROUP_NORM_VECTORS * VF_LANES;
    int64_t c = 0;
    for (; c + step <= C; c += step)
        group_norm_vector_sums(x + c, rows, C, GROUP_NORM_VECTORS, step, mean ? mean + c : NULL, sums + c,
                               squares ? squares + c : NULL);
    if (c < C)
        group_norm_vector_sums(x + c, rows, C, (int)((C - c + VF_LANES - 1) / VF_LANES), C - c, mean ? mean + c : NULL,
                               sums + c, squares ? squares + c : NULL);
}

static double group_norm_group_sum(const float *sums, int64_t group, int64_t width)
{
    double sum = 0;
    for (int64_t c = group * width; c < (group + 1) * width; c++) sum += sums[c];
    return sum;
}

static void group_norm_measure_block(const group_norm_plan *plan, int64_t index, float *scratch)
{
    const dit_group_norm_args *a = plan->args;
    const group_norm_layout *l = &plan->layout;
    int64_t width = a->C / a->groups, entry = index / l->blocks, first = index % l->blocks * l->block_rows;
    int64_t rows = l->rows - first < l->block_rows ? l->rows - first : l->block_rows;
    const float *x = a->x + (entry * l->rows + first) * a->C;
    float *sums = scratch, *mean = scratch + a->C, *squares = scratch + 2 * a->C;
    double count = (double)(rows * width), *moments = l->moments + index * a->groups * 2;
    group_norm_column_sums(x, rows, a->C, NULL, sums, NULL);
    for (int64_t g = 0; g < a->groups; g++) {
        float group_mean = (float)(group_norm_group_sum(sums, g, width) / count);
        for (int64_t c = g * width; c < (g + 1) * width; c++) mean[c] = group_mean;
    }
    group_norm_column_sums(x, rows, a->C, mean, sums, squares);
    for (int64_t g = 0; g < a->groups; g++) {
        double left = group_norm_group_sum(sums, g, width) / count;
        moments[2 * g] = mean[g * width] + left;
        moments[2 * g + 1] = fmax(0, group_norm_group_sum(squares, g, width) - count * left * left);
    }
}

static void group_norm_measure(void *context, int64_t begin, int64_t end, int worker)
{
    const group_norm_plan *plan = context;
    for (int64_t i = begin; i < end; i++) group_norm_measure_block(plan, i, dit_pool_scratch(plan->pool, worker));
}

/* Merges the blocks of one batch entry and group into mean and variance. */
static void group_norm_merge(const group_norm_plan *plan, int64_t entry, int64_t group, double out[2])
{
    const dit_group_norm_args *a = plan->args;
    const group_norm_layout *l = &plan->layout;
    double count = 0, mean = 0, squares = 0, width = (double)(a->C / a->groups);
    for (int64_t block = 0; block < l->blocks; block++) {
        const double *moments = l->moments + ((entry * l->blocks + block) * a->groups + group) * 2;
        int64_t left = l->rows - block * l->block_rows;
        double added = (double)(left < l->block_rows ? left : l->block_rows) * width, total = count + added;
        double difference = moments[0] - mean;
        squares += moments[1] + difference * difference * count * added / total;
        mean += difference * added / total;
        count = total;
    }
    out[0] = mean;
    out[1] = squares / count;
}

/* Returns the field's position for the first pixel of line (t, y) of x. */
static int64_t group_norm_field_line(const dit_group_norm_args *a, int64_t t, int64_t y)
{
    int64_t frame = t * a->field_frames / a->frames;
    if (a->first_apart) frame = t == 0 ? 0 : 1 + (t - 1) * (a->field_frames - 1) / (a->frames - 1);
    return (frame * a->field_height + y * a->field_height / a->height) * a->field_width;
}

/* Normalises channels from c on; `left` channels are left. scratch: mean, factor and offset of each channel. */
DIT_INLINE void group_norm_channels(const dit_group_norm_args *a, const float *x, const float *scratch, int64_t field,
                                    dit_activation activation, int64_t c, int64_t left, float *y)
{
    const float *mean = scratch + c, *factor = scratch + a->C + c, *offset = scratch + 2 * a->C + c;
    vf value = vf_load_next(x + c, left) - vf_load_next(mean, left);
    value = vf_fma(value, vf_load_next(factor, left), vf_load_next(offset, left));
    if (a->scale)
        value = vf_fma(value, vf_load_next(a->scale + field + c, left), vf_load_next(a->shift + field + c, left));
    vf_store_next(y + c, activation == DIT_ACT_NONE ? value : vf_activation(value, activation), left);
}

DIT_INLINE void group_norm_row(const dit_group_norm_args *a, const float *x, const float *scratch, int64_t field,
                               dit_activation activation, float *y)
{
    int64_t c = 0;
    for (; c + VF_LANES <= a->C; c += VF_LANES) group_norm_channels(a, x, scratch, field, activation, c, VF_LANES, y);
    if (c < a->C) group_norm_channels(a, x, scratch, field, activation, c, a->C - c, y);
}

static void group_norm_apply_block(const group_norm_plan *plan, int64_t index, float *scratch)
{
    const dit_group_norm_args *a = plan->args;
    const group_norm_layout *l = &plan->layout;
    int64_t width = a->C / a->groups, entry = index / l->blocks, first = index % l->blocks * l->block_rows;
    int64_t end = l->rows - first < l->block_rows ? l->rows : first + l->block_rows;
    for (int64_t c = 0; c < a->C; c++) {
        const float *s = l->statistics + (entry * a->groups + c / width) * 3;
        float factor = a->weight ? s[2] * a->weight[c] : s[2];
        scratch[c] = s[0];
        scratch[a->C + c] = factor;
        scratch[2 * a->C + c] = (a->bias ? a->bias[c] : 0.0f) - s[1] * factor;
    }
    for (int64_t row = first; row < end; row++) {
        const float *x = a->x + (entry * l->rows + row) * a->C;
        float *y = a->y + (entry * l->rows + row) * a->C;
        int64_t field = 0;
        if (a->scale) {
            int64_t line = group_norm_field_line(a, row / a->width / a->height, row / a->width % a->height);
            field = (line + row % a->width * a->field_width / a->width) * a->ldf;
        }
        if (a->activation == DIT_ACT_SILU)
            group_norm_row(a, x, scratch, field, DIT_ACT_SILU, y);
        else
            group_norm_row(a, x, scratch, field, a->activation, y);
    }
}

static void group_norm_apply(void *context, int64_t begin, int64_t end, int worker)
{
    const group_norm_plan *plan = context;
    for (int64_t i = begin; i < end; i++) group_norm_apply_block(plan, i, dit_pool_scratch(plan->pool, worker));
}

static group_norm_plan group_norm_make_plan(dit_pool *pool, const dit_group_norm_args *args)
{
    int64_t rows = args->frames * args->height * args->width;
    group_norm_plan plan = {.args = args, .pool = pool};
    plan.layout = group_norm_layout_of(args->batch, rows, args->C, args->groups, args->workspace);
    return plan;
}

static void cpu_group_moments(dit_pool *pool, const dit_group_norm_args *args)
{
    group_norm_plan plan = group_norm_make_plan(pool, args);
    dit_pool_run(pool, args->batch * plan.layout.blocks, 1, group_norm_measure, &plan);
    for (int64_t i = 0; i < args->batch * args->groups; i++)
        group_norm_merge(&plan, i / args->groups, i % args->groups, args->moments + 2 * i);
}

static void cpu_group_norm(dit_pool *pool, const dit_group_norm_args *args)
{
    group_norm_plan plan = group_norm_make_plan(pool, args);
    int64_t blocks = args->batch * plan.layout.blocks;
    if (!args->moments) dit_pool_run(pool, blocks, 1, group_norm_measure, &plan);
    for (int64_t i = 0; i < args->batch * args->groups; i++) {
        double own[2];
        const double *moments = args->moments ? args->moments + 2 * i : own;
        if (!args->moments) group_norm_merge(&plan, i / args->groups, i % args->groups, own);
        float *statistics = plan.layout.statistics + 3 * i;
        statistics[0] = (float)moments[0];
        statistics[1] = (float)(moments[0] - statistics[0]);
        statistics[2] = (float)(1 / sqrt(moments[1] + args->eps));
    }
    dit_pool_run(pool, blocks, 1, group_norm_apply, &plan);
}

#endif
