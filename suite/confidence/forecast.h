/* Forecast: a simulated time with the interval in which the truth lies, as far as held-out errors tell.
 */
#ifndef DIT_SUITE_CONFIDENCE_FORECAST_H
#define DIT_SUITE_CONFIDENCE_FORECAST_H

#include "base/parallel.h"
#include "suite/confidence/interval.h"

/* What forecasts rest on. release accepts a zeroed one. */
typedef struct {
    suite_held_out held;
    double level;                 /* of intervals, 0.9 */
    bool extrapolate;             /* outside what was checked, too */
    suite_error_sample **samples; /* [sample_count] of the classes that spoke so far, each once; owned */
    int sample_count;
} suite_forecaster;

/* Reads the held-out errors; `path` NULL: holdout.json beside the default calibration. Errors: those of held_out.h. */
dit_status suite_forecaster_open(const char *path, double level, bool extrapolate, suite_forecaster *out);
void suite_forecaster_release(suite_forecaster *forecaster);

/* What was simulated. */
typedef struct {
    const char *accelerator, *profile;
    const dit_parallel *parallel; /* of one replica */
    const cJSON *document;        /* the case       */
    int devices, node_devices;    /* of one replica; of a node of its machine */
    double seconds;
} suite_forecast_request;

typedef struct {
    double seconds, low, high; /* low, high: 0 without an interval */
    bool has_interval;
    suite_interval interval;
    const suite_error_sample
        *sample;   /* the errors of the class that spoke, the forecaster's; NULL without an interval */
    char why[300]; /* why there is no interval; "" where there is one */
} suite_forecast;

/* Puts an interval around a time. That there is none is no error. Errors: DIT_ERR_NOT_FOUND, DIT_ERR_JSON_* of
 * accelerator, profile or case; DIT_ERR_MEMORY. */
dit_status suite_forecast_of(suite_forecaster *forecaster, const suite_forecast_request *request, suite_forecast *out);
/* Returns the share of the held-out errors, every group weighing alike, with which the truth is at most `most_s`
 * seconds; NAN without an interval. */
double suite_forecast_share_within(const suite_forecast *forecast, double most_s);

#endif
