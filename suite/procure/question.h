/* Question: what a buyer asks: which model and run, of which machines, how soon, by which prices.
 */
#ifndef DIT_SUITE_PROCURE_QUESTION_H
#define DIT_SUITE_PROCURE_QUESTION_H

#include "suite/prices/ownership.h"
#include "suite/confidence/forecast.h"
#include "suite/queue/capacity.h"
#include "suite/queue/offline.h" /* SUITE_OFFLINE_REQUESTS are there at the start */
#include "suite/search/search.h"

typedef enum {
    SUITE_SCENARIO_SINGLE,  /* one request on all devices, the next when it is done        */
    SUITE_SCENARIO_OFFLINE, /* all requests are there: replicas of the best mesh share them */
    SUITE_SCENARIO_SERVER,  /* requests arrive by chance: the highest rate within the bound */
    SUITE_SCENARIO_MIX,     /* classes of requests arrive by chance: suite/mix answers it      */
    SUITE_SCENARIO_COUNT
} suite_scenario;
const char *const *suite_scenario_names(void); /* "single", "offline", "server", "mix", NULL */

typedef enum {
    SUITE_PROCURE_SPEED, /* ranks by seconds of a request (single), or by seconds an image (offline) */
    SUITE_PROCURE_COST,  /* by money for an image                                                 */
    SUITE_PROCURE_GOALS
} suite_procure_goal;
const char *const *suite_procure_goal_names(void); /* "speed", "cost", NULL */

/* A bound on the time of a request. Zeroed: there is none. */
typedef struct {
    double seconds;
    double times;    /* of one device of the same machine alone; seconds is 0 then */
    double quantile; /* of the latency, waiting included; 0.95 where nothing else was said */
} suite_slo;
/* Reads "5s", "500ms", "3x", or one of them behind "p99=". Errors: DIT_ERR_USAGE. */
dit_status suite_slo_read(const char *text, suite_slo *out);
/* Read "1000/h" (also /s, /min, /day) into pictures a second, and "40kW" (also W, MW) into watts. Errors:
 * DIT_ERR_USAGE. */
dit_status suite_rate_read(const char *text, double *per_s);
dit_status suite_watts_read(const char *text, double *watts);

typedef struct {
    suite_priced_machine priced;
    bool only; /* so many devices and no fewer; else every power of two up to them */
} suite_procure_machine;

typedef void (*suite_procure_told)(void *context, int machine, int count, const char *name);

/* What is asked. Zero means the model's default run. Everything pointed to is the caller's and outlives the answer. */
typedef struct {
    suite_search_request
        search; /* model, sizes, profile (the peak's software), scope, cache, calibration; the rest is set here */
    const suite_procure_machine *machines;
    int machine_count;
    const char *base; /* software that is shown beside, on the mesh that nobody searched for; NULL: none */
    suite_scenario scenario;
    suite_procure_goal goal;
    suite_slo slo;
    suite_arrivals arrivals; /* of scenario server: law and seed */
    int batch_most;          /* requests that a replica may serve together; 0: one                                  */
    bool approximate;        /* displaced meshes and fp8, too, in a list of their own                               */
    double rate;             /* requests a second that must be served, by as many machines as it takes; 0: not asked */
    int spares;              /* so many machines more, which may be down                                           */
    double supply_w;         /* power that there is; 0: not asked                                                    */
    const suite_site *site;  /* what owning costs; NULL: not asked                                                  */
    double hours_a_day;      /* that a machine works, for owning; 0: not asked                                     */
    bool versus;             /* the two machines are compared in words                                            */
    const suite_price_book *book;
    suite_price_terms terms;
    const suite_power_table *power;
    suite_forecaster *forecaster;
    const char *command;     /* as typed, for the document; NULL: none                                              */
    suite_procure_told told; /* before each machine; NULL: nobody */
    void *context;           /* of `told` */
} suite_procure_request;

#endif
