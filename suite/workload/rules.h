/* Rules: checks what the parameters of a workload demand of each other: which ones the program reads, which exclude
 * each other, which need a simulated platform or a GPU. */
#ifndef DIT_SUITE_WORKLOAD_RULES_H
#define DIT_SUITE_WORKLOAD_RULES_H

#include "suite/workload/workload.h"

/* Call it when the matrix has its axes (axes.h). Errors: DIT_ERR_WORKLOAD, DIT_ERR_JSON_* at the parameter that breaks
 * a rule. */
dit_status suite_rules_check(const suite_workload *workload);

#endif
