/* Capacity: the highest rate at which a quantile of the latency stays within a bound.
 *
 * Found by bisection over runs that all see equal gaps but for their scale, so that the latency grows with the rate as in
 * one experiment. While it is looked for a run has at most 400,000 requests, and where the bound is far it ends sooner.
 * The run at the rate that is reported is as sure as was asked, and within the bound: it is that at the lower end of the
 * bisection, or, where that run missed the bound, the first within it at rates that fall by 0.5 %.
 */
#ifndef DIT_SUITE_QUEUE_CAPACITY_H
#define DIT_SUITE_QUEUE_CAPACITY_H

#include "suite/queue/queue.h"

typedef enum {
    SUITE_CAPACITY_FOUND,
    SUITE_CAPACITY_NONE /* the bound is missed at any rate: the service alone takes longer, or waiting for a batch */
} suite_capacity_outcome;

typedef struct {
    suite_capacity_outcome outcome;
    double rate;         /* requests in a second; 0 of none                     */
    double too_much;     /* the least rate that was tried and missed the bound  */
    suite_queue_run run; /* at `rate`, as sure as was asked; of none at the least rate that was tried */
    int runs;            /* simulations                                         */
} suite_capacity;

/* Finds the highest rate within 0.5 %. ask->bound_s must be above 0; ask->rate means nothing. Errors: as
 * suite_queue_simulate. */
dit_status suite_queue_capacity(const suite_queue *queue, const suite_queue_ask *ask, suite_capacity *out);

#endif
