/* Lanes: draws what pictures of one trace share: a row over time for each rank, marks where steps begin, the footer
 * that names the record. Only reports/ includes this header. */
#ifndef DIT_REPORTS_LAYOUT_LANES_H
#define DIT_REPORTS_LAYOUT_LANES_H

#include "reports/layout/compose.h"
#include "reports/records/timeline.h"

enum {
    LANES_INNER = 940, /* pixels of time */
    LANES_RIGHT = 16,
    LANES_TOP = 46, /* title, and the names of what is marked */
    LANES_BOTTOM = 44,
    LANES_MOST_RANKS = 16 /* that one picture shows */
};

/* A stretch of time that is drawn. Rank `r` lies between r and r + 1, downward. */
typedef struct {
    report_composition *c;
    const timeline *t;
    int ranks;
    char names[LANES_MOST_RANKS][48];
    double begin, end;
    report_scale scale; /* of the time axis */
} lanes_panel;

/* The ranks that one picture shows, called "rank 0", ... */
lanes_panel lanes_of(report_composition *c, const timeline *t);
/* Makes a canvas for `panels` panels of lanes. Each rank is `rank_px` high, its name takes `left_px`. The caller adds
 * legend and layout. */
report_canvas lanes_canvas(const lanes_panel *panel, int panels, int rank_px, int left_px, const char *footer);
/* Does canvas_layout, then canvas_begin with the figure's size. */
void lanes_begin(const lanes_panel *panel, report_canvas *canvas);
/* Writes ranges, the time axis and the ranks' names. */
void lanes_axes(const lanes_panel *panel);
/* Draws a line down the panel where something begins, with its name above if there is room after `free_from` (pixels
 * from the left), which is then moved on. */
void lanes_mark(const lanes_panel *panel, const char *name, double at, double *free_from);
/* Marks where each step begins on rank 0. */
void lanes_mark_steps(const lanes_panel *panel);

/* Draws the newest trace of the first case that is no gap of the grid. Errors: those of timeline_read and `draw`;
 * DIT_ERR_NOT_FOUND when no case has a trace, or its file is not there. */
typedef dit_status (*lanes_draw)(report_composition *c, const report_case *kase, const timeline *t, const char *footer);
dit_status lanes_compose(report_composition *c, lanes_draw draw);

#endif
