#include "suite/procure/procure.h"

#include "base/list.h"
#include "suite/platform/cluster.h"
#include "suite/procure/choice.h"
#include "suite/procure/contest.h"
#include "suite/procure/load_curves.h"
#include "suite/procure/sensitivity.h"
#include "suite/procure/versus.h"
#include "suite/procure/worth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MENUS = 3 /* of a machine: exact, displaced, fp8 */, SEARCHES = MENUS + 1 /* and without tuning */ };

/* ---- numbers of devices -------------------------------------------------------------------------------------------- */

static bool is_asked(const suite_procure_machine *machine, int devices)
{
    return machine->only ? devices == machine->priced.devices : (devices & (devices - 1)) == 0;
}

int suite_procure_largest(const suite_procure_machine *machine)
{
    int devices = 1;
    if (machine->only) return machine->priced.devices;
    while (2 * devices <= machine->priced.devices) devices *= 2;
    return devices;
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
                                          .seconds = split->chosen->seconds * split->crowd};
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

/* The rate of one machine at another service time than the predicted one. */
static dit_status rate_at(const suite_procure_request *request, suite_loads *loads, const suite_split *split,
                          double seconds, double *out)
{
    *out = split->images_per_hour.value * split->service.seconds / seconds;
    if (request->scenario != SUITE_SCENARIO_SERVER) return DIT_OK;
    /* waiting makes more of it than the ratio of the times */
    const suite_service service = suite_choice_service(split, seconds);
    DIT_TRY(suite_serve_rate(request, loads, split->slo_s, &service, out));
    *out *= 3600 * suite_choice_images(request);
    return DIT_OK;
}

/* Images an hour, and machines of a fleet, at the ends of the service time's interval. */
static dit_status range_images(const suite_procure_request *request, suite_loads *loads, suite_split *split)
{
    const suite_forecast *service = &split->service;
    suite_ranged *rate = &split->images_per_hour;
    suite_fleet *fleet = &split->fleet;
    if (!service->has_interval) return DIT_OK;
    DIT_TRY(rate_at(request, loads, split, service->high, &rate->least));
    DIT_TRY(rate_at(request, loads, split, service->low, &rate->most));
    rate->least = fmin(rate->least, rate->value); /* each to 3 % only */
    rate->most = fmax(rate->most, rate->value);
    if (!fleet->machines) return DIT_OK;
    const suite_service low = suite_choice_service(split, service->low),
                        high = suite_choice_service(split, service->high);
    DIT_TRY(suite_choice_fleet(request, split->slo_s, &low, &fleet->least));
    return suite_choice_fleet(request, split->slo_s, &high, &fleet->most);
}

