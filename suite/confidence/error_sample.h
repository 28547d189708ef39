/* Error sample: the errors of one class, in groups that weigh equally, and the bounds that they support.
 *
 * Points of one group err together, so the group is the unit: each has weight 1, shared among its errors. The bounds are
 * split-conformal quantiles (Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World, 2005; Lei et al., JASA
 * 113, 2018) with that weighting: at level 1 - a each side lies where the weight reaches (1 - a/2)(1 + 1/G) of all, so
 * that 90 % needs G >= 19 groups. With fewer the extremes are bounds of level (G - 1) / (G + 1), and no more.
 */
#ifndef DIT_SUITE_CONFIDENCE_ERROR_SAMPLE_H
#define DIT_SUITE_CONFIDENCE_ERROR_SAMPLE_H

#include "suite/confidence/held_out.h"

/* Errors that must not speak: those of these groups (suite_held_out_group). Zeroed: all may. */
typedef struct {
    const int *groups;
    int count;
} suite_left_aside;

typedef struct {
    double error;
    int point; /* of the held-out points */
    int group; /* from 0, dense          */
    double weight;
} suite_sample_error;

/* release accepts a zeroed one. */
typedef struct {
    suite_error_class of;
    const suite_held_out *held;
    suite_sample_error *errors; /* [count] ascending by error; the weights add up to 1 */
    int count, group_count;
} suite_error_sample;

/* Takes the errors of class `of` but for those left aside. `held` must outlive the sample. An empty class is no error.
 * Errors: DIT_ERR_MEMORY. */
dit_status suite_error_sample_take(const suite_held_out *held, const suite_error_class *of,
                                   const suite_left_aside *without, suite_error_sample *out);
void suite_error_sample_release(suite_error_sample *sample);

/* Returns the least error that at least `share` (0 to 1) of the weight does not exceed; the greatest where rounding
 * lets none do. NAN without errors. */
double suite_error_quantile(const suite_error_sample *sample, double share);

/* Bounds of ln(truth / predicted). */
typedef struct {
    double low, high; /* the truth lies between predicted * exp(low) and predicted * exp(high)           */
    double level;     /* that is supported; 0 for less than two groups: then low, high are what there is */
    bool extremes;    /* too few groups for the level that was asked for                                 */
} suite_error_bounds;
/* Returns the bounds at `level` (0.9), or the extremes with the level that they support. */
suite_error_bounds suite_error_bounds_of(const suite_error_sample *sample, double level);
/* Returns how many groups `level` needs: 19 for 0.9. */
int suite_error_groups_needed(double level);

enum { SUITE_ERROR_QUANTILES = 9 };
/* Writes nine errors, ascending, for what must be computed anew at each (rates, costs): the ends are the bounds, the
 * inner ones the quantiles at equal steps of probability between them. */
void suite_error_nine(const suite_error_sample *sample, double level, double out[SUITE_ERROR_QUANTILES]);

/* Returns the greatest difference of two errors of one family that are of two machines: how far a prediction of one
 * machine over another was off at most. INFINITY where no family has two machines: nothing says how far it may be off. */
double suite_error_widest_gap(const suite_error_sample *sample);

#endif
