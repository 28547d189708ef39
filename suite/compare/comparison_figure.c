#include "suite/compare/comparison_figure.h"

#include "reports/forest.h"
#include "suite/compare/comparison_print.h"
#include "suite/paths.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_BYTES = 256 };

/* Rows with labels of their own: a row of a number beside the first metric names it. */
typedef struct {
    report_forest_row *rows;
    char (*labels)[LABEL_BYTES];
    int count;
} row_list;

static void add_row(row_list *list, const suite_side_case *kase, const char *name, const report_forest_row *row)
{
    char *label = list->labels[list->count];
    snprintf(label, LABEL_BYTES, "%s%s%s", name ? name : "", name ? "  " : "", kase->label);
    list->rows[list->count] = *row;
    list->rows[list->count++].label = label;
}

static void add_timings(const suite_comparison *c, row_list *list)
{
    for (int i = 0; i < c->timing_count; i++) {
        const suite_timing *t = &c->timings[i];
        bool time = report_metric_get(t->metric)->unit == REPORT_UNIT_SECONDS;
        const report_forest_row row = {.verdict = suite_verdict_name(t->verdict, time),
                                       .ratio = t->ratio.ratio,
                                       .low = t->exact ? NAN : t->ratio.low,
                                       .high = t->exact ? NAN : t->ratio.high,
                                       .margin = t->exact ? 0 : t->margin,
                                       .better = t->verdict == SUITE_VERDICT_BETTER,
                                       .worse = t->verdict == SUITE_VERDICT_WORSE};
        bool named = t->metric != c->timings[0].metric;
        add_row(list, t->now, named ? report_metric_get(t->metric)->name : NULL, &row);
    }
}

static void add_differences(const suite_comparison *c, row_list *list)
{
    for (int i = 0; i < c->difference_count; i++) {
        const suite_difference *d = &c->differences[i];
        const report_forest_row row = {.verdict = suite_verdict_name(d->verdict, false),
                                       .ratio = d->before > 0 ? d->after / d->before : NAN,
                                       .low = NAN,
                                       .high = NAN,
                                       .better = d->verdict == SUITE_VERDICT_BETTER,
                                       .worse = d->verdict == SUITE_VERDICT_WORSE};
        add_row(list, d->now, d->name, &row);
    }
}

dit_status suite_comparison_draw(const suite_comparison *c, const char *folder, const report_style *style)
{
    size_t most = (size_t)(c->timing_count + c->difference_count) + 1;
    row_list list = {.rows = calloc(most, sizeof *list.rows), .labels = calloc(most, sizeof *list.labels)};
    char title[LABEL_BYTES], footer[2 * LABEL_BYTES], summary[LABEL_BYTES];
    dit_status st = list.rows && list.labels ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a figure");
    if (st == DIT_OK) st = suite_path_make(folder);
    if (st == DIT_OK) {
        add_timings(c, &list);
        add_differences(c, &list);
        suite_comparison_summary(c, summary, sizeof summary);
        snprintf(title, sizeof title, "%s", summary);
        snprintf(footer, sizeof footer, "old %.100s, new %.100s%s", c->old->name, c->now->name,
                 c->paired                      ? "; pairs in random order"
                 : suite_comparison_measured(c) ? "; sessions apart: a drift of the machine looks like a change"
                                                : "");
        const report_forest forest = {.title = title,
                                      .footer = footer,
                                      .quantity =
                                          c->timing_count ? report_metric_get(c->timings[0].metric)->name : "a number",
                                      .rows = list.rows,
                                      .count = list.count,
                                      .style = *style};
        st = report_forest_draw(&forest, folder, "comparison");
    }
    free(list.rows);
    free(list.labels);
    return st;
}