static dit_status fill_split(const suite_procure_request *request, const suite_search *found, const suite_search *base,
                             suite_loads *loads, suite_split *split)
{
    if (base) DIT_TRY(suite_choice_base(request, base, split));
    DIT_TRY(suite_choice_make(request, found, loads, split));
    if (!split->chosen) return DIT_OK;
    DIT_TRY(forecast(request, split));
    judge(request, split);
    DIT_TRY(range_images(request, loads, split));
    return suite_worth_fill(request, split);
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

dit_status suite_procure_is_known(const suite_price_machine *machine, const char *element, char why[300])
{
    suite_accelerator accelerator;
    if (!element) element = "fp16";
    DIT_TRY(suite_accelerator_load(machine->accelerator, &accelerator));
    const cJSON *rates = dit_json_member(accelerator.source.root, "peak_flops_per_s");
    why[0] = '\0';
    if (dit_json_number_or(rates, element, 0) <= 0)
        snprintf(why, 300, "nobody has told how fast %s computes in %s", machine->accelerator, element);
    suite_accelerator_release(&accelerator);
    return DIT_OK;
}

static dit_status add_split(suite_split **splits, int *count, int machine, int devices, suite_split **split)
{
    DIT_TRY(dit_list_grow((void **)splits, *count, sizeof **splits));
    *split = &(*splits)[(*count)++];
    **split = (suite_split){.machine = machine, .devices = devices};
    return DIT_OK;
}

/* What one machine's searches are asked. */
static suite_search_request asked_of(const suite_procure_request *request, int index)
{
    const suite_procure_machine *machine = &request->machines[index];
    suite_search_request asked = request->search;
    asked.platform = machine->priced.machine.name;
    asked.devices = suite_procure_largest(machine);
    asked.goal = SUITE_GOAL_FRONT;
    if (!asked.element) asked.element = "fp16"; /* of the published times that the machines were fitted on */
    return asked;
}

static dit_status run_search(const suite_search_request *asked, suite_procured *out, suite_search **found)
{
    *found = &out->searches[out->search_count++];
    DIT_TRY(suite_search_run(asked, *found));
    out->simulated += (*found)->simulated;
    out->kept += (*found)->kept;
    return DIT_OK;
}

static int list_devices(const suite_procure_machine *machine, int devices[SUITE_MENU_SIZES])
{
    int count = 0;
    for (int some = 1; some <= suite_procure_largest(machine) && count < SUITE_MENU_SIZES; some++)
        if (is_asked(machine, some)) devices[count++] = some;
    return count;
}

static dit_status make_menu(const suite_procure_request *request, int index, const suite_search *found,
                            suite_procured *out, suite_menu **menu)
{
    int devices[SUITE_MENU_SIZES], count = list_devices(&request->machines[index], devices);
    *menu = &out->menus[out->menu_count++];
    DIT_TRY(suite_menu_make(request, found, devices, count, *menu));
    out->simulated += (*menu)->simulated;
    out->kept += (*menu)->kept;
    return DIT_OK;
}

static dit_status fill_machine(const suite_procure_request *request, int index, suite_procured *out)
{
    const suite_procure_machine *machine = &request->machines[index];
    suite_search_request asked = asked_of(request, index);
    suite_search *found, *base = NULL;
    suite_menu *menu;
    suite_split *split;
    char why[sizeof split->reason];
    int first = out->count;
    DIT_TRY(suite_procure_is_known(&machine->priced.machine, asked.element, why));
    if (why[0]) {
        DIT_TRY(add_split(&out->splits, &out->count, index, asked.devices, &split));
        memcpy(split->reason, why, sizeof split->reason);
        return DIT_OK;
    }
    DIT_TRY(run_search(&asked, out, &found));
    out->bounded += found->by_bound;
    DIT_TRY(make_menu(request, index, found, out, &menu));
    if (request->base) {
        asked.profile = request->base;
        asked.untuned = true;
        DIT_TRY(run_search(&asked, out, &base));
    }
    for (int i = 0; i < menu->device_count; i++) {
        DIT_TRY(add_split(&out->splits, &out->count, index, menu->devices[i], &split));
        split->menu = menu;
        DIT_TRY(fill_split(request, found, base, &out->loads, split));
    }
    mark_least(out, first);
    return DIT_OK;
}

/* ---- what is faster, if pictures may differ ------------------------------------------------------------------------ */

/* Splits of one more search: those of other pictures. */
static dit_status fill_variant(const suite_procure_request *request, int index, const suite_search_request *asked,
                               suite_procured *out)
{
    suite_search *found;
    suite_menu *menu;
    suite_split *split;
    DIT_TRY(run_search(asked, out, &found));
    DIT_TRY(make_menu(request, index, found, out, &menu));
    for (int i = 0; i < menu->device_count; i++) {
        DIT_TRY(add_split(&out->approximate, &out->approximate_count, index, menu->devices[i], &split));
        split->menu = menu;
        DIT_TRY(fill_split(request, found, NULL, &out->loads, split));
        if (split->chosen) continue;
        suite_price_release(&split->price);
        out->approximate_count--; /* one device has no stages */
    }
    return DIT_OK;
}

/* Displaced meshes, and exact ones in fp8 where the accelerator has it. */
static dit_status fill_approximate(const suite_procure_request *request, int index, suite_procured *out)
{
    suite_search_request asked = asked_of(request, index);
    const suite_price_machine *machine = &request->machines[index].priced.machine;
    char why[300];
    if (!request->approximate) return DIT_OK;
    DIT_TRY(suite_procure_is_known(machine, asked.element, why));
    if (why[0]) return DIT_OK;
    asked.approximate = asked.displaced = true;
    DIT_TRY(fill_variant(request, index, &asked, out));
    DIT_TRY(suite_procure_is_known(machine, "fp8", why));
    if (why[0]) return DIT_OK;
    asked.approximate = asked.displaced = false;
    asked.element = "fp8";
    return fill_variant(request, index, &asked, out);
}

dit_status suite_procure(const suite_procure_request *request, suite_procured *out)
{
    *out = (suite_procured){.count = 0};
    out->searches = calloc(SEARCHES * (size_t)request->machine_count + 1, sizeof *out->searches);
    out->menus = calloc(MENUS * (size_t)request->machine_count + 1, sizeof *out->menus);
    if (!out->searches || !out->menus)
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d machines", request->machine_count);
    for (int i = 0; i < request->machine_count; i++) {
        if (request->told)
            request->told(request->context, i, request->machine_count, request->machines[i].priced.machine.name);
        DIT_TRY(fill_machine(request, i, out));
        DIT_TRY(fill_approximate(request, i, out));
    }
    DIT_TRY(suite_contest_run(request, out));
    DIT_TRY(suite_load_curves_find(request, out));
    DIT_TRY(suite_versus_find(request, out));
    return suite_sensitivities_find(request, out);
}
