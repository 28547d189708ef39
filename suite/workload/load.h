/* Load: reads a workload from its file, checks it strictly, and expands its cases. */
#ifndef DIT_SUITE_WORKLOAD_LOAD_H
#define DIT_SUITE_WORKLOAD_LOAD_H

#include "suite/text.h"
#include "suite/workload/workload.h"

/* Parses and expands. `path` is a file, or a name looked up under the workloads folder ("smoke", "cpu/methods").
 * Case documents live as long as the workload: copy (cJSON_Duplicate) what should outlive it.
 * Errors: DIT_ERR_NOT_FOUND, DIT_ERR_IO, DIT_ERR_JSON_*, DIT_ERR_WORKLOAD, DIT_ERR_EXPRESSION with PATH:LINE:COLUMN.
 */
dit_status suite_workload_load(const char *path, suite_workload *out);
/* Loads a workload with values of the command line laid over its file (suite/workload/settings.h). The hash covers the
 * result. */
dit_status suite_workload_load_set(const char *path, const suite_strings *settings, suite_workload *out);
/* Loads a workload from a text in memory; messages call it `path`. */
dit_status suite_workload_parse(const char *text, size_t length, const char *path, suite_workload *out);

#endif
