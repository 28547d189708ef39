#include "suite/prices/ownership.h"

#include <math.h>
#include <string.h>

static const double hours_of_year = 8760, months = 12;
/* Powers of ten that a value loses a year: how fast accelerators fell behind newer ones (Epoch, training-cost-trends). */
static const double market_fall = 0.14;

/* ---- the price ------------------------------------------------------------------------------------------------------- */

static const suite_purchase *find_purchase(const suite_price_book *book, const char *accelerator, bool server,
                                           int64_t day)
{
    const suite_purchase *newest = NULL;
    for (int i = 0; i < book->purchase_count; i++) {
        const suite_purchase *one = &book->purchases[i];
        if (one->server != server || one->doubt[0] || one->when.first > day) continue;
        if (strcmp(one->accelerator, accelerator) != 0) continue;
        if (!newest || one->when.first > newest->when.first) newest = one;
    }
    return newest;
}

static void scale(suite_purchase_price *price, double factor)
{
    price->low *= factor;
    price->mid *= factor;
    price->high *= factor;
}

static double value_of(const suite_site *site, suite_site_value which)
{
    return site->values[which].value;
}

static dit_status take_purchase(const suite_price_book *book, const suite_site *site, const suite_purchase *bought,
                                int devices, int64_t day, suite_purchase_price *out)
{
    int rate;
    double factor = suite_currency_factor(book, bought->currency, site->currency, day, &rate);
    if (factor <= 0)
        return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "the price of %s is in %s, the site's costs are in %s",
                                       bought->accelerator, bought->currency, site->currency),
                              "add a dated row of rates to a price file");
    *out = (suite_purchase_price){.low = bought->low,
                                  .mid = bought->mid,
                                  .high = bought->high,
                                  .currency = site->currency,
                                  .purchase = (int)(bought - book->purchases),
                                  .scaled = !bought->server};
    scale(out, factor * devices * (bought->server ? 1 : value_of(site, SUITE_SITE_SERVER_OVER_ACCELERATORS)));
    return DIT_OK;
}

dit_status suite_purchase_price_of(const suite_price_book *book, const suite_site *site,
                                   const suite_price_machine *machine, int devices, int64_t day,
                                   suite_purchase_price *out)
{
    const suite_site_machine *own = suite_site_machine_of(site, machine->name);
    double share = (double)devices / (machine->nodes * machine->node_devices);
    if (own && own->price.value > 0) {
        *out = (suite_purchase_price){.low = own->price.value,
                                      .mid = own->price.value,
                                      .high = own->price.value,
                                      .currency = site->currency,
                                      .purchase = -1,
                                      .stated = true,
                                      .evidence = own->price};
        scale(out, share);
        return DIT_OK;
    }
    const suite_purchase *bought = find_purchase(book, machine->accelerator, true, day);
    if (!bought) bought = find_purchase(book, machine->accelerator, false, day);
    if (bought) return take_purchase(book, site, bought, devices, day, out);
    return dit_error_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "nobody says what %s was sold for", machine->accelerator),
                          "state the machine's price in a site file: \"machines\": {\"%s\": {\"price\": ...}}",
                          machine->name);
}

/* ---- watts ------------------------------------------------------------------------------------------------------------ */

dit_status suite_own_watts(const suite_site *site, const suite_power_table *table, const suite_price_machine *machine,
                           int devices, double busy, suite_server_watts *out, bool *stated)
{
    const suite_site_machine *own = suite_site_machine_of(site, machine->name);
    suite_power_draw draw;
    *stated = own && own->busy_wall_w.value > 0;
    if (!*stated) {
        DIT_TRY(suite_power_of(table, machine->accelerator, machine->limit_w, devices, busy, 1, &draw));
        *out = draw.server;
        return DIT_OK;
    }
    if (!(busy >= 0 && busy <= 1)) return DIT_FAIL(DIT_ERR_USAGE, "a busy share of %g is outside 0 to 1", busy);
    double share = (double)devices / (machine->nodes * machine->node_devices);
    out->w = share * (own->idle_wall_w.value + busy * (own->busy_wall_w.value - own->idle_wall_w.value));
    return DIT_OK;
}

