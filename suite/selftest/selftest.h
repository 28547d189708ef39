/* Self-test: how often the decision rules are wrong, and how often they find, as a table with targets.
 *
 * Each row has trials of its own. A target counts as missed where the count would be so unlikely, were the true rate
 * just at the target, that chance does not explain it (0.1 %).
 */
#ifndef DIT_SUITE_SELFTEST_SELFTEST_H
#define DIT_SUITE_SELFTEST_SELFTEST_H

#include "suite/selftest/trials.h"

enum { SUITE_SELFTEST_MOST_ROWS = 32 };

typedef struct {
    uint64_t seed;
    int trials; /* of each row */
    suite_noise noise;
} suite_selftest_params;

/* What is assumed unless somebody says otherwise: 1 % between processes, 0.5 % within, 10 iterations, 5 % of processes
 * disturbed by 5 % on average, 3 % drift. */
extern const suite_noise suite_selftest_noise;

typedef struct {
    const char *name, *counted, *meaning; /* texts live as long as the program                     */
    int64_t count, chances;               /* of `chances` (trials or nights) so many were counted  */
    double per;                           /* chances that `rate` is about: 1, or 20 nights         */
    double rate, low, high;               /* per * count / chances, and its 95 % interval          */
    bool has_target, at_least;
    double target;                     /* of `rate`: at most, or at least                          */
    bool missed;                       /* chance does not explain how far the count is from it     */
    int verdicts[SUITE_VERDICT_COUNT]; /* of cases, where sides are compared; else all 0           */
    const char *effort_unit;           /* "pairs", "nights"; NULL: there is no effort              */
    double effort;                     /* pairs of a case, or nights until found, on average       */
} suite_selftest_row;

/* Runs all rows. Errors: DIT_ERR_MEMORY. */
dit_status suite_selftest_run(const suite_selftest_params *params, suite_selftest_row rows[SUITE_SELFTEST_MOST_ROWS],
                              int *count);

#endif
