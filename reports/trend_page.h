/* Trend page: history.html, one line for each case: how one of its numbers went from session to session.
 *
 * A trend is the series of one metric of one case on one hardware, or of one simulated software stack. Whoever fills it
 * also judges it; the page draws. Scripts of the page filter and sort what is there, and need no network.
 */
#ifndef DIT_REPORTS_TREND_PAGE_H
#define DIT_REPORTS_TREND_PAGE_H

#include "base/hash.h"
#include "reports/options.h"
#include "reports/records/metrics.h"

/* What is known of the newest value. */
typedef enum {
    REPORT_TREND_SHORT,   /* too few values before it to say               */
    REPORT_TREND_STEADY,  /* it lies where the others lie                  */
    REPORT_TREND_SUSPECT, /* it sticks out once: the case must run again   */
    REPORT_TREND_BETTER,  /* it sticks out, and a second session agrees    */
    REPORT_TREND_WORSE,
    REPORT_TREND_CHANGED, /* the same of a metric without a direction      */
} report_trend_verdict;

/* The number of one session: the median over processes. */
typedef struct {
    char *session, *started, *commit;
    double value, low, high; /* interval of the median; the range for fewer than 6 processes */
    int n, sticks_out;       /* processes; 1 above, -1 below what was before it, else 0       */
    bool accepted;           /* somebody accepted that a new level begins here                */
    char *note;              /* of annotations, "; " between them; NULL: none                 */
} report_trend_point;

/* Where the level changes. */
typedef struct {
    int place; /* of the first value of the new level */
    double before, after;
} report_trend_change;

typedef struct {
    char case_id[DIT_HASH_HEX], context[DIT_HASH_HEX]; /* context: hardware_id, or a hash of the simulated software */
    char *label;
    cJSON *tags;
    bool simulated;
    report_metric metric;
    report_trend_point *points; /* oldest first, at least one */
    int point_count, point_capacity;
    report_trend_change *changes;
    int change_count;
    report_trend_verdict verdict;
    double score, before; /* robust z of the newest value, and the median before it; NAN: too few values */
    double release;       /* median of the release; NAN: it has no session of the case                    */
    char *release_name;   /* NULL: none was named                                                        */
} report_trend;

/* "worse", "suspect", ... */
const char *report_trend_word(report_trend_verdict verdict);
/* Share by which the newest value is above the release's; NAN without one. */
double report_trend_creep(const report_trend *trend);

/* Writes the page atomically to `path`. Errors: DIT_ERR_IO, DIT_ERR_MEMORY. */
dit_status report_trend_page_write(const report_trend *trends, int count, const char *path);

#endif
