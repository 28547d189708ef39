/* Agreement: computes how near simulated numbers come to published and to measured ones. Pure arithmetic on a table.
 *
 * Only reports/ includes this header.
 */
#ifndef DIT_REPORTS_RECORDS_AGREEMENT_H
#define DIT_REPORTS_RECORDS_AGREEMENT_H

#include "base/agreement.h"
#include "reports/records/records.h"

/* Called once the cases are known. Finds the simulated twin of each published point; gives each published point its
 * speedup over the one-device point of its own source; gives simulated cases their errors to the numbers that they are
 * compared with. Errors: DIT_ERR_MEMORY. */
dit_status report_agreement_close(report_table *table);

const char *report_part_name(dit_agreement_part part); /* "all", "in fit", "not in fit" */

typedef struct {
    dit_agreement numbers; /* of the published numbers that have a simulated twin with one, too */
    int oom, oom_agreed;   /* published "out of memory" with a twin; those whose twin says so too */
    int oom_wrong;         /* published numbers whose twin is out of memory                       */
} report_agreement;

/* Counts over the points of `metric` that are not marked doubtful, by the rules of base/agreement.h. Two points whose
 * twin is one case count as one method. Errors: DIT_ERR_MEMORY. */
dit_status report_agreement_of(const report_published *const *points, int count, report_metric metric,
                               dit_agreement_part part, report_agreement *out);

/* True if a simulated case was compared with the point: the point has a twin, nobody doubts it, and both have a number,
 * or its source printed "out of memory". */
bool report_published_is_compared(const report_published *point);
/* Return the twin's number in the point's metric (NAN without one), and predicted / published - 1. */
double report_published_predicted(const report_published *point);
double report_published_error(const report_published *point);

/* Finds for each simulated case of `table` its measured twin, which has equal tags but for profile, element and those
 * of the list `differ` ("platform"); NULL for other cases. *out, from malloc, has case_count entries. Errors:
 * DIT_ERR_MEMORY. */
dit_status report_agreement_twins(const report_table *table, const char *differ, const report_case ***out);

#endif
