/* Split: so many devices of a machine, divided among replicas of a mesh, and what they are worth to a question.
 */
#ifndef DIT_SUITE_PROCURE_SPLIT_H
#define DIT_SUITE_PROCURE_SPLIT_H

#include "suite/confidence/pair_calls.h"
#include "suite/procure/menu.h"

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

enum { SUITE_FLEET_MOST = 4096 }; /* machines */

/* How many machines serve the rate that is asked for. */
typedef struct {
    int machines;      /* spares among them; 0: not asked                                    */
    int least, most;   /* at the ends of the service time's interval; 0: no number does it */
    double headroom;   /* by what share the rate may grow while the spares are down         */
    double quantile_s; /* of the latency, while the spares are down                         */
    double fewer_s;    /* the same with one machine fewer; INFINITY: more comes than can be served */
    double busy;       /* share of the time of a machine that serves, while none is down */
} suite_fleet;

/* What the machine costs who owns it. */
typedef struct {
    bool there;
    char reason[200]; /* why not */
    suite_purchase_price price;
    suite_server_watts rated;
    bool rated_assumed;
    suite_own_cost busy, idle; /* an hour at the load of the question, and one in which it stands idle */
    suite_ranged per_1000;     /* at that load, least and most: of price, watts and the interval of time */
    bool has_rent;
    suite_break_even even;                     /* against the median rent */
    double month_own_h, month_own, month_rent; /* hours_a_day in a month, and what they cost; 0: not asked */
} suite_owned;

/* So many devices of a machine, with the mesh and the replicas that answer best. */
typedef struct {
    int machine; /* in the request's */
    int devices, replicas;
    const suite_menu *menu;               /* of its machine                                  */
    const suite_menu_item *item;          /* of one replica; NULL: none, see `reason`        */
    int batch;                            /* requests that a replica serves together; in scenario server at most */
    const suite_search_candidate *chosen; /* the item's mesh; offline with that batch; NULL: none     */
    double crowd;     /* by what factor a request takes longer because replicas that share links all work */
    bool share_links; /* they do, and what that costs is not known and not counted */
    char reason[300];
    suite_forecast service;             /* of one request on one replica; offline of a batch */
    const suite_search_candidate *base; /* the same without tuning; NULL: none fits, or none was asked for */
    double base_s;                      /* seconds of a request, offline of an image; 0: not known */
    double slo_s;                       /* the bound in seconds; 0: none    */
    suite_slo_verdict verdict;
    double p_within;     /* share of held-out errors that leave it within the bound; 0 without an interval */
    suite_capacity load; /* of scenario server: the highest rate of one machine, and the latencies at it */
    suite_fleet fleet;
    suite_ranged images_per_hour;
    suite_price price;     /* of the devices, an hour  */
    suite_ranged per_1000; /* money for 1,000 images, at the median quote; least and most: of quotes and interval */
    bool has_power;
    suite_power_draw power;
    double images_per_kwh; /* of the server's watts */
    suite_owned owned;
    double rated_w; /* what a machine's supply is sized for; 0: not asked, or not known */
    int supplied;   /* machines that the power suffices for */
    bool ranked;
    suite_rank rank;
    bool least; /* the fewest devices of its machine that are likely to be within the bound */
} suite_split;

/* What the score of the first answer is multiplied by if something were so. */
typedef struct {
    const char *what; /* "devices twice as fast" */
    double factor;
} suite_sensitivity;

enum { SUITE_SENSITIVITIES = SUITE_CHANGE_COUNT + 2, SUITE_LOAD_LINES = 16, SUITE_LOAD_POINTS = 16 };

/* The latency that is bounded, against the rate. */
typedef struct {
    double images_per_hour, seconds;
} suite_load_point;
typedef struct {
    const char *mesh; /* the search's */
    int replicas, count;
    suite_load_point points[SUITE_LOAD_POINTS];
} suite_load_line;

/* Two machines beside each other. */
typedef struct {
    bool there;
    int a, b;                             /* places in splits                                            */
    bool judged[SUITE_PROCURE_GOALS];     /* by speed, by cost: both have a number and an interval       */
    suite_pair pair[SUITE_PROCURE_GOALS]; /* p_first is of a                                             */
    double even_a, even_b; /* rent an hour at which it costs as much as the other at its median; 0: not known */
} suite_versus;

/* release accepts a zeroed one. */
typedef struct {
    suite_search *searches; /* [search_count] owners of the candidates: of each machine, and of its base */
    int search_count;
    suite_split *splits; /* best first; those without rank behind, by machine and devices */
    int count;
    suite_menu *menus; /* [menu_count] of machines */
    int menu_count;
    suite_split *approximate; /* [approximate_count] with displaced meshes or fp8, by machine and devices; not ranked */
    int approximate_count;
    suite_pair *pairs; /* [pair_count] of ranked splits; a, b are places in splits */
    int pair_count;
    suite_verdict_licence licence; /* whether verdicts on pairs may be given */
    bool licensed;                 /* of every kind of machine that is ranked */
    int simulated, kept, bounded;  /* meshes over all machines */
    suite_loads loads;
    suite_sensitivity sensitivities[SUITE_SENSITIVITIES]; /* of the first answer, the largest first */
    int sensitivity_count;
    suite_load_line curves[SUITE_LOAD_LINES]; /* of the first answer's machine, in scenario server */
    int curve_count;
    suite_versus versus;
} suite_procured;
void suite_procured_release(suite_procured *procured);
/* The exact split on as many devices of the same machine; NULL: it has no mesh. */
const suite_split *suite_exact_beside(const suite_procured *procured, const suite_split *approximate);
/* Bytes of the fullest rank, with the largest batch. */
int64_t suite_split_memory(const suite_split *split);

#endif
