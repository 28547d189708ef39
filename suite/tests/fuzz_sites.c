/* Fuzz target of the readers of sites and of tables of power. Run by ci/fuzz.sh. Beyond not crashing: what is refused
 * says why, and what is accepted gives finite costs and watts. */
#include "suite/prices/ownership.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check(bool good)
{
    if (!good) abort();
}

static void check_site(const suite_site *site)
{
    const suite_server_watts rated = {10200}, drawn = {6000};
    suite_own_cost cost;
    suite_break_even even;
    check(suite_own_cost_of(site, 250000, rated, drawn, &cost) == DIT_OK);
    check(isfinite(cost.total) && cost.total >= 0 && cost.capital >= 0);
    check(suite_break_even_of(&cost, &cost, 20, &even) == DIT_OK && isfinite(even.hours));
}

static void check_power(const suite_power_table *table)
{
    const char *name = table->fitted_count ? table->fitted_names[0] : "other";
    suite_power_draw draw;
    check(suite_power_of(table, name, 700, 8, 0.5, 1.25, &draw) == DIT_OK);
    check(isfinite(draw.site.w) && draw.server.w >= draw.device.w && draw.site.w >= draw.server.w);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    suite_site site;
    suite_power_table table;
    dit_error_clear();
    if (suite_site_parse((const char *)data, size, "fuzz.json", NULL, &site) == DIT_OK)
        check_site(&site);
    else
        check(dit_error_last()->message[0] != '\0');
    suite_site_release(&site);
    dit_error_clear();
    if (suite_power_parse((const char *)data, size, "fuzz.json", &table) == DIT_OK)
        check_power(&table);
    else
        check(dit_error_last()->message[0] != '\0');
    suite_power_release(&table);
    return 0;
}
