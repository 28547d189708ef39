/* Split: so many devices of a machine, divided among replicas of a mesh, and what they are worth to a question.
 */
#ifndef DIT_SUITE_PROCURE_SPLIT_H
#define DIT_SUITE_PROCURE_SPLIT_H

#include "suite/confidence/pair_calls.h"
#include "suite/procure/question.h"

typedef enum {
    SUITE_SLO_NONE,     /* no bound was asked for, or there is no time               */
    SUITE_SLO_MEETS,    /* the whole interval is within it                           */
    SUITE_SLO_LIKELY,   /* more than half of the held-out errors leave it within      */
    SUITE_SLO_UNLIKELY, /* fewer do                                                   */
    SUITE_SLO_MISSES,   /* the whole interval is beyond it                           */
    SUITE_SLO_UNSURE,   /* there is no interval, and nothing is said                 */
    SUITE_SLO_COUNT
} suite_slo_verdict;
const char *suite_slo_verdict_name(suite_slo_verdict verdict); /* "", "meets", "likely", ... */

/* A number that rests on a prediction: as predicted, and at the ends of its interval. 0 where it is not known. */
typedef struct {
    double value, least, most;
} suite_ranged;

/* So many devices of a machine, with the mesh and the replicas that answer best. */
typedef struct {
    int machine; /* in the request's */
    int devices, replicas;
    const suite_search_candidate *chosen; /* of one replica; NULL: none, see `reason` */
    char reason[300];
    suite_forecast service;             /* of one request on one replica  */
    const suite_search_candidate *base; /* the same without tuning; NULL: none fits, or none was asked for */
    double base_s;                      /* seconds of a request (single), or of an image (offline); 0: not known */
    double slo_s;                       /* the bound in seconds; 0: none    */
    suite_slo_verdict verdict;
    double p_within;     /* share of held-out errors that leave it within the bound; 0 without an interval */
    suite_capacity load; /* of scenario server: the highest rate, and the latencies at it */
    suite_ranged images_per_hour;
    suite_price price;     /* of the devices, an hour  */
    suite_ranged per_1000; /* money for 1,000 images, at the median quote; least and most: of quotes and interval */
    bool has_power;
    suite_power_draw power;
    double images_per_kwh; /* of the server's watts */
    bool ranked;
    suite_rank rank;
    bool least; /* the fewest devices of its machine that are likely to be within the bound */
} suite_split;

/* release accepts a zeroed one. */
typedef struct {
    suite_search *searches; /* [search_count] owners of the candidates: of each machine, and of its base */
    int search_count;
    suite_split *splits; /* best first; those without rank behind, by machine and devices */
    int count;
    suite_pair *pairs; /* [pair_count] of ranked splits; a, b are places in splits */
    int pair_count;
    suite_verdict_licence licence; /* whether verdicts on pairs may be given */
    bool licensed;                 /* of every kind of machine that is ranked */
    int simulated, kept, bounded;  /* meshes over all machines */
} suite_procured;
void suite_procured_release(suite_procured *procured);

#endif
