#include "reports/procurement/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SERIES_MOST = 24 };

static const char *question_text(const figure_room *room, const char *key, const char *otherwise)
{
    return dit_json_text_or(dit_json_member(room->document, "question"), key, otherwise);
}

static double question_number(const figure_room *room, const char *key)
{
    return dit_json_number_or(dit_json_member(room->document, "question"), key, 0);
}

static const char *currency_of(const figure_room *room)
{
    return dit_json_text_or(split_part(room->document, "question", "prices"), "currency", "");
}

static dit_status draw_lines(const figure_room *room, chart_lines *chart, figure_drawn *out)
{
    chart->id = out->id, chart->title = out->title, chart->footer = room->footer, chart->words = out->words;
    return chart_lines_draw(chart, room->folder, room->gnuplot, &out->pictures);
}

static dit_status draw_rows(const figure_room *room, chart_rows *chart, figure_drawn *out)
{
    chart->id = out->id, chart->title = out->title, chart->footer = room->footer, chart->words = out->words;
    return chart_rows_draw(chart, room->folder, room->gnuplot, &out->pictures);
}

/* ---- room for what is drawn ---------------------------------------------------------------------------------------------- */

/* Points and series of a chart, and the texts beside them. */
typedef struct {
    chart_point *points;
    chart_row *rows;
    char (*texts)[96];
    chart_series series[SERIES_MOST];
    int count, series_count;
} figure_data;

static dit_status open_data(int most, figure_data *data)
{
    *data = (figure_data){.count = 0};
    data->points = calloc((size_t)most + 1, sizeof *data->points);
    data->rows = calloc((size_t)most + 1, sizeof *data->rows);
    data->texts = calloc((size_t)most + 1, sizeof *data->texts);
    if (data->points && data->rows && data->texts) return DIT_OK;
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d points of a figure", most);
}

static void close_data(figure_data *data)
{
    free(data->points);
    free(data->rows);
    free(data->texts);
}

/* Begins a series at the next point; NULL: there is no room for more. */
static chart_series *begin_series(figure_data *data, const char *name)
{
    if (data->series_count == SERIES_MOST) return NULL;
    chart_series *one = &data->series[data->series_count++];
    *one = (chart_series){.name = name, .points = data->points + data->count};
    return one;
}

static chart_point *add_point(figure_data *data, chart_series *series, double x, double y)
{
    chart_point *point = &data->points[data->count++];
    *point = (chart_point){.x = x, .y = y};
    series->count++;
    return point;
}

static chart_row *add_row(figure_data *data, const char *label)
{
    int at = data->count++;
    data->rows[at] = (chart_row){.label = label, .text = data->texts[at]};
    return &data->rows[at];
}

/* Whether the platform stood in an earlier row. */
static bool seen_before(const figure_room *room, int index)
{
    for (int i = 0; i < index; i++)
        if (strcmp(room->rows[i].platform, room->rows[index].platform) == 0) return true;
    return false;
}

static void range_text(const split_range *range, char out[96])
{
    if (range->low > 0 && range->high > 0)
        snprintf(out, 96, "%.3g s (%.3g to %.3g)", range->value, range->low, range->high);
    else
        snprintf(out, 96, "%.3g s, no interval", range->value);
}

/* ---- times ----------------------------------------------------------------------------------------------------------------- */

static dit_status draw_times(const figure_room *room, figure_drawn *out)
{
    figure_data data;
    char rule[48];
    double bound = question_number(room, "slo_s");
    dit_status st = open_data(room->count, &data);
    for (int i = 0; st == DIT_OK && i < room->count; i++) {
        const split_row *split = &room->rows[i];
        if (!split->answers) continue;
        chart_row *row = add_row(&data, split->name);
        row->value = split->service.value, row->low = split->service.low, row->high = split->service.high;
        row->hollow = split->service.low <= 0;
        range_text(&split->service, data.texts[data.count - 1]);
    }
    snprintf(rule, sizeof rule, "bound %.3g s", bound);
    snprintf(out->words, sizeof out->words,
             "Predicted time of one request on one replica for %d machines, with the interval that held-out errors "
             "support.",
             data.count);
    chart_rows chart = {.x_label = "seconds of a request",
                        .x_log = true,
                        .rows = data.rows,
                        .count = data.count,
                        .value_name = "predicted",
                        .rule = {.at = bound, .label = rule, .upright = true}};
    if (st == DIT_OK && data.count) st = draw_rows(room, &chart, out);
    close_data(&data);
    return st;
}

