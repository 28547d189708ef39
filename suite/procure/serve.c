#include "suite/procure/serve.h"

#include "base/list.h"

#include <math.h>
#include <stdlib.h>

static const double all_alike[] = {1};

/* One class, and replicas that take one request at a time. */
static suite_queue queue_of(const suite_procure_request *request, const suite_queue_group *group)
{
    suite_queue queue = {.groups = group, .group_count = 1, .batch_most = 1, .arrivals = request->arrivals};
    queue.arrivals.weights = all_alike;
    queue.arrivals.class_count = 1;
    return queue;
}

dit_status suite_serve_capacity(const suite_procure_request *request, double bound_s, double seconds, int replicas,
                                int requests, suite_capacity *out)
{
    const suite_queue_group group = {.replicas = replicas, .seconds = &seconds};
    const suite_queue queue = queue_of(request, &group);
    const suite_queue_ask ask = {
        .quantile = request->slo.quantile, .precision = 0.01, .requests = requests, .bound_s = bound_s};
    *out = (suite_capacity){.outcome = SUITE_CAPACITY_NONE};
    if (seconds > bound_s) return DIT_OK; /* nobody could be served in time */
    return suite_queue_capacity(&queue, &ask, out);
}

dit_status suite_serve_at(const suite_procure_request *request, double rate, double bound_s, double seconds,
                          int replicas, int requests, suite_queue_run *out)
{
    const suite_queue_group group = {.replicas = replicas, .seconds = &seconds};
    const suite_queue queue = queue_of(request, &group);
    const suite_queue_ask ask = {
        .rate = rate, .quantile = request->slo.quantile, .precision = 0.01, .requests = requests, .bound_s = bound_s};
    return suite_queue_simulate(&queue, &ask, out);
}

dit_status suite_serve_offline(double seconds, int replicas, double *out)
{
    const suite_queue_group group = {.replicas = replicas, .seconds = &seconds};
    const suite_queue queue = {
        .groups = &group, .group_count = 1, .batch_most = 1, .arrivals = {.weights = all_alike, .class_count = 1}};
    suite_offline done;
    DIT_TRY(suite_offline_of(&queue, SUITE_OFFLINE_REQUESTS, &done));
    *out = done.seconds / SUITE_OFFLINE_REQUESTS;
    return DIT_OK;
}

/* ---- what is kept of it ---------------------------------------------------------------------------------------------- */

/* How often the service time goes into the bound; busy shares lie between 0 and 1 over all of it. */
static const double steps[SUITE_LOAD_STEPS] = {1,   1.01, 1.03, 1.06, 1.1, 1.16, 1.25, 1.4, 1.6,
                                               1.9, 2.4,  3.2,  4.5,  7,   12,   25,   60,  200};

void suite_loads_release(suite_loads *loads)
{
    free(loads->curves);
    *loads = (suite_loads){.count = 0};
}

static dit_status curve_of(suite_loads *loads, int replicas, suite_load_curve **out)
{
    for (int i = 0; i < loads->count; i++) {
        *out = &loads->curves[i];
        if (loads->curves[i].replicas == replicas) return DIT_OK;
    }
    DIT_TRY(dit_list_grow((void **)&loads->curves, loads->count, sizeof *loads->curves));
    *out = &loads->curves[loads->count++];
    (*out)->replicas = replicas;
    for (int i = 0; i < SUITE_LOAD_STEPS; i++) (*out)->busy[i] = NAN;
    return DIT_OK;
}

static dit_status look(const suite_procure_request *request, suite_load_curve *curve, int step)
{
    suite_capacity found;
    if (!isnan(curve->busy[step])) return DIT_OK;
    DIT_TRY(suite_serve_capacity(request, steps[step], 1, curve->replicas, SUITE_SERVE_LOOK, &found));
    curve->busy[step] = found.outcome == SUITE_CAPACITY_FOUND ? found.rate / curve->replicas : 0;
    return DIT_OK;
}

dit_status suite_serve_rate(const suite_procure_request *request, suite_loads *loads, double bound_s, double seconds,
                            int replicas, double *rate)
{
    double ratio = fmin(bound_s / seconds, steps[SUITE_LOAD_STEPS - 1]);
    suite_load_curve *curve;
    int above = 1;
    *rate = 0;
    if (!(ratio >= 1)) return DIT_OK;
    DIT_TRY(curve_of(loads, replicas, &curve));
    while (above < SUITE_LOAD_STEPS - 1 && steps[above] < ratio) above++;
    DIT_TRY(look(request, curve, above - 1));
    DIT_TRY(look(request, curve, above));
    double part = log(ratio / steps[above - 1]) / log(steps[above] / steps[above - 1]);
    double busy = curve->busy[above - 1] + part * (curve->busy[above] - curve->busy[above - 1]);
    *rate = busy * replicas / seconds;
    return DIT_OK;
}
