/* Canvas: decides where things stand in a picture, in pixels, and writes the gnuplot lines that put them there.
 *
 * The canvas places title, legend, a grid of equal panels and footer itself, so that nothing overlaps or is clipped;
 * gnuplot would not see to that. Only reports/ includes this header.
 */
#ifndef DIT_REPORTS_DRAW_CANVAS_H
#define DIT_REPORTS_DRAW_CANVAS_H

#include "base/buffer.h"
#include "reports/draw/style.h"

enum { CANVAS_LEGEND = 24, CANVAS_WIDEST = 1100, CANVAS_EDGE = 10, CANVAS_COLUMNS = 4, CANVAS_LABEL = 18 };

typedef enum { CANVAS_SWATCH, CANVAS_MARKER, CANVAS_LINE, CANVAS_POINT } canvas_glyph;
typedef struct {
    const char *name, *colour;
    canvas_glyph glyph;
    int point;  /* gnuplot point type of a line's points; 0: none    */
    int repeat; /* 0 solid; above, another look of the same colour   */
    /* gnuplot's words for point size, stroke and fill; NULL: 0.9, and what `repeat` says. */
    const char *size, *dash, *fill;
} canvas_entry;

/* What limits the height of a panel: nothing (it follows the width of a narrow figure), its width (both axes show one
 * quantity), or its content (so many lanes). */
typedef enum { CANVAS_FLEXIBLE, CANVAS_SQUARE, CANVAS_FIXED } canvas_shape;

typedef struct {
    dit_buffer *script;
    const report_style *style; /* NULL: a picture of its own size for a page */
    const char *id, *title, *footer;
    const char *y_label; /* of all panels alike: stands once, left of a row; NULL: each panel has its own */
    canvas_shape shape;
    int panel_least; /* outer width that one panel needs at least; 0: panel_width */
    canvas_entry legend[CANVAS_LEGEND];
    int legend_count;
    char names[CANVAS_LEGEND + 1][96];     /* room for names of entries that are made up */
    int panels, panel_width, panel_height; /* outer size of one panel */
    int margin_left, margin_right, margin_top, margin_bottom;
    int columns, width, height, header; /* computed */
    double points;                      /* computed: of a pixel */
} report_canvas;

/* Holds at most CANVAS_LEGEND entries. Where there are more, the last entry says so. */
void canvas_add_legend(report_canvas *canvas, const canvas_entry *entry);
/* Return gnuplot's words for the fill of a bar, and for the stroke of a line, where `repeat` earlier series have the
 * colour. */
const char *canvas_fill(int repeat);
const char *canvas_dash(int repeat);
/* Returns the fill of a bar of simulated numbers, which is paler and has an edge. */
const char *canvas_pale_fill(int repeat);
/* Returns the number of columns for `panels` panels when `fitting` columns fit. Up to four panels stand in one row.
 * More take the most columns that leave no hole, if that is at least half of what fits; otherwise rows are as even as
 * possible. */
int canvas_columns(int panels, int fitting);
/* Computes the layout from panels, panel_width, panel_least and panel_height. Panels become narrower to stand in one
 * row, and wider to fill it. If a figure does not fit into the style's width, its type becomes smaller. */
void canvas_layout(report_canvas *canvas);
/* Returns the pixels between the margins of a panel. */
int canvas_inner_width(const report_canvas *canvas);
int canvas_inner_height(const report_canvas *canvas);

/* Writes terminal, title, legend and footer. */
void canvas_begin(const report_canvas *canvas);
/* Writes margins, title and y label of panel `index`, and clears earlier labels. `note` stands in small type right of
 * the title; NULL: there is none. The caller writes the axes. */
void canvas_panel(const report_canvas *canvas, int index, const char *title, const char *note, const char *y_label);
void canvas_end(const report_canvas *canvas);

/* Prints a line of the script, as printf, with its newline. */
void canvas_line(dit_buffer *script, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Cuts `text` to what fits into `pixels`, with an ellipsis. `out` holds `capacity` bytes. */
void canvas_fit_text(const char *text, double font_px, double pixels, char *out, size_t capacity);

#endif
