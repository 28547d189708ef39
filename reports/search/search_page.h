/* Search page: a page with the figure of what `ditbench search` found. A pure function of that document, ditbench.search/1.
 */
#ifndef DIT_REPORTS_SEARCH_SEARCH_PAGE_H
#define DIT_REPORTS_SEARCH_SEARCH_PAGE_H

#include "base/json.h"

typedef struct {
    const char *folder;  /* exists                           */
    const char *gnuplot; /* program; NULL: "gnuplot" on PATH */
    const char *program; /* version that writes; NULL: ""    */
} report_search_options;

/* Writes FOLDER/search.html and its figure (search_figure.h). *drawn: whether there is one; without a simulated time there
 * is none. Errors: DIT_ERR_IO, DIT_ERR_MEMORY; DIT_ERR_ENVIRONMENT without gnuplot: the page is written and says so. */
dit_status report_search_write(const cJSON *document, const report_search_options *options, bool *drawn);

#endif