/* ---- time against money -------------------------------------------------------------------------------------------------------- */

static const split_range *money_of(const figure_room *room, const split_row *split)
{
    bool own = question_text(room, "site", NULL) != NULL;
    return own ? &split->own_1000 : &split->per_1000;
}

/* Whether another split is at least as fast and as cheap. */
static bool is_dominated(const figure_room *room, const split_row *one)
{
    for (int i = 0; i < room->count; i++) {
        const split_row *other = &room->rows[i];
        double money = money_of(room, other)->value, mine = money_of(room, one)->value;
        if (other == one || money <= 0) continue;
        if (other->service.value <= one->service.value && money <= mine &&
            (other->service.value < one->service.value || money < mine))
            return true;
    }
    return false;
}

static int by_devices(const void *a, const void *b)
{
    return ((const split_row *)a)->devices - ((const split_row *)b)->devices;
}

/* The splits of a platform that cost something, the smallest first. */
static void add_platform(const figure_room *room, const char *platform, split_row *sorted, figure_data *data)
{
    int count = 0;
    for (int i = 0; i < room->count; i++)
        if (strcmp(room->rows[i].platform, platform) == 0 && money_of(room, &room->rows[i])->value > 0)
            sorted[count++] = room->rows[i];
    if (!count) return;
    qsort(sorted, (size_t)count, sizeof *sorted, by_devices);
    chart_series *series = begin_series(data, platform);
    for (int i = 0; series && i < count; i++) {
        const split_range *money = money_of(room, &sorted[i]);
        int at = data->count;
        chart_point *point = add_point(data, series, sorted[i].service.value, money->value);
        snprintf(data->texts[at], sizeof data->texts[at], "%d", sorted[i].devices);
        point->label = data->texts[at];
        for (int j = 0; j < room->count; j++)
            if (room->rows[j].row == sorted[i].row) point->hollow = is_dominated(room, &room->rows[j]);
        if (point->hollow) continue;
        point->x_low = sorted[i].service.low, point->x_high = sorted[i].service.high;
    }
    if (series) series->line = true;
}

static dit_status draw_pareto(const figure_room *room, figure_drawn *out)
{
    figure_data data;
    char y_label[64];
    split_row *sorted = calloc((size_t)room->count + 1, sizeof *sorted);
    dit_status st = open_data(room->count, &data);
    if (st == DIT_OK && !sorted) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for a figure");
    for (int i = 0; st == DIT_OK && i < room->count; i++)
        if (!seen_before(room, i)) add_platform(room, room->rows[i].platform, sorted, &data);
    snprintf(y_label, sizeof y_label, "%.3s for 1,000 images", currency_of(room));
    snprintf(out->words, sizeof out->words,
             "Predicted seconds of a request against money for 1,000 images, one line a machine over its numbers of "
             "devices (%d machines with a price); hollow where another is as fast and as cheap.",
             data.series_count);
    chart_lines chart = {.x_label = "seconds of a request",
                         .y_label = y_label,
                         .x_log = true,
                         .y_log = true,
                         .series = data.series,
                         .count = data.series_count};
    if (question_number(room, "slo_s") > 0)
        chart.rules[chart.rule_count++] = (chart_rule){question_number(room, "slo_s"), "bound", true};
    if (st == DIT_OK && data.count > 1) st = draw_lines(room, &chart, out);
    free(sorted);
    close_data(&data);
    return st;
}

/* ---- ranks ------------------------------------------------------------------------------------------------------------------------ */

static dit_status draw_ranks(const figure_room *room, figure_drawn *out)
{
    figure_data data;
    dit_status st = open_data(room->count, &data);
    for (int i = 0; st == DIT_OK && i < room->count; i++) {
        const cJSON *rank = dit_json_member(room->rows[i].row, "rank");
        if (!rank) continue;
        chart_row *row = add_row(&data, room->rows[i].name);
        row->low = dit_json_number_or(rank, "lo", 1) - 0.25; /* one rank alone is still seen */
        row->high = dit_json_number_or(rank, "hi", 0) + 0.25;
        snprintf(data.texts[data.count - 1], sizeof data.texts[0], "first in %.0f %%",
                 100 * dit_json_number_or(rank, "p_first", 0));
    }
    snprintf(out->words, sizeof out->words,
             "Rank intervals of %d splits by %s: 5 to 95 %% of draws from held-out errors.", data.count,
             question_text(room, "goal", "speed"));
    chart_rows chart = {.x_label = "rank",
                        .x_log = true,
                        .rows = data.rows,
                        .count = data.count,
                        .interval_name = "5 to 95 % of draws"};
    if (st == DIT_OK && data.count > 1) st = draw_rows(room, &chart, out);
    close_data(&data);
    return st;
}

