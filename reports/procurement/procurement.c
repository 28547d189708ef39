#include "reports/procurement/procurement.h"

#include "reports/page/html.h"
#include "reports/page/html_pieces.h"
#include "reports/procurement/figures.h"
#include "reports/procurement/page.h"
#include "reports/procurement/picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIGURES_MOST = 16 };

typedef struct {
    figure_room room;
    figure_drawn figures[FIGURES_MOST];
    int drawn;
    const split_row *other; /* [other_count] of other pictures */
    int other_count;
    char footer[256], missing[512]; /* missing: why there are no figures; "" */
} work;

static dit_status draw_all(work *w)
{
    for (const figure_kind *kind = figure_kinds(); kind->draw; kind++) {
        figure_drawn *figure = &w->figures[w->drawn];
        *figure = (figure_drawn){.id = kind->id};
        snprintf(figure->title, sizeof figure->title, "%s", kind->title);
        dit_status st = kind->draw(&w->room, figure);
        if (st == DIT_ERR_ENVIRONMENT) {
            snprintf(w->missing, sizeof w->missing, "%s", dit_error_last()->message);
            dit_error_clear();
            return DIT_OK;
        }
        DIT_TRY(st);
        w->drawn += figure->pictures.wide != NULL;
    }
    return DIT_OK;
}

/* ---- figures on the page ---------------------------------------------------------------------------------------------- */

static const char *reading_of(const char *id)
{
    for (const figure_kind *kind = figure_kinds(); kind->draw; kind++)
        if (strcmp(kind->id, id) == 0) return kind->reading;
    return "";
}

static void put_figures(const work *w, dit_buffer *out)
{
    put(out, "<h2 id=\"figures\">Figures</h2>\n");
    if (w->missing[0]) {
        put(out, "<div class=\"notice\">No figure is drawn: ");
        put_text(out, w->missing);
        put(out, "</div>\n");
    }
    for (int i = 0; i < w->drawn; i++)
        picture_put(w->figures[i].id, w->figures[i].words, reading_of(w->figures[i].id), &w->figures[i].pictures, out);
}

static dit_status write_page(const work *w, const report_procurement_options *options)
{
    dit_buffer out = {0};
    const page_room page = {w->room.document, w->room.rows, w->room.count, w->other, w->other_count};
    html_put_opening_with("procurement", "tbody th{white-space:nowrap}", &out);
    page_put_head(&page, &out);
    put(&out, "<main>\n");
    page_put_answers(&page, &out);
    put_figures(w, &out);
    page_put_rest(&page, options->program, &out);
    put(&out, "</main>\n</body>\n</html>\n");
    return picture_page_write(&out, options->folder, "procure");
}

static void write_footer(work *w)
{
    const cJSON *question = dit_json_member(w->room.document, "question");
    snprintf(
        w->footer, sizeof w->footer,
        "predicted (simulated; interval from held-out errors), software %.60s; prices quoted, %.20s %.20s of %.12s",
        dit_json_text_or(question, "profile", ""),
        dit_json_text_or(dit_json_member(question, "prices"), "currency", ""),
        dit_json_text_or(dit_json_member(question, "prices"), "kind", ""),
        dit_json_text_or(dit_json_member(question, "prices"), "date", ""));
    w->room.footer = w->footer;
}

dit_status report_procurement_write(const cJSON *document, const report_procurement_options *options, int *drawn)
{
    work w = {.room = {.document = document, .folder = options->folder, .gnuplot = options->gnuplot}};
    split_row *rows = split_rows_of(document, "splits", &w.room.count);
    split_row *other = split_rows_of(document, "approximate", &w.other_count);
    if (!rows || !other) {
        free(rows);
        free(other);
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a page");
    }
    w.other = other;
    w.room.rows = rows;
    write_footer(&w);
    dit_status st = draw_all(&w);
    if (st == DIT_OK) st = write_page(&w, options);
    for (int i = 0; i < FIGURES_MOST; i++) chart_pictures_release(&w.figures[i].pictures);
    free(rows);
    free(other);
    *drawn = w.drawn;
    if (st == DIT_OK && w.missing[0]) return DIT_FAIL(DIT_ERR_ENVIRONMENT, "no figures: %s", w.missing);
    return st;
}
