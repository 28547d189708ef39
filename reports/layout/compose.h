/* Compose: holds what all layouts of a picture share. Only reports/ includes this header. */
#ifndef DIT_REPORTS_LAYOUT_COMPOSE_H
#define DIT_REPORTS_LAYOUT_COMPOSE_H

#include "reports/draw/canvas.h"
#include "reports/figures/figure.h"

enum { COMPOSE_COLOURS = 64, COMPOSE_LABEL = 96 };
#define COMPOSE_POINT_SHARE 0.035 /* of an axis: the height of a hollow point; a shorter error bar is inside it */

/* Everything a drawing needs, for one picture. */
typedef struct {
    const report_grid *grid;
    const report_plot *plot;
    const report_figure_kind *kind;
    const char *id, *footer;
    const report_style *style; /* NULL: for a page */
    report_figure_files *files;
    const char *colours[COMPOSE_COLOURS]; /* of the first series */
    int blocks;                           /* data blocks written so far: gnuplot's `index` of the next one */
} report_composition;

/* Draws bars from zero, grouped or stacked. */
dit_status compose_bars(report_composition *c);
/* Draws lines over a tag, on linear or logarithmic axes. */
dit_status compose_lines(report_composition *c);
/* Draws a point for each pair of a simulated case and the number that it is compared with. */
dit_status compose_agreement(report_composition *c);

/* Draws a quality over the latency of its case, a line for each series. */
dit_status compose_pareto(report_composition *c);

/* Draws how much K, V and attention change by layer and step, three panels for each case with a probe. Errors: those of
 * report_probe_read; DIT_ERR_NOT_FOUND when no case has a probe. */
dit_status compose_heatmap(report_composition *c);
/* Draws the changes of one case over its steps, a panel for each layer. Errors: those of compose_heatmap. */
dit_status compose_profile(report_composition *c);

/* Draws the first pictures of cases side by side. Errors: DIT_ERR_NOT_FOUND when no case has any. */
dit_status compose_contact(report_composition *c);

/* Draws which steps caches computed, a row for each case. Errors: DIT_ERR_NOT_FOUND when no case has a cache. */
dit_status compose_decisions(report_composition *c);

/* Draws lines over a number. The axis is logarithmic for distances and linear for other units. */
dit_status compose_error(report_composition *c);

/* Draws a lane over time for each rank of one case, from its trace: the whole iteration, and its last step. Errors:
 * those of timeline_read; DIT_ERR_NOT_FOUND when no case has a trace. */
dit_status compose_timeline(report_composition *c);
/* Draws such a trace as boxes, one for each patch of each step. Errors: those of compose_timeline. */
dit_status compose_schedule(report_composition *c);

/* How a cell is drawn: it follows from the evidence of its records alone. Measured: points with intervals, lines that
 * differ in dashes. Simulated: small solid points on thin lines. The best of a search: dotted. Published: hollow points
 * with error bars, no line. */
typedef enum { COMPOSE_MEASURED, COMPOSE_SIMULATED, COMPOSE_BEST, COMPOSE_PUBLISHED, COMPOSE_LOOK_COUNT } compose_look;
compose_look compose_look_of(const report_cell *cell);
/* Returns the look of a series. Measured and simulated numbers are never one series; a series is published where it has
 * no other numbers. */
compose_look compose_series_look(const report_composition *c, int series);
/* Return gnuplot's point type, point size and dash for a series of that look, and the words that describe its data
 * block. */
int compose_look_point(int series, compose_look look);
const char *compose_look_size(compose_look look);
const char *compose_look_dash(const report_composition *c, int series, compose_look look);
const char *compose_look_columns(compose_look look);
/* Returns gnuplot's words for the fill of a bar. */
const char *compose_look_fill(compose_look look, int repeat);
/* Returns "OOM", or "(OOM)" for a published point. */
const char *compose_oom_word(const report_cell *cell);
/* Add to the legend a series with the glyph of its look, and the entries that tell evidences apart where a figure needs
 * them. `errors`: some reading error is longer than its point. */
void compose_add_series(const report_composition *c, report_canvas *canvas, int series, canvas_glyph glyph);
void compose_add_evidence(const report_composition *c, report_canvas *canvas, canvas_glyph glyph, bool errors);
/* Returns what the title of the panel that starts at cell `first` adds if other panels have published points and this
 * panel has none; else NULL. */
const char *compose_panel_note(const report_grid *grid, int first);

/* Return one past the last cell of the panel, or of the group (cells with one x), that starts at `first`. */
int compose_panel_end(const report_grid *grid, int first);
int compose_group_end(const report_grid *grid, int first);

/* The plot of a panel, in pixels, and the margins around it. */
typedef struct {
    int width, height, left, right, top, bottom;
} compose_plot;
/* Returns the canvas of the figure, a panel for each of the grid's. */
report_canvas compose_canvas(const report_composition *c, compose_plot plot);
/* Lays the canvas out, once its legend is complete, and tells the figure its size. */
void compose_fit(report_composition *c, report_canvas *canvas);

/* Returns how many bars stand side by side in cells first..end. A published point at the place of a case has no bar. */
int compose_slots(const report_grid *grid, int first, int end);

/* Returns the height of a bar, the sum of its parts. */
double compose_bar_sum(const report_bar *bar);
/* Opens data block `name`, described by `columns`; returns its index. */
int compose_block(report_composition *c, const char *name, const char *columns);
/* Writes words and unit for the y axis. */
void compose_y_label(const report_composition *c, const char *symbol, char out[COMPOSE_LABEL]);
/* Returns the colour of a series: its method's colour ("usp" for "usp · u2 r2"), else the first of the palette that no
 * series of the figure has. Series that share a colour differ in `repeat`: 0 is solid, others are hatched or dashed. */
const char *compose_series_colour(const report_composition *c, int series);
int compose_series_repeat(const report_composition *c, int series);
/* Returns gnuplot's point type of a series, so that series differ without colour, too. The type is solid; published
 * points are hollow. */
int compose_point_type(int series);
const char *compose_part_colour(const report_composition *c, int part);

#endif
