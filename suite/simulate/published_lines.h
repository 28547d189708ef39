/* Published lines: makes journal lines of the published numbers that a workload wants beside its results.
 *
 * A line has the tags that a case of its run would have, so that a figure can place it. If the session has a case that
 * equals the point, the line names it. Times are of whole images or clips, whatever the source prints.
 */
#ifndef DIT_SUITE_SIMULATE_PUBLISHED_LINES_H
#define DIT_SUITE_SIMULATE_PUBLISHED_LINES_H

#include "suite/platform/calibration.h"
#include "suite/workload/workload.h"

/* *out: an array of lines (results/schema/journal.md) without "kind", in the order of the workload's
 * selections and of the files; points that do not say enough to be placed have none. NULL where the workload selects
 * nothing. The caller deletes it. Errors: DIT_ERR_IO or DIT_ERR_JSON_* of the files, DIT_ERR_EXPRESSION with the place
 * in the workload, DIT_ERR_MEMORY. */
dit_status suite_published_lines(const suite_workload *workload, const suite_calibration *calibration, cJSON **out);

#endif
