/* Export: a session in the words of other tools. A format is one file of this folder and one row of the list in
 * export.c.
 *
 * Every format says of each number whether it was measured or simulated, and where a tool has one name for a case, that
 * of a simulated one begins with "simulated/". Oracles are no results and are left out.
 */
#ifndef DIT_SUITE_EXPORT_EXPORT_H
#define DIT_SUITE_EXPORT_EXPORT_H

#include "base/buffer.h"
#include "base/json_writer.h"
#include "reports/records/records.h"

enum { SUITE_EXPORT_NAME = 320 };

typedef struct {
    const char *name, *meaning;
    /* Appends the whole file. Errors: DIT_ERR_MEMORY; DIT_ERR_IO; DIT_ERR_ENVIRONMENT where a variable is missing. */
    dit_status (*write)(const report_table *table, const char *session, dit_buffer *out);
    bool binary; /* no text: it goes into a file */
} suite_export_format;

/* All formats, NULL-terminated. */
const suite_export_format *const *suite_export_formats(void);
/* NULL when no format has the name. */
const suite_export_format *suite_export_find(const char *name);

/* What several formats need: the name of a case, with "simulated/" before it where it is; whether a metric is a result
 * of the case itself, and has a value. */
void suite_export_case_name(const report_case *kase, char out[SUITE_EXPORT_NAME]);
bool suite_export_has(const report_case *kase, report_metric metric);
/* Ends the document that `w` wrote, and appends it as text. Errors: those of the writer, DIT_ERR_MEMORY. */
dit_status suite_export_document(dit_json_writer *w, cJSON *root, dit_buffer *out);
/* Why a case has no numbers, "E_CODE: message"; "" where it has. */
void suite_export_failure(const report_case *kase, char *out, size_t size);

extern const suite_export_format suite_export_junit, suite_export_google_benchmark, suite_export_bmf,
    suite_export_openmetrics, suite_export_csv, suite_export_markdown, suite_export_github, suite_export_conbench,
    suite_export_sqlite;

#endif
