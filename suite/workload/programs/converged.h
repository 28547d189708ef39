/* Converged: the reference of pictures that favours no number of steps.
 *
 * `"quality": {"reference": "converged"}` of a workload asks for it. It is a case of its own: the same noise, captions,
 * model, solver and guidance on one rank without a cache, with SUITE_CONVERGED_TIMES as many steps as the workload has
 * at most. The distance to its pictures is the error against the solution of the ODE, so that fewer steps and a cache
 * are judged alike. Cases that differ in steps, mesh or cache alone share one. Private to suite/workload.
 */
#ifndef DIT_SUITE_WORKLOAD_PROGRAMS_CONVERGED_H
#define DIT_SUITE_WORKLOAD_PROGRAMS_CONVERGED_H

#include "suite/workload/matrix.h"
#include "suite/workload/workload.h"

enum { SUITE_CONVERGED_TIMES = 8 };

/* Reads "quality"; axes and defaults are read. Errors: DIT_ERR_JSON_*; DIT_ERR_WORKLOAD where no case has prompts. */
dit_status suite_converged_read(suite_workload *workload);
/* Whether the case of a cell is to be held against a converged one: the workload asks for it, and it makes pictures. */
bool suite_converged_is_wanted(const suite_workload *workload, const suite_cell *cell);
/* Makes the cell of the reference from that of a case, whose `document` tells its scheduler. Errors:
 * DIT_ERR_UNSUPPORTED where the solver draws noise, or has no place for so many steps; DIT_ERR_JSON_MISSING. */
dit_status suite_converged_cell(const suite_workload *workload, const cJSON *document, const suite_cell *cell,
                                suite_cell *out);

#endif
