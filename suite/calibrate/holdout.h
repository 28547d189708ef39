/* Holdout: how wrong predictions are for a machine, or a model, that the calibration has never seen.
 *
 * A plan is fitted again without the points of one group, all points of that group are predicted, those that no plan
 * fits on too, and this is done for every group: each accelerator with its hosts and links, and each model. Stages that
 * a group has no part in keep their values. The errors are those that a prediction of something new has to expect;
 * those of a fit are too small. Beside them are the errors of the points outside the fit, on machines inside it.
 * Every error has its class (point_class.h) and its set: points of one source, machine and model err together.
 * Source: leave-one-group-out cross-validation; Roberts et al., Ecography 40 (2017).
 */
#ifndef DIT_SUITE_CALIBRATE_HOLDOUT_H
#define DIT_SUITE_CALIBRATE_HOLDOUT_H

#include "suite/calibrate/calibrate.h"

/* Makes the document of results/schema/holdout.schema.json, which belongs to the caller. `by` is "machine", "model" or
 * NULL for both. params->base must be a fit of this plan; params->stage must be NULL. Equal input gives equal bytes.
 * Errors: those of suite_calibrate_fit; DIT_ERR_USAGE for another `by`; DIT_ERR_NOT_FOUND if the base is a fit of
 * another plan. */
dit_status suite_calibrate_holdout(const suite_calibrate_params *params, const char *by, cJSON **out);

/* Finds holdout.json beside the calibration `calibration`. Errors: DIT_ERR_IO for a path that is too long. */
dit_status suite_holdout_path(const char *calibration, char out[SUITE_PATH]);

#endif
