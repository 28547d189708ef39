/* Calibration plan: reads what is fitted on which published points (workloads/calibrations/NAME.json).
 *
 * Stages follow each other, and a stage keeps the values that earlier stages have fitted. A stage names its values,
 * each with bounds and with the deviation from its prior (the value in the data files) that is believed. It names its
 * points by an expression over the points of a file of results/published. Points that say too little, or that nobody
 * believes, are left out, as everywhere.
 */
#ifndef DIT_SUITE_CALIBRATE_CALIBRATION_PLAN_H
#define DIT_SUITE_CALIBRATE_CALIBRATION_PLAN_H

#include "suite/calibrate/fit.h"
#include "suite/simulate/published_points.h"

/* A value that is to be fitted; what.value is the prior. */
typedef struct {
    suite_calibrated what;
    suite_fit_value range;
} suite_planned_value;

/* A point of a stage: a published point that has a number and is understood as one case. */
typedef struct {
    const char *file, *why; /* in results/published; why: of its selection, "" without one */
    const suite_point *point;
} suite_planned_point;

typedef struct {
    const char *name, *why;
    suite_planned_value values[SUITE_FIT_VALUES];
    int value_count;
    suite_planned_point *points;
    int point_count;
    suite_fit_interval intervals[SUITE_FIT_VALUES]; /* that a fit has found; zeroed before */
} suite_planned_stage;

/* A file of results/published from which points come. */
typedef struct {
    const char *name;
    char hash[DIT_HASH_HEX];
    suite_published published;
    suite_point *points; /* all of the file, as they are understood */
    bool judged;         /* a fit without a machine or a model is held against its points */
} suite_planned_file;

/* Texts lie in the source. release accepts a zeroed plan. */
typedef struct {
    dit_json source;
    char hash[DIT_HASH_HEX];
    const char *name;
    double deviation; /* of ln(predicted / published): how much is believed in a point, as in a prior */
    double huber;     /* an error beyond which a point pulls no harder */
    int rounds;       /* of the fit of one stage, at most              */
    suite_planned_stage *stages;
    int stage_count;
    suite_planned_file files[8];
    int file_count;
    suite_published_names names;
    dit_json contradictions;
} suite_calibration_plan;

/* Reads a plan, checks it against the data files and selects its points. `path` NULL: workloads/calibrations/
 * published.json. Errors: DIT_ERR_IO, DIT_ERR_JSON_* with place, DIT_ERR_EXPRESSION, DIT_ERR_ENVIRONMENT. */
dit_status suite_calibration_plan_load(const char *path, suite_calibration_plan *out);
void suite_calibration_plan_release(suite_calibration_plan *plan);
/* Finds the index of a stage. Errors: DIT_ERR_NOT_FOUND with the nearest name as hint. */
dit_status suite_calibration_plan_stage(const suite_calibration_plan *plan, const char *name, int *out);

#endif
