/* Figure of a comparison: a forest plot of the ratios of all times, and of the numbers that repeat and changed. */
#ifndef DIT_SUITE_COMPARE_COMPARISON_FIGURE_H
#define DIT_SUITE_COMPARE_COMPARISON_FIGURE_H

#include "reports/draw/style.h"
#include "suite/compare/comparison.h"

/* Writes FOLDER/comparison.svg and .png, with the data and the script beside them; makes the folder. Errors:
 * DIT_ERR_IO, DIT_ERR_MEMORY; DIT_ERR_ENVIRONMENT without gnuplot. */
dit_status suite_comparison_draw(const suite_comparison *comparison, const char *folder, const report_style *style);

#endif
