/* A figure in words, for who cannot see it: what is drawn over what, and the extremes of each panel. */
#include "reports/page/html.h"

#include "reports/page/html_pieces.h"
#include "reports/pictures/shown.h"

#include <string.h>

enum { TEXT_PANELS = 8, TEXT_COLUMNS = 12, TEXT_PICTURES = 6, TEXT_ROWS = 24 };

static double value_of(const report_cell *cell, const report_figure_kind *kind)
{
    double sum = cell->bar.part[0];
    for (int i = 1; kind->parts && i < REPORT_PARTS && kind->parts[i]; i++) sum += cell->bar.part[i];
    return sum;
}

/* "4.78 s (hybrid, ranks 16, u2 r2 pp4)" */
static void put_place(const report_grid *grid, const report_cell *cell, const report_drawing_result *figure,
                      dit_buffer *out)
{
    char number[REPORT_NUMBER_TEXT], mesh[REPORT_TAG_TEXT];
    report_format(figure->kind->unit, value_of(cell, figure->kind), number);
    put(out, number);
    put(out, " (");
    if (grid->series_count > 1) put(out, cell->series), put(out, ", ");
    put(out, report_grid_tag_title(&figure->grid, figure->plot.x));
    put(out, " ");
    put(out, cell->x);
    if (cell->best && report_case_tag(cell->kase, "mesh", mesh, sizeof mesh)) put(out, ", "), put(out, mesh);
    put(out, ")");
}

/* Least and largest of the cells of a panel that are ours; published ones are said in the caption. */
static void put_panel(const report_grid *grid, int first, int end, const report_drawing_result *figure, dit_buffer *out)
{
    const report_cell *least = NULL, *most = NULL;
    for (int i = first; i < end; i++) {
        const report_cell *cell = &grid->cells[i];
        if (cell->bar.n == 0 || report_case_is_published(cell->kase)) continue;
        if (!least || value_of(cell, figure->kind) < value_of(least, figure->kind)) least = cell;
        if (!most || value_of(cell, figure->kind) > value_of(most, figure->kind)) most = cell;
    }
    if (!least) return;
    put(out, " ");
    if (grid->cells[first].panel[0]) put(out, grid->cells[first].panel), put(out, ": ");
    put(out, "least ");
    put_place(grid, least, figure, out);
    if (most != least) put(out, ", most "), put_place(grid, most, figure, out);
    put(out, ".");
}

static void put_panels(const report_drawing_result *figure, dit_buffer *out)
{
    const report_grid *grid = &figure->grid;
    int shown = 0;
    for (int first = 0, end; first < grid->count; first = end) {
        for (end = first + 1; end < grid->count && strcmp(grid->cells[end].panel, grid->cells[first].panel) == 0;)
            end++;
        if (shown++ < TEXT_PANELS) put_panel(grid, first, end, figure, out);
    }
    if (shown > TEXT_PANELS) dit_buffer_printf(out, " %d more panels.", shown - TEXT_PANELS);
}

static bool has_axes(report_drawing drawing)
{
    return drawing == REPORT_DRAW_BARS || drawing == REPORT_DRAW_LINES || drawing == REPORT_DRAW_ERROR;
}

/* Puts what the rule read in the pictures of each case, with PSNR. */
static void put_pictures(const report_drawing_result *figure, dit_buffer *out)
{
    for (int i = 0; i < figure->grid.count && i < TEXT_COLUMNS; i++) {
        const report_shown *shown = &figure->grid.cells[i].kase->shown;
        const cJSON *row, *word;
        int number = 0;
        if (!shown->rows) continue;
        put(out, " ");
        put(out, figure->grid.cells[i].kase->label);
        dit_buffer_printf(out, ": %.0f of %d pictures show their captions.", figure->grid.cells[i].bar.part[0],
                          cJSON_GetArraySize(shown->rows));
        cJSON_ArrayForEach(row, shown->rows)
        {
            const cJSON *psnr = dit_json_member(row, shown->converged ? "converged_psnr_db" : "psnr_db");
            if (++number > TEXT_PICTURES) break;
            dit_buffer_printf(out, " Picture %d", number);
            if (psnr) dit_buffer_printf(out, ", %.1f dB", psnr->valuedouble);
            put(out, ":");
            int index = 0;
            cJSON_ArrayForEach(word, dit_json_member(row, "read"))
            {
                bool wrong = report_shown_is_wrong(row, index++);
                put(out, wrong ? " [" : " "), put(out, word->valuestring), put(out, wrong ? "]" : "");
            }
            put(out, ".");
        }
    }
}

/* Puts what each cache decided, a letter for each step. */
static void put_decisions(const report_drawing_result *figure, dit_buffer *out)
{
    int shown = 0;
    for (int i = 0; i < figure->grid.count; i++) {
        const report_cell *cell = &figure->grid.cells[i];
        const report_decisions *decisions = &cell->kase->decisions;
        if (!decisions->digits || cell->bar.n == 0) continue;
        if (++shown > TEXT_ROWS) continue;
        put(out, " "), put(out, cell->kase->label);
        dit_buffer_printf(out, ": %.0f of %zu steps computed, %s.", cell->bar.part[0], strlen(decisions->digits),
                          decisions->reasons);
    }
    if (shown > TEXT_ROWS) dit_buffer_printf(out, " %d more cases.", shown - TEXT_ROWS);
}

void report_figure_text(const report_drawing_result *figure, dit_buffer *out)
{
    const report_figure_kind *kind = figure->kind;
    put(out, figure->plot.title ? figure->plot.title : "");
    put(out, ". ");
    if (!has_axes(kind->drawing)) {
        put(out, kind->reading);
        if (kind->drawing == REPORT_DRAW_AGREEMENT) dit_buffer_printf(out, " %d pairs.", figure->grid.count);
        if (kind->drawing == REPORT_DRAW_CONTACT) put_pictures(figure, out);
        if (kind->drawing == REPORT_DRAW_DECISIONS) put_decisions(figure, out);
        return;
    }
    put(out, kind->drawing == REPORT_DRAW_BARS ? "Bars" : "Lines");
    if (kind->y_label && kind->y_label[0]) put(out, ": "), put(out, kind->y_label);
    put(out, " over ");
    put(out, report_grid_tag_title(&figure->grid, figure->plot.x));
    dit_buffer_printf(out, ", %d panel%s.", figure->grid.panel_count, figure->grid.panel_count == 1 ? "" : "s");
    put_panels(figure, out);
}

void html_put_figure_text(const report_drawing_result *figure, dit_buffer *out)
{
    dit_buffer text = {0};
    report_figure_text(figure, &text);
    out->failed = out->failed || text.failed;
    if (!text.failed) put_text(out, text.data);
    dit_buffer_release(&text);
}
