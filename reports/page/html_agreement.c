#include "reports/page/html.h"

#include "reports/page/html_link.h"
#include "reports/page/html_table.h"
#include "reports/records/agreement.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HTML_POINTS = 5000, HTML_WARNINGS = 40 };

/* ---- statistics -------------------------------------------------------------------------------------------------- */

static void put_percent(html_table *table, double share)
{
    char number[32];
    snprintf(number, sizeof number, "%.1f %%", 100 * share);
    html_cell(table, number);
}

static void put_share(html_table *table, int part, int whole)
{
    char number[64];
    if (whole == 0) {
        html_cell_none(table);
        return;
    }
    snprintf(number, sizeof number, "%d of %d (%.0f %%)", part, whole, 100.0 * part / whole);
    html_cell(table, number);
}

static void put_number(html_table *table, int number)
{
    char text[32];
    snprintf(text, sizeof text, "%d", number);
    html_cell(table, text);
}

static void put_statistics(html_table *table, const char *what, dit_agreement_part part, const report_agreement *a)
{
    char name[64];
    if (part != DIT_AGREEMENT_ALL && a->numbers.points + a->oom + a->oom_wrong == 0) return;
    snprintf(name, sizeof name, "%s, %s", what, report_part_name(part));
    html_row_open(table);
    html_cell(table, name);
    put_number(table, a->numbers.points);
    if (a->numbers.points) {
        put_percent(table, a->numbers.median_error);
        put_percent(table, a->numbers.p90_error);
    } else {
        html_cell_none(table);
        html_cell_none(table);
    }
    put_share(table, a->numbers.ordered, a->numbers.pairs);
    put_share(table, a->numbers.ordered_apart, a->numbers.pairs_apart);
    put_share(table, a->oom_agreed, a->oom);
    put_number(table, a->oom_wrong);
    html_row_close(table);
}

static void put_rows(html_table *table, const report_published *const *points, int count)
{
    static const report_metric metrics[] = {REPORT_LATENCY, REPORT_TOTAL_BYTES};
    static const char *const names[] = {"latency", "peak memory"};
    for (int m = 0; m < 2; m++) {
        int of_metric = 0;
        for (int i = 0; i < count; i++) of_metric += points[i]->metric == metrics[m];
        for (int part = 0; part < DIT_AGREEMENT_PART_COUNT && of_metric; part++) {
            report_agreement a;
            dit_status st = report_agreement_of(points, count, metrics[m], (dit_agreement_part)part, &a);
            if (st != DIT_OK) table->out->failed = true;
            if (st == DIT_OK) put_statistics(table, names[m], (dit_agreement_part)part, &a);
        }
    }
}

/* All points of the table as the statistics want them; NULL without memory. */
static const report_published **list_points(const report_table *table)
{
    const report_published **points = calloc((size_t)table->published_count + 1, sizeof *points);
    for (int i = 0; points && i < table->published_count; i++) points[i] = &table->published[i];
    return points;
}

int html_count_published(const report_page *page)
{
    return page->table->published_count;
}

void html_put_agreement(const report_page *page, dit_buffer *out)
{
    static const html_column columns[] = {{"published numbers", false, false}, {"compared", true, false},
                                          {"median error", true, false},       {"90th percentile", true, false},
                                          {"pairs in order", true, false},     {"a tenth apart", true, false},
                                          {"out of memory, too", true, false}, {"wrongly out of memory", true, false}};
    html_table table = {.out = out, HTML_COLUMNS(columns)};
    const report_published **points = list_points(page->table);
    if (!points) out->failed = true;
    put(out, "<p class=\"soft\">Published points that match a simulated case of this session. Error is |predicted / "
             "published - 1|. \"Pairs in order\": how often the faster of two methods in a panel (equal model, "
             "resolution, frames, steps, devices, platform and software) is also predicted to be faster; a pair whose "
             "values differ by no more than their reading errors is not judged. \"A tenth apart\": the pairs of these "
             "whose published values differ by more than a tenth. Points marked doubtful judge nothing. "
             "\"In fit\" points were used to calibrate the cost model; only the points not in the fit test it.</p>\n");
    html_put_setting(page, "soft small", out);
    html_table_open(&table, "Predicted against published, by kind of number and by use in the calibration.");
    if (points) put_rows(&table, points, page->table->published_count);
    html_table_close(&table);
    free(points);
}

/* ---- captions ---------------------------------------------------------------------------------------------------- */

