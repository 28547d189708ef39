/* Chart: draws numbers that no journal holds: points and lines over a number, or a bar or an interval in each row.
 *
 * Who answers a question (`ditbench procure`) fills one and has it drawn, once for a page and once for a narrow screen.
 * Interval of a prediction: a thin bar without caps, unlike that of a measurement.
 */
#ifndef DIT_REPORTS_CHART_CHART_H
#define DIT_REPORTS_CHART_CHART_H

#include "reports/draw/drawn.h"

#include <stdbool.h>

enum { CHART_RULES = 4, CHART_PARTS = 6 };

/* low 0: no interval. */
typedef struct {
    double x, y;
    double x_low, x_high, y_low, y_high;
    const char *label; /* beside the point; NULL: none */
    bool hollow;
} chart_point;

typedef struct {
    const char *name;
    const chart_point *points;
    int count;
    bool line;      /* points are joined in their order */
    bool band;      /* between y_low and y_high, instead of bars */
    bool no_points; /* the line alone */
    int colour;     /* that of series colour - 1, and then the line is dashed; 0: its own */
} chart_series;

/* A dashed line across the chart. */
typedef struct {
    double at;
    const char *label;
    bool upright;
} chart_rule;

typedef struct {
    const char *id, *title, *footer, *x_label, *y_label;
    bool x_log, y_log, from_zero; /* from_zero: linear axes begin at 0 */
    const chart_series *series;
    int count;
    chart_rule rules[CHART_RULES];
    int rule_count;
    const char *words; /* what it shows, for readers who cannot see it */
} chart_lines;

/* A row has an interval with a value in it, or parts that add up. */
typedef struct {
    const char *label, *text; /* left and right of it */
    double value, low, high;  /* low 0: no interval   */
    double parts[CHART_PARTS];
    bool hollow;
} chart_row;

typedef struct {
    const char *id, *title, *footer, *x_label;
    bool x_log;
    const chart_row *rows;
    int count;
    const char *part_names[CHART_PARTS];
    int part_count;            /* 0: rows have intervals */
    const char *value_name;    /* of the point, in the key; NULL: there is none, only the interval */
    const char *interval_name; /* in the key; NULL: "predicted interval" */
    chart_rule rule;           /* upright; at 0: none */
    const char *words;
} chart_rows;

enum { CHART_ROWS_MOST = 48, CHART_PHONE_POINTS = 315 /* 420 pixels */ };

/* A figure's two pictures as SVG text, from malloc. release accepts a zeroed one. */
typedef struct {
    char *wide, *narrow;
} chart_pictures;
void chart_pictures_release(chart_pictures *pictures);

/* Write FOLDER/ID.dat, .gp, .svg and .png for a page, and ID-narrow.dat, .gp and .svg for a narrow screen. *out: the two
 * pictures; after an error those that were drawn. Of more than CHART_ROWS_MOST rows the first are drawn, and the title says
 * so. Errors: those of report_drawn_write. */
dit_status chart_lines_draw(const chart_lines *chart, const char *folder, const char *gnuplot, chart_pictures *out);
dit_status chart_rows_draw(const chart_rows *chart, const char *folder, const char *gnuplot, chart_pictures *out);

#endif
