#include "suite/verbs/procure_print.h"

#include "suite/console/table.h"
#include "suite/procure/choice.h"
#include "suite/procure/versus.h"
#include "suite/search/answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 96 };
static const double GIB = 1024.0 * 1024 * 1024;

/* ---- the title ----------------------------------------------------------------------------------------------------- */

static const suite_split *first_chosen(const suite_procured *procured)
{
    for (int i = 0; i < procured->count; i++)
        if (procured->splits[i].chosen) return &procured->splits[i];
    return NULL;
}

static void print_scenario(const suite_procure_request *request, FILE *out)
{
    const suite_slo *slo = &request->slo;
    fprintf(out, "scenario %s", suite_scenario_names()[request->scenario]);
    if (!(slo->times > 0) && !(slo->seconds > 0)) return;
    fprintf(out, " (");
    if (request->rate > 0) fprintf(out, "%.4g images/h, ", 3600 * request->rate * suite_choice_images(request));
    if (request->scenario == SUITE_SCENARIO_SERVER) fprintf(out, "p%g ", 100 * slo->quantile);
    fprintf(out, "within %g%s", slo->times > 0 ? slo->times : slo->seconds,
            slo->times > 0 ? " times one device alone" : " s");
    if (request->spares) fprintf(out, ", %d machine%s down", request->spares, request->spares == 1 ? "" : "s");
    fprintf(out, ")");
}

static void print_title(const suite_procure_request *request, const suite_procured *procured, FILE *out)
{
    const suite_split *first = first_chosen(procured);
    const cJSON *run = first ? dit_json_member(first->chosen->kase->document, "run") : NULL;
    char day[SUITE_DAY_TEXT];
    suite_day_write(request->terms.day, day);
    fprintf(out, "%s, ", request->search.model);
    print_scenario(request, out);
    fprintf(out, ", ranked by %s; %s, %s", suite_procure_goal_names()[request->goal], request->search.profile,
            request->search.scope ? request->search.scope : "pipeline");
    if (run) {
        double frames = dit_json_number_or(run, "num_frames", 1);
        fprintf(out, ", %.0fx%.0f", dit_json_number_or(run, "width_px", 0), dit_json_number_or(run, "height_px", 0));
        if (frames > 1) fprintf(out, ", %.0f frames", frames);
        fprintf(out, ", %.0f steps in %s", dit_json_number_or(run, "num_inference_steps", 0),
                dit_json_text_or(dit_json_member(first->chosen->kase->document, "platform"), "element", "-"));
    }
    fprintf(out,
            "\ntimes are predicted (simulated, with the interval that held-out errors support), prices quoted (%s, "
            "%s of %s), watts of servers predicted from published fits or assumed\n\n",
            request->terms.currency, suite_price_kind_names()[request->terms.kind], day);
}

/* ---- the table ----------------------------------------------------------------------------------------------------- */

