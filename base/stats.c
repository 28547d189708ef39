#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STATS_ON_STACK = 128 };
static const double stats_level = 0.95;
static const double stats_outlier_score = 14.826;

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void dit_stats_sort(double *values, int n)
{
    if (n > 0) qsort(values, (size_t)n, sizeof *values, compare_doubles);
}

static int compare_placed(const void *a, const void *b)
{
    const dit_placed *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

void dit_stats_sort_placed(dit_placed *values, int n)
{
    if (n > 0) qsort(values, (size_t)n, sizeof *values, compare_placed);
}

/* ranks[i] of values[i], from 0; equal values share the mean of theirs. */
static void rank(const double *values, int n, dit_placed *scratch, double *ranks)
{
    for (int i = 0; i < n; i++) scratch[i] = (dit_placed){values[i], i};
    dit_stats_sort_placed(scratch, n);
    for (int i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && !(scratch[end].value > scratch[i].value);) end++;
        for (int k = i; k < end; k++) ranks[scratch[k].place] = (i + end - 1) / 2.0;
    }
}

double dit_stats_rank_correlation(const double *x, const double *y, int n, dit_placed *scratch, double *ranks)
{
    double mean = (n - 1) / 2.0, xy = 0, xx = 0, yy = 0, *of_x = ranks, *of_y = ranks + n;
    if (n < 2) return NAN;
    rank(x, n, scratch, of_x);
    rank(y, n, scratch, of_y);
    for (int i = 0; i < n; i++) {
        xy += (of_x[i] - mean) * (of_y[i] - mean);
        xx += (of_x[i] - mean) * (of_x[i] - mean);
        yy += (of_y[i] - mean) * (of_y[i] - mean);
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}

static double sorted_median(const double *sorted, int n)
{
    if (n == 0) return 0;
    return n % 2 ? sorted[n / 2] : sorted[n / 2 - 1] / 2 + sorted[n / 2] / 2;
}

double dit_stats_sorted_quantile(const double *sorted, int n, double p)
{
    double place = p * (n - 1);
    int below = (int)place;
    if (below >= n - 1) return sorted[n - 1];
    return sorted[below] + (place - below) * (sorted[below + 1] - sorted[below]);
}

/* Finds the ranks that bound the median. The number of samples below it is Binomial(n, 1/2), whatever the distribution,
 * so ranks l..n+1-l miss it with probability 2 P(X <= l-1). Below n = 1000 every term is an exact double. */
bool dit_stats_median_ranks(int n, double level, int *low, int *high, double *coverage)
{
    double log_term = -n * log(2.0), term = n <= 1000 ? ldexp(1.0, -n) : 0, tail = 0;
    int rank = 0;
    for (int k = 0; k < (n + 1) / 2; k++) {
        tail += n <= 1000 ? term : exp(log_term);
        if (1 - 2 * tail < level) break;
        rank = k + 1;
        *coverage = 1 - 2 * tail;
        term *= (double)(n - k) / (k + 1);
        log_term += log((double)(n - k) / (k + 1));
    }
    if (rank == 0) return false;
    *low = rank;
    *high = n + 1 - rank;
    return true;
}

static void summarise_spread(dit_summary *s, double *sorted)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < s->n; i++) sum += sorted[i];
    s->mean = sum / s->n;
    for (int i = 0; i < s->n; i++) squares += (sorted[i] - s->mean) * (sorted[i] - s->mean);
    s->sd = s->n > 1 ? sqrt(squares / (s->n - 1)) : 0;
    for (int i = 0; i < s->n; i++) sorted[i] = fabs(sorted[i] - s->median);
    dit_stats_sort(sorted, s->n);
    s->mad = sorted_median(sorted, s->n);
}

static void summarise_sorted(dit_summary *s, double *sorted)
{
    int low = 0, high = 0;
    s->median = sorted_median(sorted, s->n);
    s->min = s->low = sorted[0];
    s->max = s->high = sorted[s->n - 1];
    s->q1 = dit_stats_sorted_quantile(sorted, s->n, 0.25);
    s->q3 = dit_stats_sorted_quantile(sorted, s->n, 0.75);
    s->low_n = !dit_stats_median_ranks(s->n, stats_level, &low, &high, &s->level);
    if (!s->low_n) {
        s->low = sorted[low - 1];
        s->high = sorted[high - 1];
    }
    summarise_spread(s, sorted); /* last: it overwrites the samples */
}

