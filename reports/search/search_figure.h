/* Search figure: draws what `ditbench search` found. A pure function of that document, ditbench.search/1.
 */
#ifndef DIT_REPORTS_SEARCH_SEARCH_FIGURE_H
#define DIT_REPORTS_SEARCH_SEARCH_FIGURE_H

#include "base/json.h"
#include "reports/chart/chart.h"

/* Writes FOLDER/search.svg, .png, .gp, .dat and search-narrow.*: for each mesh its lower bound against its simulated
 * time, solid; a mesh that was excluded hollow, at its bound. Goal latency also has a line at the best time: no hollow
 * point lies below. `gnuplot` NULL: the one on PATH. *pictures is the caller's to release; it is empty where no mesh has a
 * time, and then nothing is written. Errors: those of chart_lines_draw. */
dit_status report_search_figure(const cJSON *document, const char *folder, const char *gnuplot,
                                chart_pictures *pictures);

#endif