enum {
    MACHINE,
    DEVICES,
    MESH,
    REPLICAS,
    BATCH,
    LATENCY,
    BASE,
    TRUTH,
    VERDICT,
    IMAGES,
    PER_HOUR,
    PER_1000,
    COSTS,
    P50,
    P99,
    FLEET,
    HEADROOM,
    FEWER,
    OWN_HOUR,
    OWN_1000,
    EVEN,
    SUPPLIED,
    WATTS,
    KWH,
    RANK,
    MEMORY,
    WHY,
    COLUMNS
};
static const suite_column columns[COLUMNS] = {
    [MACHINE] = {"platform", "machine", true, 0},
    [DEVICES] = {"devices", "devices", false, 0},
    [MESH] = {"mesh", "mesh", true, 0},
    [REPLICAS] = {"replicas", "replicas", false, 0},
    [BATCH] = {"batch", "batch", false, 0},
    [LATENCY] = {"latency_s", "latency s", false, 0},
    [BASE] = {"base_s", "base s", false, 2},
    [TRUTH] = {"interval_s", "interval s", true, 0},
    [VERDICT] = {"slo", "bound", true, 0},
    [IMAGES] = {"images_per_hour", "images/h", false, 0},
    [PER_HOUR] = {"per_hour", "price/h", true, 0},
    [PER_1000] = {"per_1000", "per 1,000", false, 0},
    [COSTS] = {"per_1000_interval", "lo..hi", true, 2},
    [P50] = {"p50_s", "p50 s", false, 0},
    [P99] = {"p99_s", "p99 s", false, 0},
    [FLEET] = {"machines", "machines", true, 0},
    [HEADROOM] = {"headroom", "headroom", false, 3},
    [FEWER] = {"fewer_s", "one fewer s", false, 2},
    [OWN_HOUR] = {"own_per_hour", "own/h", false, 0},
    [OWN_1000] = {"own_per_1000", "own per 1,000", false, 0},
    [EVEN] = {"break_even", "own pays", true, 0},
    [SUPPLIED] = {"supplied", "supply", false, 0},
    [WATTS] = {"server_w", "server W", false, 3},
    [KWH] = {"images_per_kwh", "images/kWh", false, 4},
    [RANK] = {"rank", "rank", true, 0},
    [MEMORY] = {"memory_gib", "GiB", false, 5},
    [WHY] = {"why", "why not", true, 1},
};

static void range_text(double low, double high, char out[CELL])
{
    out[0] = '\0';
    if (low > 0) snprintf(out, CELL, "%.3g..%.3g", low, high);
}

static void write_verdict(const suite_split *split, char out[CELL])
{
    out[0] = '\0';
    if (split->verdict == SUITE_SLO_LIKELY || split->verdict == SUITE_SLO_UNLIKELY)
        snprintf(out, CELL, "%s (%.0f %%)", suite_slo_verdict_name(split->verdict), 100 * split->p_within);
    else
        snprintf(out, CELL, "%s", suite_slo_verdict_name(split->verdict));
}

static void write_price(const suite_split *split, char out[CELL])
{
    const suite_price *price = &split->price;
    if (price->absence != SUITE_PRICE_THERE) {
        snprintf(out, CELL, "%s", suite_price_absence_name(price->absence));
        return;
    }
    char day[SUITE_DAY_TEXT];
    suite_day_write(price->newest, day);
    snprintf(out, CELL, "%.4g (%s%s%s)", price->median, day, price->age == SUITE_AGE_PLAIN ? "" : ", aged",
             price->derived ? ", derived" : "");
}

static void write_rank(const suite_split *split, char out[CELL])
{
    out[0] = '\0';
    if (split->ranked && split->rank.low == split->rank.high)
        snprintf(out, CELL, "%d", split->rank.low);
    else if (split->ranked)
        snprintf(out, CELL, "%d..%d", split->rank.low, split->rank.high);
}

/* Few of them keep two digits: none is shown as 0. */
static void write_count(double count, char out[CELL])
{
    snprintf(out, CELL, count < 10 ? "%.2g" : "%.0f", count);
}

static void write_fleet(const suite_fleet *fleet, char machines[CELL], char headroom[CELL], char fewer[CELL])
{
    if (!fleet->machines) return;
    if (fleet->least && fleet->most && fleet->least != fleet->most)
        snprintf(machines, CELL, "%d (%d..%d)", fleet->machines, fleet->least, fleet->most);
    else
        snprintf(machines, CELL, "%d%s", fleet->machines, fleet->least && !fleet->most ? " or more" : "");
    snprintf(headroom, CELL, "%.0f %%", 100 * fleet->headroom);
    if (isinf(fleet->fewer_s))
        snprintf(fewer, CELL, "overload");
    else
        snprintf(fewer, CELL, "%.3g", fleet->fewer_s);
}

