/* Procurement: figures and a page from what `ditbench procure` answers. A pure function of that document,
 * ditbench.procure/1: nothing is computed here that it does not hold.
 */
#ifndef DIT_REPORTS_PROCUREMENT_PROCUREMENT_H
#define DIT_REPORTS_PROCUREMENT_PROCUREMENT_H

#include "base/json.h"

typedef struct {
    const char *folder;  /* exists                                */
    const char *gnuplot; /* program; NULL: "gnuplot" on PATH      */
    const char *program; /* version that writes; NULL: ""        */
} report_procurement_options;

/* Writes FOLDER/procure.html and its figures (ID.svg, .png, .dat, .gp). *drawn: how many. Errors: DIT_ERR_IO,
 * DIT_ERR_MEMORY; DIT_ERR_ENVIRONMENT without gnuplot: the page is written and says so. */
dit_status report_procurement_write(const cJSON *document, const report_procurement_options *options, int *drawn);

#endif
