/* Facts: what a page says in short, as report.json beside it, for the index of all sessions. Inside reports/ only. */
#ifndef DIT_REPORTS_PAGE_FACTS_H
#define DIT_REPORTS_PAGE_FACTS_H

#include "reports/page/html.h"

/* *out: results/schema/page.schema.json as a tree, the caller's. Errors: DIT_ERR_MEMORY. */
dit_status report_facts(const report_page *page, cJSON **out);

#endif
