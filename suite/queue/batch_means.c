#include "suite/queue/batch_means.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double student = 2.0452296; /* 97.5 % point of Student's t with 29 degrees of freedom */

static double half_width(const double means[SUITE_BATCHES])
{
    double sum = 0, squares = 0;
    for (int i = 0; i < SUITE_BATCHES; i++) sum += means[i];
    for (int i = 0; i < SUITE_BATCHES; i++) squares += pow(means[i] - sum / SUITE_BATCHES, 2);
    return student * sqrt(squares / (SUITE_BATCHES - 1) / SUITE_BATCHES);
}

static double mean_of(const double *values, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += values[i];
    return count ? sum / (double)count : 0;
}

suite_estimate suite_batch_mean(const double *values, int64_t count)
{
    suite_estimate out = {mean_of(values, count), INFINITY};
    int64_t size = count / SUITE_BATCHES;
    double means[SUITE_BATCHES];
    if (!size) return out;
    for (int i = 0; i < SUITE_BATCHES; i++) means[i] = mean_of(values + i * size, size);
    out.half = half_width(means);
    return out;
}

static void swap(double *a, double *b)
{
    double kept = *a;
    *a = *b;
    *b = kept;
}

/* Moves what belongs before a pivot, the middle of three values, to the front of [low, high]. Returns where the halves
 * meet: values up to there are not above the pivot, and those behind it not below. */
static int64_t part(double *values, int64_t low, int64_t high)
{
    int64_t middle = low + (high - low) / 2;
    if (values[middle] < values[low]) swap(&values[middle], &values[low]);
    if (values[high] < values[low]) swap(&values[high], &values[low]);
    if (values[high] < values[middle]) swap(&values[high], &values[middle]);
    double pivot = values[middle];
    for (int64_t i = low - 1, j = high + 1;;) {
        do i++;
        while (values[i] < pivot);
        do j--;
        while (values[j] > pivot);
        if (i >= j) return j;
        swap(&values[i], &values[j]);
    }
}

/* Hoare's selection (Communications of the ACM 4, 1961). */
double suite_quantile_of(double *values, int64_t count, double share)
{
    int64_t rank = (int64_t)ceil(share * (double)count - 1e-9), low = 0, high = count - 1;
    if (!count) return 0;
    rank = rank < 1 ? 0 : rank > count ? count - 1 : rank - 1;
    while (low < high) {
        int64_t end = part(values, low, high);
        if (rank <= end)
            high = end;
        else
            low = end + 1;
    }
    return values[rank];
}

dit_status suite_batch_quantile(const double *values, int64_t count, double share, suite_estimate *out)
{
    int64_t size = count / SUITE_BATCHES;
    double quantiles[SUITE_BATCHES], *copy = malloc(((size_t)count + 1) * sizeof *copy);
    if (!copy) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a quantile");
    memcpy(copy, values, (size_t)count * sizeof *copy);
    for (int i = 0; size && i < SUITE_BATCHES; i++) quantiles[i] = suite_quantile_of(copy + i * size, size, share);
    out->value = suite_quantile_of(copy, count, share);
    out->half = size ? half_width(quantiles) : INFINITY;
    free(copy);
    return DIT_OK;
}
