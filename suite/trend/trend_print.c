#include "suite/trend/trend_print.h"

#include "base/json_writer.h"
#include "suite/console/quantity.h"
#include "suite/console/table.h"
#include "suite/console/terminal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TEXT = 128 };

/* "+1.25 %"; "" where a share is not known. */
static void percent_text(double share, char out[TEXT])
{
    out[0] = '\0';
    if (isfinite(share)) snprintf(out, TEXT, "%+.2f %%", 100 * share);
}

static suite_quantity choose_unit(const report_trend *rows, int count)
{
    suite_quantity unit = {0};
    for (int i = 0; i < count; i++)
        for (int p = 0; p < rows[i].point_count; p++) suite_quantity_see(&unit, fabs(rows[i].points[p].value));
    suite_quantity_choose(&unit, report_metric_get(rows[0].metric)->unit);
    return unit;
}

static const report_trend_point *newest_of(const report_trend *trend)
{
    return &trend->points[trend->point_count - 1];
}

/* ---- a row for each series --------------------------------------------------------------------------------------- */

static dit_status add_series(suite_table *table, const report_trend *trend, const suite_quantity *unit)
{
    const report_trend_point *newest = newest_of(trend);
    char text[TEXT], number[REPORT_NUMBER_TEXT];
    DIT_TRY(suite_table_add_row(table));
    DIT_TRY(suite_table_set(table, 0, trend->label));
    snprintf(text, sizeof text, "%s %.8s", trend->simulated ? "simulated" : "measured", trend->context);
    DIT_TRY(suite_table_set(table, 1, text));
    snprintf(text, sizeof text, "%d", trend->point_count);
    DIT_TRY(suite_table_set(table, 2, text));
    DIT_TRY(suite_table_set(table, 3, newest->commit));
    suite_quantity_format(unit, newest->value, number);
    DIT_TRY(suite_table_set(table, 4, number));
    percent_text(newest->value / trend->before - 1, text);
    DIT_TRY(suite_table_set(table, 5, text));
    text[0] = '\0';
    if (isfinite(trend->score)) snprintf(text, sizeof text, "%.1f", trend->score);
    DIT_TRY(suite_table_set(table, 6, text));
    DIT_TRY(suite_table_set(table, 7, report_trend_word(trend->verdict)));
    percent_text(report_trend_creep(trend), text);
    DIT_TRY(suite_table_set(table, 8, text));
    if (!trend->change_count) return DIT_OK;
    const report_trend_change *change = &trend->changes[trend->change_count - 1];
    snprintf(text, sizeof text, "%.12s %+.2f %%", trend->points[change->place].commit,
             100 * (change->after / change->before - 1));
    return suite_table_set(table, 9, text);
}

dit_status suite_trends_print(const suite_trends *trends, FILE *out, int width)
{
    suite_quantity unit = choose_unit(trends->rows, trends->count);
    char title[TEXT], creep[TEXT] = "since release";
    snprintf(title, sizeof title, "%s%s%s", report_metric_get(trends->rows[0].metric)->name,
             unit.symbol && *unit.symbol ? " " : "", unit.symbol ? unit.symbol : "");
    if (trends->rows[0].release_name) snprintf(creep, sizeof creep, "since %.20s", trends->rows[0].release_name);
    const suite_column columns[] = {{"case", "case", true, 0},          {"context", "on", true, 4},
                                    {"sessions", "sessions", false, 3}, {"commit", "newest", true, 2},
                                    {"value", title, false, 0},         {"change", "change", false, 0},
                                    {"score", "z", false, 5},           {"verdict", "verdict", true, 0},
                                    {"creep", creep, false, 1},         {"level", "last change of level", true, 1}};
    suite_table table = {.columns = columns, .column_count = 10};
    dit_status st = DIT_OK;
    for (int i = 0; i < trends->count && st == DIT_OK; i++) st = add_series(&table, &trends->rows[i], &unit);
    if (st == DIT_OK) suite_table_print(&table, out, width);
    suite_table_release(&table);
    return st;
}

/* ---- the sessions of one series ---------------------------------------------------------------------------------- */

static const report_trend_change *change_at(const report_trend *trend, int place)
{
    for (int i = 0; i < trend->change_count; i++)
        if (trend->changes[i].place == place) return &trend->changes[i];
    return NULL;
}

static dit_status add_point(suite_table *table, const report_trend *trend, int place, const suite_quantity *unit)
{
    const report_trend_point *point = &trend->points[place];
    const report_trend_change *change = change_at(trend, place);
    char text[TEXT], value[REPORT_NUMBER_TEXT], low[REPORT_NUMBER_TEXT], high[REPORT_NUMBER_TEXT];
    DIT_TRY(suite_table_add_row(table));
    snprintf(text, sizeof text, "%.16s", point->started);
    DIT_TRY(suite_table_set(table, 0, text));
    DIT_TRY(suite_table_set(table, 1, point->commit));
    suite_quantity_format(unit, point->value, value);
    DIT_TRY(suite_table_set(table, 2, value));
    suite_quantity_format(unit, point->low, low);
    suite_quantity_format(unit, point->high, high);
    text[0] = '\0';
    if (point->n > 1) snprintf(text, sizeof text, "%s..%s", low, high);
    DIT_TRY(suite_table_set(table, 3, text));
    snprintf(text, sizeof text, "%d", point->n);
    DIT_TRY(suite_table_set(table, 4, text));
    snprintf(text, sizeof text, "%s", point->sticks_out > 0 ? "above" : point->sticks_out < 0 ? "below" : "");
    DIT_TRY(suite_table_set(table, 5, text));
    if (change) percent_text(change->after / change->before - 1, text);
    DIT_TRY(suite_table_set(table, 6, change ? text : ""));
    DIT_TRY(suite_table_set(table, 7, point->note ? point->note : ""));
    return suite_table_set(table, 8, point->session);
}

