/* Trials: what the decision rules say of times whose truth is known, how often they are wrong and how often they find.
 *
 * A trial makes up times (noise.h), hands them to the functions that judge real ones (suite/compare/), and counts the
 * verdict. Pairs go through suite_comparison_make look by look, as `ditbench ab` does it; nights go through
 * suite_series_sticks_out with a rerun, series through suite_series_changes.
 */
#ifndef DIT_SUITE_SELFTEST_TRIALS_H
#define DIT_SUITE_SELFTEST_TRIALS_H

#include "suite/compare/ratio.h"
#include "suite/selftest/noise.h"

enum { SUITE_TRIAL_PROCESSES = 10, SUITE_TRIAL_CASES = 20 };
enum { SUITE_NIGHTS_BEFORE = 30, SUITE_NIGHTS = 20, SUITE_NIGHTS_SOON = 3, SUITE_CHANGE_NEAR = 2 };

/* In which order the processes of both sides run. */
typedef enum {
    SUITE_TRIAL_PAIRS,    /* back to back in random order, `ditbench ab`                          */
    SUITE_TRIAL_IN_TURN,  /* all of the old side, then all of the new one, 7 each                 */
    SUITE_TRIAL_SESSIONS, /* two sessions of SUITE_TRIAL_PROCESSES, the drift lies between them   */
} suite_trial_order;

/* What two sides are in truth. */
typedef struct {
    suite_trial_order order;
    double change;       /* share by which new is slower                            */
    int most;            /* pairs; SUITE_LOOKS_FIRST: one look; 0: SUITE_LOOKS_MOST */
    int cases;           /* that are judged together, to SUITE_TRIAL_CASES; 0: one  */
    double margin;       /* 0: the usual one                                        */
    bool drifts, spoilt; /* whether the noise's drift and its outliers are there    */
    double stay;         /* neighbours stay so many times as long as the noise says; 0: there are none            */
    bool rhythm;         /* neighbours keep one */
    bool seen;           /* what they use of the cores is known, and processes beside which it is much do not count */
} suite_trial_sides;

/* What the rule said. */
typedef struct {
    int verdicts[SUITE_VERDICT_COUNT]; /* cases with the verdict                    */
    double pairs;                      /* processes of a side, on average of cases; those that do not count, too */
    bool apart;                        /* an interval does not hold 1, whatever the rules say */
} suite_trial_said;

/* Judges one made-up pair of sides. Errors: DIT_ERR_MEMORY. */
dit_status suite_trial_compare(const suite_noise *noise, const suite_trial_sides *sides, suite_draws *draws,
                               suite_trial_said *out);

/* Lives through SUITE_NIGHTS_BEFORE clean nights and then SUITE_NIGHTS that are slower by `shift`; a value that sticks
 * out stays out of the history. `confirm`: an alarm needs a rerun on the same side. Returns how many alarms there were;
 * *first is the night of the first one, from 1, 0 without. */
int suite_trial_nights(const suite_noise *noise, double shift, bool confirm, suite_draws *draws, int *first);

/* Searches a series of 60 values, the newer half slower by `shift`, for changes. *found: how many; *near: one of them
 * is within SUITE_CHANGE_NEAR of the true place. Errors: DIT_ERR_MEMORY. */
dit_status suite_trial_series(const suite_noise *noise, double shift, suite_draws *draws, int *found, bool *near);

#endif
