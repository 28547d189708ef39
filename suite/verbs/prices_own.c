#include "suite/verbs/prices_own.h"

#include "suite/console/table.h"
#include "suite/platform/cluster.h"
#include "suite/prices/ownership.h"
#include "suite/prices/power_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- watts of accelerators -------------------------------------------------------------------------------------------- */

/* One accelerator of the catalogue; false where nothing is known of its watts. */
static bool power_of(const suite_power_table *table, const char *accelerator, suite_power_model *out)
{
    suite_accelerator facts;
    if (suite_accelerator_load(accelerator, &facts) != DIT_OK) return false;
    double limit = dit_json_number_or(facts.source.root, "power_w", 0);
    suite_accelerator_release(&facts);
    if (suite_power_model_of(table, accelerator, limit, out) == DIT_OK) return true;
    dit_error_clear();
    return false;
}

static dit_status add_power(suite_table *table, const char *name, const suite_power_model *model)
{
    char idle[16], busy[16], limit[16] = "", error[24], points[24] = "";
    snprintf(idle, sizeof idle, "%.0f", model->idle_w);
    snprintf(busy, sizeof busy, "%.0f", model->idle_w + model->slope_w);
    if (model->limit_w > 0) snprintf(limit, sizeof limit, "%.0f", model->limit_w);
    snprintf(error, sizeof error, "%.0f %%", 100 * model->error);
    if (model->fitted) snprintf(points, sizeof points, "%d of %d models", model->points, model->models);
    const char *cells[] = {name, idle, busy, limit, error, model->fitted ? "published, fitted" : "assumed", points};
    return suite_table_add_cells(table, cells, (int)(sizeof cells / sizeof *cells));
}

static dit_status print_power(const suite_power_table *power, const suite_price_answer *answer, FILE *out, int width)
{
    static const suite_column columns[] = {{"accelerator", "accelerator", true, 0},
                                           {"idle", "idle W", false, 0},
                                           {"busy", "busy W", false, 0},
                                           {"limit", "limit W", false, 0},
                                           {"error", "error", false, 0},
                                           {"evidence", "evidence", true, 0},
                                           {"points", "runs", true, 1}};
    suite_table table = {.columns = columns, .column_count = (int)(sizeof columns / sizeof *columns)};
    suite_power_model model;
    dit_status st = DIT_OK;
    for (char **name = answer->accelerators; st == DIT_OK && name && *name; name++)
        if (power_of(power, *name, &model)) st = add_power(&table, *name, &model);
    fprintf(out, "\nWatts of one accelerator (scope device): idle, and at the best rate of its model; the limit sizes "
                 "the supply and is not drawn:\n");
    if (st == DIT_OK) suite_table_print(&table, out, width);
    suite_table_release(&table);
    return st;
}

static dit_status print_fit(FILE *out)
{
    suite_power_fit *fits;
    int count;
    DIT_TRY(suite_power_fit_published(NULL, &fits, &count));
    fprintf(out, "Fitted now on results/published/mlenergy.json:\n");
    for (int i = 0; i < count; i++)
        fprintf(out,
                "  %s: %.1f W + %.1f W x busy share, %d runs of %d models; error with a model left out %.1f %% in the "
                "median, %.1f %% of nine in ten; limit over drawn %.2f in the median\n",
                fits[i].accelerator, fits[i].idle_w, fits[i].slope_w, fits[i].points, fits[i].models,
                100 * fits[i].error_median, 100 * fits[i].error_p90, fits[i].limit_median);
    free(fits);
    return DIT_OK;
}

/* ---- an own machine ------------------------------------------------------------------------------------------------------ */

typedef struct {
    suite_site site;
    suite_power_table power;
    const prices_own_request *request;
    const suite_price_answer *answer;
} own_call;

/* What is said of one machine. */
typedef struct {
    suite_purchase_price price;
    suite_device_watts device;
    suite_server_watts drawn, rated;
    suite_site_watts site;
    suite_own_cost cost, idle;
    suite_price rent;
    suite_break_even even;
    bool wall, rated_assumed, has_device;
} own_machine;

static dit_status find_watts(const own_call *call, const suite_priced_machine *one, own_machine *out,
                             suite_server_watts *idle)
{
    const suite_price_machine *machine = &one->machine;
    suite_power_draw draw;
    bool wall;
    out->has_device = suite_power_of(&call->power, machine->accelerator, machine->limit_w, one->devices,
                                     call->request->busy, 1, &draw) == DIT_OK;
    if (out->has_device) out->device = draw.device;
    DIT_TRY(suite_own_watts(&call->site, &call->power, machine, one->devices, call->request->busy, &out->drawn,
                            &out->wall));
    DIT_TRY(suite_own_watts(&call->site, &call->power, machine, one->devices, 0, idle, &wall));
    out->site = suite_power_site(out->drawn, call->site.values[SUITE_SITE_PUE].value);
    return suite_power_rated(&call->power, machine->accelerator, machine->limit_w, one->devices, &out->rated,
                             &out->rated_assumed);
}

