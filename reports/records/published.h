/* Published: journal lines of kind "published", numbers that others printed, read strictly. Inside the folder of
 * reports/ only; report_table owns the points.
 */
#ifndef DIT_REPORTS_RECORDS_PUBLISHED_H
#define DIT_REPORTS_RECORDS_PUBLISHED_H

#include "reports/records/records.h"

/* One line: {"kind": "published", "file", "index", "source", "label"?, "metric": "latency_s" | "peak_memory_bytes",
 * "value" | "out_of_memory": true, "rounding"?, "provenance"?, "status"?, "not_compared"?, "in_fit"?, "case_id"?, "tags", "warnings"?}.
 * Errors: DIT_ERR_JSON_*; then *out must be released too. */
dit_status report_published_read(const dit_json *doc, report_published *out);
/* Accepts a zeroed point. */
void report_published_release(report_published *point);

bool report_published_has_value(const report_published *point);
/* Whether the source shows the best of a search over meshes. */
bool report_published_is_search(const report_published *point);

/* Of records.c: tags may not bear the name of what comes from records. Errors: DIT_ERR_JSON_VALUE. */
dit_status report_tags_check(const dit_json *doc, const cJSON *tags, const char *pointer);
void report_case_release(report_case *kase);

#endif
