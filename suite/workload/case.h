/* Case: makes the documents of one resolved cell of the matrix. Private to expansion, except for
 * suite_workload_trace. */
#ifndef DIT_SUITE_WORKLOAD_CASE_H
#define DIT_SUITE_WORKLOAD_CASE_H

#include "suite/workload/matrix.h"
#include "suite/workload/workload.h"

/* Makes the part of the case document (results/schema/case.md) that says what is computed; suite_case_placement adds
 * the rest. Configs are references into the matrix. */
dit_status suite_case_document(const suite_workload *workload, const suite_cell *cell, cJSON **out);
/* Adds how, where and how often it is computed; the mesh of the cell must be known. */
dit_status suite_case_placement(const suite_workload *workload, const suite_cell *cell, cJSON *document);
/* Makes the flat tags of a cell whose facts are known. */
dit_status suite_case_tags(const suite_cell *cell, cJSON **out);
/* Fills label, ids, world size and predictions of a case that has its document and tags. */
dit_status suite_case_finish(const suite_workload *workload, const suite_cell *cell, suite_case *out);
/* Estimates the peak bytes of a rank by memory class. The cell's program has an estimate. */
void suite_cell_memory(const suite_cell *cell, int64_t bytes[4]);
/* Asks every case for a timeline, as "measure": {"trace": true} does; case ids change with it. Errors:
 * DIT_ERR_MEMORY. */
dit_status suite_workload_trace(suite_workload *workload);

#endif
