#include "suite/verbs/mix_print.h"

#include "suite/console/table.h"

#include <math.h>
#include <stdlib.h>

enum { CELL = 96 };

static void print_classes(const suite_traffic *traffic, FILE *out)
{
    for (int k = 0; k < traffic->count; k++) {
        const suite_traffic_class *class = &traffic->classes[k];
        fprintf(out, "  %s: %.0f %% of requests", class->name, 100 * suite_traffic_share(traffic, k));
        if (class->width_px) fprintf(out, ", %lldx%lld", (long long)class->width_px, (long long)class->height_px);
        if (class->num_frames) fprintf(out, ", %lld frames", (long long)class->num_frames);
        if (class->steps) fprintf(out, ", %lld steps", (long long)class->steps);
        fprintf(out, ", p95 within %g s\n", class->bound_s);
    }
}

static void print_title(const suite_procure_request *request, const suite_traffic *traffic, FILE *out)
{
    char day[SUITE_DAY_TEXT];
    suite_day_write(request->terms.day, day);
    fprintf(out, "%s, traffic \"%s\"%s%s; %s, %s\n", request->search.model, traffic->name,
            traffic->title[0] ? ": " : "", traffic->title, request->search.profile,
            request->search.scope ? request->search.scope : "pipeline");
    print_classes(traffic, out);
    fprintf(out,
            "times are predicted (simulated, with the interval that held-out errors support), prices quoted (%s, %s of "
            "%s)\n\n",
            request->terms.currency, suite_price_kind_names()[request->terms.kind], day);
}

/* ---- the table ----------------------------------------------------------------------------------------------------------- */

enum {
    MACHINE,
    DEVICES,
    ONE,
    EQUAL,
    EQUAL_RATE,
    BEST,
    RATE,
    RANGE,
    GAIN,
    BUSY,
    HOUR,
    PER_1000,
    COSTS,
    BATCH,
    WHY,
    COLUMNS
};
static const suite_column columns[COLUMNS] = {
    [MACHINE] = {"platform", "machine", true, 0},
    [DEVICES] = {"devices", "devices", false, 0},
    [ONE] = {"one_per_hour", "one mesh/h", false, 1},
    [EQUAL] = {"equal", "alike", true, 1},
    [EQUAL_RATE] = {"equal_per_hour", "alike/h", false, 0},
    [BEST] = {"best", "groups", true, 0},
    [RATE] = {"requests_per_hour", "requests/h", false, 0},
    [RANGE] = {"interval", "lo..hi", true, 0},
    [GAIN] = {"gain", "gain", false, 0},
    [BUSY] = {"busy", "busy", false, 2},
    [HOUR] = {"per_hour", "price/h", true, 1},
    [PER_1000] = {"per_1000", "per 1,000", false, 0},
    [COSTS] = {"per_1000_interval", "lo..hi", true, 2},
    [BATCH] = {"batch_gain", "batch gain", false, 2},
    [WHY] = {"why", "why not", true, 1},
};

static void write_rate(const suite_division *division, char out[CELL])
{
    out[0] = '\0';
    if (division->there) snprintf(out, CELL, 3600 * division->rate < 10 ? "%.2g" : "%.0f", 3600 * division->rate);
}

static void write_range(const suite_ranged *range, char out[CELL])
{
    out[0] = '\0';
    if (range->most > 0) snprintf(out, CELL, "%.3g..%.3g", range->least, range->most);
}

static void write_money(const suite_mix_machine *one, char hour[CELL], char per_1000[CELL], char costs[CELL])
{
    if (one->price.absence != SUITE_PRICE_THERE) {
        snprintf(hour, CELL, "%s", suite_price_absence_name(one->price.absence));
        return;
    }
    snprintf(hour, CELL, "%.4g", one->price.median);
    snprintf(per_1000, CELL, "%.3g", one->per_1000.value);
    write_range(&one->per_1000, costs);
}

static dit_status add_machine(suite_table *table, const suite_procure_request *request, const suite_mix_machine *one)
{
    char text[COLUMNS][CELL] = {{0}};
    const char *cells[COLUMNS];
    const suite_divided *divided = &one->divided;
    for (int i = 0; i < COLUMNS; i++) cells[i] = text[i];
    cells[MACHINE] = request->machines[one->machine].priced.machine.name;
    snprintf(text[DEVICES], CELL, "%d", one->devices);
    cells[WHY] = one->reason;
    if (one->batch.adaptive_s > 0 && isfinite(one->batch.static_s))
        snprintf(text[BATCH], CELL, "%.2fx", one->batch.static_s / one->batch.adaptive_s);
    if (!divided->groups.there) return suite_table_add_cells(table, cells, COLUMNS);
    write_rate(&divided->one, text[ONE]);
    if (divided->equal.there) suite_division_text(&divided->equal, text[EQUAL]);
    write_rate(&divided->equal, text[EQUAL_RATE]);
    suite_division_text(&divided->groups, text[BEST]);
    write_rate(&divided->groups, text[RATE]);
    write_range(&one->per_hour, text[RANGE]);
    if (divided->equal.there) snprintf(text[GAIN], CELL, "%.2fx", divided->groups.rate / divided->equal.rate);
    snprintf(text[BUSY], CELL, "%.0f %%", 100 * divided->groups.run.busy);
    write_money(one, text[HOUR], text[PER_1000], text[COSTS]);
    return suite_table_add_cells(table, cells, COLUMNS);
}

/* Which class the best machine sends where, and how long each waits. */
static void print_routes(const suite_procure_request *request, const suite_traffic *traffic, const suite_mixed *mixed,
                         FILE *out)
{
    const suite_mix_machine *one = mixed->count ? &mixed->machines[0] : NULL;
    const suite_division *best = one ? &one->divided.groups : NULL;
    if (!best || !best->there) return;
    fprintf(out, "\n%s at %.0f requests an hour:\n", request->machines[one->machine].priced.machine.name,
            3600 * best->rate);
    for (int k = 0; k < traffic->count; k++) {
        fprintf(out, "  %s goes to groups of", traffic->classes[k].name);
        for (int d = 0, told = 0; d < SUITE_PARTITION_DEGREES; d++)
            if (best->routes[k] & 1u << d && best->partition.groups[d])
                fprintf(out, "%s %d (%s, %.3g s)", told++ ? "," : "", 1 << d, one->cells[k][d].chosen->mesh,
                        one->cells[k][d].chosen->seconds);
        fprintf(out, "; p95 %.3g s of %g s\n", best->run.class_p95[k], traffic->classes[k].bound_s);
    }
}

dit_status mix_print(const suite_procure_request *request, const suite_traffic *traffic, const suite_mixed *mixed,
                     FILE *out, int width)
{
    suite_table table = {.columns = columns, .column_count = COLUMNS};
    dit_status st = DIT_OK;
    print_title(request, traffic, out);
    for (int i = 0; st == DIT_OK && i < mixed->count; i++) st = add_machine(&table, request, &mixed->machines[i]);
    if (st == DIT_OK) suite_table_print(&table, out, width);
    suite_table_release(&table);
    DIT_TRY(st);
    print_routes(request, traffic, mixed, out);
    fprintf(
        out,
        "\nA machine is one mesh, replicas that are all alike, or groups of several sizes with a rule which class goes "
        "where; gain is that of groups over replicas that are alike. Batch gain: %d requests at once, cut anew for the "
        "batch, over the best cut into groups of one size. Machines are in order of requests an hour; what their "
        "intervals overlap in is no order.\n%d meshes simulated now, %d kept from before.\n",
        SUITE_MIX_BATCH, mixed->simulated, mixed->kept);
    return DIT_OK;
}
