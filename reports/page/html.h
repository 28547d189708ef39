/* HTML: one self-contained page: no network, no scripts, light and dark. Inside the folder of reports/ only. */
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

/* ---- parts of the page, each in a file of its own ----------------------------------------------------------------- */

/* The document up to its body: title and style sheet. `title` is a text of records. */
void html_put_opening(const char *title, dit_buffer *out);
/* Of html_head.c: title, the session in a sentence, numbers, facts and warnings. */
void html_put_head(const report_page *page, dit_buffer *out);
/* Warnings of the run with the cases that they are about; nothing without one. */
void html_put_notices(const report_page *page, dit_buffer *out);
/* "Simulated platform: 8xl20. Software profile: pytorch-eager." with its <p>; nothing for a session that simulates
 * nothing. `class` is one of the style sheet. */
void html_put_setting(const report_page *page, const char *class, dit_buffer *out);
/* The distinct values of a tag of simulated cases, "8xl20, 8xl40"; nothing where there are none. */
void html_list_values(const report_page *page, const char *tag, dit_buffer *out);
/* Whether a simulated case runs on software that nobody has timed on a GPU. */
bool html_has_projection(const report_page *page);
/* Of all published latencies of the session; zeroed without them. */
void html_take_agreement(const report_page *page, report_agreement *out);
bool html_has_simulated(const report_page *page);
bool html_has_measured(const report_page *page);

/* Sections: what stands under their headings. A count of 0 leaves the section out. */
void html_put_figures(const report_page *page, dit_buffer *out);
int html_count_figures(const report_page *page);
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

/* How near a figure's simulated cases come to its published points, for its caption. */
void html_put_figure_agreement(const report_grid *grid, dit_buffer *out);
/* What a figure shows, as a text for who does not see it: kind, axes, and the main numbers of each panel. Escaped,
 * and plain. */
void html_put_figure_text(const report_drawing_result *figure, dit_buffer *out);
void report_figure_text(const report_drawing_result *figure, dit_buffer *out);
/* "flux.1-dev · 1024x1024", of a simulated case with its platform and profile. */
void html_group_of(const report_case *kase, char out[HTML_GROUP]);
/* The case's label without the model and resolution that its group says. */
const char *html_short_label(const report_case *kase);

#endif