dit_summary dit_stats_summarise(const double *values, int n)
{
    dit_summary summary = {.low_n = true};
    double on_stack[STATS_ON_STACK], *sorted = on_stack;
    if (n <= 0) return summary;
    if (n > STATS_ON_STACK) sorted = malloc((size_t)n * sizeof *sorted);
    if (!sorted) return summary;
    memcpy(sorted, values, (size_t)n * sizeof *sorted);
    dit_stats_sort(sorted, n);
    summary.n = n;
    summarise_sorted(&summary, sorted);
    if (sorted != on_stack) free(sorted);
    return summary;
}

double dit_stats_median(const double *values, int n)
{
    return dit_stats_summarise(values, n).median;
}

double dit_stats_percentile(const double *values, int n, double share)
{
    double *sorted = n > 0 ? malloc((size_t)n * sizeof *sorted) : NULL;
    if (!sorted) return 0;
    memcpy(sorted, values, (size_t)n * sizeof *sorted);
    dit_stats_sort(sorted, n);
    int rank = (int)ceil(share * n - 1e-9); /* 0.9 x 10 is a little more than 9 */
    double value = sorted[rank < 1 ? 0 : rank > n ? n - 1 : rank - 1];
    free(sorted);
    return value;
}

int dit_stats_outlier(const double *values, int n)
{
    dit_summary summary = dit_stats_summarise(values, n);
    int worst = -1;
    if (n < 3) return -1;
    for (int i = 0; i < n; i++) {
        double above = values[i] - summary.median;
        bool far = above > 0.1 * summary.median && 0.6745 * above > stats_outlier_score * summary.mad;
        if (far && (worst < 0 || values[i] > values[worst])) worst = i;
    }
    return worst;
}

/* ---- polynomials ------------------------------------------------------------------------------------------------- */

/* Solves the normal equations in x over its largest size, [count][count + 1], by elimination with the largest pivot. */
static bool solve(int count, double a[DIT_STATS_MOST_COEFFICIENTS][DIT_STATS_MOST_COEFFICIENTS + 1])
{
    for (int i = 0; i < count; i++) {
        int best = i;
        for (int row = i + 1; row < count; row++)
            if (fabs(a[row][i]) > fabs(a[best][i])) best = row;
        for (int k = 0; k <= count; k++) {
            double kept = a[i][k];
            a[i][k] = a[best][k], a[best][k] = kept;
        }
        if (!(fabs(a[i][i]) > 1e-13)) return false;
        for (int row = 0; row < count; row++) {
            double factor = row == i ? 0 : a[row][i] / a[i][i];
            for (int k = i; k <= count && row != i; k++) a[row][k] -= factor * a[i][k];
        }
    }
    for (int i = 0; i < count; i++) a[i][count] /= a[i][i];
    return true;
}

double dit_stats_polynomial_at(const dit_polynomial *polynomial, int count, double x)
{
    double sum = 0;
    for (int i = 0; i < count; i++) sum = sum * x + polynomial->coefficients[i];
    return sum;
}

static void judge_fit(const double *x, const double *y, int n, int count, dit_polynomial *out)
{
    double mean = 0, all = 0, left = 0;
    for (int i = 0; i < n; i++) mean += y[i] / n;
    for (int i = 0; i < n; i++) {
        double away = y[i] - dit_stats_polynomial_at(out, count, x[i]);
        all += (y[i] - mean) * (y[i] - mean), left += away * away;
    }
    out->r2 = all > 0 ? 1 - left / all : 0;
    out->rmse = sqrt(left / n);
}

bool dit_stats_fit_polynomial(const double *x, const double *y, int n, int count, dit_polynomial *out)
{
    double a[DIT_STATS_MOST_COEFFICIENTS][DIT_STATS_MOST_COEFFICIENTS + 1] = {0}, largest = 0;
    *out = (dit_polynomial){0};
    if (count < 1 || count > DIT_STATS_MOST_COEFFICIENTS || n < count) return false;
    for (int i = 0; i < n; i++) {
        if (!isfinite(x[i]) || !isfinite(y[i])) return false;
        largest = fmax(largest, fabs(x[i]));
    }
    if (!(largest > 0)) largest = 1;
    for (int i = 0; i < n; i++) {
        double powers[DIT_STATS_MOST_COEFFICIENTS] = {1};
        for (int k = 1; k < count; k++) powers[k] = powers[k - 1] * x[i] / largest;
        for (int row = 0; row < count; row++) {
            for (int k = 0; k < count; k++) a[row][k] += powers[row] * powers[k] / n;
            a[row][count] += powers[row] * y[i] / n;
        }
    }
    if (!solve(count, a)) return false;
    for (int k = 0; k < count; k++) out->coefficients[count - 1 - k] = a[k][count] / pow(largest, k);
    judge_fit(x, y, n, count, out);
    return true;
}
