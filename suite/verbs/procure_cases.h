/* Procure cases: what `procure` chose, as a workload of cases that `run` simulates, journals, resumes, verifies and reports.
 */
#ifndef DIT_SUITE_VERBS_PROCURE_CASES_H
#define DIT_SUITE_VERBS_PROCURE_CASES_H

#include "suite/procure/split.h"

/* Writes FOLDER/workload.json: a cell for each exact split that has a mesh, and for what it does without tuning. Its cases
 * have the ids that the answer names. Nothing without such a split. Errors: DIT_ERR_IO, DIT_ERR_MEMORY. */
dit_status procure_cases_write(const suite_procure_request *request, const suite_procured *procured,
                               const char *folder);

#endif
