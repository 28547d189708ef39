#include "reports/html.h"

#include "reports/agreement.h"
#include "reports/html_pieces.h"
#include "reports/published.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HTML_POINTS = 5000, HTML_WARNINGS = 40 };

/* ---- statistics -------------------------------------------------------------------------------------------------- */

static void put_percent(double share, dit_buffer *out)
{
    char number[32];
    snprintf(number, sizeof number, "%.1f %%", 100 * share);
    put_number(out, number);
}

static void put_share(int part, int whole, dit_buffer *out)
{
    char number[64] = "–";
    if (whole) snprintf(number, sizeof number, "%d of %d (%.0f %%)", part, whole, 100.0 * part / whole);
    put_number(out, number);
}

static void put_statistics(const char *what, report_points_part part, const report_agreement *a, dit_buffer *out)
{
    char number[32];
    if (part != REPORT_POINTS_ALL && a->points + a->oom + a->oom_wrong == 0) return;
    put(out, "<tr>");
    put_cell(out, part == REPORT_POINTS_ALL ? what : "");
    put_cell(out, report_points_part_name(part));
    snprintf(number, sizeof number, "%d", a->points);
    put_number(out, number);
    if (a->points) {
        put_percent(a->median, out);
        put_percent(a->p90, out);
    } else {
        put_number(out, "–");
        put_number(out, "–");
    }
    put_share(a->ordered, a->pairs, out);
    put_share(a->oom_agreed, a->oom, out);
    snprintf(number, sizeof number, "%d", a->oom_wrong);
    put_number(out, number);
    put(out, "</tr>\n");
}

