/* Judged points: all published times of a plan's files that a prediction can be held against, in the fit or not, and
 * what each of them is of.
 */
#ifndef DIT_SUITE_CALIBRATE_JUDGED_POINTS_H
#define DIT_SUITE_CALIBRATE_JUDGED_POINTS_H

#include "base/json_writer.h"
#include "suite/calibrate/calibrate_run.h"

/* release accepts a zeroed one. Pointers lie in the plan. */
typedef struct {
    suite_planned_point *planned;
    suite_fitted_point *points;
    char (*accelerators)[64];
    double *predicted; /* in the unit that was printed; NAN where a prediction failed; the caller's to fill */
    double *sizes;     /* room for as many sizes of errors */
    int count;
} suite_judged_points;

/* Gathers the points that say their mesh, and that somebody believes. Errors: DIT_ERR_MEMORY, and those of data
 * files. */
dit_status suite_judged_points_gather(const suite_calibration_plan *plan, suite_judged_points *out);
void suite_judged_points_release(suite_judged_points *judged);

/* What a point is of when models are compared: a layer of attention has none. */
const char *suite_judged_model(const suite_planned_point *planned);
/* Returns |predicted / published - 1| as printed, to four digits. */
double suite_judged_size(const suite_judged_points *judged, int index);
/* Returns ln(published / predicted) of times, to four digits: above 0 where the truth took longer than was said. Of a
 * printed rate it is ln(predicted / published), so that the sign means the same. */
double suite_judged_error(const suite_judged_points *judged, int index);

/* Appends every point to `list`, as results/schema/holdout.schema.json has "points". Errors: those of a case's facts;
 * failures of the writer stay in it. */
dit_status suite_judged_points_put(dit_json_writer *w, cJSON *list, const suite_judged_points *judged);

#endif
