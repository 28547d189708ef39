/* Expand: multiplies a workload's matrix out into fully resolved cases, and runs nothing. */
#ifndef DIT_SUITE_WORKLOAD_EXPAND_H
#define DIT_SUITE_WORKLOAD_EXPAND_H

#include "suite/workload/workload.h"

/* Fills the members cases, dropped and merged_count of a checked workload. */
dit_status suite_expand(suite_workload *workload);

#endif