static void write_owned(const suite_owned *owned, char hour[CELL], char per_1000[CELL], char even[CELL])
{
    if (!owned->there) return;
    snprintf(hour, CELL, "%.3g", owned->busy.total);
    snprintf(per_1000, CELL, "%.3g", owned->per_1000.value);
    if (!owned->has_rent)
        snprintf(even, CELL, "no rent");
    else if (owned->even.kind == SUITE_BREAK_EVEN_AT)
        snprintf(even, CELL, "above %.0f h a month", owned->even.hours);
    else
        snprintf(even, CELL, "%s", owned->even.kind == SUITE_BREAK_EVEN_NEVER ? "never" : "always");
}

static dit_status add_split(suite_table *table, const suite_procure_request *request, const suite_split *split)
{
    char text[COLUMNS][CELL] = {{0}};
    const char *cells[COLUMNS];
    for (int i = 0; i < COLUMNS; i++) cells[i] = text[i];
    cells[MACHINE] = request->machines[split->machine].priced.machine.name;
    snprintf(text[DEVICES], CELL, "%d", split->devices);
    cells[WHY] = split->reason;
    if (!split->chosen) return suite_table_add_cells(table, cells, COLUMNS);
    const suite_forecast *service = &split->service;
    cells[MESH] = split->chosen->mesh;
    if (request->scenario != SUITE_SCENARIO_SINGLE) snprintf(text[REPLICAS], CELL, "%d", split->replicas);
    if (request->batch_most > 1) snprintf(text[BATCH], CELL, "%d", split->batch);
    snprintf(text[LATENCY], CELL, "%.3g%s", service->seconds,
             service->has_interval && service->interval.extrapolated ? " extrapolated" : "");
    if (split->base) snprintf(text[BASE], CELL, "%.3g", split->base_s);
    range_text(service->low, service->high, text[TRUTH]);
    write_verdict(split, text[VERDICT]);
    write_count(split->images_per_hour.value, text[IMAGES]);
    write_fleet(&split->fleet, text[FLEET], text[HEADROOM], text[FEWER]);
    write_owned(&split->owned, text[OWN_HOUR], text[OWN_1000], text[EVEN]);
    if (split->rated_w > 0) snprintf(text[SUPPLIED], CELL, "%d", split->supplied);
    if (request->scenario == SUITE_SCENARIO_SERVER) snprintf(text[P50], CELL, "%.3g", split->load.run.p50);
    if (request->scenario == SUITE_SCENARIO_SERVER) snprintf(text[P99], CELL, "%.3g", split->load.run.p99);
    write_price(split, text[PER_HOUR]);
    if (split->per_1000.value > 0) snprintf(text[PER_1000], CELL, "%.3g", split->per_1000.value);
    range_text(split->per_1000.least, split->per_1000.most, text[COSTS]);
    if (split->has_power) snprintf(text[WATTS], CELL, "%.0f", split->power.server.w);
    if (split->has_power) write_count(split->images_per_kwh, text[KWH]);
    write_rank(split, text[RANK]);
    snprintf(text[MEMORY], CELL, "%.1f", (double)suite_split_memory(split) / GIB);
    if (!service->has_interval && !split->reason[0]) cells[WHY] = service->why;
    return suite_table_add_cells(table, cells, COLUMNS);
}

/* Of each machine the split that answers; of one without a mesh its first. */
static bool answers(const suite_procured *procured, int index)
{
    int answer = suite_answer_of(procured, procured->splits[index].machine);
    if (answer >= 0) return answer == index;
    for (int i = 0; i < index; i++)
        if (procured->splits[i].machine == procured->splits[index].machine) return false;
    return true;
}

static dit_status print_table(const suite_procure_request *request, const suite_procured *procured, bool all, FILE *out,
                              int width)
{
    suite_table table = {.columns = columns, .column_count = COLUMNS};
    dit_status st = DIT_OK;
    for (int i = 0; st == DIT_OK && i < procured->count; i++)
        if (all || answers(procured, i)) st = add_split(&table, request, &procured->splits[i]);
    if (st == DIT_OK) suite_table_print(&table, out, width);
    suite_table_release(&table);
    return st;
}

/* ---- what it says, and what it rests on ----------------------------------------------------------------------------- */

