/* Agreement: how near predicted numbers come to printed ones, and whether they put methods in the printed order.
 *
 * Pure arithmetic, and its one home: `ditbench simulate` and the reports of sessions both print what is counted here.
 */
#ifndef DIT_BASE_AGREEMENT_H
#define DIT_BASE_AGREEMENT_H

#include "base/status.h"

#include <stdbool.h>

/* A printed number and its prediction, both above 0 and in one unit. Strings are the caller's. */
typedef struct {
    double printed, predicted;
    double rounding;    /* the most that the printed number may be off for its digits or for being read off a chart */
    const char *panel;  /* methods are compared within one panel: equal model, size, devices, machine, ...          */
    const char *method; /* what differs within a panel; a search for the best mesh is one method, whatever won      */
    bool in_fit;        /* a calibration was fitted on it                                                            */
} dit_agreement_point;

/* Which points are judged. A pair is in the fit when both of its points are; else it is not. */
typedef enum {
    DIT_AGREEMENT_ALL,
    DIT_AGREEMENT_IN_FIT,
    DIT_AGREEMENT_NOT_IN_FIT,
    DIT_AGREEMENT_PART_COUNT
} dit_agreement_part;

/* Printed values of a pair are apart when they differ by more than this share of the smaller one: nearer values are
 * often in one order on one machine and in the other on the next. */
#define DIT_AGREEMENT_APART 0.1

typedef struct {
    int points;
    double median_error, p90_error,
        worst_error;                /* of |predicted / printed - 1|, 90 % by nearest rank; 0 without points */
    int pairs, ordered;             /* pairs of methods in one panel; those that are predicted in the printed order */
    int pairs_apart, ordered_apart; /* of these, the pairs whose printed values are apart                           */
} dit_agreement;

/* Judges `count` points. A pair whose printed values differ by no more than their rounding together, or that is one
 * method twice, is not judged; equal predictions are no order. Errors: DIT_ERR_MEMORY. */
dit_status dit_agreement_judge(const dit_agreement_point *points, int count, dit_agreement_part part,
                               dit_agreement *out);

#endif
