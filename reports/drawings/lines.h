/* Lines: describes one panel of a picture of lines, with its axes in data and in pixels. Only reports/ includes this
 * header. */
#ifndef DIT_REPORTS_LAYOUT_LINES_H
#define DIT_REPORTS_LAYOUT_LINES_H

#include "reports/layout/compose.h"

enum {
    LINES_RIGHT = 14,
    LINES_TOP = 28,
    LINES_TICK_FONT = 11,
    LINES_MARK_FONT = 9,
    LINES_MARK_ROW = 12,  /* pixels between two words at one place */
    LINES_TICK_ROOM = 28, /* below the axis: its ticks and their words */
};

typedef struct {
    report_composition *c;
    int first, end;
    bool log_x, log_y, named, even; /* named: x are words; they, and numbers on an even axis, stand at 1, 2, ... */
    report_scale scale;
    double x_least, x_most;
    double y_least, y_most; /* over drawn cells that are not cut off, unscaled */
    double cut;             /* unscaled: points from here on are cut off; INFINITY: none */
    int start[2];        /* the one-rank case, measured and simulated; -1 without one: where lines over ranks begin */
    bool rotated;        /* words along x stand at an angle */
    int width, height;   /* pixels of the plot */
    double x_from, x_to; /* the axes' ranges, y scaled */
    double y_from, y_to;
} lines_panel;

/* Say whether a cell has a point in the panel, and whether that point lies above the end of the axis. */
bool lines_is_drawn(const lines_panel *p, const report_cell *cell);
bool lines_is_cut(const lines_panel *p, const report_cell *cell);
/* Return where a cell stands along x, and the pixels from the left and from the top of a place and of an unscaled
 * number. */
double lines_place_of(const lines_panel *p, int cell);
double lines_across(const lines_panel *p, double place);
double lines_down(const lines_panel *p, double value);
/* True if the best of a search is one line. Then each place has one mesh, and it stands below the axis. */
bool lines_has_mesh_row(const lines_panel *p);

/* Visits the points of a line in order. `breaks` is true where no line comes from the point before. A line begins at
 * the one-rank case and breaks where the series has a gap. */
typedef void (*lines_visit)(void *context, const lines_panel *p, int cell, bool breaks);
void lines_walk(const lines_panel *p, int series, compose_look look, lines_visit visit, void *context);

/* Returns how many rows of words the meshes of the best points need below the axis. */
int lines_mesh_rows(const lines_panel *p);
/* In lines_words.c: writes the numbers of the best points, their meshes, what ran out of memory and what was cut
 * off. */
void lines_put_words(const lines_panel *p);

#endif
