/* Report: turns a session's journal into figures, tables and one HTML page.
 *
 * Output depends on the journal alone: equal bytes in give equal scripts, data, CSV, SVG and page out. A report
 * measures nothing, reads only the journal and the traces whose digests the journal has, and never changes a record.
 * */
#ifndef DIT_REPORTS_REPORT_H
#define DIT_REPORTS_REPORT_H

#include "reports/options.h"

/* Writes into the output folder: report.html; per figure ID.svg, .png, .csv, .gp, .dat; results.csv; claims.json;
 * report.json (facts of the page, for the index). A figure that cannot be drawn is noted on the page and counted; the
 * others are drawn.
 * Errors: DIT_ERR_JOURNAL for a journal that cannot be read; DIT_ERR_IO; DIT_ERR_ENVIRONMENT without gnuplot, when all
 * but the pictures is written and *out is filled. */
dit_status report_write(const report_options *options, report_summary *out);
/* Accepts a zeroed one. */
void report_summary_release(report_summary *summary);

#endif
