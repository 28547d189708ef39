#include "suite/confidence/error_sample.h"

#include <math.h>
#include <stdlib.h>

static const double rounding = 1e-12; /* of sums of weights */

/* ---- taking -------------------------------------------------------------------------------------------------------- */

static bool is_aside(const suite_left_aside *without, int group)
{
    for (int i = 0; without && i < without->count; i++)
        if (without->groups[i] == group) return true;
    return false;
}

static int by_error(const void *a, const void *b)
{
    const suite_sample_error *x = a, *y = b;
    if (x->error != y->error) return x->error < y->error ? -1 : 1;
    return (x->point > y->point) - (x->point < y->point);
}

/* `numbers` [of points or machines]: of each group, from 1. */
static void number_groups(int *numbers, suite_error_sample *out)
{
    for (int i = 0; i < out->count; i++) {
        int *number = &numbers[suite_held_out_group(out->held, out->of.fitted, out->errors[i].point)];
        if (!*number) *number = ++out->group_count;
        out->errors[i].group = *number - 1;
    }
}

static void share_weight(const int *sizes, suite_error_sample *out)
{
    for (int i = 0; i < out->count; i++)
        out->errors[i].weight = 1.0 / ((double)sizes[out->errors[i].group] * out->group_count);
}

static dit_status weigh(suite_error_sample *out)
{
    size_t room = (size_t)out->held->point_count + 1;
    int *numbers = calloc(2 * room, sizeof *numbers);
    if (!numbers) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a sample of errors");
    int *sizes = numbers + room;
    number_groups(numbers, out);
    for (int i = 0; i < out->count; i++) sizes[out->errors[i].group]++;
    share_weight(sizes, out);
    free(numbers);
    return DIT_OK;
}

static void take(const suite_left_aside *without, suite_error_sample *out)
{
    const suite_held_out *held = out->held;
    const suite_held_error *from = out->of.fitted ? held->outside : held->left_out;
    int count = out->of.fitted ? held->outside_count : held->left_out_count;
    for (int i = 0; i < count; i++) {
        suite_error_class one = held->points[from[i].point].kind_of;
        one.fitted = out->of.fitted;
        if (!suite_error_class_has(&out->of, &one)) continue;
        if (is_aside(without, suite_held_out_group(held, one.fitted, from[i].point))) continue;
        out->errors[out->count++] = (suite_sample_error){.error = from[i].error, .point = from[i].point};
    }
}

dit_status suite_error_sample_take(const suite_held_out *held, const suite_error_class *of,
                                   const suite_left_aside *without, suite_error_sample *out)
{
    size_t room = (size_t)(of->fitted ? held->outside_count : held->left_out_count) + 1;
    *out = (suite_error_sample){.of = *of, .held = held, .errors = calloc(room, sizeof *out->errors)};
    if (!out->errors) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a sample of errors");
    take(without, out);
    dit_status st = weigh(out);
    qsort(out->errors, (size_t)out->count, sizeof *out->errors, by_error);
    if (st != DIT_OK) suite_error_sample_release(out);
    return st;
}

void suite_error_sample_release(suite_error_sample *sample)
{
    free(sample->errors);
    *sample = (suite_error_sample){0};
}

/* ---- bounds -------------------------------------------------------------------------------------------------------- */

double suite_error_quantile(const suite_error_sample *sample, double share)
{
    double weight = 0;
    if (!sample->count) return NAN;
    for (int i = 0; i < sample->count; i++) {
        weight += sample->errors[i].weight;
        if (weight >= share - rounding) return sample->errors[i].error;
    }
    return sample->errors[sample->count - 1].error;
}

/* The greatest error that at least `share` of the weight does not fall below. */
static double quantile_from_above(const suite_error_sample *sample, double share)
{
    double weight = 0;
    if (!sample->count) return NAN;
    for (int i = sample->count - 1; i >= 0; i--) {
        weight += sample->errors[i].weight;
        if (weight >= share - rounding) return sample->errors[i].error;
    }
    return sample->errors[0].error;
}

int suite_error_groups_needed(double level)
{
    return (int)ceil((1 + level) / (1 - level) - 1e-9);
}

suite_error_bounds suite_error_bounds_of(const suite_error_sample *sample, double level)
{
    double groups = sample->group_count;
    bool extremes = groups < suite_error_groups_needed(level);
    double share = extremes ? 1 : (1 + level) / 2 * (1 + 1 / groups);
    double supported = extremes ? (groups < 2 ? 0 : (groups - 1) / (groups + 1)) : level;
    return (suite_error_bounds){quantile_from_above(sample, share), suite_error_quantile(sample, share), supported,
                                extremes};
}

void suite_error_nine(const suite_error_sample *sample, double level, double out[SUITE_ERROR_QUANTILES])
{
    enum { LAST = SUITE_ERROR_QUANTILES - 1 };
    suite_error_bounds bounds = suite_error_bounds_of(sample, level);
    for (int i = 0; i <= LAST; i++) {
        double error = suite_error_quantile(sample, (1 - bounds.level) / 2 + bounds.level * i / LAST);
        out[i] = fmin(fmax(error, bounds.low), bounds.high);
    }
    out[0] = bounds.low;
    out[LAST] = bounds.high;
}

/* Whether two errors are of one question on two machines. */
static bool are_rivals(const suite_error_sample *sample, const suite_sample_error *a, const suite_sample_error *b)
{
    const suite_held_point *x = &sample->held->points[a->point], *y = &sample->held->points[b->point];
    return x->family == y->family && x->machine != y->machine;
}

double suite_error_widest_gap(const suite_error_sample *sample)
{
    double widest = -INFINITY;
    for (int i = 0; i < sample->count; i++) {
        const suite_sample_error *a = &sample->errors[i];
        for (int j = i + 1; j < sample->count; j++) {
            const suite_sample_error *b = &sample->errors[j];
            if (are_rivals(sample, a, b)) widest = fmax(widest, b->error - a->error);
        }
    }
    return widest >= 0 ? widest : INFINITY;
}