/* ---- load ------------------------------------------------------------------------------------------------------------------------- */

static dit_status draw_capacity(const figure_room *room, figure_drawn *out)
{
    const cJSON *curves = dit_json_member(room->document, "curves"), *curve, *point;
    figure_data data;
    char names[SERIES_MOST][96], y_label[64], rule[48];
    double bound = room->count ? dit_json_number_or(dit_json_member(room->rows[0].row, "load"), "bound_s", 0) : 0;
    int points = 0;
    cJSON_ArrayForEach(curve, curves) points += cJSON_GetArraySize(dit_json_member(curve, "points"));
    dit_status st = open_data(points, &data);
    cJSON_ArrayForEach(curve, curves)
    {
        if (st != DIT_OK || data.series_count == SERIES_MOST) break;
        char *name = names[data.series_count];
        snprintf(name, sizeof names[0], "%.0f x %.60s", dit_json_number_or(curve, "replicas", 1),
                 dit_json_text_or(curve, "mesh", ""));
        chart_series *series = begin_series(&data, name);
        series->line = true;
        cJSON_ArrayForEach(point, dit_json_member(curve, "points"))
        {
            double latency = dit_json_number_or(point, "quantile_s", 0);
            if (bound > 0 && latency > 3 * bound) continue; /* what is far beyond the bound would flatten the rest */
            add_point(&data, series, dit_json_number_or(point, "images_per_hour", 0), latency);
        }
    }
    snprintf(y_label, sizeof y_label, "p%g of the latency [s]", 100 * question_number(room, "quantile"));
    snprintf(rule, sizeof rule, "bound %.3g s", bound);
    if (room->count) snprintf(out->title, sizeof out->title, "Latency against load: %s", room->rows[0].name);
    snprintf(out->words, sizeof out->words,
             "Latency with waiting against the rate for %d divisions of %s into replicas; times as predicted.",
             data.series_count, room->count ? room->rows[0].name : "the machine");
    chart_lines chart = {.x_label = "images an hour that arrive",
                         .y_label = y_label,
                         .from_zero = true,
                         .series = data.series,
                         .count = data.series_count,
                         .rules = {{bound, rule, false}},
                         .rule_count = bound > 0};
    if (st == DIT_OK && data.count) st = draw_lines(room, &chart, out);
    close_data(&data);
    return st;
}

/* ---- owning -------------------------------------------------------------------------------------------------------------------------- */

static dit_status draw_cost_stack(const figure_room *room, figure_drawn *out)
{
    enum { MACHINE, NETWORK, UPKEEP, ENERGY };
    figure_data data;
    char x_label[64];
    dit_status st = open_data(room->count, &data);
    for (int i = 0; st == DIT_OK && i < room->count; i++) {
        const cJSON *own = dit_json_member(room->rows[i].row, "own");
        if (!own || !room->rows[i].answers) continue;
        double capital = dit_json_number_or(own, "capital", 0);
        double machine = dit_json_number_or(own, "purchase", 0) / dit_json_number_or(own, "invested", 1);
        chart_row *row = add_row(&data, room->rows[i].name);
        row->parts[MACHINE] = capital * machine;
        row->parts[NETWORK] = capital * (1 - machine);
        row->parts[UPKEEP] = dit_json_number_or(own, "upkeep", 0);
        row->parts[ENERGY] = dit_json_number_or(own, "energy", 0);
        snprintf(data.texts[data.count - 1], sizeof data.texts[0], "%.3g an hour",
                 dit_json_number_or(own, "per_hour", 0));
    }
    snprintf(x_label, sizeof x_label, "%.3s an hour", currency_of(room));
    snprintf(out->words, sizeof out->words,
             "What an hour of owning costs for %d machines: capital of machine and network, upkeep, energy.",
             data.count);
    chart_rows chart = {.x_label = x_label,
                        .rows = data.rows,
                        .count = data.count,
                        .part_names = {"machine", "network and delivery", "space, people, support", "energy"},
                        .part_count = 4};
    if (st == DIT_OK && data.count) st = draw_rows(room, &chart, out);
    close_data(&data);
    return st;
}

