/* Mix: figures and a page from what `ditbench procure --mix` answers, ditbench.mix/1. A pure function of that document.
 */
#ifndef DIT_REPORTS_PROCUREMENT_MIX_H
#define DIT_REPORTS_PROCUREMENT_MIX_H

#include "reports/procurement/procurement.h"

/* Writes FOLDER/mix.html and its figures: rates of each way of cutting a machine, and how long each class waits. Errors:
 * those of report_procurement_write. */
dit_status report_mix_write(const cJSON *document, const report_procurement_options *options, int *drawn);

#endif
