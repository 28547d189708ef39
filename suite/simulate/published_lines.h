/* Published lines: the published numbers that a workload wants beside its results, as the journal keeps them.
 *
 * A line has the tags that a case of the same run would have, so that a figure can place it, and names the case of the
 * session that is the same, if there is one. Times are of whole images or clips, whatever the source prints.
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