enum { EVEN_STEPS = 13, EVEN_MACHINES = 3 };

/* A month of renting and of owning, against the hours of work in it. */
static void add_month(const split_row *split, const cJSON *own, char names[2][96], figure_data *data)
{
    const cJSON *cost = dit_json_member(split->row, "cost");
    double available = dit_json_number_or(own, "available_hours", 730),
           idle = dit_json_number_or(own, "idle_energy", 0);
    double standing = (dit_json_number_or(own, "capital", 0) + dit_json_number_or(own, "upkeep", 0) + idle) * available;
    snprintf(names[0], 96, "%.60s rented", split->name);
    snprintf(names[1], 96, "%.60s owned", split->name);
    chart_series *rented = begin_series(data, names[0]);
    if (!rented) return;
    rented->line = rented->band = rented->no_points = true;
    for (int i = 0; i < EVEN_STEPS; i++) {
        double hours = available * i / (EVEN_STEPS - 1);
        chart_point *point = add_point(data, rented, hours, hours * dit_json_number_or(cost, "per_hour", 0));
        point->y_low = fmax(hours * dit_json_number_or(cost, "least", 0), 1e-9);
        point->y_high = hours * dit_json_number_or(cost, "most", 0);
    }
    chart_series *owned = begin_series(data, names[1]);
    if (!owned) return;
    owned->line = owned->no_points = true;
    owned->colour = data->series_count - 1; /* of the line before */
    for (int i = 0; i < EVEN_STEPS; i++) {
        double hours = available * i / (EVEN_STEPS - 1);
        add_point(data, owned, hours, standing + hours * (dit_json_number_or(own, "energy", 0) - idle));
    }
}

static dit_status draw_break_even(const figure_room *room, figure_drawn *out)
{
    figure_data data;
    char names[EVEN_MACHINES][2][96], y_label[64];
    int machines = 0;
    dit_status st = open_data(2 * EVEN_STEPS * EVEN_MACHINES, &data);
    for (int i = 0; st == DIT_OK && i < room->count && machines < EVEN_MACHINES; i++) {
        const cJSON *own = dit_json_member(room->rows[i].row, "own");
        if (!own || !room->rows[i].answers || room->rows[i].per_1000.value <= 0) continue;
        add_month(&room->rows[i], own, names[machines++], &data);
    }
    snprintf(y_label, sizeof y_label, "%.3s a month", currency_of(room));
    snprintf(
        out->words, sizeof out->words,
        "Cost of a month against the hours in which the machine works, rented and owned, for %d machines; the band "
        "is from the least to the dearest quote.",
        machines);
    chart_lines chart = {.x_label = "hours of work in a month",
                         .y_label = y_label,
                         .from_zero = true,
                         .series = data.series,
                         .count = data.series_count};
    if (st == DIT_OK && machines) st = draw_lines(room, &chart, out);
    close_data(&data);
    return st;
}

/* ---- prices ------------------------------------------------------------------------------------------------------------------------------ */

/* The first split of another platform that has a price. */
static const split_row *priced_after(const figure_room *room, const split_row *first)
{
    for (int i = 0; i < room->count; i++)
        if (room->rows[i].per_1000.value > 0 && (!first || strcmp(room->rows[i].platform, first->platform) != 0))
            return &room->rows[i];
    return NULL;
}

