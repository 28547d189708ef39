#include "engine/quality/kernel_distance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double kernel(const float *x, const float *y, int64_t width)
{
    double sum = 0;
    for (int64_t k = 0; k < width; k++) sum += (double)x[k] * y[k];
    double base = sum / (double)width + 1;
    return base * base * base;
}

/* Returns the mean kernel of all pairs of different rows of one set. */
static double mean_within(dit_feature_rows a)
{
    double sum = 0;
    for (int64_t i = 0; i < a.count; i++)
        for (int64_t j = 0; j < i; j++) sum += kernel(a.rows + i * a.width, a.rows + j * a.width, a.width);
    return 2 * sum / ((double)a.count * (double)(a.count - 1));
}

static double mean_between(dit_feature_rows a, dit_feature_rows b)
{
    double sum = 0;
    for (int64_t i = 0; i < a.count; i++)
        for (int64_t j = 0; j < b.count; j++) sum += kernel(a.rows + i * a.width, b.rows + j * b.width, a.width);
    return sum / ((double)a.count * (double)b.count);
}

static double distance_of(dit_feature_rows a, dit_feature_rows b)
{
    return mean_within(a) + mean_within(b) - 2 * mean_between(a, b);
}

static dit_status check(dit_feature_rows a)
{
    if (a.count < 2)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_SHAPE, "a set of %lld pictures has no kernel distance", (long long)a.count),
            "take at least two pictures, better hundreds");
    for (int64_t i = 0; i < a.count * a.width; i++)
        if (!isfinite(a.rows[i]))
            return DIT_FAIL(DIT_ERR_NONFINITE, "feature %lld of picture %lld is not finite", (long long)(i % a.width),
                            (long long)(i / a.width));
    return DIT_OK;
}

dit_status dit_kernel_distance(dit_feature_rows a, dit_feature_rows b, double *distance)
{
    *distance = 0;
    if (a.width < 1 || a.width != b.width)
        return DIT_FAIL(DIT_ERR_SHAPE, "features of %lld and of %lld numbers have no distance", (long long)a.width,
                        (long long)b.width);
    DIT_TRY(check(a));
    DIT_TRY(check(b));
    *distance = distance_of(a, b);
    return DIT_OK;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* Copies the rows of a block to `to`, which has room for all. */
static dit_feature_rows block_of(dit_feature_rows a, const int *prompt, int block, float *to)
{
    dit_feature_rows out = {.rows = to, .width = a.width};
    for (int64_t i = 0; i < a.count; i++)
        if (prompt[i] % DIT_KERNEL_BLOCKS == block)
            memcpy(to + out.count++ * a.width, a.rows + i * a.width, (size_t)a.width * sizeof *to);
    return out;
}

/* Returns half the width of the interval; below zero when a block has too few pictures. */
static double half_width(dit_feature_rows a, const int *prompt_of_a, dit_feature_rows b, const int *prompt_of_b,
                         float *room)
{
    static const double student = 2.2621571628; /* 9 degrees, 97.5 % */
    double of_block[DIT_KERNEL_BLOCKS], mean = 0, squares = 0;
    for (int i = 0; i < DIT_KERNEL_BLOCKS; i++) {
        dit_feature_rows in_a = block_of(a, prompt_of_a, i, room);
        dit_feature_rows in_b = block_of(b, prompt_of_b, i, room + a.count * a.width);
        if (in_a.count < 2 || in_b.count < 2) return -1;
        of_block[i] = distance_of(in_a, in_b);
        mean += of_block[i] / DIT_KERNEL_BLOCKS;
    }
    for (int i = 0; i < DIT_KERNEL_BLOCKS; i++) squares += (of_block[i] - mean) * (of_block[i] - mean);
    return student * sqrt(squares / (DIT_KERNEL_BLOCKS - 1) / DIT_KERNEL_BLOCKS);
}

dit_status dit_kernel_distance_interval(dit_feature_rows a, const int *prompt_of_a, dit_feature_rows b,
                                        const int *prompt_of_b, dit_interval *out)
{
    *out = (dit_interval){0};
    DIT_TRY(dit_kernel_distance(a, b, &out->value));
    float *room = malloc((size_t)((a.count + b.count) * a.width) * sizeof *room);
    if (!room) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for blocks of pictures");
    double half = half_width(a, prompt_of_a, b, prompt_of_b, room);
    free(room);
    out->bounded = half >= 0;
    out->low = out->value - fmax(0, half);
    out->high = out->value + fmax(0, half);
    return DIT_OK;
}
