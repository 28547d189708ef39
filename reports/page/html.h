/* HTML: writes one self-contained page, without network, in light and dark. Only reports/ includes this
 * header. */
#ifndef DIT_REPORTS_PAGE_HTML_H
#define DIT_REPORTS_PAGE_HTML_H

#include "reports/figures/figure.h"
#include "reports/options.h"
#include "reports/records/agreement.h"
#include "reports/records/claims.h"

enum { REPORT_ID = 64, HTML_GROUP = 4 * REPORT_TAG_TEXT + 64 };

/* A figure as it stands on the page. */
typedef struct {
    char id[REPORT_ID]; /* safe as a file name, unique */
    report_plot plot;
    const report_figure_kind *kind; /* NULL: unknown kind */
    bool declared;                  /* by the workload; one of ours with nothing to show is left out */
    bool left_out;
    bool composed; /* its script, data and CSV are written */
    report_grid grid;
    char *svg;    /* NULL when it could not be drawn */
    char *narrow; /* the picture for a narrow screen; NULL: svg fits there */
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
    const report_options *options;
} report_page;

/* Appends the page. */
void report_html_write(const report_page *page, dit_buffer *out);

/* ---- parts of the page, each in a file of its own ---------------------------------------------------------------- */

/* Appends the document up to its body: title and style sheet. `title` is a text of records, and is escaped. */
void html_put_opening(const char *title, dit_buffer *out);
/* The same with rules of the page's own behind those of the style sheet. */
void html_put_opening_with(const char *title, const char *style, dit_buffer *out);
/* In html_head.c: appends title, the session in a sentence, numbers, facts and warnings. */
void html_put_head(const report_page *page, dit_buffer *out);
/* Appends the warnings of the run with the cases that they concern; nothing where there are none. */
void html_put_notices(const report_page *page, dit_buffer *out);
/* Appends a paragraph such as "Simulated platform: 8xl20. Software profile: pytorch-eager."; nothing where nothing is
 * simulated. `class` is a class of the style sheet. */
void html_put_setting(const report_page *page, const char *class, dit_buffer *out);
/* Appends the distinct values of a tag of simulated cases, "8xl20, 8xl40"; nothing where there are none. */
void html_list_values(const report_page *page, const char *tag, dit_buffer *out);
/* True if a simulated case runs software of which too little was timed on GPUs. */
bool html_has_projection(const report_page *page);
/* Returns the agreement over all published latencies of the session; zeroed where there are none. */
void html_take_agreement(const report_page *page, report_agreement *out);
bool html_has_simulated(const report_page *page);
bool html_has_measured(const report_page *page);
bool html_has_fake(const report_page *page);

/* Append what stands under the heading of a section. The page leaves out a section whose count is 0. */
void html_put_figures(const report_page *page, dit_buffer *out);
void html_put_claims(const report_page *page, dit_buffer *out);
int html_count_claims(const report_page *page);
void html_put_agreement(const report_page *page, dit_buffer *out);
void html_put_published(const report_page *page, dit_buffer *out);
int html_count_published(const report_page *page);
void html_put_results(const report_page *page, dit_buffer *out);
void html_put_failures(const report_page *page, dit_buffer *out);
int html_count_failures(const report_page *page);
void html_put_dropped(const report_page *page, dit_buffer *out);
int html_count_dropped(const report_page *page);
void html_put_measuring(const report_page *page, dit_buffer *out);
void html_put_simulating(const report_page *page, dit_buffer *out);
void html_put_environment(const report_page *page, dit_buffer *out);

/* Appends to a caption how near the figure's simulated cases come to its published points. */
void html_put_figure_agreement(const report_grid *grid, dit_buffer *out);
/* Append what a figure shows, as a text for readers who cannot see it: kind, axes, and the main numbers of each panel;
 * escaped, and plain. */
void html_put_figure_text(const report_drawing_result *figure, dit_buffer *out);
void report_figure_text(const report_drawing_result *figure, dit_buffer *out);
/* Appends "flux.1-dev · 1024x1024", for a simulated case with its platform and profile. */
void html_group_of(const report_case *kase, char out[HTML_GROUP]);

#endif
