/* Calibrate run: fits the stages of a plan one after the other, by simulating their points again and again.
 *
 * A run is opened, gathers its points, fits stage after stage into `fitted`, and predicts. What is written of it is
 * calibrate.h's and holdout.h's.
 */
#ifndef DIT_SUITE_CALIBRATE_CALIBRATE_RUN_H
#define DIT_SUITE_CALIBRATE_CALIBRATE_RUN_H

#include "suite/calibrate/calibration_plan.h"
#include "suite/simulate/simulate.h"

typedef struct {
    const char *plan;  /* file; NULL: workloads/calibrations/published.json                                   */
    const char *stage; /* this one alone; what other stages fit is as `base` has it. NULL: all                */
    const char *base;  /* a calibration; NULL: the default one. Read for `stage` only                         */
    suite_simulate_params simulate;
    int at_once; /* simulations; 0: as many as there are cores */
    /* After each round of each stage (from 0: the priors), with what is least; may be NULL. */
    void (*tell)(void *context, const char *stage, int round, double objective);
    void *context;
} suite_calibrate_params;

/* A point in the fit, and what is predicted of it. */
typedef struct {
    const suite_planned_point *planned;
    const char *accelerator; /* of its machine; lies in the run                            */
    double weight;           /* points of one case have one together                       */
    double before, base;     /* seconds, without any fit; at the last call that may have changed all */
    double after;
    bool skipped;                   /* neither fitted on nor predicted             */
    bool touched[SUITE_FIT_VALUES]; /* whether a value of the stage has to do with it */
} suite_fitted_point;

/* What is worked on: stages first..last of the plan, their points one after the other. */
typedef struct {
    const suite_calibrate_params *params;
    suite_calibration_plan plan;
    suite_calibration base, fitted;
    suite_fitted_point *points;
    char (*accelerators)[64]; /* [point_count] */
    int first, last, point_count;
} suite_calibration_run;

/* Loads the plan, and finds its stages. close accepts a zeroed run. Errors: those of the plan, DIT_ERR_NOT_FOUND. */
dit_status suite_calibration_run_open(const suite_calibrate_params *params, suite_calibration_run *run);
void suite_calibration_run_close(suite_calibration_run *run);
/* Fills the points of all stages. Errors: DIT_ERR_MEMORY, and mistakes in data files. */
dit_status suite_calibration_run_gather(suite_calibration_run *run);
/* Takes the values of stages first..last over from run->base. Errors: DIT_ERR_NOT_FOUND for one that it lacks. */
dit_status suite_calibration_run_take_over(suite_calibration_run *run, int first, int last);
/* Fits stage `index` on its points (the first is points[0]) that are not skipped, without any on none: then values are
 * the priors. With `around` the search starts from run->base's values and no intervals are looked for. Leaves the
 * rounded values in run->fitted. */
dit_status suite_calibration_run_fit_stage(suite_calibration_run *run, int index, suite_fitted_point *points,
                                           bool around);
/* Predicts, in seconds, the points that are not skipped into out[point_count]; others are left. `calibration` NULL: by
 * the data files alone. */
dit_status suite_calibration_run_predict(const suite_calibration_run *run, const suite_calibration *calibration,
                                         double *out);
/* Predicts any points with a stated mesh, in or outside the plan, as above. What cannot be predicted is NAN. */
dit_status suite_calibration_run_predict_points(const suite_calibration_run *run, const suite_calibration *calibration,
                                                const suite_fitted_point *points, int count, double *out);
/* Finds the accelerator of a point's machine. Errors: those of its platform's file. */
dit_status suite_calibration_machine_of(const suite_point *point, char out[64]);
/* Whether a value says something about the machine, its links or the software of a case. */
dit_status suite_calibration_touches(const suite_calibrated *value, const suite_point_case *one, bool *out);
bool suite_calibration_same_case(const suite_point_case *a, const suite_point_case *b);

#endif
