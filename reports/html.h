/* HTML: one self-contained page: no network, no scripts, light and dark. Inside the folder of reports/ only. */
#ifndef DIT_REPORTS_HTML_H
#define DIT_REPORTS_HTML_H

#include "reports/claims.h"
#include "reports/figure.h"
#include "reports/report.h"

enum { REPORT_ID = 64 };

/* A figure as it stands on the page. */
typedef struct {
    char id[REPORT_ID]; /* safe as a file name, unique */
    report_plot plot;
    const report_figure_kind *kind; /* NULL: unknown kind */
    bool declared;                  /* by the workload; one of ours with nothing to show is left out */
    bool left_out;
    report_grid grid;
    char *svg; /* NULL when it could not be drawn */
    int width;
    char error[512];
} report_drawing_result;

/* All that the page shows. */
typedef struct {
    const report_table *table;
    const report_drawing_result *figures;
    int figure_count;
    const report_claim *claims;
    const report_judgement *judgements;
    int claim_count;
    const report_summary *summary;
} report_page;

/* Of html_agreement.c: how near the session's simulated cases come to published numbers, for the page's head and a
 * figure's caption; the table of all points, and those that stand in no figure. Nothing without published points. */
void html_put_agreement(const report_table *table, dit_buffer *out);
void html_put_figure_agreement(const report_grid *grid, dit_buffer *out);
void html_put_published(const report_page *page, dit_buffer *out);

/* Appends the page. */
void report_html_write(const report_page *page, dit_buffer *out);

#endif
