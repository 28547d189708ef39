#include "suite/procure/procure.h"

#include "base/list.h"
#include "suite/platform/cluster.h"
#include "suite/procure/contest.h"
#include "suite/procure/serve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the best mesh for each number of devices ---------------------------------------------------------------------- */

static bool is_asked(const suite_procure_machine *machine, int devices)
{
    return machine->only ? devices == machine->priced.devices : (devices & (devices - 1)) == 0;
}

static int largest_size(const suite_procure_machine *machine)
{
    int devices = 1;
    if (machine->only) return machine->priced.devices;
    while (2 * devices <= machine->priced.devices) devices *= 2;
    return devices;
}

static const suite_search_size *size_of(const suite_search *found, int ranks)
{
    for (int i = 0; i < found->size_count; i++)
        if (found->sizes[i].ranks == ranks) return &found->sizes[i];
    return NULL;
}

static const suite_search_candidate *winner_of(const suite_search *found, int ranks)
{
    const suite_search_size *size = size_of(found, ranks);
    return size && size->winner >= 0 ? &found->candidates[size->winner] : NULL;
}

/* Seconds in which so many devices serve a request, one after the other on each replica; INFINITY: they cannot. */
static dit_status offline_s(const suite_search *found, int ranks, int devices, double *out)
{
    const suite_search_candidate *one = winner_of(found, ranks);
    *out = INFINITY;
    return one && devices % ranks == 0 ? suite_serve_offline(one->seconds, devices / ranks, out) : DIT_OK;
}

static double images_of(const suite_procure_request *request)
{
    return request->search.num_images > 1 ? (double)request->search.num_images : 1;
}

/* What the devices do without tuning. Offline each replica is as small as fits. */
static dit_status choose_base(const suite_procure_request *request, const suite_search *base, suite_split *split)
{
    double seconds = INFINITY;
    if (request->scenario != SUITE_SCENARIO_OFFLINE) {
        split->base = winner_of(base, split->devices);
        split->base_s = split->base ? split->base->seconds : 0;
        return DIT_OK;
    }
    for (int i = 0; i < base->size_count && !split->base; i++) {
        DIT_TRY(offline_s(base, base->sizes[i].ranks, split->devices, &seconds));
        if (isinf(seconds)) continue;
        split->base = winner_of(base, base->sizes[i].ranks);
        split->base_s = seconds / images_of(request);
    }
    return DIT_OK;
}

static void take_choice(const suite_search_candidate *one, suite_split *split)
{
    split->chosen = one;
    split->replicas = split->devices / one->ranks;
}

static void choose_single(const suite_procure_request *request, const suite_search *found, suite_split *split)
{
    const suite_search_candidate *one = winner_of(found, split->devices);
    if (!one) return;
    take_choice(one, split);
    split->images_per_hour.value = 3600 * images_of(request) / one->seconds;
}

static dit_status choose_offline(const suite_procure_request *request, const suite_search *found, suite_split *split)
{
    double best = INFINITY, seconds;
    for (int i = 0; i < found->size_count; i++) {
        DIT_TRY(offline_s(found, found->sizes[i].ranks, split->devices, &seconds));
        if (seconds >= best) continue;
        best = seconds;
        take_choice(winner_of(found, found->sizes[i].ranks), split);
    }
    if (split->chosen) split->images_per_hour.value = 3600 * images_of(request) / best;
    return DIT_OK;
}

static void bound(const suite_procure_request *request, const suite_search *found, suite_split *split)
{
    const suite_search_candidate *alone = winner_of(found, 1);
    split->slo_s = request->slo.seconds;
    if (request->slo.times > 0) split->slo_s = alone ? request->slo.times * alone->seconds : 0;
    if (request->slo.times > 0 && !alone && request->scenario == SUITE_SCENARIO_SERVER)
        snprintf(split->reason, sizeof split->reason, "one device alone cannot run it, so %gx is no bound",
                 request->slo.times);
}

/* The replicas that bear the highest rate within the bound. */
static dit_status choose_served(const suite_procure_request *request, const suite_search *found, suite_split *split)
{
    double fastest = INFINITY;
    for (int i = 0; split->slo_s > 0 && i < found->size_count; i++) {
        const suite_search_candidate *one = winner_of(found, found->sizes[i].ranks);
        suite_capacity load;
        if (!one || split->devices % one->ranks) continue;
        fastest = fmin(fastest, one->seconds);
        DIT_TRY(suite_serve_capacity(request, split->slo_s, one->seconds, split->devices / one->ranks, SUITE_SERVE_LOOK,
                                     &load));
        if (load.outcome != SUITE_CAPACITY_FOUND || load.rate <= split->load.rate) continue;
        split->load = load;
        take_choice(one, split);
    }
    if (split->chosen) {
        DIT_TRY(suite_serve_capacity(request, split->slo_s, split->chosen->seconds, split->replicas, SUITE_SERVE_SURE,
                                     &split->load));
        split->images_per_hour.value = 3600 * images_of(request) * split->load.rate;
    } else if (isfinite(fastest))
        snprintf(split->reason, sizeof split->reason, "the fastest mesh alone takes %.3g s, the bound is %.3g s",
                 fastest, split->slo_s);
    return DIT_OK;
}

