/* Axes: reads "defaults", "axes" and "zip" of a workload into its matrix, and loads the data files that their values
 * name. */
#ifndef DIT_SUITE_WORKLOAD_AXES_H
#define DIT_SUITE_WORKLOAD_AXES_H

#include "suite/workload/workload.h"

/* Call it when `workload->source` is parsed and `workload->matrix` knows the program and the scope. Errors:
 * DIT_ERR_JSON_*, DIT_ERR_NOT_FOUND at the value, DIT_ERR_WORKLOAD for a product of too many cells. */
dit_status suite_axes_read(suite_workload *workload);

#endif
