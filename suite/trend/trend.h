/* Trend: how a number of each case went from session to session, and whether the newest one is as those before it.
 *
 * Series are kept apart by case and by context (hardware, or the simulated software with its calibration). The newest
 * value of a clock is scored by suite/compare/series.h against the values before it. One value that sticks out makes
 * the case suspect; the next session, of that commit or a later one, makes a verdict when it sticks out on the same
 * side. Numbers that repeat to the last digit need neither statistics nor a second session.
 */
#ifndef DIT_SUITE_TREND_TREND_H
#define DIT_SUITE_TREND_TREND_H

#include "reports/trend_page.h"
#include "suite/session/index.h"
#include "suite/trend/annotations.h"

/* Zero means default everywhere. */
typedef struct {
    report_metric metric;
    const char *since;   /* time as journals write it; NULL: any         */
    const char *name;    /* case id, beginning of one, or label; NULL: all */
    const char *filter;  /* expression over tags; NULL: all              */
    double margin;       /* least share that matters; 0.02               */
    const char *release; /* commit, version; NULL: the newest release of the annotations */
    const suite_annotations *annotations;
    bool without_changes; /* leaves change points out */
} suite_trend_params;

/* release accepts a zeroed one. */
typedef struct {
    report_trend *rows; /* by label, then context */
    int count, capacity;
} suite_trends;

/* Reads and judges. Errors: DIT_ERR_NO_MATCH where nothing is left, DIT_ERR_EXPRESSION, DIT_ERR_IO, DIT_ERR_MEMORY. */
dit_status suite_trends_read(suite_index *index, const suite_trend_params *params, suite_trends *out);
void suite_trends_release(suite_trends *trends);
/* Judges one series whose points are filled; takes changes, verdict, score and before anew. */
dit_status suite_trend_judge(report_trend *trend, const suite_trend_params *params);

#endif
