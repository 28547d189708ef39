/* Serve: how much load replicas bear: requests that arrive by chance, with a quantile of the latency within a bound, or
 * requests that are all there at the start.
 */
#ifndef DIT_SUITE_PROCURE_SERVE_H
#define DIT_SUITE_PROCURE_SERVE_H

#include "suite/procure/question.h"

enum { SUITE_SERVE_LOOK = 60000, SUITE_SERVE_SURE = 1600000, SUITE_LOAD_STEPS = 18 };

/* Which share of their time replicas may be busy, by how often the service time goes into the bound. That depends on
 * nothing else of a machine, so it is found once for each number of replicas and taken between its steps after that.
 * release accepts a zeroed one. */
typedef struct {
    int replicas;
    double busy[SUITE_LOAD_STEPS]; /* NAN: not looked for yet */
} suite_load_curve;
typedef struct {
    suite_load_curve *curves;
    int count;
} suite_loads;
void suite_loads_release(suite_loads *loads);

/* Finds about which rate, requests a second, `replicas` bear that take `seconds` a request each, one at a time: within
 * 3 % of suite_serve_capacity. 0 where the service alone takes longer than the bound. The question's slo has the
 * quantile, its arrivals the law. Errors: those of suite_queue_capacity. */
dit_status suite_serve_rate(const suite_procure_request *request, suite_loads *loads, double bound_s, double seconds,
                            int replicas, double *rate);

/* Finds the highest rate by runs of at most `requests` (SUITE_SERVE_SURE to report). Errors: as above. */
dit_status suite_serve_capacity(const suite_procure_request *request, double bound_s, double seconds, int replicas,
                                int requests, suite_capacity *out);

/* Serves `rate` requests a second. Errors: those of suite_queue_simulate. */
dit_status suite_serve_at(const suite_procure_request *request, double rate, double bound_s, double seconds,
                          int replicas, int requests, suite_queue_run *out);

/* Finds in how many seconds `replicas` serve a request on average, of SUITE_OFFLINE_REQUESTS that are there at the start.
 * Errors: those of suite_offline_of. */
dit_status suite_serve_offline(double seconds, int replicas, double *out);

#endif
