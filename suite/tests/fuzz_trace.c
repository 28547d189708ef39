/* Fuzz target of written arrivals. Run by ci/fuzz.sh. Beyond not crashing: what is refused says why, and what is read is
 * in order and can be served. */
#include "suite/queue/queue.h"

#include <stdlib.h>

static const char *const names[] = {"picture", "clip", NULL};

static void check(bool good)
{
    if (!good) abort();
}

static void check_trace(const suite_trace *trace)
{
    static const double seconds[] = {1, 3};
    const suite_queue_group group = {.replicas = 2, .seconds = seconds};
    const suite_queue queue = {.groups = &group,
                               .group_count = 1,
                               .batch_most = 1,
                               .arrivals = {.law = SUITE_ARRIVALS_TRACE, .trace = trace, .class_count = 2}};
    const suite_queue_ask ask = {.quantile = 0.95, .precision = 0.01};
    suite_queue_run run;
    for (int i = 0; i < trace->count; i++) {
        check(trace->classes[i] >= 0 && trace->classes[i] < 2);
        check(!i || trace->seconds[i] >= trace->seconds[i - 1]);
    }
    check(suite_queue_simulate(&queue, &ask, &run) == DIT_OK);
    check(run.latency.value >= 1 - 1e-3);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    suite_trace trace;
    dit_error_clear();
    if (suite_trace_parse((const char *)data, size, "fuzz.csv", names, &trace) == DIT_OK)
        check_trace(&trace);
    else
        check(dit_error_last()->message[0] != '\0' && !trace.seconds);
    suite_trace_release(&trace);
    return 0;
}
