/* Compose: what the two ways of drawing share. Inside the folder of reports/ only. */
#ifndef DIT_REPORTS_COMPOSE_H
#define DIT_REPORTS_COMPOSE_H

#include "reports/canvas.h"
#include "reports/figure.h"

/* Everything a drawing needs, for one picture. */
typedef struct {
    const report_grid *grid;
    const report_plot *plot;
    const report_figure_kind *kind;
    const char *id, *footer;
    report_figure_files *files;
    int blocks; /* data blocks written so far: gnuplot's `index` of the next one */
} report_composition;

/* Bars from zero, grouped or stacked. */
dit_status compose_bars(report_composition *c);
/* Lines over log2-log2 axes with ideal scaling. */
dit_status compose_scaling(report_composition *c);

/* Runs of cells: one past the last cell of the panel, or of the group (same x), that starts at `first`. */
int compose_panel_end(const report_grid *grid, int first);
int compose_group_end(const report_grid *grid, int first);

/* Height of a bar: the sum of its parts. */
double compose_bar_sum(const report_bar *bar);
/* Opens data block `name`, described by `columns`; returns its index. */
int compose_block(report_composition *c, const char *name, const char *columns);
/* Writes the set ylabel line: words and unit. */
void compose_y_label(report_composition *c, const char *symbol);
/* Colour of a series: fixed by name, "single" when there is no name. */
const char *compose_series_colour(const report_composition *c, int series);

#endif
