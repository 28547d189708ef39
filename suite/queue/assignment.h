/* Assignment: which group of devices serves which of several requests, so that all are done soonest; and how near that
 * is to what no assignment can be under.
 *
 * A group serves its requests one after the other. Longest first is Graham's rule (SIAM Journal on Applied Mathematics
 * 17, 1969); moves and swaps that lighten the longest group follow, until none helps.
 */
#ifndef DIT_SUITE_QUEUE_ASSIGNMENT_H
#define DIT_SUITE_QUEUE_ASSIGNMENT_H

#include "suite/queue/partition.h"

#include <stdbool.h>

enum { SUITE_ASSIGNMENT_EXACT = 12, SUITE_ASSIGNMENT_REQUESTS = 10000 };

/* Requests and how long each takes on a group of 2^d devices, at seconds[request * SUITE_PARTITION_DEGREES + d]; NAN:
 * not possible. */
typedef struct {
    const double *seconds;
    int requests;
} suite_mix;

typedef struct {
    double seconds;            /* until the last request is done                                             */
    bool exact;                /* nothing is sooner with these groups: proven by search over all assignments */
    suite_partition partition; /* the groups                                                                 */
    int *group;                /* [requests] of each, in the order of suite_partition_groups                 */
} suite_assignment;

/* Assigns the requests to the groups of a partition: exactly for at most 12 of them, else by the rules above.
 * release accepts a zeroed one. Errors: DIT_ERR_USAGE for a request that no group can serve, a time that is not above
 * 0, or more than 10,000 requests; DIT_ERR_MEMORY. */
dit_status suite_assign(const suite_mix *mix, const suite_partition *partition, suite_assignment *out);
/* The same, never by search. */
dit_status suite_assign_by_rules(const suite_mix *mix, const suite_partition *partition, suite_assignment *out);
void suite_assignment_release(suite_assignment *assignment);

/* The best of all partitions of the devices, and beside it the best whose groups are all of one degree, which is what a
 * server that never changes could do at most. Where no partition into equal groups serves all requests, best_equal has
 * no groups and infinite seconds. Errors as suite_assign. The caller releases both. */
dit_status suite_assign_best(const suite_mix *mix, int devices, suite_assignment *best, suite_assignment *best_equal);

/* Returns seconds that no assignment on so many devices is under: all requests at their fewest device-seconds shared by
 * all devices, or the longest one alone at its best degree. */
double suite_assignment_bound(const suite_mix *mix, int devices);

#endif
