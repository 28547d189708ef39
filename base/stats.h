/* Statistics of few samples, by order statistics and never by normal theory.
 *
 * The point estimate is the median. Its interval is the exact order-statistic interval at >= 95 % (n >= 6). With fewer
 * samples the interval is the range, marked low_n, and no verdict rests on it.
 */
#ifndef DIT_BASE_STATS_H
#define DIT_BASE_STATS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int n;
    double median, min, max, mean, sd, mad, q1, q3;
    double low, high; /* interval of the median                                             */
    double level;     /* the interval's exact coverage, 0.96875 for n = 6; 0 when low_n     */
    bool low_n;       /* n < 6: low and high are the range                                  */
} dit_summary;

/* Summarises `n` values, which stay as they are. n = 0 gives a zeroed summary with low_n set. */
dit_summary dit_stats_summarise(const double *values, int n);
/* Puts n values, none of which is NaN, into ascending order. */
void dit_stats_sort(double *values, int n);
/* A value and the place that it comes from. */
typedef struct {
    double value;
    int place;
} dit_placed;
/* Puts n of them, none of which is NaN, into ascending order of value. */
void dit_stats_sort_placed(dit_placed *values, int n);
/* Returns Spearman's rank correlation of n pairs, in [-1, 1]: Pearson's of their ranks, equal values sharing the mean of
 * theirs. NaN where all values of a side are equal, or n < 2. `scratch` [n] and `ranks` [2 n] belong to the caller. */
double dit_stats_rank_correlation(const double *x, const double *y, int n, dit_placed *scratch, double *ranks);
enum { DIT_STATS_MOST_COEFFICIENTS = 8 };
/* A polynomial fitted by least squares. */
typedef struct {
    double coefficients[DIT_STATS_MOST_COEFFICIENTS]; /* [count], highest power first                            */
    double r2, rmse; /* share of the variance of y that it explains; root of the mean squared distance           */
} dit_polynomial;
/* Fits a polynomial of `count` coefficients to n pairs. False where fewer than `count` of x differ, or a value is not
 * finite. */
bool dit_stats_fit_polynomial(const double *x, const double *y, int n, int count, dit_polynomial *out);
double dit_stats_polynomial_at(const dit_polynomial *polynomial, int count, double x);
/* Returns the median of n values; 0 for none. */
double dit_stats_median(const double *values, int n);
/* The least of n values that at least `share` of them do not exceed (nearest rank); 0 for none. */
double dit_stats_percentile(const double *values, int n, double share);
/* Returns the quantile p in [0, 1] of n > 0 values in ascending order, interpolated linearly between them (Hyndman and
 * Fan, type 7). */
double dit_stats_sorted_quantile(const double *sorted, int n, double p);
/* Finds the ranks (from 1) of the order statistics that bound the median with coverage >= level; false if n is too
 * small. At 0.95: n=6: 1..6, n=10: 2..9, n=20: 6..15. */
bool dit_stats_median_ranks(int n, double level, int *low, int *high, double *coverage);

/* Returns the index of an outlier: the value furthest above the others, if its modified z-score (0.6745 times the
 * distance to the median, over the median absolute deviation) is above 14.8 and it is a tenth above the median. Returns
 * -1 when there is none, or fewer than three values. The limit is hyperfine's. */
int dit_stats_outlier(const double *values, int n);

#ifdef __cplusplus
}
#endif
#endif
