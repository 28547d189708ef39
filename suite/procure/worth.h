/* Worth: what a split costs and draws: rented by quotes, owned by a site file, within a supply of power.
 */
#ifndef DIT_SUITE_PROCURE_WORTH_H
#define DIT_SUITE_PROCURE_WORTH_H

#include "suite/procure/split.h"

/* Fills price, per_1000, power, images_per_kwh, owned, rated_w and supplied of a split that has a mesh and its images an
 * hour. That something is not known is no error. Errors: those of prices. */
dit_status suite_worth_fill(const suite_procure_request *request, suite_split *split);

#endif
