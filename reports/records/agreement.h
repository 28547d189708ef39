/* Agreement: how near simulated numbers come to published and to measured ones. Pure arithmetic on a table.
 *
 * Inside the folder of reports/ only.
 */
#ifndef DIT_REPORTS_RECORDS_AGREEMENT_H
#define DIT_REPORTS_RECORDS_AGREEMENT_H

#include "base/agreement.h"
#include "reports/records/records.h"

/* Of records.c, when the cases are known: finds the simulated twin of each published point, gives published points
 * their speedup over their own source's one-device point, and simulated cases the errors to what they are held
 * against. Errors: DIT_ERR_MEMORY. */
dit_status report_agreement_close(report_table *table);

const char *report_part_name(dit_agreement_part part); /* "all", "in fit", "not in fit" */

typedef struct {
    dit_agreement numbers; /* of the published numbers that have a simulated twin with one, too */
    int oom, oom_agreed;   /* published "out of memory" with a twin; those whose twin says so too */
    int oom_wrong;         /* published numbers whose twin is out of memory                       */
} report_agreement;

/* Over the points of `metric` that are not marked doubtful, by the rules of base/agreement.h; two points whose twin is
 * one case are one method. Errors: DIT_ERR_MEMORY. */
dit_status report_agreement_of(const report_published *const *points, int count, report_metric metric,
                               dit_agreement_part part, report_agreement *out);

/* Whether a simulated case was held against the point: it has a twin, nobody doubts it, and both have a number, or its
 * source printed "out of memory". */
bool report_published_is_compared(const report_published *point);
/* The twin's number in the point's metric; NAN without one. And predicted / published - 1. */
double report_published_predicted(const report_published *point);
double report_published_error(const report_published *point);

/* For each case of `table` the measured twin of a simulated one, else NULL: equal in all tags but those of the list
 * `differ` ("platform"), profile and element. *out, from malloc, has case_count entries. Errors: DIT_ERR_MEMORY. */
dit_status report_agreement_twins(const report_table *table, const char *differ, const report_case ***out);

#endif