static void put_sentence(const report_agreement *a, dit_agreement_part part, dit_buffer *out)
{
    static const char *const which[] = {"", " in the fit", " not in the fit"};
    if (a->numbers.points == 0) return;
    dit_buffer_printf(out, " %d point%s%s: median error %.1f %%, 90th percentile %.1f %%", a->numbers.points,
                      a->numbers.points == 1 ? "" : "s", which[part], 100 * a->numbers.median_error,
                      100 * a->numbers.p90_error);
    if (a->numbers.pairs)
        dit_buffer_printf(out, ", %d of %d pairs in the printed order", a->numbers.ordered, a->numbers.pairs);
    put(out, ".");
}

static void put_sentences(const report_published *const *points, int count, dit_buffer *out)
{
    report_metric metric = points[0]->metric; /* a figure has one */
    put(out, "<p>Predicted against published:");
    for (int part = 0; part < DIT_AGREEMENT_PART_COUNT; part++) {
        report_agreement a;
        if (report_agreement_of(points, count, metric, (dit_agreement_part)part, &a) != DIT_OK)
            out->failed = true;
        else if (part == DIT_AGREEMENT_ALL && a.numbers.points == 0)
            put(out, " no point has a simulated case with a number.");
        else
            put_sentence(&a, (dit_agreement_part)part, out);
    }
    put(out, "</p>\n");
}

/* Each warning once, with the source that it is about. */
static void put_warnings(const report_published *const *points, int count, dit_buffer *out)
{
    const char *said[HTML_WARNINGS];
    int said_count = 0;
    for (int i = 0; i < count; i++) {
        for (int w = 0; w < points[i]->warning_count && said_count < HTML_WARNINGS; w++) {
            const char *warning = points[i]->warnings[w];
            bool repeated = false;
            for (int k = 0; k < said_count; k++) repeated = repeated || strcmp(said[k], warning) == 0;
            if (repeated) continue;
            said[said_count++] = warning;
            put(out, "<p class=\"warning\">Contradiction in ");
            html_put_source(out, points[i]->source);
            put(out, ": ");
            put_text(out, warning);
            put(out, "</p>\n");
        }
    }
}

void html_put_figure_agreement(const report_grid *grid, dit_buffer *out)
{
    const report_published **points = NULL;
    int count = 0;
    if (grid->simulated || grid->published) {
        put(out, "<p>Measured numbers are solid, simulated ones thin or pale with small points, published ones "
                 "hollow.</p>\n");
    }
    if (!grid->published) return;
    if (report_grid_published(grid, &points, &count) != DIT_OK) {
        out->failed = true;
        return;
    }
    put_sentences(points, count, out);
    put_warnings(points, count, out);
    free(points);
}

/* ---- the table of points ----------------------------------------------------------------------------------------- */

static void put_published_value(html_table *table, const report_published *point)
{
    char number[REPORT_NUMBER_TEXT];
    report_unit unit = report_metric_get(point->metric)->unit;
    if (!report_published_has_value(point)) {
        html_cell(table, "out of memory");
        return;
    }
    html_cell_open(table);
    report_format(unit, point->value, number);
    put_text(table->out, number);
    if (point->rounding > 0) {
        report_format(unit, point->rounding, number);
        put(table->out, "<span class=\"range\">± ");
        put_text(table->out, number);
        put(table->out, "</span>");
    }
    html_cell_close(table);
}

/* Why a point has no predicted number. */
static void put_why_not(const report_published *point, dit_buffer *out)
{
    put(out, "<span class=\"small soft why\">");
    if (point->not_compared[0])
        put(out, "not compared: "), put_text(out, point->not_compared);
    else if (point->twin)
        put(out, "its simulated case has no number");
    else
        put(out, "not compared: no case of this session is the same run");
    put(out, "</span>");
}

static void put_predicted(html_table *table, const report_published *point)
{
    char number[REPORT_NUMBER_TEXT];
    double value = report_published_predicted(point);
    bool oom = point->twin && point->twin->status == DIT_OUTCOME_OOM;
    if (isfinite(value)) {
        report_format(report_metric_get(point->metric)->unit, value, number);
        html_cell(table, number);
        return;
    }
    html_cell_open(table);
    if (oom)
        put(table->out, "out of memory");
    else
        put_why_not(point, table->out);
    html_cell_close(table);
}

static void put_error(html_table *table, const report_published *point)
{
    char number[32];
    double error = report_published_error(point);
    snprintf(number, sizeof number, "%+.1f %%", 100 * error);
    if (isfinite(error))
        html_cell(table, number);
    else
        html_cell_none(table);
}

