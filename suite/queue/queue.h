/* Queue: simulates requests that wait for machines, by discrete events over predicted service times.
 *
 * One central queue, no preemption; first come first served, or by another rule (suite_queue_policy). Replicas are alike, or of several groups; a class of
 * requests goes to the groups that have a service time for it, the first free one in their order. A replica takes one
 * request, or a batch of one class: of those that are full, or whose first request has waited long enough, the one that
 * the rule puts first. Time is virtual and exact; every random number is a function of seed and request.
 */
#ifndef DIT_SUITE_QUEUE_QUEUE_H
#define DIT_SUITE_QUEUE_QUEUE_H

#include "suite/queue/arrivals.h"
#include "suite/queue/batch_means.h"

#include <stdbool.h>

enum {
    SUITE_QUEUE_GROUPS = 64,
    SUITE_QUEUE_CLASSES = 64,
    SUITE_QUEUE_BATCH = 256,
    SUITE_QUEUE_REPLICAS = 65536,
    SUITE_QUEUE_REQUESTS = 4000000 /* at most */
};

/* Replicas that are alike. */
typedef struct {
    int replicas;
    int missing;           /* of them that are down: so many fewer serve                                       */
    const double *seconds; /* [classes * batch_most] of a batch of b requests of class k, at k * batch_most +
                              b - 1; not descending in b; NAN: the group does not serve the class             */
} suite_queue_group;

/* Who is next of those that wait; within a class always who came first. */
typedef enum {
    SUITE_POLICY_FIFO, /* who came first                                                          */
    SUITE_POLICY_SJF,  /* who takes least on the replica that is free: shortest job first          */
    SUITE_POLICY_EDF,  /* whose bound ends first, arrival plus its class's bound: earliest deadline */
    SUITE_POLICY_COUNT
} suite_queue_policy;
const char *const *suite_queue_policy_names(void); /* "fifo", "sjf", "edf", NULL */

typedef enum {
    SUITE_JITTER_NONE,
    SUITE_JITTER_LOG_NORMAL, /* the mean stays; `jitter` is the coefficient of variation            */
    SUITE_JITTER_EXPONENTIAL /* for tests against closed forms: no machine is like this             */
} suite_jitter;

typedef struct {
    const suite_queue_group *groups; /* [group_count] in the order in which they are preferred */
    int group_count;
    int batch_most;      /* requests in a batch; 1: none is made                                     */
    double batch_wait_s; /* how long the first request of a batch waits for more                     */
    suite_queue_policy policy;
    const double *bounds_s; /* [classes] of policy edf: how long after its arrival a request should be done */
    suite_arrivals arrivals;
    suite_jitter jitter_law;
    double jitter;
} suite_queue;

/* What is wanted of a run. */
typedef struct {
    double rate;      /* requests in a second; of a trace 0: its own rate                                */
    double quantile;  /* of the latency that must be sure: 0.95                                          */
    double precision; /* half of its interval over itself: 0.01                                          */
    int64_t requests; /* at most; 0: SUITE_QUEUE_REQUESTS. Of a trace at its own rate: its own number    */
    double bound_s;   /* stop early when the quantile is surely above or below; 0: no bound              */
} suite_queue_ask;

typedef enum {
    SUITE_QUEUE_STABLE,
    SUITE_QUEUE_UNSTABLE, /* more work comes than can be done: no wait is a steady one */
} suite_queue_outcome;

/* Of the requests after the first tenth. Latency is from arrival to picture, seconds. */
typedef struct {
    suite_queue_outcome outcome;
    char why[160];             /* of an unstable one; nothing below is filled then but load      */
    double load;               /* work that comes over work that can be done                     */
    int64_t requests;          /* that were counted                                              */
    suite_estimate latency;    /* mean                                                           */
    suite_estimate wanted;     /* the quantile that was asked for                                */
    double p50, p90, p95, p99; /* of the latency                                                 */
    suite_estimate wait;       /* mean from arrival to start                                     */
    double no_wait;            /* share of requests that start when they come                    */
    double busy;               /* share of the running replicas' time, of the whole run          */
    double batch;              /* mean number of requests in a batch, of the whole run           */
    double in_system;          /* mean number of requests there, while those came that were counted */
    double rate;               /* requests in a second, meanwhile                                */
    bool precise;              /* the interval is as narrow as was asked                         */
    double class_p95[SUITE_QUEUE_CLASSES], class_mean[SUITE_QUEUE_CLASSES]; /* 0 of one without requests */
} suite_queue_run;

/* Runs until the quantile is sure, or the number of requests is reached. An overload is an outcome, not an error.
 * Errors: DIT_ERR_USAGE for numbers outside their ranges, or a class that no group serves; DIT_ERR_INTERNAL if the
 * run's own sums disagree (Little's law: time spent there is time counted there); DIT_ERR_MEMORY. */
dit_status suite_queue_simulate(const suite_queue *queue, const suite_queue_ask *ask, suite_queue_run *out);

/* Checks the numbers of a queue. Errors: DIT_ERR_USAGE with the group, the class and the value. */
dit_status suite_queue_check(const suite_queue *queue);

/* Returns the rate, requests in a second, from which on more work comes than all replicas can do with full batches and
 * the mix of classes as it is. The queue was checked. Exact where all requests are of one class, and for groups that are
 * alike; else an upper bound. */
double suite_queue_most(const suite_queue *queue);

#endif
