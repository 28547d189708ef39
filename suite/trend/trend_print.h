/* Trend print: writes series and their verdicts as a table, as the points of one case, and as JSON. */
#ifndef DIT_SUITE_TREND_TREND_PRINT_H
#define DIT_SUITE_TREND_TREND_PRINT_H

#include "suite/trend/trend.h"

#include <stdio.h>

/* A row for each series; `width` as suite_table_print. Errors: DIT_ERR_MEMORY. */
dit_status suite_trends_print(const suite_trends *trends, FILE *out, int width);
/* Every session of one series, oldest first, with changes and notes. Errors: DIT_ERR_MEMORY. */
dit_status suite_trend_print(const report_trend *trend, FILE *out, int width);
/* The document of `ditbench history --json`. Errors: DIT_ERR_MEMORY. */
dit_status suite_trends_json(const suite_trends *trends, report_metric metric, cJSON **out);

#endif