static void print_leaders(const suite_procure_request *request, const suite_procured *procured, FILE *out)
{
    int leaders = 0, ranked = 0;
    for (int i = 0; i < procured->count; i++) leaders += procured->splits[i].ranked && procured->splits[i].rank.leads;
    for (int i = 0; i < procured->count; i++) ranked += procured->splits[i].ranked;
    if (ranked == 0) {
        fprintf(out, "\nNothing is ranked: no answer has both a number to rank by and an interval.\n");
        return;
    }
    if (!procured->licensed) {
        fprintf(out, "\nNo verdicts: intervals or verdicts did not hold when they were checked (below).\n");
        return;
    }
    fprintf(out, "\n%s of %d: ", leaders == 1 ? "Best" : "May be best (first in at least 5 % of draws)", ranked);
    for (int i = 0, told = 0; i < procured->count; i++) {
        const suite_split *split = &procured->splits[i];
        if (!split->ranked || !split->rank.leads) continue;
        fprintf(out, "%s%s@%d %s", told++ ? ", " : "", request->machines[split->machine].priced.machine.name,
                split->devices, split->chosen->mesh);
    }
    fprintf(out, ".\n");
}

/* Who is fastest without tuning; a machine that leads only with it is marked. */
static void print_base(const suite_procure_request *request, const suite_procured *procured, FILE *out)
{
    const suite_split *best = NULL;
    if (request->goal != SUITE_PROCURE_SPEED || request->scenario == SUITE_SCENARIO_SERVER) return; /* of other units */
    for (int i = 0; i < procured->count; i++) {
        const suite_split *split = &procured->splits[i];
        if (split->ranked && split->base_s > 0 && (!best || split->base_s < best->base_s)) best = split;
    }
    if (!best) return;
    fprintf(out, "Without tuning (base: %s, CFG parallel and Ulysses, no search) the least is %.3g s, %s@%d %s%s.\n",
            request->base, best->base_s, request->machines[best->machine].priced.machine.name, best->devices,
            best->base->mesh, best->rank.leads ? "" : ", which does not lead: the lead of the others is in tuning");
}

/* What of two machines is better, how sure that is, and where it turns. */
static void print_versus(const suite_procure_request *request, const suite_procured *procured, FILE *out)
{
    static const char *const words[SUITE_PROCURE_GOALS] = {"faster", "cheaper"};
    const suite_versus *versus = &procured->versus;
    char names[2][96];
    if (!request->versus) return;
    if (!versus->there) {
        fprintf(out, "\nThe two cannot be compared: one of them has no answer.\n");
        return;
    }
    const suite_split *sides[] = {&procured->splits[versus->a], &procured->splits[versus->b]};
    const double even[] = {versus->even_a, versus->even_b};
    for (int i = 0; i < 2; i++)
        snprintf(names[i], sizeof names[i], "%s@%d", request->machines[sides[i]->machine].priced.machine.name,
                 sides[i]->devices);
    fprintf(out, "\n%s against %s:\n", names[0], names[1]);
    for (int goal = 0; goal < SUITE_PROCURE_GOALS; goal++) {
        const suite_pair *pair = &versus->pair[goal];
        if (!versus->judged[goal]) continue;
        fprintf(out, "  %s is %s with %.0f %%", names[0], words[goal], 100 * pair->p_first);
        if (procured->licensed) fprintf(out, ": %s", suite_pair_verdict_name(pair->verdict));
        fprintf(out, "%s.\n", pair->within_gap ? ", nearer than predictions of machines left out ever erred" : "");
    }
    for (int i = 0; i < 2; i++)
        if (even[i] > 0)
            fprintf(out, "  It turns where %s costs %.4g %s an hour%s.\n", names[i], even[i], request->terms.currency,
                    sides[i]->price.absence == SUITE_PRICE_THERE ? "" : " (no quote has it)");
    for (int i = 0; i < 2; i++)
        fprintf(out, "  What binds %s: %s.\n", names[i],
                suite_search_binds_name(suite_search_what_binds(sides[i]->chosen)));
}

