#include "suite/procure/choice.h"

#include <math.h>
#include <stdio.h>

static const suite_search_size *size_of(const suite_search *found, int ranks)
{
    for (int i = 0; i < found->size_count; i++)
        if (found->sizes[i].ranks == ranks) return &found->sizes[i];
    return NULL;
}

const suite_search_candidate *suite_choice_of_ranks(const suite_search *found, int ranks)
{
    const suite_search_size *size = size_of(found, ranks);
    return size && size->winner >= 0 ? &found->candidates[size->winner] : NULL;
}

double suite_choice_images(const suite_procure_request *request)
{
    return request->search.num_images > 1 ? (double)request->search.num_images : 1;
}

suite_service suite_choice_service(const suite_split *split, double seconds)
{
    return (suite_service){seconds, split->replicas, &split->item->batch};
}

static void take(const suite_menu_item *item, suite_split *split)
{
    split->item = item;
    split->chosen = item->one;
    split->replicas = split->devices / item->one->ranks;
    split->batch = 1;
    split->crowd = suite_menu_seconds(split->menu, item, split->devices) / item->one->seconds;
    split->share_links = suite_menu_is_unknown(split->menu, item, split->devices);
}

/* The next item after `item`, NULL: before the first, whose replicas share out the split's devices; NULL: no more. */
static const suite_menu_item *next_item(const suite_split *split, const suite_menu_item *item)
{
    const suite_menu *menu = split->menu;
    for (item = item ? item + 1 : menu->items; item < menu->items + menu->count; item++)
        if (split->devices % item->one->ranks == 0) return item;
    return NULL;
}

/* ---- one after the other, or all at once ------------------------------------------------------------------------------- */

static void choose_single(const suite_procure_request *request, suite_split *split)
{
    for (const suite_menu_item *item = NULL; (item = next_item(split, item));) {
        if (item->one->ranks != split->devices) continue;
        take(item, split);
        split->images_per_hour.value = 3600 * suite_choice_images(request) / item->one->seconds;
    }
}

/* The batch with which an item is fastest, in seconds a request. */
static dit_status best_batch(const suite_split *split, const suite_menu_item *item, int *best, double *seconds)
{
    const suite_service service = suite_menu_service(split->menu, item, split->devices);
    double one;
    *seconds = INFINITY;
    for (int i = 0; 1 << i <= item->batch.most; i++) {
        DIT_TRY(suite_serve_offline(&service, 1 << i, &one));
        if (one < *seconds) *seconds = one, *best = i;
    }
    return DIT_OK;
}

static dit_status choose_offline(const suite_procure_request *request, suite_split *split)
{
    double best = INFINITY, seconds;
    int batch = 0;
    for (const suite_menu_item *item = NULL; (item = next_item(split, item));) {
        DIT_TRY(best_batch(split, item, &batch, &seconds));
        if (seconds >= best) continue;
        best = seconds;
        take(item, split);
        split->batch = 1 << batch;
        split->chosen = item->batched[batch];
    }
    if (split->chosen) split->images_per_hour.value = 3600 * suite_choice_images(request) / best;
    return DIT_OK;
}

/* Seconds in which so many devices serve a request, one after the other on each replica; INFINITY: they cannot. */
static dit_status offline_s(const suite_search *found, int ranks, int devices, double *out)
{
    const suite_search_candidate *one = suite_choice_of_ranks(found, ranks);
    *out = INFINITY;
    if (!one || devices % ranks) return DIT_OK;
    const suite_service service = {one->seconds, devices / ranks, NULL};
    return suite_serve_offline(&service, 1, out);
}

