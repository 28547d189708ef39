/* Offline: all requests are there at the start; how long they take together, fill and tail included.
 */
#ifndef DIT_SUITE_QUEUE_OFFLINE_H
#define DIT_SUITE_QUEUE_OFFLINE_H

#include "suite/queue/queue.h"

enum { SUITE_OFFLINE_REQUESTS = 1000 };

typedef struct {
    double seconds;    /* until the last request is done                                      */
    double rate;       /* requests in a second over that time                                 */
    double steady;     /* the same without end: every replica always busy with full batches   */
    double idle_share; /* of the running replicas' time, mostly in the tail                   */
} suite_offline;

/* Serves `requests` requests (0: 1,000) with full batches, those that take longest first, each on the replica on which
 * it ends first. Classes have their shares, rounded to whole requests by largest remainders. What depends on arrivals
 * (law, waits, jitter) means nothing. Errors: DIT_ERR_USAGE, DIT_ERR_MEMORY as suite_queue_simulate. */
dit_status suite_offline_of(const suite_queue *queue, int requests, suite_offline *out);

#endif
