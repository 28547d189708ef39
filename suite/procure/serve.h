/* Serve: how much load replicas bear: requests that arrive by chance, with a quantile of the latency within a bound, or
 * requests that are all there at the start.
 */
#ifndef DIT_SUITE_PROCURE_SERVE_H
#define DIT_SUITE_PROCURE_SERVE_H

#include "suite/procure/split.h"

enum { SUITE_SERVE_LOOK = 60000, SUITE_SERVE_SURE = 1600000 };

/* Finds the highest rate of `replicas` that take `seconds` a request each, one at a time, by runs of at most `requests`
 * (SUITE_SERVE_LOOK to choose by, SUITE_SERVE_SURE to report). The question's slo has the quantile, its arrivals the law.
 * Errors: those of suite_queue_capacity. */
dit_status suite_serve_capacity(const suite_procure_request *request, double bound_s, double seconds, int replicas,
                                int requests, suite_capacity *out);

/* Finds in how many seconds `replicas` serve a request on average, of SUITE_OFFLINE_REQUESTS that are there at the start.
 * Errors: those of suite_offline_of. */
dit_status suite_serve_offline(double seconds, int replicas, double *out);

#endif