/* Everything but the rent, whose absence has a reason of its own. */
static dit_status find_own(const own_call *call, const suite_priced_machine *one, own_machine *out)
{
    suite_server_watts idle;
    suite_price_terms terms = call->answer->terms;
    *out = (own_machine){.wall = false};
    DIT_TRY(
        suite_purchase_price_of(call->answer->book, &call->site, &one->machine, one->devices, terms.day, &out->price));
    DIT_TRY(find_watts(call, one, out, &idle));
    DIT_TRY(suite_own_cost_of(&call->site, out->price.mid, out->rated, out->drawn, &out->cost));
    DIT_TRY(suite_own_cost_of(&call->site, out->price.mid, out->rated, idle, &out->idle));
    terms.currency = call->site.currency;
    DIT_TRY(suite_price_of(call->answer->book, &one->machine, one->devices, &terms, &out->rent));
    if (out->rent.absence != SUITE_PRICE_THERE) return DIT_OK;
    return suite_break_even_of(&out->cost, &out->idle, out->rent.median, &out->even);
}

static void write_break_even(const own_machine *own, char out[64])
{
    out[0] = '\0';
    if (own->rent.absence != SUITE_PRICE_THERE)
        snprintf(out, 64, "%s", suite_price_absence_name(own->rent.absence));
    else if (own->even.kind == SUITE_BREAK_EVEN_AT)
        snprintf(out, 64, "above %.0f of %.0f h", own->even.hours, own->even.available);
    else
        snprintf(out, 64, "%s", own->even.kind == SUITE_BREAK_EVEN_NEVER ? "rent" : "own");
}

static dit_status add_own(suite_table *table, const suite_priced_machine *one, const own_machine *own,
                          const char *reason)
{
    char devices[16], cells[8][32], even[64] = "";
    const double numbers[] = {own->price.mid,  own->cost.capital, own->cost.upkeep, own->cost.energy,
                              own->cost.total, own->drawn.w,      own->site.w,      own->rent.median};
    snprintf(devices, sizeof devices, "%d", one->devices);
    for (int i = 0; i < 8; i++)
        snprintf(cells[i], sizeof cells[i], i == 0 || i == 5 || i == 6 ? "%.0f" : "%.4g", numbers[i]);
    if (own->rent.absence != SUITE_PRICE_THERE) cells[7][0] = '\0';
    if (!reason) write_break_even(own, even);
    DIT_TRY(suite_table_add_row(table));
    DIT_TRY(suite_table_set(table, 0, one->machine.name));
    DIT_TRY(suite_table_set(table, 1, devices));
    for (int i = 0; i < 8 && !reason; i++) DIT_TRY(suite_table_set(table, 2 + i, cells[i]));
    return suite_table_set(table, 10, reason ? reason : even);
}

/* What owners are said to pay for such a device; NULL where no quote of kind `own` says it. The least counts. */
static const suite_price_quote *owners_quote(const suite_price_answer *answer, const char *accelerator)
{
    const suite_price_quote *least = NULL;
    for (int i = 0; i < answer->book->quote_count; i++) {
        const suite_price_quote *quote = &answer->book->quotes[i];
        if (quote->kind != SUITE_PRICE_OWN || !quote->share || strcmp(quote->accelerator, accelerator) != 0) continue;
        if (!least || quote->price < least->price) least = quote;
    }
    return least;
}

/* Whether power can decide an order at all, and how far the costs are from those that owners are said to have. */
static void print_remarks(const own_call *call, const suite_priced_machine *one, const own_machine *own, FILE *out)
{
    const suite_price_quote *quote = owners_quote(call->answer, one->machine.accelerator);
    double running = suite_own_running_share(&own->cost), each = own->cost.total / one->devices;
    fprintf(out, "%s: %.0f %% of the cost is capital%s", one->machine.name, 100 * own->cost.capital / own->cost.total,
            running < 0.2 ? "; a better PUE will not change an order" : "");
    if (quote && strcmp(quote->currency, call->site.currency) == 0)
        fprintf(out, "; %.2f a device, %+.0f %% beside %.2f (%s)%s", each, 100 * (each / quote->price - 1),
                quote->price, quote->provider, fabs(each / quote->price - 1) > 0.3 ? ": more than 30 % apart" : "");
    fprintf(out, ".\n");
}

