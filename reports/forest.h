/* Forest: draws ratios of two builds or sessions under one another, each with its interval, its margin and its verdict.
 *
 * It stands beside the figures of a session because it shows two of them: `ditbench compare` fills the rows.
 */
#ifndef DIT_REPORTS_FOREST_H
#define DIT_REPORTS_FOREST_H

#include "reports/draw/style.h"

#include <stdbool.h>

typedef struct {
    const char *label, *verdict; /* "flux.1-dev 1024x1024 u2", "slower" */
    double ratio, low, high;     /* new / old; low and high NAN: it repeats, and has no interval or too few processes */
    double margin;               /* a share; 0: none */
    bool better, worse;          /* decide the colour */
} report_forest_row;

typedef struct {
    const char *title, *footer, *quantity; /* "latency_s" */
    const report_forest_row *rows;
    int count;
    const char *gnuplot; /* program; NULL: gnuplot */
    report_style style;
} report_forest;

enum { REPORT_FOREST_MOST = 60 };

/* Writes FOLDER/ID.svg, ID.png and the formats of the style, with ID.dat and ID.gp. Of more than REPORT_FOREST_MOST
 * rows those furthest from 1 are drawn, and the title says so. Errors: DIT_ERR_IO, DIT_ERR_MEMORY; DIT_ERR_ENVIRONMENT
 * without gnuplot. */
dit_status report_forest_draw(const report_forest *forest, const char *folder, const char *id);

#endif
