/* Compose: what the ways of drawing share. Inside the folder of reports/ only. */
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

/* Bars from zero, grouped or stacked. */
dit_status compose_bars(report_composition *c);
/* Lines over a tag, on linear or logarithmic axes. */
dit_status compose_lines(report_composition *c);
/* A point for each pair of a simulated case and what it is held against. */
dit_status compose_agreement(report_composition *c);

/* Lines over a number, of distances on a logarithmic axis, of other units on a linear one. */
dit_status compose_error(report_composition *c);

/* Lanes of the ranks of one case over time, read from its trace: whole, and its last step. Errors: those of
 * timeline_read; DIT_ERR_NOT_FOUND when no case has a trace. */
dit_status compose_timeline(report_composition *c);
/* The same trace as boxes, one for each patch of each step. Errors: as compose_timeline. */
dit_status compose_schedule(report_composition *c);

/* How a cell is drawn: it follows from the evidence of its records alone. Measured: points with intervals, lines that
 * differ in dashes. Simulated: small solid points on thin lines. The best of a search: dotted. Published: hollow points
 * with error bars, no line. */
typedef enum { COMPOSE_MEASURED, COMPOSE_SIMULATED, COMPOSE_BEST, COMPOSE_PUBLISHED, COMPOSE_LOOK_COUNT } compose_look;
compose_look compose_look_of(const report_cell *cell);
/* Of a series: measured and simulated numbers are never one; published where it has no others. */
compose_look compose_series_look(const report_composition *c, int series);
/* gnuplot's point type, point size and dash of a series in that look; what a data block of it holds. */
int compose_look_point(int series, compose_look look);
const char *compose_look_size(compose_look look);
const char *compose_look_dash(const report_composition *c, int series, compose_look look);
const char *compose_look_columns(compose_look look);
/* gnuplot's words for the fill of a bar. */
const char *compose_look_fill(compose_look look, int repeat);
/* "OOM", of a published point "(OOM)". */
const char *compose_oom_word(const report_cell *cell);
/* Legend: a series with the glyph of its look; and what tells evidences apart, where a figure needs it.
 * `errors`: some reading error is longer than its point. */
void compose_add_series(const report_composition *c, report_canvas *canvas, int series, canvas_glyph glyph);
void compose_add_evidence(const report_composition *c, report_canvas *canvas, canvas_glyph glyph, bool errors);
/* What the title of the panel that starts at cell `first` adds where other panels have published points and it has none;
 * NULL: nothing. */
const char *compose_panel_note(const report_grid *grid, int first);

/* Runs of cells: one past the last cell of the panel, or of the group (same x), that starts at `first`. */
int compose_panel_end(const report_grid *grid, int first);
int compose_group_end(const report_grid *grid, int first);

/* Bars that stand side by side in cells first..end: a published point at the place of a case has none of its own. */
int compose_slots(const report_grid *grid, int first, int end);

/* Height of a bar: the sum of its parts. */
double compose_bar_sum(const report_bar *bar);
/* Opens data block `name`, described by `columns`; returns its index. */
int compose_block(report_composition *c, const char *name, const char *columns);
/* Words and unit for the y axis. */
void compose_y_label(const report_composition *c, const char *symbol, char out[COMPOSE_LABEL]);
/* Colour of a series: the one of its method ("usp" of "usp · u2 r2"), else the first of the palette that no series of
 * the figure has. Series that share a colour differ in `repeat`: 0 solid, then hatched or dashed. */
const char *compose_series_colour(const report_composition *c, int series);
int compose_series_repeat(const report_composition *c, int series);
/* gnuplot's point type of a series, so that series differ without colour too: solid, so never that of a published
 * point. */
int compose_point_type(int series);
const char *compose_part_colour(const report_composition *c, int part);

#endif