static dit_status print_machines(const own_call *call, FILE *out, int width)
{
    static const suite_column columns[] = {{"platform", "machine", true, 0},
                                           {"devices", "devices", false, 0},
                                           {"price", "price", false, 0},
                                           {"capital", "capital/h", false, 0},
                                           {"upkeep", "upkeep/h", false, 0},
                                           {"energy", "energy/h", false, 0},
                                           {"total", "own/h", false, 0},
                                           {"server", "server W", false, 1},
                                           {"site", "site W", false, 2},
                                           {"rent", "rent/h", false, 0},
                                           {"even", "own pays from, a month", true, 0}};
    suite_table table = {.columns = columns, .column_count = (int)(sizeof columns / sizeof *columns)};
    dit_status st = DIT_OK;
    own_machine *all = calloc((size_t)call->answer->machine_count + 1, sizeof *all);
    bool *known = calloc((size_t)call->answer->machine_count + 1, sizeof *known);
    if (!all || !known) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d machines", call->answer->machine_count);
    fprintf(out, "\nOwning, in %s, at a busy share of %.3g; rents are the median of kind %s:\n", call->site.currency,
            call->request->busy, suite_price_kind_names()[call->answer->terms.kind]);
    for (int i = 0; st == DIT_OK && i < call->answer->machine_count; i++) {
        const suite_priced_machine *one = &call->answer->machines[i];
        st = find_own(call, one, &all[i]);
        known[i] = st == DIT_OK;
        if (st == DIT_OK || st == DIT_ERR_NOT_FOUND || st == DIT_ERR_UNSUPPORTED)
            st = add_own(&table, one, &all[i], known[i] ? NULL : dit_error_last()->message);
        if (st == DIT_OK) dit_error_clear();
    }
    if (st == DIT_OK) suite_table_print(&table, out, width);
    suite_table_release(&table);
    for (int i = 0; all && known && i < call->answer->machine_count; i++) {
        if (st == DIT_OK && known[i]) print_remarks(call, &call->answer->machines[i], &all[i], out);
        suite_price_release(&all[i].rent);
    }
    free(all);
    free(known);
    return st;
}

static void print_values(const suite_site *site, FILE *out)
{
    fprintf(out, "Where these costs come from (site %s%s):\n", site->name,
            site->depreciation == SUITE_DEPRECIATION_MARKET ? ", value falls with the market" : "");
    for (int i = 0; i < SUITE_SITE_VALUE_COUNT; i++) {
        const suite_fact *fact = &site->values[i];
        char day[SUITE_DAY_TEXT] = "";
        if (fact->source[0]) suite_day_write(fact->day, day);
        fprintf(out, "  %s = %.6g %s%s: %s%s%s%s%s%s%s%s\n", suite_site_value_name((suite_site_value)i), fact->value,
                suite_site_value_unit((suite_site_value)i), site->is_default[i] ? ", the default" : "",
                fact->assumed[0] || site->is_default[i] ? "assumed: " : "", fact->assumed, fact->source,
                day[0] ? ", " : "", day, fact->doubt[0] ? " (" : "", fact->doubt, fact->doubt[0] ? ")" : "");
    }
}

static dit_status open_own(own_call *call)
{
    DIT_TRY(suite_power_load(&call->power));
    return call->request->site ? suite_site_load(call->request->site, &call->site) : DIT_OK;
}

static void close_own(own_call *call)
{
    suite_power_release(&call->power);
    suite_site_release(&call->site);
}

dit_status prices_own_print(const prices_own_request *request, const suite_price_answer *answer, FILE *out, int width)
{
    own_call call = {.request = request, .answer = answer};
    if (!request->site && !request->power) return DIT_OK;
    dit_status st = open_own(&call);
    if (st == DIT_OK && request->power) st = print_power(&call.power, answer, out, width);
    if (st == DIT_OK && request->power) st = print_fit(out);
    if (st == DIT_OK && request->site) st = print_machines(&call, out, width);
    if (st == DIT_OK && request->site) print_values(&call.site, out);
    close_own(&call);
    return st;
}

/* ---- the document ---------------------------------------------------------------------------------------------------------- */

static void put_fact(dit_json_writer *w, cJSON *row, const suite_fact *fact)
{
    char day[SUITE_DAY_TEXT];
    if (fact->assumed[0]) dit_json_put_string(w, row, "assumed", fact->assumed);
    if (fact->source[0]) {
        suite_day_write(fact->day, day);
        dit_json_put_string(w, row, "source", fact->source);
        dit_json_put_string(w, row, "date", day);
    }
    if (fact->doubt[0]) dit_json_put_string(w, row, "doubt", fact->doubt);
}

