/* Names: checks the names in claims, plots and filters of a workload against what its cells have. */
#ifndef DIT_SUITE_WORKLOAD_NAMES_H
#define DIT_SUITE_WORKLOAD_NAMES_H

#include "suite/workload/workload.h"

/* Checks every expression of an expanded workload: names of tags, metrics and functions, and the values of tags that
 * are texts (a value is known when a cell has it, dropped or not; where no case is an answer too, also when the
 * catalogue has it). A workload without cases is not checked, and a workload that --set changed may
 * name values that it no longer has. Errors: DIT_ERR_EXPRESSION with
 * PATH:LINE:COLUMN and pointer, the nearest known name as hint. */
dit_status suite_names_check(const suite_workload *workload);

#endif