/* Why no mesh of so many ranks has a time: what memory lacks on the smallest, else what failed, else no rule allows any. */
static void explain_none(const suite_search *found, suite_split *split)
{
    const suite_search_candidate *why = NULL;
    for (int i = 0; i < found->count; i++) {
        const suite_search_candidate *one = &found->candidates[i];
        bool of_memory = one->state == SUITE_FOUND_MEMORY;
        if (one->ranks != split->devices || (!of_memory && one->state != SUITE_FOUND_FAILED)) continue;
        if (!why ||
            (of_memory && (why->state != SUITE_FOUND_MEMORY || one->bounds.memory_bytes < why->bounds.memory_bytes)))
            why = one;
    }
    if (why)
        snprintf(split->reason, sizeof split->reason, "%.299s", why->reason);
    else
        snprintf(split->reason, sizeof split->reason, "no exact mesh of %d devices is legal", split->devices);
}

/* ---- what a split is worth ----------------------------------------------------------------------------------------- */

static dit_status forecast(const suite_procure_request *request, suite_split *split)
{
    const suite_price_machine *machine = &request->machines[split->machine].priced.machine;
    const suite_forecast_request asked = {.accelerator = machine->accelerator,
                                          .profile = request->search.profile,
                                          .parallel = &split->chosen->parallel,
                                          .document = split->chosen->kase->document,
                                          .devices = split->chosen->ranks,
                                          .node_devices = machine->node_devices,
                                          .seconds = split->chosen->seconds};
    return suite_forecast_of(request->forecaster, &asked, &split->service);
}

static void judge(const suite_procure_request *request, suite_split *split)
{
    if (split->slo_s <= 0 || request->scenario != SUITE_SCENARIO_SINGLE) return;
    if (!split->service.has_interval) {
        split->verdict = SUITE_SLO_UNSURE;
        return;
    }
    split->p_within = suite_forecast_share_within(&split->service, split->slo_s);
    if (split->service.high <= split->slo_s)
        split->verdict = SUITE_SLO_MEETS;
    else if (split->service.low > split->slo_s)
        split->verdict = SUITE_SLO_MISSES;
    else
        split->verdict = split->p_within >= 0.5 ? SUITE_SLO_LIKELY : SUITE_SLO_UNLIKELY;
}

/* Images an hour at the ends of the service time's interval. */
static dit_status range_images(const suite_procure_request *request, suite_split *split)
{
    const double hour = 3600 * images_of(request);
    const suite_forecast *service = &split->service;
    suite_ranged *rate = &split->images_per_hour;
    suite_capacity load;
    if (!service->has_interval) return DIT_OK;
    rate->least = rate->value * service->seconds / service->high;
    rate->most = rate->value * service->seconds / service->low;
    if (request->scenario != SUITE_SCENARIO_SERVER) return DIT_OK;
    /* waiting makes more of it than the ratio of the times */
    DIT_TRY(suite_serve_capacity(request, split->slo_s, service->high, split->replicas, SUITE_SERVE_LOOK, &load));
    rate->least = hour * load.rate;
    DIT_TRY(suite_serve_capacity(request, split->slo_s, service->low, split->replicas, SUITE_SERVE_LOOK, &load));
    rate->most = hour * load.rate;
    return DIT_OK;
}

static dit_status put_price(const suite_procure_request *request, suite_split *split)
{
    const suite_price_machine *machine = &request->machines[split->machine].priced.machine;
    dit_status st = suite_price_of(request->book, machine, split->devices, &request->terms, &split->price);
    if (st == DIT_ERR_CONSTRAINT_PLATFORM) {
        split->price.absence = SUITE_PRICE_NO_SIZE;
        snprintf(split->price.reason, sizeof split->price.reason, "%.199s", dit_error_last()->message);
        dit_error_clear();
        return DIT_OK;
    }
    DIT_TRY(st);
    if (split->price.absence != SUITE_PRICE_THERE) return DIT_OK;
    DIT_TRY(suite_price_covers(&split->price, &split->chosen->parallel, split->replicas));
    const suite_ranged *rate = &split->images_per_hour;
    split->per_1000.value = 1000 * split->price.median / rate->value;
    if (!split->service.has_interval) return DIT_OK;
    split->per_1000.least = 1000 * split->price.least / rate->most;
    split->per_1000.most = rate->least > 0 ? 1000 * split->price.most / rate->least : INFINITY;
    return DIT_OK;
}

/* The least device-seconds of a request on this machine: what a busy share of one is. */
static double least_device_s(const suite_search *found)
{
    double least = INFINITY;
    for (int i = 0; i < found->size_count; i++) {
        const suite_search_candidate *one = winner_of(found, found->sizes[i].ranks);
        if (one) least = fmin(least, one->ranks * one->seconds);
    }
    return least;
}

