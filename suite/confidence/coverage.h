/* Coverage: whether intervals hold what they promise, each group left out and predicted by the others.
 */
#ifndef DIT_SUITE_CONFIDENCE_COVERAGE_H
#define DIT_SUITE_CONFIDENCE_COVERAGE_H

#include "suite/confidence/ladder.h"

/* An interval at 90 % may cover from 85 to 95 %. */
#define SUITE_COVERAGE_LEVEL 0.9
#define SUITE_COVERAGE_LEAST 0.85
#define SUITE_COVERAGE_MOST  0.95

typedef struct {
    int points, groups;        /* errors of pictures that an interval could be given for, and their groups         */
    int alone;                 /* errors without one: no class has points enough                                   */
    int below, above;          /* of the points: the truth was shorter, longer than the interval says              */
    double by_group, by_point; /* share inside, every group weighing 1, and every point; 0 without points          */
    double least_level;        /* of the intervals that were given                                                 */
    double mean_level;         /* every group weighing 1                                                           */
} suite_coverage;

/* Judges every held-out error of fitted machines, or of machines left out, by the interval that its prediction would
 * have had without its group: what a user would have been told. Errors: DIT_ERR_MEMORY. */
dit_status suite_coverage_of(const suite_held_out *held, bool fitted, double level, suite_coverage *out);

/* Whether intervals at `level` may be called that. Where all groups together are too few for the level, an interval
 * promises less (least_level), and must cover at least what it promises, less what 90 % may miss. */
bool suite_coverage_holds(const suite_coverage *coverage, double level);

#endif
