#include "reports/search/search_figure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Points of the four kinds of meshes lie behind one another, then the two ends of the diagonal. */
typedef struct {
    chart_point *points;
    chart_series series[5];
    int series_count, count, simulated, excluded;
    double least, most; /* of bounds and times: the ends of the diagonal */
    double fastest;     /* of the simulated times; 0: none yet */
} search_drawing;

static bool is_simulated(const cJSON *mesh)
{
    return cJSON_IsNumber(dit_json_member(mesh, "seconds"));
}

static bool is_excluded(const cJSON *mesh)
{
    return strcmp(dit_json_text_or(mesh, "state", ""), "bound") == 0;
}

static void see(search_drawing *d, double value)
{
    if (d->least == 0 || value < d->least) d->least = value;
    if (value > d->most) d->most = value;
}

static void add_mesh(search_drawing *d, chart_series *series, const cJSON *mesh)
{
    double bound = dit_json_number_or(mesh, "bound_s", 0), seconds = dit_json_number_or(mesh, "seconds", bound);
    if (bound <= 0) return;
    chart_point *point = &d->points[d->count++];
    *point = (chart_point){.x = bound, .y = seconds, .hollow = !is_simulated(mesh)};
    if (!point->hollow && series->count == 0) point->label = dit_json_text_or(mesh, "mesh", NULL); /* the best */
    d->simulated += !point->hollow, d->excluded += point->hollow;
    if (!point->hollow && (d->fastest == 0 || seconds < d->fastest)) d->fastest = seconds;
    see(d, bound), see(d, seconds);
    series->count++;
}

/* The meshes that are exact or not, and simulated or excluded. */
static void add_series(search_drawing *d, const cJSON *document, const char *name, bool exact, bool simulated)
{
    const cJSON *mesh;
    chart_series *series = &d->series[d->series_count];
    *series = (chart_series){.name = name, .points = d->points + d->count};
    cJSON_ArrayForEach(mesh, dit_json_member(document, "meshes"))
    {
        bool wanted = simulated ? is_simulated(mesh) : is_excluded(mesh);
        if (wanted && dit_json_is_true(mesh, "exact") == exact) add_mesh(d, series, mesh);
    }
    d->series_count += series->count > 0;
}

/* Where a time would be its bound: nothing lies below. */
static void add_diagonal(search_drawing *d)
{
    chart_series *series = &d->series[d->series_count++];
    *series = (chart_series){.name = "time = bound", .points = d->points + d->count, .line = true, .no_points = true};
    d->points[d->count++] = (chart_point){.x = d->least, .y = d->least};
    d->points[d->count++] = (chart_point){.x = d->most, .y = d->most};
    series->count = 2;
}

static dit_status draw(search_drawing *d, const cJSON *document, const char *folder, const char *gnuplot,
                       chart_pictures *pictures)
{
    char title[200], footer[256], words[320];
    const char *projection = dit_json_text_or(document, "projection", NULL);
    const char *profile = dit_json_text_or(document, "profile", "-");
    snprintf(title, sizeof title, "%.60s on %.0f of %.40s, %.40s", dit_json_text_or(document, "model", "-"),
             dit_json_number_or(document, "devices", 0), dit_json_text_or(document, "platform", "-"), profile);
    snprintf(footer, sizeof footer, "simulated, software %.60s%s%s", profile, projection ? "\n" : "",
             projection ? projection : "");
    snprintf(words, sizeof words,
             "Lower bound of each mesh against its simulated time in software %.60s: %d simulated, from %.3g s; %d "
             "excluded by their bounds, hollow, on the diagonal.",
             profile, d->simulated, d->fastest, d->excluded);
    chart_lines chart = {.id = "search",
                         .title = title,
                         .footer = footer,
                         .x_label = "lower bound, s",
                         .y_label = "simulated seconds of a request",
                         .x_log = true,
                         .y_log = true,
                         .series = d->series,
                         .count = d->series_count,
                         .words = words};
    double best = dit_json_number_or(dit_json_member(document, "winner"), "seconds", 0);
    if (best > 0 && strcmp(dit_json_text_or(document, "goal", ""), "latency") == 0)
        chart.rules[chart.rule_count++] = (chart_rule){.at = best, .label = "best"};
    return chart_lines_draw(&chart, folder, gnuplot, pictures);
}

dit_status report_search_figure(const cJSON *document, const char *folder, const char *gnuplot,
                                chart_pictures *pictures)
{
    search_drawing d = {0};
    int most = cJSON_GetArraySize(dit_json_member(document, "meshes"));
    *pictures = (chart_pictures){0};
    d.points = calloc((size_t)most + 2, sizeof *d.points);
    if (!d.points) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a figure of %d meshes", most);
    add_series(&d, document, "exact, simulated", true, true);
    add_series(&d, document, "exact, excluded by bound", true, false);
    add_series(&d, document, "approximate, simulated", false, true);
    add_series(&d, document, "approximate, excluded by bound", false, false);
    if (d.simulated > 0) add_diagonal(&d);
    dit_status st = d.simulated > 0 ? draw(&d, document, folder, gnuplot, pictures) : DIT_OK;
    free(d.points);
    return st;
}