static void print_sensitivities(const suite_procure_request *request, const suite_procured *procured, FILE *out)
{
    if (procured->sensitivity_count == 0) return;
    fprintf(out, "%s of the first would be:", request->goal == SUITE_PROCURE_COST ? "Cost" : "Time");
    for (int i = 0; i < procured->sensitivity_count && i < 3; i++)
        fprintf(out, "%s %+.0f %% with %s", i ? "," : "", 100 * (procured->sensitivities[i].factor - 1),
                procured->sensitivities[i].what);
    fprintf(out, " (parts of the machine by lower bounds).\n");
}

/* Shares of what owning costs, where owning is asked for. */
static void print_owned(const suite_procure_request *request, const suite_procured *procured, FILE *out)
{
    double least = 1, most = 0;
    if (!request->site) return;
    for (int i = 0; i < procured->count; i++) {
        const suite_owned *owned = &procured->splits[i].owned;
        if (!owned->there) continue;
        least = fmin(least, suite_own_running_share(&owned->busy));
        most = fmax(most, suite_own_running_share(&owned->busy));
    }
    if (most <= 0) return;
    fprintf(out,
            "Owning by site \"%s\" (`ditbench prices --own %s` tells every assumption): upkeep and energy are %.0f to "
            "%.0f %% of the cost%s.\n",
            request->site->name, request->site->name, 100 * least, 100 * most,
            most < 0.2 ? ", so a better PUE changes no order" : "");
    for (int i = 0; i < procured->count && request->hours_a_day > 0; i++) {
        const suite_split *split = &procured->splits[i];
        if (!split->owned.there || !split->owned.has_rent || !answers(procured, i)) continue;
        fprintf(out, "  %s@%d, %g h a day (%.0f h a month): owned %.4g, rented %.4g a month.\n",
                request->machines[split->machine].priced.machine.name, split->devices, request->hours_a_day,
                split->owned.month_own_h, split->owned.month_own, split->owned.month_rent);
    }
}

/* What replicas do to each other, where that is counted, and where it is not known. */
static void print_shared(const suite_procure_request *request, const suite_procured *procured, bool all, FILE *out)
{
    int told = 0;
    for (int i = 0; i < procured->count; i++) {
        const suite_split *split = &procured->splits[i];
        if (!split->chosen || (!split->share_links && split->crowd < 1.005) || (!all && !answers(procured, i)))
            continue;
        fprintf(out, "%s%s@%d ", told++ ? ", " : "Replicas that share links slow each other down: ",
                request->machines[split->machine].priced.machine.name, split->devices);
        if (split->share_links)
            fprintf(out, "by an unknown amount that is not counted");
        else
            fprintf(out, "%+.0f %%", 100 * (split->crowd - 1));
    }
    if (told) fprintf(out, " (counted as if all worked all the time).\n");
}

/* ---- other pictures -------------------------------------------------------------------------------------------------- */

static double time_of(const suite_split *split)
{
    return 1 / split->images_per_hour.value;
}

/* Whether it is the fastest of its machine and kind. */
static bool is_fastest(const suite_procured *procured, int index)
{
    const suite_split *one = &procured->approximate[index];
    for (int i = 0; i < procured->approximate_count; i++) {
        const suite_split *other = &procured->approximate[i];
        if (other->machine != one->machine || other->chosen->exact != one->chosen->exact) continue;
        if (time_of(other) < time_of(one) || (i < index && time_of(other) <= time_of(one))) return false;
    }
    return true;
}

static dit_status add_approximate(suite_table *table, const suite_procure_request *request,
                                  const suite_procured *procured, const suite_split *split)
{
    suite_split shown = *split;
    const suite_split *exact = suite_exact_beside(procured, split);
    int length =
        snprintf(shown.reason, sizeof shown.reason, "%s, quality unknown", split->chosen->exact ? "fp8" : "stale");
    if (exact)
        snprintf(shown.reason + length, sizeof shown.reason - (size_t)length, "; exact pictures: %.3g s, %.0f/h",
                 exact->service.seconds, exact->images_per_hour.value);
    return add_split(table, request, &shown);
}

