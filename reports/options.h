/* Options: holds what a caller asks of a report, and what the report answers about the files that it wrote. */
#ifndef DIT_REPORTS_OPTIONS_H
#define DIT_REPORTS_OPTIONS_H

#include "base/json.h"
#include "reports/draw/style.h"

enum { REPORT_PATH = 4096 };

/* The page of another session, for links. The caller owns the strings. */
typedef struct {
    const char *title, *started, *href; /* href: relative to the page */
} report_neighbour;

typedef struct {
    const char *session_folder; /* holds journal.jsonl                                 */
    const char *output_folder;  /* made when absent; NULL: SESSION_FOLDER/report       */
    const char *gnuplot;        /* program; NULL: "gnuplot" on PATH                    */
    bool quiet;                 /* no progress lines                                   */
    const char *program;        /* version that writes, for report.json; NULL: ""      */
    const char *index;          /* the index page, relative to the page; NULL: no link */
    const report_neighbour *neighbours;
    int neighbour_count;
    report_style style; /* zeroed: figures for the page                        */
} report_options;

typedef struct {
    int cases, cases_ok; /* ok: every process of the case is */
    int results, dropped;
    int figures, figures_failed;
    int figures_missing; /* not drawn because there is no gnuplot */
    int claims_held, claims_partly, claims_failed, claims_undecided;
    bool complete, torn;    /* the run finished; the journal's last line was cut */
    char page[REPORT_PATH]; /* path of the HTML page */
    cJSON *claims;          /* as claims.json; NULL: nothing was written */
} report_summary;

#endif
