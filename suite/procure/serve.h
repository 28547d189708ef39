/* Serve: how much load replicas bear: requests that arrive by chance, with a quantile of the latency within a bound, or
 * requests that are all there at the start.
 */
#ifndef DIT_SUITE_PROCURE_SERVE_H
#define DIT_SUITE_PROCURE_SERVE_H

#include "suite/procure/question.h"

enum { SUITE_SERVE_LOOK = 60000, SUITE_SERVE_SURE = 1600000, SUITE_LOAD_STEPS = 18, SUITE_BATCH_MOST = 64 };

/* What a batch takes: times[b - 1] is that of b requests over that of one, not descending. */
typedef struct {
    int most; /* requests in a batch */
    double times[SUITE_BATCH_MOST];
} suite_batch_shape;

/* Replicas that are all alike. A replica that is free takes all that wait, up to batch->most; nobody waits for more. */
typedef struct {
    double seconds; /* of one request on one replica */
    int replicas;
    const suite_batch_shape *batch; /* the caller's; NULL: one at a time */
} suite_service;

/* Which share of the requests of busy replicas without batches can come, by how often the service time goes into the
 * bound. That depends on nothing else of a machine but its batches, so it is found once for each number of replicas and
 * shape of batches, and taken between its steps after that. release accepts a zeroed one. */
typedef struct {
    int replicas;
    suite_batch_shape batch;
    double busy[SUITE_LOAD_STEPS]; /* NAN: not looked for yet */
} suite_load_curve;
typedef struct {
    suite_load_curve *curves;
    int count;
} suite_loads;
void suite_loads_release(suite_loads *loads);

/* Finds about which rate, requests a second, a service bears: without batches within 3 % of suite_serve_capacity. 0 where
 * the service alone takes longer than the bound. The question's slo has the quantile, its arrivals the law. Errors: those
 * of suite_queue_capacity. */
dit_status suite_serve_rate(const suite_procure_request *request, suite_loads *loads, double bound_s,
                            const suite_service *service, double *rate);

/* Finds the highest rate by runs of at most `requests` (SUITE_SERVE_SURE to report). Errors: as above. */
dit_status suite_serve_capacity(const suite_procure_request *request, double bound_s, const suite_service *service,
                                int requests, suite_capacity *out);

/* Serves `rate` requests a second. Errors: those of suite_queue_simulate. */
dit_status suite_serve_at(const suite_procure_request *request, double rate, double bound_s,
                          const suite_service *service, int requests, suite_queue_run *out);

/* Finds in how many seconds a service serves a request on average, of SUITE_OFFLINE_REQUESTS that are there at the start,
 * in batches of `size`. Errors: those of suite_offline_of. */
dit_status suite_serve_offline(const suite_service *service, int size, double *out);

#endif
