/* Plots: reads the parts of a workload that are about its results: filters ("exclude", "constraints"), "plots", the
 * points of "published", the claims of "expect", and the rules of "gate". Syntax is checked here, names against the cells in names.h. */
#ifndef DIT_SUITE_WORKLOAD_PLOTS_H
#define DIT_SUITE_WORKLOAD_PLOTS_H

#include "suite/workload/workload.h"

/* Errors: DIT_ERR_JSON_*, DIT_ERR_EXPRESSION, DIT_ERR_WORKLOAD at the entry; DIT_ERR_IO for a file of points that
 * cannot be read. */
dit_status suite_plots_read(suite_workload *workload);

#endif