/* ---- an hour --------------------------------------------------------------------------------------------------------- */

/* The yearly payment for a unit of money over so many years. */
static double annuity(double interest, double years)
{
    return interest > 0 ? interest / -expm1(-years * log1p(interest)) : 1 / years;
}

static double residual_share(const suite_site *site)
{
    double years = value_of(site, SUITE_SITE_YEARS);
    if (site->depreciation == SUITE_DEPRECIATION_MARKET) return pow(10, -market_fall * years);
    return value_of(site, SUITE_SITE_RESIDUAL);
}

dit_status suite_own_cost_of(const suite_site *site, double price, suite_server_watts rated, suite_server_watts drawn,
                             suite_own_cost *out)
{
    double interest = value_of(site, SUITE_SITE_INTEREST), years = value_of(site, SUITE_SITE_YEARS);
    if (!(price > 0) || !isfinite(price)) return DIT_FAIL(DIT_ERR_USAGE, "a price of %g buys nothing", price);
    *out = (suite_own_cost){.factor = annuity(interest, years)};
    out->hours = hours_of_year * value_of(site, SUITE_SITE_AVAILABILITY);
    out->invested = price / (1 - value_of(site, SUITE_SITE_NETWORK_SHARE)) + value_of(site, SUITE_SITE_DELIVERY);
    out->residual = residual_share(site) * out->invested * pow(1 + interest, -years);
    out->capital = (out->invested - out->residual) * out->factor / out->hours;
    out->upkeep =
        (value_of(site, SUITE_SITE_SPACE_PER_KW_YEAR) * rated.w / 1000 + value_of(site, SUITE_SITE_SUPPORT_PER_YEAR) +
         value_of(site, SUITE_SITE_PEOPLE_PER_YEAR) + value_of(site, SUITE_SITE_LICENCES_PER_YEAR)) /
        out->hours;
    out->energy =
        suite_power_site(drawn, value_of(site, SUITE_SITE_PUE)).w / 1000 * value_of(site, SUITE_SITE_PRICE_PER_KWH);
    out->total = out->capital + out->upkeep + out->energy;
    return DIT_OK;
}

dit_status suite_own_per_image(const suite_own_cost *cost, double images_per_hour, double *out)
{
    if (!(images_per_hour > 0)) return DIT_FAIL(DIT_ERR_USAGE, "%g images an hour have no cost each", images_per_hour);
    *out = cost->total / images_per_hour;
    return DIT_OK;
}

double suite_own_running_share(const suite_own_cost *cost)
{
    return (cost->upkeep + cost->energy) / cost->total;
}

/* ---- own or rent ------------------------------------------------------------------------------------------------------ */

dit_status suite_break_even_of(const suite_own_cost *busy, const suite_own_cost *idle, double rent,
                               suite_break_even *out)
{
    if (!(rent > 0)) return DIT_FAIL(DIT_ERR_USAGE, "a rent of %g an hour is none", rent);
    *out = (suite_break_even){.available = busy->hours / months};
    double standing = (busy->capital + busy->upkeep + idle->energy) * out->available; /* a month, whatever it does */
    double saved = rent - (busy->energy - idle->energy);                              /* an hour of work */
    out->kind = SUITE_BREAK_EVEN_NEVER;
    if (saved <= 0) return DIT_OK;
    out->hours = standing / saved;
    out->kind = out->hours <= 0                ? SUITE_BREAK_EVEN_ALWAYS
                : out->hours <= out->available ? SUITE_BREAK_EVEN_AT
                                               : SUITE_BREAK_EVEN_NEVER;
    return DIT_OK;
}
