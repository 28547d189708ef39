/* Group norm in two passes over memory. The first takes blocks of rows that fit the cache: mean and squared deviations
 * of each group of a block (no cancellation), which are then merged in double (Chan, Golub and LeVeque, 1979). The
 * second normalises, applies the field and the activation; each can run alone. Blocks depend on C alone, so the bits do
 * not depend on the number of threads.
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

DIT_INLINE vf group_norm_load(const float *p, int64_t left)
{
    return left >= VF_LANES ? vf_load(p) : vf_load_n(p, left);
}

DIT_INLINE void group_norm_store(float *p, vf value, int64_t left)
{
    if (left >= VF_LANES)
        vf_store(p, value);
    else
        vf_store_n(p, value, left);
}

/* sums[c] = sum over rows of x - mean[c] (mean NULL: zero), squared or not. */
DIT_INLINE void group_norm_column_sums(const float *x, int64_t rows, int64_t C, const float *mean, bool squared,
                                       float *sums)
{
    for (int64_t c0 = 0; c0 < C; c0 += GROUP_NORM_VECTORS * VF_LANES) {
        vf sum[GROUP_NORM_VECTORS], m[GROUP_NORM_VECTORS];
        int64_t left = C - c0;
        int vectors =
            left >= GROUP_NORM_VECTORS * VF_LANES ? GROUP_NORM_VECTORS : (int)((left + VF_LANES - 1) / VF_LANES);
        for (int j = 0; j < vectors; j++) {
            sum[j] = vf_zero();
            m[j] = mean ? group_norm_load(mean + c0 + j * VF_LANES, left - j * VF_LANES) : vf_zero();
        }
        for (int64_t row = 0; row < rows; row++)
            for (int j = 0; j < vectors; j++) {
                vf value = group_norm_load(x + row * C + c0 + j * VF_LANES, left - j * VF_LANES) - m[j];
                if (squared)
                    sum[j] = vf_fma(value, value, sum[j]);
                else
                    sum[j] = sum[j] + value;
            }
        for (int j = 0; j < vectors; j++) group_norm_store(sums + c0 + j * VF_LANES, sum[j], left - j * VF_LANES);
    }
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
    float *sums = scratch, *mean = scratch + a->C;
    double *moments = l->moments + index * a->groups * 2;
    group_norm_column_sums(x, rows, a->C, NULL, false, sums);
    for (int64_t g = 0; g < a->groups; g++) {
        float group_mean = (float)(group_norm_group_sum(sums, g, width) / (double)(rows * width));
        for (int64_t c = g * width; c < (g + 1) * width; c++) mean[c] = group_mean;
        moments[2 * g] = group_mean;
    }
    group_norm_column_sums(x, rows, a->C, mean, true, sums);
    for (int64_t g = 0; g < a->groups; g++) moments[2 * g + 1] = group_norm_group_sum(sums, g, width);
}

static void group_norm_measure(void *context, int64_t begin, int64_t end, int worker)
{
    const group_norm_plan *plan = context;
    for (int64_t i = begin; i < end; i++) group_norm_measure_block(plan, i, dit_pool_scratch(plan->pool, worker));
}

/* Mean and variance of one entry and group, from its blocks. */
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

/* The field's position of the first pixel in line (t, y) of x. */
static int64_t group_norm_field_line(const dit_group_norm_args *a, int64_t t, int64_t y)
{
    int64_t frame = t * a->field_frames / a->frames;
    if (a->first_apart) frame = t == 0 ? 0 : 1 + (t - 1) * (a->field_frames - 1) / (a->frames - 1);
    return (frame * a->field_height + y * a->field_height / a->height) * a->field_width;
}

DIT_INLINE void group_norm_row(const dit_group_norm_args *a, const float *x, const float *scratch, int64_t field,
                               dit_activation activation, float *y)
{
    const float *mean = scratch, *factor = scratch + a->C;
    for (int64_t c = 0; c < a->C; c += VF_LANES) {
        int64_t left = a->C - c;
        vf value = (group_norm_load(x + c, left) - group_norm_load(mean + c, left)) * group_norm_load(factor + c, left);
        if (a->bias) value = value + group_norm_load(a->bias + c, left);
        if (a->scale)
            value =
                vf_fma(value, group_norm_load(a->scale + field + c, left), group_norm_load(a->shift + field + c, left));
        group_norm_store(y + c, activation == DIT_ACT_NONE ? value : vf_activation(value, activation), left);
    }
}

static void group_norm_apply_block(const group_norm_plan *plan, int64_t index, float *scratch)
{
    const dit_group_norm_args *a = plan->args;
    const group_norm_layout *l = &plan->layout;
    int64_t width = a->C / a->groups, entry = index / l->blocks, first = index % l->blocks * l->block_rows;
    int64_t end = l->rows - first < l->block_rows ? l->rows : first + l->block_rows;
    for (int64_t c = 0; c < a->C; c++) {
        const float *s = l->statistics + (entry * a->groups + c / width) * 2;
        scratch[c] = s[0];
        scratch[a->C + c] = a->weight ? s[1] * a->weight[c] : s[1];
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
        plan.layout.statistics[2 * i] = (float)moments[0];
        plan.layout.statistics[2 * i + 1] = (float)(1 / sqrt(moments[1] + args->eps));
    }
    dit_pool_run(pool, blocks, 1, group_norm_apply, &plan);
}

#endif