static dit_status put_power(const suite_procure_request *request, const suite_search *found, suite_split *split)
{
    const suite_price_machine *machine = &request->machines[split->machine].priced.machine;
    double busy = least_device_s(found) / (split->chosen->ranks * split->chosen->seconds);
    if (request->scenario == SUITE_SCENARIO_SERVER) busy *= split->load.run.busy;
    dit_status st = suite_power_of(request->power, machine->accelerator, machine->limit_w, split->devices,
                                   fmin(busy, 1), 1, &split->power);
    if (st == DIT_ERR_NOT_FOUND) {
        dit_error_clear();
        return DIT_OK;
    }
    DIT_TRY(st);
    split->has_power = true;
    split->images_per_kwh = 1000 * split->images_per_hour.value / split->power.server.w;
    return DIT_OK;
}

static dit_status choose(const suite_procure_request *request, const suite_search *found, suite_split *split)
{
    bound(request, found, split);
    if (request->scenario == SUITE_SCENARIO_SERVER) return choose_served(request, found, split);
    if (request->scenario == SUITE_SCENARIO_OFFLINE) return choose_offline(request, found, split);
    choose_single(request, found, split);
    return DIT_OK;
}

static dit_status fill_split(const suite_procure_request *request, const suite_search *found, const suite_search *base,
                             suite_split *split)
{
    if (base) DIT_TRY(choose_base(request, base, split));
    DIT_TRY(choose(request, found, split));
    if (!split->chosen && !split->reason[0]) explain_none(found, split);
    if (!split->chosen) return DIT_OK;
    DIT_TRY(forecast(request, split));
    judge(request, split);
    DIT_TRY(range_images(request, split));
    DIT_TRY(put_price(request, split));
    return put_power(request, found, split);
}

/* ---- a machine ----------------------------------------------------------------------------------------------------- */

static void mark_least(suite_procured *out, int first)
{
    suite_split *least = NULL;
    for (int i = first; i < out->count; i++) {
        suite_split *one = &out->splits[i];
        bool within = one->verdict == SUITE_SLO_MEETS || one->verdict == SUITE_SLO_LIKELY;
        if (within && (!least || one->devices < least->devices)) least = one;
    }
    if (least) least->least = true;
}

/* Whether anybody has told how fast the accelerator computes in the element; else why[] says it. */
static dit_status is_known(const suite_price_machine *machine, const char *element, char why[300])
{
    suite_accelerator accelerator;
    DIT_TRY(suite_accelerator_load(machine->accelerator, &accelerator));
    const cJSON *rates = dit_json_member(accelerator.source.root, "peak_flops_per_s");
    why[0] = '\0';
    if (dit_json_number_or(rates, element, 0) <= 0)
        snprintf(why, 300, "nobody has told how fast %s computes in %s", machine->accelerator, element);
    suite_accelerator_release(&accelerator);
    return DIT_OK;
}

static dit_status add_split(suite_procured *out, int machine, int devices, suite_split **split)
{
    DIT_TRY(dit_list_grow((void **)&out->splits, out->count, sizeof *out->splits));
    *split = &out->splits[out->count++];
    **split = (suite_split){.machine = machine, .devices = devices};
    return DIT_OK;
}

static dit_status fill_machine(const suite_procure_request *request, int index, suite_procured *out)
{
    const suite_procure_machine *machine = &request->machines[index];
    suite_search_request asked = request->search;
    suite_search *found, *base = NULL;
    suite_split *split;
    char why[sizeof split->reason];
    int first = out->count;
    asked.platform = machine->priced.machine.name;
    asked.devices = largest_size(machine);
    asked.goal = SUITE_GOAL_FRONT;
    if (!asked.element) asked.element = "fp16"; /* of the published times that the machines were fitted on */
    DIT_TRY(is_known(&machine->priced.machine, asked.element, why));
    if (why[0]) {
        DIT_TRY(add_split(out, index, asked.devices, &split));
        memcpy(split->reason, why, sizeof split->reason);
        return DIT_OK;
    }
    found = &out->searches[out->search_count++];
    DIT_TRY(suite_search_run(&asked, found));
    out->simulated += found->simulated;
    out->kept += found->kept;
    out->bounded += found->by_bound;
    if (request->base) {
        base = &out->searches[out->search_count++];
        asked.profile = request->base;
        asked.untuned = true;
        DIT_TRY(suite_search_run(&asked, base));
        out->simulated += base->simulated;
        out->kept += base->kept;
    }
    for (int devices = 1; devices <= asked.devices; devices++) {
        if (!is_asked(machine, devices)) continue;
        DIT_TRY(add_split(out, index, devices, &split));
        DIT_TRY(fill_split(request, found, base, split));
    }
    mark_least(out, first);
    return DIT_OK;
}

dit_status suite_procure(const suite_procure_request *request, suite_procured *out)
{
    *out = (suite_procured){.count = 0};
    out->searches = calloc(2 * (size_t)request->machine_count + 1, sizeof *out->searches);
    if (!out->searches) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d machines", request->machine_count);
    for (int i = 0; i < request->machine_count; i++) {
        if (request->told)
            request->told(request->context, i, request->machine_count, request->machines[i].priced.machine.name);
        DIT_TRY(fill_machine(request, i, out));
    }
    return suite_contest_run(request, out);
}
