/* Quoted source: looks up the number that a page quotes, in a session, a baseline file or a packed session.
 */
#ifndef DIT_SUITE_QUOTES_QUOTED_SOURCE_H
#define DIT_SUITE_QUOTES_QUOTED_SOURCE_H

#include "base/status.h"
#include "reports/records/metrics.h"

/* The sources of all pages of one call, each read once. release accepts a zeroed one. */
typedef struct {
    struct suite_quoted_source *rows;
    int count;
} suite_quoted_sources;

/* The value of a metric over the processes of a case. `source` is whatever `compare` takes, or a file of `pack`; `kase`
 * a label or the beginning of a case id. Errors: DIT_ERR_NOT_FOUND with what is not there; those of reading. */
dit_status suite_quoted_value(suite_quoted_sources *sources, const char *source, const char *kase, report_metric metric,
                              double *out);
void suite_quoted_sources_release(suite_quoted_sources *sources);

#endif
