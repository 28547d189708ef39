/* Published: reads journal lines of kind "published", numbers that others printed, strictly. Only reports/ includes
 * this header; report_table owns the points. */
#ifndef DIT_REPORTS_RECORDS_PUBLISHED_H
#define DIT_REPORTS_RECORDS_PUBLISHED_H

#include "reports/records/records.h"

/* Reads one line: {"kind": "published", "file", "index", "source", "label"?, "metric": "latency_s" |
 * "peak_memory_bytes", "value" | "out_of_memory": true, "rounding"?, "provenance"?, "status"?, "not_compared"?,
 * "in_fit"?, "case_id"?, "tags", "warnings"?}. Errors: DIT_ERR_JSON_*; then *out must be released too. */
dit_status report_published_read(const dit_json *doc, report_published *out);

#endif