dit_status suite_choice_base(const suite_procure_request *request, const suite_search *base, suite_split *split)
{
    double seconds = INFINITY;
    if (request->scenario != SUITE_SCENARIO_OFFLINE) {
        split->base = suite_choice_of_ranks(base, split->devices);
        split->base_s = split->base ? split->base->seconds : 0;
        return DIT_OK;
    }
    for (int i = 0; i < base->size_count && !split->base; i++) {
        DIT_TRY(offline_s(base, base->sizes[i].ranks, split->devices, &seconds));
        if (isinf(seconds)) continue;
        split->base = suite_choice_of_ranks(base, base->sizes[i].ranks);
        split->base_s = seconds / suite_choice_images(request);
    }
    return DIT_OK;
}

/* ---- requests that arrive by chance ------------------------------------------------------------------------------------- */

static void bound(const suite_procure_request *request, const suite_search *found, suite_split *split)
{
    const suite_search_candidate *alone = suite_choice_of_ranks(found, 1);
    split->slo_s = request->slo.seconds;
    if (request->slo.times > 0) split->slo_s = alone ? request->slo.times * alone->seconds : 0;
    if (request->slo.times > 0 && !alone && request->scenario == SUITE_SCENARIO_SERVER)
        snprintf(split->reason, sizeof split->reason, "one device alone cannot run it, so %gx is no bound",
                 request->slo.times);
}

/* `machines` of these. */
static suite_service of_machines(const suite_service *service, int machines)
{
    return (suite_service){service->seconds, machines * service->replicas, service->batch};
}

/* The latency that the question bounds, of so many machines; INFINITY where more comes than they can serve. */
static dit_status latency_of(const suite_procure_request *request, double bound_s, const suite_service *service,
                             int machines, int requests, double *latency, double *busy)
{
    const suite_service all = of_machines(service, machines);
    suite_queue_run run;
    DIT_TRY(suite_serve_at(request, request->rate, bound_s, &all, requests, &run));
    *latency = run.outcome == SUITE_QUEUE_STABLE ? run.wanted.value : INFINITY;
    *busy = run.outcome == SUITE_QUEUE_STABLE ? run.busy : 1;
    return DIT_OK;
}

static bool fits_queue(int machines, int replicas)
{
    return machines <= SUITE_FLEET_MOST && (int64_t)machines * replicas <= SUITE_QUEUE_REPLICAS;
}

/* Requests a second that a machine with full batches serves. */
static double most_of(const suite_service *service)
{
    const suite_batch_shape *batch = service->batch;
    double each = batch ? batch->times[batch->most - 1] / batch->most : 1;
    return service->replicas / (service->seconds * each);
}

dit_status suite_choice_fleet(const suite_procure_request *request, double bound_s, const suite_service *service,
                              int *machines)
{
    double latency = INFINITY, busy;
    double work = request->rate / most_of(service); /* machines that are busy all the time */
    *machines = 0;
    if (service->seconds > bound_s || !(work < SUITE_FLEET_MOST)) return DIT_OK;
    for (int some = (int)work + 1; fits_queue(some, service->replicas); some++) {
        DIT_TRY(latency_of(request, bound_s, service, some, SUITE_SERVE_LOOK, &latency, &busy));
        if (latency > bound_s) continue;
        *machines = some + request->spares;
        return DIT_OK;
    }
    return DIT_OK;
}

/* What is said of the fleet once its machines are known. */
static dit_status describe_fleet(const suite_procure_request *request, suite_loads *loads, suite_split *split)
{
    suite_fleet *fleet = &split->fleet;
    const suite_service service = suite_menu_service(split->menu, split->item, split->devices);
    double rate, busy;
    int serving = fleet->machines - request->spares;
    DIT_TRY(latency_of(request, 0, &service, serving, SUITE_SERVE_SURE, &fleet->quantile_s, &busy));
    DIT_TRY(latency_of(request, 0, &service, fleet->machines, SUITE_SERVE_LOOK, &rate, &fleet->busy));
    fleet->fewer_s = INFINITY;
    if (serving > 1) DIT_TRY(latency_of(request, 0, &service, serving - 1, SUITE_SERVE_LOOK, &fleet->fewer_s, &busy));
    const suite_service all = of_machines(&service, serving);
    DIT_TRY(suite_serve_rate(request, loads, split->slo_s, &all, &rate));
    fleet->headroom = fmax(rate / request->rate - 1, 0);
    return DIT_OK;
}

