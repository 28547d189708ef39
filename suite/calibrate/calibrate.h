/* Calibrate: fits the values that a plan names on the published points that it names (calibration_plan.h, fit.h), by
 * simulating the points again and again, and makes the document of fitted values (ditbench.calibration/1).
 *
 * Equal plans, data files, published files and programs give equal bytes: sums are taken in the order of the plan, and
 * written values are rounded.
 */
#ifndef DIT_SUITE_CALIBRATE_CALIBRATE_H
#define DIT_SUITE_CALIBRATE_CALIBRATE_H

#include "suite/calibrate/calibrate_run.h"

/* Builds, without simulating anything, what would be fitted on which points: {"plan", "hash", "stages": [{"name",
 * "why", "parameters": [{"of", "name", "key", "prior", "least", "most", "prior_deviation"}], "points": [{"file",
 * "index", "label", "published", "why"?}]}]}. *out belongs to the caller. Errors: those of the plan, DIT_ERR_NOT_FOUND
 * for the stage. */
dit_status suite_calibrate_list(const suite_calibrate_params *params, cJSON **out);

/* Fits the plan, or one stage of it. *out, which belongs to the caller, is the calibration; for one stage it has the
 * parameters and points of that stage only.
 * Errors: as above; DIT_ERR_ENVIRONMENT without a simulator; DIT_ERR_WORKLOAD for a point whose simulation fails;
 * DIT_ERR_INTERRUPTED. */
dit_status suite_calibrate_fit(const suite_calibrate_params *params, cJSON **out);

/* Checks that the fitted values are, byte for byte, those in the file `path`: all of them, or those of one stage.
 * Errors: DIT_ERR_BYTES_MISMATCH naming the first member that differs; DIT_ERR_IO, DIT_ERR_JSON_*. */
dit_status suite_calibrate_compare(const cJSON *fitted, const char *stage, const char *path);

#endif