static void put_mesh(html_table *table, const report_published *point)
{
    char mesh[REPORT_TAG_TEXT] = "";
    if (!point->twin || !report_case_tag(point->twin, "mesh", mesh, sizeof mesh)) {
        html_cell_none(table);
        return;
    }
    html_cell_open(table);
    put_text(table->out, mesh);
    if (report_published_is_search(point)) put(table->out, "<div class=\"small\">best of the search</div>");
    html_cell_close(table);
}

static void put_name(html_table *table, const report_published *point)
{
    dit_buffer *out = table->out;
    html_cell_open(table);
    put_text(out, point->kase.label);
    put(out, "<div class=\"soft small\">");
    html_put_source(out, point->source);
    put(out, "</div>");
    for (int i = 0; i < point->warning_count; i++) {
        put_element(out, "div class=\"warning small\"", "div", point->warnings[i]);
    }
    html_cell_close(table);
}

static void put_origin(html_table *table, const report_published *point)
{
    html_cell_open(table);
    put_text(table->out, point->provenance);
    if (point->status[0]) put_element(table->out, "div class=\"small\"", "div", point->status);
    html_cell_close(table);
}

static void put_point(html_table *table, const report_published *point)
{
    html_row_open(table);
    put_name(table, point);
    put_published_value(table, point);
    put_predicted(table, point);
    put_error(table, point);
    put_mesh(table, point);
    html_cell(table, point->in_fit ? "in fit" : "not in fit");
    put_origin(table, point);
    html_row_close(table);
}

static void put_points(const report_page *page, dit_buffer *out)
{
    static const html_column columns[] = {
        {"point", false, false}, {"published", true, false},    {"predicted", true, false}, {"error", true, false},
        {"mesh", false, false},  {"calibration", false, false}, {"read from", false, false}};
    const report_table *records = page->table;
    html_table table = {.out = out, HTML_COLUMNS(columns)};
    char rest[96];
    put(out, "<p class=\"soft\">Numbers that others printed, beside the prediction for the same case. Where a source "
             "shows the best of a search, the fastest mesh of this session is compared with it, and named. All columns "
             "are in <a href=\"published.csv\">published.csv</a>.</p>\n");
    html_put_setting(page, "soft small", out);
    html_table_open(&table, "One row for each published point.");
    for (int i = 0; i < records->published_count && i < HTML_POINTS; i++) put_point(&table, &records->published[i]);
    if (records->published_count > HTML_POINTS) {
        snprintf(rest, sizeof rest, "%d further points are in published.csv", records->published_count - HTML_POINTS);
        html_row_across(&table, "", rest);
    }
    html_table_close(&table);
}

/* ---- points without a place -------------------------------------------------------------------------------------- */

static bool is_placed(const report_page *page, const report_published *point)
{
    for (int i = 0; i < page->figure_count; i++) {
        const report_grid *grid = &page->figures[i].grid;
        for (int k = 0; k < grid->count; k++) {
            bool drawn = page->figures[i].svg && page->figures[i].kind->drawing != REPORT_DRAW_AGREEMENT;
            if (drawn && grid->cells[k].published == point) return true;
        }
    }
    return false;
}

static const char *why_unplaced(const report_page *page, const report_published *point)
{
    for (int i = 0; i < page->figure_count; i++) {
        const report_grid *grid = &page->figures[i].grid;
        for (int k = 0; k < grid->unplaced_count; k++) {
            if (grid->unplaced[k].point == point) return grid->unplaced[k].reason;
        }
    }
    return "no figure asks for it";
}

static void put_unplaced(const report_page *page, dit_buffer *out)
{
    bool any = false;
    for (int i = 0; i < page->table->published_count && i < HTML_POINTS; i++) {
        const report_published *point = &page->table->published[i];
        if (is_placed(page, point)) continue;
        if (!any) put(out, "<p>Published points that stand in no figure:</p><ul class=\"gaps\">\n");
        any = true;
        put(out, "<li><strong>");
        put_text(out, point->kase.label);
        put(out, "</strong> (");
        html_put_source(out, point->source);
        put(out, "): ");
        put_text(out, why_unplaced(page, point));
        put(out, "</li>\n");
    }
    if (any) put(out, "</ul>\n");
}

void html_put_published(const report_page *page, dit_buffer *out)
{
    put_points(page, out);
    put_unplaced(page, out);
}
