/* Fit: finds a few positive values that bring predictions near observations.
 *
 * It minimises the sum over observations of weight * huber(ln(predicted / observed)) plus, over values, the square of
 * ln(value / prior) / deviation; huber(r) is r^2 up to a threshold h, 2 h |r| - h^2 beyond it, so that a wrong
 * observation pulls no harder than one at h. The method is Gauss-Newton in logarithms with bounds and forward
 * differences; weights are computed anew each round (iteratively reweighted). The order is fixed, so that equal input
 * gives equal bits.
 * Source: Huber, Robust Statistics (1981), section 7.8; Nocedal and Wright, Numerical Optimization,
 * sections 10.3, 16.7.
 */
#ifndef DIT_SUITE_CALIBRATE_FIT_H
#define DIT_SUITE_CALIBRATE_FIT_H

#include "base/status.h"

enum { SUITE_FIT_VALUES = 16 };

typedef struct {
    double prior, least, most; /* 0 < least <= prior <= most                                             */
    double start;              /* within them; 0: the prior. Where no point would notice a small change  */
    double deviation;          /* of ln(value / prior), above 0: how much is believed in the prior       */
} suite_fit_value;

typedef struct {
    const suite_fit_value *values; /* at most SUITE_FIT_VALUES */
    int value_count;
    const double *weights; /* of each observation, at least 0 */
    int observation_count;
    double huber; /* threshold on |ln(predicted / observed)|, above 0 */
    int rounds;   /* at most */
    void *context;
    /* ln(predicted / observed) of every observation at `values`. `changed` is the one value that differs from those of
     * the last call with -1, which means that any may: what it does not touch need not be predicted again. An error
     * ends the fit. */
    dit_status (*evaluate)(void *context, const double *values, int changed, double *errors);
    /* After each round, from 0 (where it starts); may be NULL. */
    void (*tell)(void *context, int round, double objective, const double *values);
} suite_fit;

/* Leaves the best values found in values[value_count], and their objective in *objective (may be NULL).
 * Errors: DIT_ERR_INTERNAL for values outside of their bounds, DIT_ERR_NONFINITE for a prediction that is not a
 * number, DIT_ERR_MEMORY, and what `evaluate` returns. */
dit_status suite_fit_run(const suite_fit *fit, double *values, double *objective);

/* Where the profile likelihood of a value falls to what 90 of 100 repetitions would still show, or a bound. */
typedef struct {
    double low, high;
} suite_fit_interval;

/* Finds the interval of each value around `values`, which suite_fit_run has found: as far as the value may go, all
 * others fitted anew, until the objective is 2.706 above its least (chi squared, one degree of freedom). Predictions
 * are taken as straight lines in the logarithms: of the other values by forward differences, of the value itself to
 * what is predicted at the end that such a line gives. That takes 3 value_count + 1 evaluations.
 * Errors: as above. Source: Venzon and Moolgavkar, Applied Statistics 37 (1988). */
dit_status suite_fit_intervals(const suite_fit *fit, const double *values, suite_fit_interval *out);

/* Returns `value` rounded to so many significant decimal digits, as printf would print it. */
double suite_fit_round(double value, int digits);

#endif
