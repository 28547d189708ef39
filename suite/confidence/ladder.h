/* Ladder: climbs from the class of a prediction to its parents until one has errors enough to speak.
 *
 * A class speaks when it has 20 points and as many groups as the level needs (19 for 90 %). Where no class on the way has
 * so many groups, the finest of those with most groups speaks: going higher would add no confidence, only strangers.
 */
#ifndef DIT_SUITE_CONFIDENCE_LADDER_H
#define DIT_SUITE_CONFIDENCE_LADDER_H

#include "suite/confidence/error_sample.h"

enum { SUITE_LADDER_MOST = 4, SUITE_LADDER_POINTS = 20 };

typedef struct {
    suite_error_class of;
    int points, groups;
} suite_ladder_rung;

typedef struct {
    suite_ladder_rung rungs[SUITE_LADDER_MOST]; /* [count] finest first */
    int count;
    int chosen; /* the one that speaks; -1: none has 20 points */
} suite_ladder;

/* Climbs from `finest`, without the errors that are left aside, and takes the sample of the class that speaks; an empty
 * one where chosen is -1. The caller releases the sample. Errors: DIT_ERR_MEMORY. */
dit_status suite_ladder_climb(const suite_held_out *held, const suite_error_class *finest, double level,
                              const suite_left_aside *without, suite_ladder *out, suite_error_sample *sample);

#endif
