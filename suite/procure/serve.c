#include "suite/procure/serve.h"

#include "base/list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double all_alike[] = {1};

/* One class; the group must outlive the queue. `seconds` holds the service's times. */
static suite_queue queue_of(const suite_procure_request *request, const suite_service *service,
                            double seconds[SUITE_BATCH_MOST], suite_queue_group *group)
{
    const suite_batch_shape *batch = service->batch;
    suite_queue queue = {.groups = group, .group_count = 1, .batch_most = batch ? batch->most : 1};
    for (int i = 0; i < queue.batch_most; i++) seconds[i] = service->seconds * (batch ? batch->times[i] : 1);
    *group = (suite_queue_group){.replicas = service->replicas, .seconds = seconds};
    if (request) queue.arrivals = request->arrivals;
    queue.arrivals.weights = all_alike;
    queue.arrivals.class_count = 1;
    return queue;
}

dit_status suite_serve_capacity(const suite_procure_request *request, double bound_s, const suite_service *service,
                                int requests, suite_capacity *out)
{
    suite_queue_group group;
    double seconds[SUITE_BATCH_MOST];
    const suite_queue queue = queue_of(request, service, seconds, &group);
    const suite_queue_ask ask = {
        .quantile = request->slo.quantile, .precision = 0.01, .requests = requests, .bound_s = bound_s};
    *out = (suite_capacity){.outcome = SUITE_CAPACITY_NONE};
    if (service->seconds > bound_s) return DIT_OK; /* nobody could be served in time */
    return suite_queue_capacity(&queue, &ask, out);
}

dit_status suite_serve_at(const suite_procure_request *request, double rate, double bound_s,
                          const suite_service *service, int requests, suite_queue_run *out)
{
    suite_queue_group group;
    double seconds[SUITE_BATCH_MOST];
    const suite_queue queue = queue_of(request, service, seconds, &group);
    const suite_queue_ask ask = {
        .rate = rate, .quantile = request->slo.quantile, .precision = 0.01, .requests = requests, .bound_s = bound_s};
    return suite_queue_simulate(&queue, &ask, out);
}

dit_status suite_serve_offline(const suite_service *service, int size, double *out)
{
    suite_queue_group group;
    suite_offline done;
    double seconds[SUITE_BATCH_MOST];
    suite_batch_shape batch = {.most = 1, .times = {1}};
    if (service->batch) batch = *service->batch;
    batch.most = size;
    const suite_service served = {service->seconds, service->replicas, &batch};
    const suite_queue queue = queue_of(NULL, &served, seconds, &group);
    DIT_TRY(suite_offline_of(&queue, SUITE_OFFLINE_REQUESTS, &done));
    *out = done.seconds / SUITE_OFFLINE_REQUESTS;
    return DIT_OK;
}

/* ---- what is kept of it ---------------------------------------------------------------------------------------------- */

/* How often the service time goes into the bound; without batches busy shares lie between 0 and 1 over all of it. */
static const double steps[SUITE_LOAD_STEPS] = {1,   1.01, 1.03, 1.06, 1.1, 1.16, 1.25, 1.4, 1.6,
                                               1.9, 2.4,  3.2,  4.5,  7,   12,   25,   60,  200};

void suite_loads_release(suite_loads *loads)
{
    free(loads->curves);
    *loads = (suite_loads){.count = 0};
}

/* No batches are batches of one. */
static suite_batch_shape shape_of(const suite_service *service)
{
    suite_batch_shape shape = {.most = 1, .times = {1}};
    for (int i = 0; service->batch && i < service->batch->most; i++) shape.times[i] = service->batch->times[i];
    if (service->batch) shape.most = service->batch->most;
    return shape;
}

static bool is_of(const suite_load_curve *curve, const suite_service *service, const suite_batch_shape *shape)
{
    return curve->replicas == service->replicas && curve->batch.most == shape->most &&
           memcmp(curve->batch.times, shape->times, (size_t)shape->most * sizeof *shape->times) == 0;
}

static dit_status curve_of(suite_loads *loads, const suite_service *service, suite_load_curve **out)
{
    const suite_batch_shape shape = shape_of(service);
    for (int i = 0; i < loads->count; i++) {
        *out = &loads->curves[i];
        if (is_of(*out, service, &shape)) return DIT_OK;
    }
    DIT_TRY(dit_list_grow((void **)&loads->curves, loads->count, sizeof *loads->curves));
    *out = &loads->curves[loads->count++];
    (*out)->replicas = service->replicas;
    (*out)->batch = shape;
    for (int i = 0; i < SUITE_LOAD_STEPS; i++) (*out)->busy[i] = NAN;
    return DIT_OK;
}

static dit_status look(const suite_procure_request *request, suite_load_curve *curve, int step)
{
    const suite_service unit = {1, curve->replicas, &curve->batch};
    suite_capacity found;
    if (!isnan(curve->busy[step])) return DIT_OK;
    DIT_TRY(suite_serve_capacity(request, steps[step], &unit, SUITE_SERVE_LOOK, &found));
    curve->busy[step] = found.outcome == SUITE_CAPACITY_FOUND ? found.rate / curve->replicas : 0;
    return DIT_OK;
}

dit_status suite_serve_rate(const suite_procure_request *request, suite_loads *loads, double bound_s,
                            const suite_service *service, double *rate)
{
    double ratio = fmin(bound_s / service->seconds, steps[SUITE_LOAD_STEPS - 1]);
    suite_load_curve *curve;
    int above = 1;
    *rate = 0;
    if (!(ratio >= 1)) return DIT_OK;
    DIT_TRY(curve_of(loads, service, &curve));
    while (above < SUITE_LOAD_STEPS - 1 && steps[above] < ratio) above++;
    DIT_TRY(look(request, curve, above - 1));
    DIT_TRY(look(request, curve, above));
    double part = log(ratio / steps[above - 1]) / log(steps[above] / steps[above - 1]);
    double busy = curve->busy[above - 1] + part * (curve->busy[above] - curve->busy[above - 1]);
    *rate = busy * service->replicas / service->seconds;
    return DIT_OK;
}
