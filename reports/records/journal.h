/* Journal: reads a session's journal into a table of cases.
 *
 * Each line is parsed strictly; a last line without its newline is a write that was cut and is left out. Where a
 * (case, process) pair occurs twice, the later line counts. Only processes with status ok and no error give numbers.
 * Cases keep a fixed order (world size, then label), whatever the random order they ran in.
 */
#ifndef DIT_REPORTS_RECORDS_JOURNAL_H
#define DIT_REPORTS_RECORDS_JOURNAL_H

#include "reports/records/records.h"

/* Reads the journal at `path`. Errors: DIT_ERR_IO; DIT_ERR_JOURNAL with the line for anything else. */
dit_status report_table_read(const char *path, report_table *out);
/* Reads a journal that is in memory; messages call it `path`. Errors: DIT_ERR_JOURNAL with the line. */
dit_status report_table_parse(const char *text, size_t length, const char *path, report_table *out);

#endif