static void put_rows(const report_published *const *points, int count, dit_buffer *out)
{
    static const report_metric metrics[] = {REPORT_LATENCY, REPORT_TOTAL_BYTES};
    static const char *const names[] = {"latency", "peak memory"};
    for (int m = 0; m < 2; m++) {
        int of_metric = 0;
        for (int i = 0; i < count; i++) of_metric += points[i]->metric == metrics[m];
        for (int part = 0; part < REPORT_POINTS_PART_COUNT && of_metric; part++) {
            report_agreement a;
            dit_status st = report_agreement_of(points, count, metrics[m], (report_points_part)part, &a);
            if (st != DIT_OK) out->failed = true;
            if (st == DIT_OK) put_statistics(names[m], (report_points_part)part, &a, out);
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

void html_put_agreement(const report_table *table, dit_buffer *out)
{
    if (table->published_count == 0) return;
    const report_published **points = list_points(table);
    if (!points) out->failed = true;
    put(out,
        "<h2 id=\"agreement\">Agreement with published numbers</h2>\n<p class=\"soft\">Over published points that are "
        "a simulated case of this session: |predicted / published - 1|, and of pairs of methods in one panel (model, "
        "resolution, frames, steps, devices, platform, profile) those that come out in the printed order. A pair "
        "closer than its reading errors is not judged, nor is a point marked doubtful. In fit: a calibration was "
        "fitted on it; only the others test "
        "the model.</p>\n<div class=\"scroll\"><table><thead><tr><th>number</th><th>points</th><th "
        "class=\"num\">compared</th><th class=\"num\">median error</th><th class=\"num\">90th percentile</th><th "
        "class=\"num\">pairs in order</th><th class=\"num\">out of memory, too</th><th class=\"num\">wrongly out of "
        "memory</th></tr></thead><tbody>\n");
    if (points) put_rows(points, table->published_count, out);
    put(out, "</tbody></table></div>\n");
    free(points);
}

/* ---- captions ---------------------------------------------------------------------------------------------------- */

static void put_sentence(const report_agreement *a, report_points_part part, dit_buffer *out)
{
    if (a->points == 0) return;
    dit_buffer_printf(out, " %s: %d point%s, median error %.1f %%, 90th percentile %.1f %%",
                      report_points_part_name(part), a->points, a->points == 1 ? "" : "s", 100 * a->median,
                      100 * a->p90);
    if (a->pairs) dit_buffer_printf(out, ", %d of %d pairs in the printed order", a->ordered, a->pairs);
    put(out, ".");
}

static void put_sentences(const report_published *const *points, int count, dit_buffer *out)
{
    report_metric metric = points[0]->metric; /* a figure has one */
    put(out, "<p>Predicted against published,");
    for (int part = 0; part < REPORT_POINTS_PART_COUNT; part++) {
        report_agreement a;
        if (report_agreement_of(points, count, metric, (report_points_part)part, &a) != DIT_OK)
            out->failed = true;
        else if (part == REPORT_POINTS_ALL && a.points == 0)
            put(out, " none of the points is a case that has a number.");
        else
            put_sentence(&a, (report_points_part)part, out);
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
            put_text(out, points[i]->source);
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

static void put_value(const report_published *point, double value, bool oom, dit_buffer *out)
{
    char number[REPORT_NUMBER_TEXT] = "–";
    if (isfinite(value)) report_format(report_metric_get(point->metric)->unit, value, number);
    put_number(out, oom ? "out of memory" : number);
}

static void put_published_value(const report_published *point, dit_buffer *out)
{
    char number[REPORT_NUMBER_TEXT];
    report_unit unit = report_metric_get(point->metric)->unit;
    if (!report_published_has_value(point)) {
        put_number(out, "out of memory");
        return;
    }
    report_format(unit, point->value, number);
    put(out, "<td class=\"num\">");
    put_text(out, number);
    if (point->rounding > 0) {
        report_format(unit, point->rounding, number);
        put(out, "<span class=\"range\">± ");
        put_text(out, number);
        put(out, "</span>");
    }
    put(out, "</td>");
}

static void put_error(const report_published *point, dit_buffer *out)
{
    char number[32] = "–";
    double error = report_published_error(point);
    if (isfinite(error)) snprintf(number, sizeof number, "%+.1f %%", 100 * error);
    put_number(out, number);
}

static void put_mesh(const report_published *point, dit_buffer *out)
{
    char mesh[REPORT_TAG_TEXT] = "";
    if (point->twin) report_case_tag(point->twin, "mesh", mesh, sizeof mesh);
    put(out, "<td>");
    put_text(out, mesh);
    if (point->twin && report_published_is_search(point)) put(out, "<div class=\"small\">best of the search</div>");
    put(out, "</td>");
}

static void put_point(const report_published *point, dit_buffer *out)
{
    put(out, "<tr><td>");
    put_text(out, point->kase.label);
    put_element(out, "div class=\"soft small\"", "div", point->source);
    for (int i = 0; i < point->warning_count; i++) {
        put_element(out, "div class=\"warning small\"", "div", point->warnings[i]);
    }
    put(out, "</td>");
    put_published_value(point, out);
    bool oom = point->twin && point->twin->status == REPORT_STATUS_OOM;
    put_value(point, report_published_predicted(point), oom, out);
    put_error(point, out);
    put_mesh(point, out);
    put_cell(out, point->in_fit ? "in fit" : "");
    put(out, "<td>");
    put_text(out, point->provenance);
    put_element(out, "div class=\"small\"", "div", point->status);
    put(out, "</td></tr>\n");
}

static void put_points(const report_table *table, dit_buffer *out)
{
    put(out, "<h2 id=\"published\">Published numbers</h2>\n<p class=\"soft\">What others printed, and what the "
             "simulation says of the same case. Where a source shows the best of a search, the fastest mesh of this "
             "session stands for it and is named. All columns: <a href=\"published.csv\">published.csv</a>.</p>\n"
             "<div class=\"scroll\"><table><thead><tr><th>point</th><th class=\"num\">published</th><th "
             "class=\"num\">predicted</th><th class=\"num\">error</th><th>mesh</th><th>fit</th><th>read "
             "from</th></tr></thead><tbody>\n");
    for (int i = 0; i < table->published_count && i < HTML_POINTS; i++) put_point(&table->published[i], out);
    if (table->published_count > HTML_POINTS) {
        dit_buffer_printf(out, "<tr><td colspan=\"7\">%d further points are in published.csv</td></tr>\n",
                          table->published_count - HTML_POINTS);
    }
    put(out, "</tbody></table></div>\n");
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
        put_text(out, point->source);
        put(out, "): ");
        put_text(out, why_unplaced(page, point));
        put(out, "</li>\n");
    }
    if (any) put(out, "</ul>\n");
}

void html_put_published(const report_page *page, dit_buffer *out)
{
    if (page->table->published_count == 0) return;
    put_points(page->table, out);
    put_unplaced(page, out);
}