/* Their own table: nobody is ranked in it, nor with it. */
static dit_status print_approximate(const suite_procure_request *request, const suite_procured *procured, bool all,
                                    FILE *out, int width)
{
    suite_column shown[COLUMNS];
    suite_table table = {.columns = shown, .column_count = COLUMNS};
    dit_status st = DIT_OK;
    if (!request->approximate) return DIT_OK;
    memcpy(shown, columns, sizeof shown);
    shown[WHY].title = "which pictures";
    fprintf(out,
            "\nIf pictures may differ: pipelines, displaced patches and fp8, the fastest of each machine%s. No score "
            "of these "
            "pictures was read or measured (`ditbench quality` compares yours), and they are ranked with nobody.\n",
            all ? " and each number of devices" : "");
    for (int i = 0; st == DIT_OK && i < procured->approximate_count; i++)
        if (all || is_fastest(procured, i)) st = add_approximate(&table, request, procured, &procured->approximate[i]);
    if (st == DIT_OK && procured->approximate_count) suite_table_print(&table, out, width);
    suite_table_release(&table);
    return st;
}

static void print_classes(const suite_procured *procured, FILE *out)
{
    const suite_error_sample *told[16];
    int count = 0;
    for (int i = 0; i < procured->count && count < 16; i++) {
        const suite_forecast *service = &procured->splits[i].service;
        bool known = !service->has_interval;
        char class[96];
        for (int j = 0; j < count && !known; j++) known = told[j] == service->sample;
        if (known) continue;
        told[count++] = service->sample;
        suite_error_class_text(&service->sample->of, class, sizeof class);
        fprintf(out, "Intervals at %.0f %%: errors of \"%s\", %d points of %d groups, truth %+.0f..%+.0f %%.\n",
                100 * service->interval.level, class, service->interval.points, service->interval.groups,
                100 * (exp(service->interval.low) - 1), 100 * (exp(service->interval.high) - 1));
    }
}

static void print_checks(const suite_procured *procured, FILE *out)
{
    static const char *const kinds[] = {"machines left out", "fitted machines"};
    for (int i = 0; i < 2; i++) {
        const suite_coverage *coverage = &procured->licence.coverage[i];
        const suite_pair_calls *calls = &procured->licence.calls[i];
        fprintf(
            out,
            "Checked on %s: intervals that promise %.0f %% hold %.0f %% of %d groups; of %d verdicts on pairs %d are "
            "right (at least %.0f %%; %.0f %% where pairs of two groups count once)%s%s.\n",
            kinds[i], 100 * coverage->mean_level, 100 * coverage->by_group, coverage->groups, calls->called,
            calls->right, 100 * calls->bound_by_pair, 100 * calls->bound,
            procured->licence.allowed[i] ? "" : ": no verdicts, ",
            procured->licence.allowed[i] ? "" : procured->licence.why[i]);
    }
}

dit_status procure_print(const suite_procure_request *request, const suite_procured *procured, bool all, FILE *out,
                         int width)
{
    print_title(request, procured, out);
    DIT_TRY(print_table(request, procured, all, out, width));
    DIT_TRY(print_approximate(request, procured, all, out, width));
    print_leaders(request, procured, out);
    print_base(request, procured, out);
    print_versus(request, procured, out);
    print_sensitivities(request, procured, out);
    print_owned(request, procured, out);
    print_shared(request, procured, all, out);
    print_classes(procured, out);
    if (request->batch_most > 1) fprintf(out, "Batches are simulated; their intervals are those of single requests.\n");
    print_checks(procured, out);
    fprintf(out,
            "Ranks are among all numbers of devices of all machines; --all shows each.\n%d meshes simulated now, %d "
            "kept from before, %d excluded by a bound.\n",
            procured->simulated, procured->kept, procured->bounded);
    return DIT_OK;
}
