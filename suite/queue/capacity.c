#include "suite/queue/capacity.h"

/* Loads that are tried first, from the top: with batches the latency may fall before it rises, so that the highest rate
 * within the bound is looked for from above. */
static const double loads[] = {0.99, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001};
enum { SEARCH_REQUESTS = 400000 };
static const double nearness = 0.005; /* of the two ends of the bisection, relative */

static dit_status try_rate(const suite_queue *queue, const suite_queue_ask *ask, double rate, double bound_s,
                           suite_capacity *out, bool *within)
{
    suite_queue_ask one = *ask;
    one.rate = rate;
    one.bound_s = bound_s;
    if (bound_s > 0 && (!one.requests || one.requests > SEARCH_REQUESTS)) one.requests = SEARCH_REQUESTS;
    out->runs++;
    DIT_TRY(suite_queue_simulate(queue, &one, &out->run));
    *within = out->run.outcome == SUITE_QUEUE_STABLE && out->run.wanted.value <= ask->bound_s;
    return DIT_OK;
}

/* Finds the first load from the top that is within the bound; *low stays 0 where none is. */
static dit_status bracket(const suite_queue *queue, const suite_queue_ask *ask, double most, double *low, double *high,
                          suite_capacity *out)
{
    *low = 0;
    *high = most;
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        bool within;
        DIT_TRY(try_rate(queue, ask, loads[i] * most, ask->bound_s, out, &within));
        if (within) {
            *low = loads[i] * most;
            return DIT_OK;
        }
        *high = loads[i] * most;
    }
    return DIT_OK;
}

/* Short runs found `first`. A sure one may miss the bound there, by little: then lower rates are tried, by a short run
 * each, so that those which miss it by far cost little. */
static dit_status settle(const suite_queue *queue, const suite_queue_ask *ask, double first, double least,
                         suite_capacity *out)
{
    bool within = true;
    for (double rate = first; rate >= least; rate *= 1 - nearness) {
        if (rate < first) DIT_TRY(try_rate(queue, ask, rate, ask->bound_s, out, &within));
        if (within) DIT_TRY(try_rate(queue, ask, rate, 0, out, &within));
        if (within) {
            out->outcome = SUITE_CAPACITY_FOUND;
            out->rate = rate;
            return DIT_OK;
        }
        out->too_much = rate;
    }
    return DIT_OK;
}

dit_status suite_queue_capacity(const suite_queue *queue, const suite_queue_ask *ask, suite_capacity *out)
{
    double low, high, most, least;
    bool within;
    *out = (suite_capacity){.outcome = SUITE_CAPACITY_NONE};
    if (!(ask->bound_s > 0)) return DIT_FAIL(DIT_ERR_USAGE, "a capacity needs a bound above 0 s");
    DIT_TRY(suite_queue_check(queue));
    most = suite_queue_most(queue);
    least = loads[sizeof loads / sizeof *loads - 1] * most;
    DIT_TRY(bracket(queue, ask, most, &low, &high, out));
    while (low > 0 && high > low * (1 + nearness)) {
        double middle = (low + high) / 2;
        DIT_TRY(try_rate(queue, ask, middle, ask->bound_s, out, &within));
        *(within ? &low : &high) = middle;
    }
    out->too_much = high;
    return low > 0 ? settle(queue, ask, low, least, out) : DIT_OK;
}
