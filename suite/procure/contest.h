/* Contest: ranks the splits of a procured answer, and says of pairs which is better, as far as that may be said. */
#ifndef DIT_SUITE_PROCURE_CONTEST_H
#define DIT_SUITE_PROCURE_CONTEST_H

#include "suite/procure/split.h"

enum { SUITE_CONTEST_DRAWS = 2000, SUITE_CONTEST_SEED = 20261123 };

/* What the goal makes least of a split: seconds, or money for 1,000 images; 0 where it is not known. */
double suite_contest_score(const suite_procure_request *request, const suite_split *split);
/* Sorts the splits, ranks those that have a score and an interval, judges all pairs of them, and says whether verdicts
 * may be given. Errors: DIT_ERR_MEMORY. */
dit_status suite_contest_run(const suite_procure_request *request, suite_procured *out);

#endif
