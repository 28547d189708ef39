/* Baseline: the numbers that later builds are held to, as one JSON file that is kept in a repository.
 *
 * A number that repeats to the last digit (bytes, messages, flops, virtual time) stands once; a measured time stands
 * with the value of every process, and only binds on hardware that is equal to the file's. A line holds one metric of
 * one case, so that a difference of two versions reads by itself.
 */
#ifndef DIT_SUITE_COMPARE_BASELINE_H
#define DIT_SUITE_COMPARE_BASELINE_H

#include "suite/compare/side.h"

/* Reads a baseline file strictly. Errors: DIT_ERR_IO, DIT_ERR_JSON_* with file, line and place. */
dit_status suite_baseline_load(const char *path, suite_side *out);
/* Writes the side's cases. `reason`: why these numbers are the right ones now, for those who read the history of the
 * file. The file is replaced whole. Errors: DIT_ERR_IO, DIT_ERR_MEMORY. */
dit_status suite_baseline_write(const suite_side *side, const char *path, const char *reason);

#endif
