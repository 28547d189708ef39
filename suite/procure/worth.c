#include "suite/procure/worth.h"

#include "suite/procure/choice.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const suite_price_machine *machine_of(const suite_procure_request *request, const suite_split *split)
{
    return &request->machines[split->machine].priced.machine;
}

/* Money for 1,000 images, of an hour of one machine. With a fleet all its machines are paid for. */
static suite_ranged per_1000_of(const suite_procure_request *request, const suite_split *split,
                                const suite_ranged *hour)
{
    const suite_ranged *rate = &split->images_per_hour;
    const suite_fleet *fleet = &split->fleet;
    suite_ranged money = {.value = 1000 * hour->value / rate->value};
    if (fleet->machines) {
        double asked = 3600 * suite_choice_images(request) * request->rate;
        money.value = 1000 * fleet->machines * hour->value / asked;
        if (!split->service.has_interval) return money;
        money.least = 1000 * fleet->least * hour->least / asked;
        money.most = fleet->most ? 1000 * fleet->most * hour->most / asked : INFINITY;
        return money;
    }
    if (!split->service.has_interval) return money;
    money.least = 1000 * hour->least / rate->most;
    money.most = rate->least > 0 ? 1000 * hour->most / rate->least : INFINITY;
    return money;
}

static dit_status put_price(const suite_procure_request *request, suite_split *split)
{
    dit_status st =
        suite_price_of(request->book, machine_of(request, split), split->devices, &request->terms, &split->price);
    if (st == DIT_ERR_CONSTRAINT_PLATFORM) {
        split->price.absence = SUITE_PRICE_NO_SIZE;
        snprintf(split->price.reason, sizeof split->price.reason, "%.199s", dit_error_last()->message);
        dit_error_clear();
        return DIT_OK;
    }
    DIT_TRY(st);
    if (split->price.absence != SUITE_PRICE_THERE) return DIT_OK;
    DIT_TRY(suite_price_covers(&split->price, &split->chosen->parallel, split->replicas));
    const suite_ranged hour = {split->price.median, split->price.least, split->price.most};
    split->per_1000 = per_1000_of(request, split, &hour);
    return DIT_OK;
}

/* ---- watts -------------------------------------------------------------------------------------------------------------- */

/* The least device-seconds of a request on this machine: what a busy share of one is. */
static double least_device_s(const suite_menu *menu)
{
    double least = INFINITY;
    for (int i = 0; i < menu->count; i++) least = fmin(least, menu->items[i].one->ranks * menu->items[i].one->seconds);
    return least;
}

static double busy_of(const suite_procure_request *request, const suite_split *split)
{
    int together = request->scenario == SUITE_SCENARIO_OFFLINE ? split->batch : 1;
    double busy = least_device_s(split->menu) * together / (split->chosen->ranks * split->service.seconds);
    if (split->fleet.machines)
        busy *= split->fleet.busy;
    else if (request->scenario == SUITE_SCENARIO_SERVER)
        busy *= split->load.run.busy;
    return fmin(busy, 1);
}

/* Images an hour of one machine at the load of the question. */
static double rate_of(const suite_procure_request *request, const suite_split *split)
{
    if (!split->fleet.machines) return split->images_per_hour.value;
    return 3600 * suite_choice_images(request) * request->rate / split->fleet.machines;
}

static dit_status put_power(const suite_procure_request *request, double busy, suite_split *split)
{
    const suite_price_machine *machine = machine_of(request, split);
    suite_server_watts rated;
    bool assumed;
    dit_status st =
        suite_power_of(request->power, machine->accelerator, machine->limit_w, split->devices, busy, 1, &split->power);
    if (st == DIT_OK && request->supply_w > 0)
        st =
            suite_power_rated(request->power, machine->accelerator, machine->limit_w, split->devices, &rated, &assumed);
    if (st == DIT_ERR_NOT_FOUND) {
        dit_error_clear();
        return DIT_OK;
    }
    DIT_TRY(st);
    split->has_power = true;
    split->images_per_kwh = 1000 * rate_of(request, split) / split->power.server.w;
    if (!(request->supply_w > 0)) return DIT_OK;
    split->rated_w = rated.w;
    split->supplied = (int)fmin(floor(request->supply_w / rated.w), 1e6);
    return DIT_OK;
}

