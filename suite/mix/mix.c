#include "suite/mix/mix.h"

#include "suite/procure/choice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void suite_mixed_release(suite_mixed *mixed)
{
    for (int i = 0; i < mixed->count; i++) suite_price_release(&mixed->machines[i].price);
    for (int i = 0; i < mixed->search_count; i++) suite_search_release(&mixed->searches[i]);
    free(mixed->machines);
    free(mixed->searches);
    *mixed = (suite_mixed){.count = 0};
}

/* ---- times ------------------------------------------------------------------------------------------------------------- */

static dit_status forecast(const suite_procure_request *request, const suite_mix_machine *one, suite_mix_cell *cell)
{
    const suite_price_machine *machine = &request->machines[one->machine].priced.machine;
    const suite_forecast_request asked = {.accelerator = machine->accelerator,
                                          .profile = request->search.profile,
                                          .parallel = &cell->chosen->parallel,
                                          .document = cell->chosen->kase->document,
                                          .devices = cell->chosen->ranks,
                                          .node_devices = machine->node_devices,
                                          .seconds = cell->chosen->seconds};
    return suite_forecast_of(request->forecaster, &asked, &cell->forecast);
}

/* The best mesh of a class on each power of two devices. */
static dit_status search_class(const suite_procure_request *request, const suite_traffic_class *asked, int class_index,
                               suite_mixed *out, suite_mix_machine *one)
{
    suite_search_request search = request->search;
    suite_search *found = &out->searches[out->search_count++];
    search.platform = request->machines[one->machine].priced.machine.name;
    search.devices = one->devices;
    search.goal = SUITE_GOAL_FRONT;
    if (!search.element) search.element = "fp16";
    if (asked->width_px) search.width_px = asked->width_px, search.height_px = asked->height_px;
    if (asked->num_frames) search.num_frames = asked->num_frames;
    if (asked->steps) search.steps = asked->steps;
    DIT_TRY(suite_search_run(&search, found));
    out->simulated += found->simulated;
    out->kept += found->kept;
    for (int d = 0; d < SUITE_PARTITION_DEGREES && 1 << d <= one->devices; d++) {
        suite_mix_cell *cell = &one->cells[class_index][d];
        cell->chosen = suite_choice_of_ranks(found, 1 << d);
        if (cell->chosen) DIT_TRY(forecast(request, one, cell));
    }
    return DIT_OK;
}

typedef enum { PREDICTED, SHORT_END, LONG_END } time_end;

static suite_mix_times times_of(const suite_mix_machine *one, int classes, time_end end)
{
    suite_mix_times times;
    for (int k = 0; k < SUITE_TRAFFIC_CLASSES; k++) {
        for (int d = 0; d < SUITE_PARTITION_DEGREES; d++) {
            const suite_mix_cell *cell = &one->cells[k][d];
            const suite_forecast *forecast = &cell->forecast;
            times.seconds[k][d] = k >= classes || !cell->chosen ? NAN
                                  : end == PREDICTED            ? cell->chosen->seconds
                                  : end == SHORT_END            ? forecast->low
                                                                : forecast->high;
        }
    }
    return times;
}

/* ---- what it bears ------------------------------------------------------------------------------------------------------- */

static bool all_have_intervals(const suite_mix_machine *one, int classes)
{
    for (int k = 0; k < classes; k++)
        for (int d = 0; d < SUITE_PARTITION_DEGREES; d++)
            if (one->divided.groups.routes[k] & 1u << d && !one->cells[k][d].forecast.has_interval) return false;
    return true;
}

static dit_status range_rate(const suite_traffic *traffic, suite_mix_machine *one)
{
    const suite_division *best = &one->divided.groups;
    one->per_hour.value = 3600 * best->rate;
    one->has_interval = all_have_intervals(one, traffic->count);
    if (!one->has_interval) return DIT_OK;
    const suite_mix_times quick = times_of(one, traffic->count, SHORT_END),
                          slow = times_of(one, traffic->count, LONG_END);
    double rate;
    DIT_TRY(suite_divide_rate(traffic, &quick, best, &rate));
    one->per_hour.most = fmax(3600 * rate, one->per_hour.value);
    DIT_TRY(suite_divide_rate(traffic, &slow, best, &rate));
    one->per_hour.least = fmin(3600 * rate, one->per_hour.value);
    return DIT_OK;
}

static dit_status put_price(const suite_procure_request *request, suite_mix_machine *one)
{
    const suite_price_machine *machine = &request->machines[one->machine].priced.machine;
    DIT_TRY(suite_price_of(request->book, machine, one->devices, &request->terms, &one->price));
    if (one->price.absence != SUITE_PRICE_THERE) return DIT_OK;
    one->per_1000.value = 1000 * one->price.median / one->per_hour.value;
    if (!one->has_interval) return DIT_OK;
    one->per_1000.least = 1000 * one->price.least / one->per_hour.most;
    one->per_1000.most = one->per_hour.least > 0 ? 1000 * one->price.most / one->per_hour.least : INFINITY;
    return DIT_OK;
}