static void put_power(dit_json_writer *w, cJSON *document, const own_call *call)
{
    cJSON *list = dit_json_put_array(w, document, "power");
    for (char **name = call->answer->accelerators; name && *name; name++) {
        suite_power_model model;
        if (!power_of(&call->power, *name, &model)) continue;
        cJSON *row = dit_json_put_object(w, list, NULL);
        dit_json_put_string(w, row, "accelerator", *name);
        dit_json_put_string(w, row, "scope", "device");
        dit_json_put_number(w, row, "idle_w", model.idle_w);
        dit_json_put_number(w, row, "slope_w", model.slope_w);
        if (model.limit_w > 0) dit_json_put_number(w, row, "limit_w", model.limit_w);
        dit_json_put_number(w, row, "error", model.error);
        dit_json_put_string(w, row, "evidence", model.fitted ? "published" : "assumed");
        if (model.fitted) dit_json_put_int(w, row, "points", model.points);
        put_fact(w, row, &model.evidence);
    }
}

static void put_values(dit_json_writer *w, cJSON *own, const suite_site *site)
{
    cJSON *values = dit_json_put_object(w, own, "values");
    for (int i = 0; i < SUITE_SITE_VALUE_COUNT; i++) {
        cJSON *row = dit_json_put_object(w, values, suite_site_value_name((suite_site_value)i));
        dit_json_put_number(w, row, "value", site->values[i].value);
        dit_json_put_bool(w, row, "default", site->is_default[i]);
        put_fact(w, row, &site->values[i]);
    }
}

static void put_even(dit_json_writer *w, cJSON *row, const own_machine *own)
{
    static const char *const kinds[] = {"at", "never", "always"};
    if (own->rent.absence != SUITE_PRICE_THERE) {
        cJSON *absent = dit_json_put_object(w, row, "absent");
        dit_json_put_string(w, absent, "code", suite_price_absence_name(own->rent.absence));
        dit_json_put_string(w, absent, "reason", own->rent.reason);
        return;
    }
    dit_json_put_number(w, row, "rent", own->rent.median);
    cJSON *even = dit_json_put_object(w, row, "break_even");
    dit_json_put_string(w, even, "own_is_cheaper", kinds[own->even.kind]);
    if (own->even.kind == SUITE_BREAK_EVEN_AT) dit_json_put_number(w, even, "hours_a_month", own->even.hours);
    dit_json_put_number(w, even, "available_hours_a_month", own->even.available);
}

static void put_machine(dit_json_writer *w, cJSON *list, const own_call *call, const suite_priced_machine *one)
{
    own_machine own;
    cJSON *row = dit_json_put_object(w, list, NULL);
    dit_status st = find_own(call, one, &own);
    dit_json_put_string(w, row, "platform", one->machine.name);
    dit_json_put_int(w, row, "devices", one->devices);
    if (st != DIT_OK) {
        cJSON *absent = dit_json_put_object(w, row, "absent");
        dit_json_put_string(w, absent, "code", dit_status_name(st));
        dit_json_put_string(w, absent, "reason", dit_error_last()->message);
        suite_price_release(&own.rent);
        return;
    }
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"price", own.price.mid},       {"price_low", own.price.low},
                   {"price_high", own.price.high}, {"capital", own.cost.capital},
                   {"upkeep", own.cost.upkeep},    {"energy", own.cost.energy},
                   {"total", own.cost.total},      {"running_share", suite_own_running_share(&own.cost)},
                   {"server_w", own.drawn.w},      {"site_w", own.site.w},
                   {"rated_server_w", own.rated.w}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        dit_json_put_number(w, row, numbers[i].key, numbers[i].value);
    if (own.has_device) dit_json_put_number(w, row, "device_w", own.device.w);
    dit_json_put_string(w, row, "price_is", own.price.stated ? "stated" : own.price.scaled ? "scaled" : "quoted");
    dit_json_put_string(w, row, "server_w_is", own.wall ? "stated" : "assumed");
    put_even(w, row, &own);
    suite_price_release(&own.rent);
}

void prices_own_put(dit_json_writer *w, cJSON *document, const prices_own_request *request,
                    const suite_price_answer *answer)
{
    own_call call = {.request = request, .answer = answer};
    if (!request->site && !request->power) return;
    dit_status st = open_own(&call);
    dit_json_put_status(w, st);
    if (st == DIT_OK && request->power) put_power(w, document, &call);
    if (st == DIT_OK && request->site) {
        cJSON *own = dit_json_put_object(w, document, "own");
        dit_json_put_string(w, own, "site", call.site.name);
        dit_json_put_string(w, own, "currency", call.site.currency);
        dit_json_put_number(w, own, "busy", request->busy);
        put_values(w, own, &call.site);
        cJSON *machines = dit_json_put_array(w, own, "machines");
        for (int i = 0; i < answer->machine_count; i++) put_machine(w, machines, &call, &answer->machines[i]);
    }
    close_own(&call);
}
