/* Results: reads the cases of a session, in the order in which a person compares them, with published numbers beside
 * them. */
#ifndef DIT_SUITE_SESSION_RESULTS_H
#define DIT_SUITE_SESSION_RESULTS_H

#include "reports/records/journal.h"

#include <stdio.h>

typedef struct {
    const report_case *kase;           /* inside the table                                          */
    const report_published *published; /* a latency that a source printed for the case; NULL: none  */
    bool best;                         /* the fastest of several that differ in method and mesh only */
} suite_result;

/* release accepts a zeroed one. */
typedef struct {
    report_table table;
    suite_result *rows; /* by machine, model, size, ranks, latency; oracles last */
    int count;
} suite_results;

/* Reads a session's journal. Errors: those of report_table_read; DIT_ERR_MEMORY. */
dit_status suite_results_load(const char *journal, suite_results *out);
void suite_results_release(suite_results *results);

/* Writes how the case shares its work, as its label says it: "u2 r2", "pp4 M4 W0", "oracle pp M4 W1". */
void suite_result_mesh(const report_case *kase, char *out, size_t size);
/* Lists tags, other than size, ranks and method, in which cases of one model differ; at most `most` names, which are
 * static strings. Returns how many. */
int suite_results_varying(const suite_results *results, const char **names, int most);

/* Prints a line for each software profile of simulated cases (`only`: for that one; NULL: all), as the session's first
 * line tells of it, behind `before`: "software torch-compile (simulated)", and that it is a projection where nobody has
 * measured it on a GPU. */
void suite_results_print_software(const cJSON *session, const char *only, const char *before, FILE *out);
/* Prints the settings that all cases share: "every case: platform 8xl40, steps 28, ..."; nothing without cases. */
void suite_results_print_settings(const suite_results *results, FILE *out);
/* Prints a line for each case that gave no number, with the reason, at most `most`. */
void suite_results_print_failures(const suite_results *results, FILE *out, int most);
/* Prints what makes measured times doubtful: a busy machine, outliers among iterations and processes, throttled clocks;
 * one line a kind, with a count and an example. Nothing when nothing was noticed. */
void suite_results_print_warnings(const suite_results *results, FILE *out);
/* Prints, for each model and size (and machine, where several are compared), the fastest case and how many times as
 * fast as one rank it is; then cases that are out of memory or failed, in words. At most 15 lines. */
dit_status suite_results_print_fastest(const suite_results *results, FILE *out, int width);

#endif