static dit_status draw_price_sensitivity(const figure_room *room, figure_drawn *out)
{
    const split_row *a = priced_after(room, NULL), *b = a ? priced_after(room, a) : NULL;
    figure_data data;
    char x_label[160], y_label[160];
    if (!b) return DIT_OK;
    DIT_TRY(open_data(16, &data));
    double price_a = dit_json_number_or(dit_json_member(a->row, "cost"), "per_hour", 0);
    double price_b = dit_json_number_or(dit_json_member(b->row, "cost"), "per_hour", 0);
    double slope =
        price_b / price_a * a->per_1000.value / b->per_1000.value; /* of b's price over a's, where they are even */
    double steep = a->rate.low > 0 ? b->rate.high / a->rate.low : 0,
           flat = a->rate.high > 0 ? b->rate.low / a->rate.high : 0;
    chart_series *even = begin_series(&data, "1,000 images cost the same, with the band of the predictions");
    even->line = even->band = even->no_points = true;
    for (int i = 0; i <= 10; i++) {
        double x = 2 * price_a * i / 10;
        chart_point *point = add_point(&data, even, x, slope * x);
        if (steep > 0 && flat > 0) point->y_low = fmax(flat * x, 1e-9), point->y_high = fmin(steep * x, 3 * price_b);
    }
    chart_series *quoted = begin_series(&data, "as quoted");
    add_point(&data, quoted, price_a, price_b);
    snprintf(x_label, sizeof x_label, "%.3s an hour of %.90s", currency_of(room), a->name);
    snprintf(y_label, sizeof y_label, "%.3s an hour of %.90s", currency_of(room), b->name);
    snprintf(
        out->words, sizeof out->words,
        "Prices at which %s and %s cost the same for 1,000 images, with the band of their intervals; above the line "
        "the first is cheaper.",
        a->name, b->name);
    chart_lines chart = {
        .x_label = x_label, .y_label = y_label, .from_zero = true, .series = data.series, .count = data.series_count};
    dit_status st = draw_lines(room, &chart, out);
    close_data(&data);
    return st;
}

/* ---- watts ------------------------------------------------------------------------------------------------------------------------------- */

static dit_status draw_power(const figure_room *room, figure_drawn *out)
{
    figure_data data;
    dit_status st = open_data(room->count, &data);
    for (int i = 0; st == DIT_OK && i < room->count; i++) {
        const split_row *split = &room->rows[i];
        const cJSON *power = dit_json_member(split->row, "power");
        if (!power || !split->answers) continue;
        chart_series *series = begin_series(&data, split->name);
        if (!series) break;
        chart_point *point = add_point(&data, series, split->rate.value / split->devices,
                                       dit_json_number_or(power, "device_w", 0) / split->devices);
        double error = dit_json_number_or(power, "error", 0);
        point->y_low = point->y * (1 - error), point->y_high = point->y * (1 + error);
        point->hollow = strcmp(dit_json_text_or(power, "evidence", ""), "assumed") == 0;
    }
    snprintf(out->words, sizeof out->words,
             "Predicted watts of one device against the images that it makes in an hour, for %d machines; bars are the "
             "error of the fit, or what is assumed.",
             data.count);
    chart_lines chart = {.x_label = "images an hour and device",
                         .y_label = "watts of one device",
                         .x_log = true,
                         .series = data.series,
                         .count = data.series_count};
    if (st == DIT_OK && data.count > 1) st = draw_lines(room, &chart, out);
    close_data(&data);
    return st;
}

const figure_kind *figure_kinds(void)
{
    static const figure_kind kinds[] = {
        {"times", "How long a request takes",
         "One machine a row: the number of its devices that answers the question. The thin bar is where the truth "
         "lies, as "
         "far as held-out errors tell; it is no measurement.",
         draw_times},
        {"pareto", "Time against money",
         "Numbers at the points are devices. A hollow point is worth nothing: another one is as fast and as cheap. "
         "Machines "
         "without a price are not here.",
         draw_pareto},
        {"ranks", "Who may be first", "Where bars overlap, these figures choose none of them.", draw_ranks},
        {"capacity", "Latency against load",
         "Requests arrive by chance and wait. The rate at which a line meets the bound is what that division bears.",
         draw_capacity},
        {"cost_stack", "What an hour of owning costs",
         "By the site file; every assumption stands in `ditbench prices --own`.", draw_cost_stack},
        {"breakeven", "Own or rent",
         "Where the lines of a machine cross, owning costs what renting does; to the right of it owning is cheaper.",
         draw_break_even},
        {"price_sensitivity", "At what price the other one wins",
         "Above the line the first machine is cheaper for an image, below it the second. Within the band the "
         "predictions do "
         "not decide.",
         draw_price_sensitivity},
        {"power", "Watts",
         "Devices alone, without hosts and cooling. Solid: by a fit of published runs. Hollow: assumed from the power "
         "limit.",
         draw_power},
        {NULL, NULL, NULL, NULL},
    };
    return kinds;
}
