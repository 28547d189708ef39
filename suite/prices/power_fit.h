/* Power fit: fits idle and slope of accelerators on published runs that tell both time and mean power, and says how
 * wrong the fit is of models that it has not seen.
 */
#ifndef DIT_SUITE_PRICES_POWER_FIT_H
#define DIT_SUITE_PRICES_POWER_FIT_H

#include "base/status.h"

/* Errors are relative, |fitted / published - 1|, over runs; percentiles by nearest rank. */
typedef struct {
    char accelerator[64];
    int points, models;             /* a model: a name at one size, number of frames and of steps */
    double idle_w, slope_w;         /* by least squares over all runs                             */
    double fit_median, fit_p90;     /* errors of the runs that it was fitted on                   */
    double error_median, error_p90; /* each model left out once                                   */
    double limit_median, limit_p90; /* power limit over what was drawn; 0: the limit is not known */
} suite_power_fit;

/* Fits every accelerator that a file of published numbers has at least two models of. The busy share of a run is its
 * rate per device over the best rate of that model on one such device, both published. `path` NULL: the shipped
 * results/published/mlenergy.json. The caller frees *out. Errors: DIT_ERR_IO, DIT_ERR_JSON_*, DIT_ERR_MEMORY. */
dit_status suite_power_fit_published(const char *path, suite_power_fit **out, int *count);

#endif
