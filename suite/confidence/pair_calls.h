/* Pair calls: whether verdicts on pairs of machines are right, on held-out points whose truth was published.
 *
 * Every family (one question on one mesh, with one software) of which several machines were timed is a table of its
 * own. Its machines are judged by suite_rank_pairs, from errors of which none is of the two groups that are judged; the
 * verdict is held against the published times.
 */
#ifndef DIT_SUITE_CONFIDENCE_PAIR_CALLS_H
#define DIT_SUITE_CONFIDENCE_PAIR_CALLS_H

#include "suite/confidence/coverage.h"
#include "suite/confidence/rank.h"

#define SUITE_PAIR_CALLS_LEAST 0.9 /* share of verdicts that must be right, by its one-sided bound at 95 % */

typedef struct {
    int pairs;            /* of points of two machines                                                          */
    int ordered;          /* of them whose order is predicted right, whatever was called                        */
    int called;           /* of them with a verdict                                                             */
    int right;            /* of those                                                                           */
    int kept_back;        /* sure enough, but nearer than left-out machines erred                               */
    int clusters;         /* pairs with verdicts, counted once for each two groups: those err together          */
    int right_clusters;   /* in which every verdict is right                                                    */
    double bound_by_pair; /* of the share that is right, as if each pair stood alone; decides. 0 without any  */
    double bound; /* the same of clusters: what may be claimed if only they stand alone. To be shown beside it */
} suite_pair_calls;

/* Judges all pairs of fitted machines (points outside the fit), or of machines left out. Errors: DIT_ERR_MEMORY. */
dit_status suite_pair_calls_of(const suite_held_out *held, bool fitted, suite_pair_calls *out);

/* Returns the one-sided lower bound, at 95 %, of a share of which `right` of `count` were seen (Clopper and Pearson,
 * Biometrika 26, 1934); 0 for none. */
double suite_share_bound(int right, int count);

/* Whether verdicts may be given, and if not, why. */
typedef struct {
    suite_coverage coverage[2]; /* [fitted]: of machines left out, of fitted ones   */
    suite_pair_calls calls[2];  /* the same                                         */
    bool allowed[2];            /* whether verdicts that involve such machines hold */
    char why[2][256];           /* why not; "" where they do                        */
} suite_verdict_licence;

/* Counts all of it at the levels above. Errors: DIT_ERR_MEMORY. */
dit_status suite_verdict_licence_of(const suite_held_out *held, suite_verdict_licence *out);

#endif
