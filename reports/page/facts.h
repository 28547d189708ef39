/* Facts: makes report.json, which says in short what a page shows, for the index of all sessions. Only reports/
 * includes this header. */
#ifndef DIT_REPORTS_PAGE_FACTS_H
#define DIT_REPORTS_PAGE_FACTS_H

#include "reports/page/html.h"

/* Builds the facts as a tree (results/schema/page.schema.json) in *out, which the caller owns. Errors:
 * DIT_ERR_MEMORY. */
dit_status report_facts(const report_page *page, cJSON **out);

#endif