static void take_served(const suite_menu_item *item, suite_split *split)
{
    take(item, split);
    split->batch = item->batch.most;
}

/* The replicas that need the fewest machines, and of those the ones that bear most. */
static dit_status choose_fleet(const suite_procure_request *request, suite_loads *loads, suite_split *split)
{
    double most = 0, rate;
    int machines;
    for (const suite_menu_item *item = NULL; (item = next_item(split, item));) {
        const suite_service service = suite_menu_service(split->menu, item, split->devices);
        DIT_TRY(suite_choice_fleet(request, split->slo_s, &service, &machines));
        if (!machines) continue;
        DIT_TRY(suite_serve_rate(request, loads, split->slo_s, &service, &rate));
        if (split->chosen && (machines > split->fleet.machines || (machines == split->fleet.machines && rate <= most)))
            continue;
        most = rate;
        split->fleet.machines = machines;
        take_served(item, split);
    }
    return split->chosen ? describe_fleet(request, loads, split) : DIT_OK;
}

/* The replicas that bear the highest rate within the bound. */
static dit_status choose_most(const suite_procure_request *request, suite_loads *loads, suite_split *split)
{
    double most = 0, rate;
    for (const suite_menu_item *item = NULL; (item = next_item(split, item));) {
        const suite_service service = suite_menu_service(split->menu, item, split->devices);
        DIT_TRY(suite_serve_rate(request, loads, split->slo_s, &service, &rate));
        if (rate <= most) continue;
        most = rate;
        take_served(item, split);
    }
    return DIT_OK;
}

static double fastest_of(const suite_split *split)
{
    double fastest = INFINITY;
    for (const suite_menu_item *item = NULL; (item = next_item(split, item));)
        fastest = fmin(fastest, suite_menu_seconds(split->menu, item, split->devices));
    return fastest;
}

static dit_status choose_served(const suite_procure_request *request, suite_loads *loads, suite_split *split)
{
    double fastest = fastest_of(split);
    if (!(split->slo_s > 0)) return DIT_OK;
    DIT_TRY(request->rate > 0 ? choose_fleet(request, loads, split) : choose_most(request, loads, split));
    if (split->chosen) {
        const suite_service service = suite_menu_service(split->menu, split->item, split->devices);
        DIT_TRY(suite_serve_capacity(request, split->slo_s, &service, SUITE_SERVE_SURE, &split->load));
        split->images_per_hour.value = 3600 * suite_choice_images(request) * split->load.rate;
        if (split->load.outcome == SUITE_CAPACITY_FOUND) return DIT_OK;
        split->chosen = NULL;
    }
    if (fastest <= split->slo_s)
        snprintf(split->reason, sizeof split->reason, "no %s keeps p%g within %.3g s; the fastest mesh takes %.3g s",
                 request->rate > 0 ? "number of machines" : "rate", 100 * request->slo.quantile, split->slo_s, fastest);
    else if (isfinite(fastest))
        snprintf(split->reason, sizeof split->reason, "the fastest mesh alone takes %.3g s, the bound is %.3g s",
                 fastest, split->slo_s);
    return DIT_OK;
}

/* ---- why there is none --------------------------------------------------------------------------------------------------- */

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

dit_status suite_choice_make(const suite_procure_request *request, const suite_search *found, suite_loads *loads,
                             suite_split *split)
{
    bound(request, found, split);
    if (request->scenario == SUITE_SCENARIO_SERVER)
        DIT_TRY(choose_served(request, loads, split));
    else if (request->scenario == SUITE_SCENARIO_OFFLINE)
        DIT_TRY(choose_offline(request, split));
    else
        choose_single(request, split);
    if (!split->chosen && !split->reason[0]) explain_none(found, split);
    return DIT_OK;
}
