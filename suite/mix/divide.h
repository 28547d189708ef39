/* Divide: how a machine is cut into groups of devices, and which class of requests goes to which, so that it bears most
 * while every class is in time.
 *
 * Three ways are compared: one mesh over all devices; replicas that are all alike; groups of several sizes with a rule which
 * class goes where. Every partition into powers of two and every rule is looked at, those first that could bear most; a
 * rule that could not bear what the best one bears, waiting left out, is not simulated.
 */
#ifndef DIT_SUITE_MIX_DIVIDE_H
#define DIT_SUITE_MIX_DIVIDE_H

#include "suite/mix/traffic.h"
#include "suite/queue/assignment.h"
#include "suite/queue/queue.h"

/* Seconds of a request of each class on 2^d devices; NAN: it does not run there. */
typedef struct {
    double seconds[SUITE_TRAFFIC_CLASSES][SUITE_PARTITION_DEGREES];
} suite_mix_times;

typedef struct {
    bool there; /* it serves every class in time at some rate     */
    suite_partition partition;
    unsigned routes[SUITE_TRAFFIC_CLASSES]; /* bit d: the class may go to groups of 2^d devices */
    double rate;                            /* requests a second, of all classes             */
    suite_queue_run run;                    /* at that rate                                   */
} suite_division;

typedef struct {
    suite_division one, equal, groups; /* groups: the best of all, the other two among them */
    int looked_at, simulated;          /* rules; simulated: found to need the queue */
} suite_divided;

/* Divides. Errors: those of suite_queue_simulate and suite_partitions_of. */
dit_status suite_divide(const suite_traffic *traffic, const suite_mix_times *times, int devices, suite_divided *out);

/* Finds the rate of a division at other times. Errors: those of suite_queue_simulate. */
dit_status suite_divide_rate(const suite_traffic *traffic, const suite_mix_times *times, const suite_division *division,
                             double *rate);

/* Writes "2 x 1 + 1 x 4". */
void suite_division_text(const suite_division *division, char out[64]);

#endif
