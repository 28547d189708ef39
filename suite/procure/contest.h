/* Contest: ranks the splits of a procured answer, and says of pairs which is better, as far as that may be said. */
#ifndef DIT_SUITE_PROCURE_CONTEST_H
#define DIT_SUITE_PROCURE_CONTEST_H

#include "suite/procure/split.h"

enum { SUITE_CONTEST_DRAWS = 2000, SUITE_CONTEST_SEED = 20261123 };

/* What the goal makes least of a split: seconds, or money for 1,000 images; 0 where it is not known. */
double suite_contest_score(const suite_procure_request *request, const suite_split *split);
/* Whether it has a score and an interval. */
bool suite_contest_enters(const suite_procure_request *request, const suite_split *split);
/* By how much, as a logarithm, the score grows when the truth is exp(error) times the predicted time. Where requests wait,
 * a machine near its bound loses more than in proportion. Errors: those of suite_serve_rate. */
dit_status suite_contest_growth(const suite_procure_request *request, suite_loads *loads, const suite_split *split,
                                double error, double *out);
/* Judges two splits that enter; out->p_first is of `a`. Errors: DIT_ERR_MEMORY; those of suite_serve_rate. */
dit_status suite_contest_pair(const suite_procure_request *request, suite_loads *loads, const suite_split *a,
                              const suite_split *b, suite_pair *out);
/* Sorts the splits, ranks those that have a score and an interval, judges all pairs of them, and says whether verdicts
 * may be given. Errors: DIT_ERR_MEMORY. */
dit_status suite_contest_run(const suite_procure_request *request, suite_procured *out);

#endif