dit_status suite_trend_print(const report_trend *trend, FILE *out, int width)
{
    suite_quantity unit = choose_unit(trend, 1);
    char title[TEXT], creep[TEXT];
    snprintf(title, sizeof title, "%s%s%s", report_metric_get(trend->metric)->name,
             unit.symbol && *unit.symbol ? " " : "", unit.symbol ? unit.symbol : "");
    const suite_column columns[] = {
        {"started", "started", true, 0},     {"commit", "commit", true, 0}, {"value", title, false, 0},
        {"interval", "interval", false, 2},  {"n", "n", false, 3},          {"out", "sticks out", true, 0},
        {"level", "level changes", true, 0}, {"note", "note", true, 1},     {"session", "session", true, 4}};
    suite_table table = {.columns = columns, .column_count = 9};
    dit_status st = DIT_OK;
    fprintf(out, "%s  (%s %.8s, case %.8s)\n", trend->label, trend->simulated ? "simulated, software" : "hardware",
            trend->context, trend->case_id);
    for (int i = 0; i < trend->point_count && st == DIT_OK; i++) st = add_point(&table, trend, i, &unit);
    if (st == DIT_OK) suite_table_print(&table, out, width);
    suite_table_release(&table);
    percent_text(report_trend_creep(trend), creep);
    fprintf(out, "%s%s%s", suite_colour_start(out, report_trend_word(trend->verdict)),
            report_trend_word(trend->verdict), suite_colour_end(out, report_trend_word(trend->verdict)));
    if (creep[0]) fprintf(out, "; %s since %s", creep, trend->release_name);
    fprintf(out, "\n\n");
    return st;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void put_points(dit_json_writer *w, cJSON *one, const report_trend *trend)
{
    cJSON *points = dit_json_put_array(w, one, "points"), *changes = dit_json_put_array(w, one, "changes");
    for (int i = 0; i < trend->point_count; i++) {
        const report_trend_point *point = &trend->points[i];
        cJSON *row = dit_json_put_object(w, points, NULL);
        dit_json_put_string(w, row, "session", point->session);
        dit_json_put_string(w, row, "started", point->started);
        dit_json_put_string(w, row, "commit", point->commit);
        dit_json_put_number(w, row, "value", point->value);
        dit_json_put_number(w, row, "low", point->low);
        dit_json_put_number(w, row, "high", point->high);
        dit_json_put_int(w, row, "n", point->n);
        dit_json_put_int(w, row, "sticks_out", point->sticks_out);
        if (point->accepted) dit_json_put_bool(w, row, "accepted", true);
        dit_json_put_string(w, row, "note", point->note);
    }
    for (int i = 0; i < trend->change_count; i++) {
        const report_trend_change *change = &trend->changes[i];
        cJSON *row = dit_json_put_object(w, changes, NULL);
        dit_json_put_string(w, row, "commit", trend->points[change->place].commit);
        dit_json_put_string(w, row, "session", trend->points[change->place].session);
        dit_json_put_number(w, row, "before", change->before);
        dit_json_put_number(w, row, "after", change->after);
    }
}

static void put_trend(dit_json_writer *w, cJSON *list, const report_trend *trend)
{
    cJSON *one = dit_json_put_object(w, list, NULL);
    double creep = report_trend_creep(trend);
    dit_json_put_string(w, one, "case_id", trend->case_id);
    dit_json_put_string(w, one, "label", trend->label);
    dit_json_put_string(w, one, "evidence", trend->simulated ? "simulated" : "measured");
    dit_json_put_string(w, one, "context", trend->context);
    dit_json_put_string(w, one, "verdict", report_trend_word(trend->verdict));
    if (isfinite(trend->score)) dit_json_put_number(w, one, "score", trend->score);
    if (isfinite(trend->before)) dit_json_put_number(w, one, "before", trend->before);
    dit_json_put_string(w, one, "release", trend->release_name);
    if (isfinite(creep)) dit_json_put_number(w, one, "creep", creep);
    put_points(w, one, trend);
}

dit_status suite_trends_json(const suite_trends *trends, report_metric metric, cJSON **out)
{
    const report_metric_info *info = report_metric_get(metric);
    dit_json_writer w = {0};
    cJSON *root = dit_json_new_object(&w);
    dit_json_put_string(&w, root, "metric", info->name);
    dit_json_put_string(&w, root, "unit", report_unit_name(info->unit));
    dit_json_put_string(&w, root, "better", report_better_name(info->better));
    cJSON *list = dit_json_put_array(&w, root, "trends");
    for (int i = 0; i < trends->count; i++) put_trend(&w, list, &trends->rows[i]);
    return dit_json_finish(&w, root, out);
}
