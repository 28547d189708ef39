/* Ratio: how a number changed from old to new, with an interval, and what may be said of it.
 *
 * The unit of replication is a fresh process group; its value is the median of its iterations. All arithmetic is on
 * logarithms, so that "a tenth slower" and "a tenth faster" are treated alike. A change smaller than the margin is none
 * that anybody cares for, so the whole interval must lie beyond the margin for "slower" or "faster", and inside it for
 * "same"; anything else is undecided. Where the interval is wide beside the margin, "slower" or "faster" asks for more:
 * the change must exceed one and a half times the reach of its interval, so that in much noise, too, few verdicts are
 * false. Values of fewer than SUITE_RATIO_LEAST processes decide nothing.
 */
#ifndef DIT_SUITE_COMPARE_RATIO_H
#define DIT_SUITE_COMPARE_RATIO_H

#include "base/status.h"

#include <stdbool.h>

enum { SUITE_RATIO_LEAST = 6 };

typedef enum {
    SUITE_VERDICT_SAME,
    SUITE_VERDICT_BETTER,
    SUITE_VERDICT_WORSE,
    SUITE_VERDICT_UNDECIDED,
    SUITE_VERDICT_COUNT
} suite_verdict;

/* "same", "faster", "slower", "undecided" of a time; "better", "worse" of any other metric. */
const char *suite_verdict_name(suite_verdict verdict, bool timing);

/* new / old of positive numbers. */
typedef struct {
    int n;                   /* pairs, or processes on the side that has fewer              */
    bool paired;             /* both of a pair ran one after the other, in random order      */
    double ratio, low, high; /* the middle, and the interval at `level`; NAN for n < 2       */
    double level;            /* 0.95                                                         */
    double error, freedom;   /* standard error of log(ratio), degrees of freedom of its t    */
} suite_ratio;

/* Student's interval of the mean of log(new[i] / old[i]). Positive values. */
suite_ratio suite_ratio_of_pairs(const double *old, const double *new_, int pairs, double level);
/* Welch's interval of the difference of the means of logarithms. Positive values. */
suite_ratio suite_ratio_of_samples(const double *old, int old_count, const double *new_, int new_count, double level);

/* Returns how far the interval reaches from the middle, of logarithms (0.02: about 2 %); infinite for n < 2. */
double suite_ratio_reach(const suite_ratio *ratio);
/* Probabilities, under the hypothesis that is just not so, of what was seen or more: that new is greater than old by
 * more than `margin` (0.02: 2 %) and more than half the reach, that it is smaller by more, that it differs by less than
 * `margin`. 1 where n is too small. */
typedef struct {
    double greater, smaller, same;
} suite_evidence;
suite_evidence suite_ratio_evidence(const suite_ratio *ratio, double margin);

/* Adjusts `count` probabilities for being the smallest ones of many, by Holm's step-down rule: rejecting those that are
 * below a level then makes any false rejection at most that likely. In place. Errors: DIT_ERR_MEMORY. */
dit_status suite_holm_adjust(double *probabilities, int count);

/* The verdict at `level`; each one-sided test has half of what is left. `lower_is_better`: of a time. */
suite_verdict suite_verdict_of(const suite_evidence *evidence, double level, bool lower_is_better);

#endif
