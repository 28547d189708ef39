#include "suite/procure/serve.h"

dit_status suite_serve_capacity(const suite_procure_request *request, double bound_s, double seconds, int replicas,
                                int requests, suite_capacity *out)
{
    static const double all_alike[] = {1};
    const suite_queue_group group = {.replicas = replicas, .seconds = &seconds};
    suite_queue queue = {.groups = &group, .group_count = 1, .batch_most = 1, .arrivals = request->arrivals};
    const suite_queue_ask ask = {
        .quantile = request->slo.quantile, .precision = 0.01, .requests = requests, .bound_s = bound_s};
    queue.arrivals.weights = all_alike;
    queue.arrivals.class_count = 1;
    *out = (suite_capacity){.outcome = SUITE_CAPACITY_NONE};
    if (seconds > bound_s) return DIT_OK; /* nobody could be served in time */
    return suite_queue_capacity(&queue, &ask, out);
}

dit_status suite_serve_offline(double seconds, int replicas, double *out)
{
    static const double all_alike[] = {1};
    const suite_queue_group group = {.replicas = replicas, .seconds = &seconds};
    const suite_queue queue = {
        .groups = &group, .group_count = 1, .batch_most = 1, .arrivals = {.weights = all_alike, .class_count = 1}};
    suite_offline done;
    DIT_TRY(suite_offline_of(&queue, SUITE_OFFLINE_REQUESTS, &done));
    *out = done.seconds / SUITE_OFFLINE_REQUESTS;
    return DIT_OK;
}
