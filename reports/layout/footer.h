/* Footer: writes the lines below a figure, which say what its numbers are and where they come from. */
#ifndef DIT_REPORTS_LAYOUT_FOOTER_H
#define DIT_REPORTS_LAYOUT_FOOTER_H

#include "reports/figures/figure.h"

/* Returns what the whiskers of the figure's measured cases span, for caption and footer; NULL: the figure has none. */
const char *report_whiskers(const report_grid *grid, const report_figure_kind *kind);
/* Appends the lines. `bare`: without commit, hardware and session. */
void report_footer_write(const report_table *table, const report_grid *grid, const report_figure_kind *kind, bool bare,
                         dit_buffer *out);

#endif