/* Which class cannot be in time on any number of devices; "" where each can. */
static void explain_none(const suite_traffic *traffic, suite_mix_machine *one)
{
    for (int k = 0; k < traffic->count; k++) {
        double fastest = INFINITY;
        for (int d = 0; d < SUITE_PARTITION_DEGREES; d++)
            if (one->cells[k][d].chosen) fastest = fmin(fastest, one->cells[k][d].chosen->seconds);
        if (fastest <= traffic->classes[k].bound_s) continue;
        if (isinf(fastest))
            snprintf(one->reason, sizeof one->reason, "class %.60s fits on no number of devices",
                     traffic->classes[k].name);
        else
            snprintf(one->reason, sizeof one->reason, "class %.60s takes %.3g s at best, its bound is %.3g s",
                     traffic->classes[k].name, fastest, traffic->classes[k].bound_s);
        return;
    }
    snprintf(one->reason, sizeof one->reason, "no division keeps every class within its bound at once");
}

/* ---- a batch --------------------------------------------------------------------------------------------------------------- */

/* So many of each class that all together are SUITE_MIX_BATCH, by largest remainders. */
static void share_out(const suite_traffic *traffic, int counts[SUITE_TRAFFIC_CLASSES])
{
    double left[SUITE_TRAFFIC_CLASSES];
    int given = 0;
    for (int k = 0; k < traffic->count; k++) {
        double part = SUITE_MIX_BATCH * suite_traffic_share(traffic, k);
        counts[k] = (int)part;
        left[k] = part - counts[k];
        given += counts[k];
    }
    for (; given < SUITE_MIX_BATCH; given++) {
        int most = 0;
        for (int k = 1; k < traffic->count; k++)
            if (left[k] > left[most]) most = k;
        counts[most]++;
        left[most] -= 1;
    }
}

static dit_status assign_batch(const suite_traffic *traffic, const suite_mix_times *times, int devices,
                               suite_mix_batch *out)
{
    double seconds[SUITE_MIX_BATCH * SUITE_PARTITION_DEGREES];
    int counts[SUITE_TRAFFIC_CLASSES], request = 0;
    suite_assignment best = {.exact = false}, equal = {.exact = false};
    share_out(traffic, counts);
    for (int k = 0; k < traffic->count; k++)
        for (int i = 0; i < counts[k]; i++, request++)
            memcpy(seconds + (size_t)request * SUITE_PARTITION_DEGREES, times->seconds[k], sizeof times->seconds[k]);
    const suite_mix mix = {.seconds = seconds, .requests = request};
    dit_status st = suite_assign_best(&mix, devices, &best, &equal);
    if (st == DIT_OK) *out = (suite_mix_batch){best.seconds, equal.seconds, suite_assignment_bound(&mix, devices)};
    suite_assignment_release(&best);
    suite_assignment_release(&equal);
    return st;
}

/* ---- a machine --------------------------------------------------------------------------------------------------------------- */

static bool every_class_fits(const suite_mix_times *times, int classes)
{
    for (int k = 0; k < classes; k++) {
        bool any = false;
        for (int d = 0; d < SUITE_PARTITION_DEGREES; d++) any = any || !isnan(times->seconds[k][d]);
        if (!any) return false;
    }
    return true;
}

static dit_status fill(const suite_procure_request *request, const suite_traffic *traffic, suite_mixed *out,
                       suite_mix_machine *one)
{
    for (int k = 0; k < traffic->count; k++) DIT_TRY(search_class(request, &traffic->classes[k], k, out, one));
    const suite_mix_times times = times_of(one, traffic->count, PREDICTED);
    DIT_TRY(suite_divide(traffic, &times, one->devices, &one->divided));
    if (every_class_fits(&times, traffic->count)) DIT_TRY(assign_batch(traffic, &times, one->devices, &one->batch));
    if (!one->divided.groups.there) {
        explain_none(traffic, one);
        return DIT_OK;
    }
    DIT_TRY(range_rate(traffic, one));
    return put_price(request, one);
}

static int by_rate(const void *a, const void *b)
{
    const suite_mix_machine *x = a, *y = b;
    if (x->per_hour.value > y->per_hour.value || x->per_hour.value < y->per_hour.value)
        return x->per_hour.value > y->per_hour.value ? -1 : 1;
    return (x->machine > y->machine) - (x->machine < y->machine);
}

dit_status suite_mix_run(const suite_procure_request *request, const suite_traffic *traffic, suite_mixed *out)
{
    size_t machines = (size_t)request->machine_count;
    *out = (suite_mixed){.count = 0};
    out->searches = calloc(machines * (size_t)traffic->count + 1, sizeof *out->searches);
    out->machines = calloc(machines + 1, sizeof *out->machines);
    if (!out->searches || !out->machines)
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d machines", request->machine_count);
    for (int i = 0; i < request->machine_count; i++) {
        const suite_procure_machine *machine = &request->machines[i];
        suite_mix_machine *one = &out->machines[out->count++];
        *one = (suite_mix_machine){.machine = i, .devices = suite_procure_largest(machine)};
        if (request->told) request->told(request->context, i, request->machine_count, machine->priced.machine.name);
        DIT_TRY(suite_procure_is_known(&machine->priced.machine, request->search.element, one->reason));
        if (!one->reason[0]) DIT_TRY(fill(request, traffic, out, one));
    }
    qsort(out->machines, (size_t)out->count, sizeof *out->machines, by_rate);
    return DIT_OK;
}
