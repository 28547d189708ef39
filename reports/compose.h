/* Compose: what the ways of drawing share. Inside the folder of reports/ only. */
#ifndef DIT_REPORTS_COMPOSE_H
#define DIT_REPORTS_COMPOSE_H

#include "reports/canvas.h"
#include "reports/figure.h"

enum { COMPOSE_COLOURS = 64, COMPOSE_LABEL = 96 };

/* Everything a drawing needs, for one picture. */
typedef struct {
    const report_grid *grid;
    const report_plot *plot;
    const report_figure_kind *kind;
    const char *id, *footer;
    report_figure_files *files;
    const char *colours[COMPOSE_COLOURS]; /* of the first series */
    int blocks;                           /* data blocks written so far: gnuplot's `index` of the next one */
} report_composition;

/* Bars from zero, grouped or stacked. */
dit_status compose_bars(report_composition *c);
/* Lines over log2-log2 axes with ideal scaling. */
dit_status compose_scaling(report_composition *c);

/* Lines over a number, of distances on a logarithmic axis, of other units on a linear one. */
dit_status compose_error(report_composition *c);

/* Lanes of the ranks of one case over time, read from its trace: whole, and its last step. Errors: those of
 * timeline_read; DIT_ERR_NOT_FOUND when no case has a trace. */
dit_status compose_timeline(report_composition *c);
/* The same trace as boxes, one for each patch of each step. Errors: as compose_timeline. */
dit_status compose_schedule(report_composition *c);

/* Runs of cells: one past the last cell of the panel, or of the group (same x), that starts at `first`. */
int compose_panel_end(const report_grid *grid, int first);
int compose_group_end(const report_grid *grid, int first);

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
/* gnuplot's point type of a series, so that series differ without colour too. */
int compose_point_type(int series);
const char *compose_part_colour(const report_composition *c, int part);

#endif
