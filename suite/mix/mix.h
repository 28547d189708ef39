/* Mix: how much mixed traffic each machine bears, cut in the best way, beside one mesh and beside replicas that are all
 * alike; and how long a batch of such requests takes when every batch may be cut anew.
 */
#ifndef DIT_SUITE_MIX_MIX_H
#define DIT_SUITE_MIX_MIX_H

#include "suite/mix/divide.h"
#include "suite/confidence/forecast.h"
#include "suite/procure/procure.h"

enum { SUITE_MIX_BATCH = 48 };

/* A class on 2^d devices. */
typedef struct {
    const suite_search_candidate *chosen; /* NULL: nothing fits */
    suite_forecast forecast;
} suite_mix_cell;

/* A batch of SUITE_MIX_BATCH requests with the classes' shares, all there at the start. */
typedef struct {
    double adaptive_s; /* cut in the best way for this batch                                 */
    double static_s;   /* cut into groups of one size, as well as that can be; INFINITY: it cannot */
    double bound_s;    /* no assignment is under it                                           */
} suite_mix_batch;

typedef struct {
    int machine, devices;
    char reason[300]; /* why no way serves every class in time; "" */
    suite_mix_cell cells[SUITE_TRAFFIC_CLASSES][SUITE_PARTITION_DEGREES];
    suite_divided divided;
    bool has_interval;     /* of every time that the best way uses */
    suite_ranged per_hour; /* requests                              */
    suite_price price;
    suite_ranged per_1000; /* money for 1,000 requests              */
    suite_mix_batch batch;
} suite_mix_machine;

/* release accepts a zeroed one. */
typedef struct {
    suite_search *searches; /* [machines * classes] */
    int search_count;
    suite_mix_machine *machines; /* those that bear most first; those that bear nothing behind */
    int count, simulated, kept;
} suite_mixed;
void suite_mixed_release(suite_mixed *mixed);

/* Answers for every machine of the request with all its devices. Of the request its model, machines, prices and forecaster
 * count. Errors: those of suite_procure and suite_divide. */
dit_status suite_mix_run(const suite_procure_request *request, const suite_traffic *traffic, suite_mixed *out);

#endif