/* ---- owning --------------------------------------------------------------------------------------------------------------- */

/* At an end of the watts' interval: -1, 1, or 0 for what is predicted. Watts that the site states have none. */
static dit_status cost_of(const suite_procure_request *request, const suite_split *split, double busy, double price,
                          int end, suite_own_cost *out)
{
    suite_server_watts drawn;
    bool stated;
    DIT_TRY(suite_own_watts(request->site, request->power, machine_of(request, split), split->devices, busy, &drawn,
                            &stated));
    if (!stated && split->has_power) drawn.w *= 1 + end * fmin(split->power.model.error, 1);
    return suite_own_cost_of(request->site, price, split->owned.rated, drawn, out);
}

static dit_status find_owned(const suite_procure_request *request, double busy, suite_split *split)
{
    const suite_price_machine *machine = machine_of(request, split);
    suite_owned *owned = &split->owned;
    suite_own_cost ends[2];
    DIT_TRY(suite_purchase_price_of(request->book, request->site, machine, split->devices, request->terms.day,
                                    &owned->price));
    DIT_TRY(suite_power_rated(request->power, machine->accelerator, machine->limit_w, split->devices, &owned->rated,
                              &owned->rated_assumed));
    DIT_TRY(cost_of(request, split, busy, owned->price.mid, 0, &owned->busy));
    DIT_TRY(cost_of(request, split, 0, owned->price.mid, 0, &owned->idle));
    DIT_TRY(cost_of(request, split, busy, owned->price.low, -1, &ends[0]));
    DIT_TRY(cost_of(request, split, busy, owned->price.high, 1, &ends[1]));
    const suite_ranged hour = {owned->busy.total, ends[0].total, ends[1].total};
    owned->per_1000 = per_1000_of(request, split, &hour);
    owned->there = true;
    return DIT_OK;
}

/* What the hours of a month cost, owned and rented. */
static dit_status compare_rent(const suite_procure_request *request, suite_split *split)
{
    suite_owned *owned = &split->owned;
    const suite_price *rent = &split->price;
    owned->has_rent = rent->absence == SUITE_PRICE_THERE && strcmp(rent->currency, owned->price.currency) == 0;
    if (owned->has_rent) DIT_TRY(suite_break_even_of(&owned->busy, &owned->idle, rent->median, &owned->even));
    if (!(request->hours_a_day > 0)) return DIT_OK;
    double available = owned->busy.hours / 12;
    owned->month_own_h = fmin(request->hours_a_day * 365 / 12, available);
    owned->month_own = (owned->busy.capital + owned->busy.upkeep) * available +
                       owned->busy.energy * owned->month_own_h + owned->idle.energy * (available - owned->month_own_h);
    if (owned->has_rent) owned->month_rent = rent->median * owned->month_own_h;
    return DIT_OK;
}

static dit_status put_owned(const suite_procure_request *request, double busy, suite_split *split)
{
    if (!request->site) return DIT_OK;
    dit_status st = find_owned(request, busy, split);
    if (st == DIT_ERR_NOT_FOUND || st == DIT_ERR_UNSUPPORTED) {
        snprintf(split->owned.reason, sizeof split->owned.reason, "%.199s", dit_error_last()->message);
        dit_error_clear();
        return DIT_OK;
    }
    DIT_TRY(st);
    return compare_rent(request, split);
}

dit_status suite_worth_fill(const suite_procure_request *request, suite_split *split)
{
    double busy = busy_of(request, split);
    DIT_TRY(put_price(request, split));
    DIT_TRY(put_power(request, busy, split));
    return put_owned(request, busy, split);
}
