/* Progress: shows on stderr where a run stands. Each finished case has a line with its result, cases that were skipped
 * for one reason share a line, and a terminal has a moving bar with the time left below them. With -q nothing is
 * shown. */
#ifndef DIT_SUITE_CONSOLE_PROGRESS_H
#define DIT_SUITE_CONSOLE_PROGRESS_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int total, done; /* runs of this session, done ones included         */
    int at_once;     /* cases that run side by side                      */
    int timed;       /* finished by this process ...                     */
    double timed_s;  /* ... and how long they took: the rate for the ETA */
    bool terminal, quiet;
    const char *prefix;     /* which of two runs this one is; NULL: there is one              */
    const char *label;      /* of the running case                                        */
    int skipped;            /* cases in a row that were skipped and not yet told of,      */
    char skip_reason[1024]; /* all for this reason                                        */
} suite_progress;

/* What the line of a finished case says. */
typedef struct {
    const char *status; /* one word                                                       */
    const char *result; /* "164.6 s simulated"; "" when the case gave none                */
    const char *note;   /* why it gave none; ""                                           */
    double elapsed_s;   /* what it took to run, for the time left; never shown as a result */
} suite_progress_case;

void suite_progress_init(suite_progress *progress, int total, int done, bool quiet);
/* Says that a case starts; `label` must live until the case finishes. */
void suite_progress_start(suite_progress *progress, const char *label);
/* Moves the bar while a case runs; it has the signature of suite_process_params.tick. */
void suite_progress_tick(void *progress, double elapsed_s);
/* Says that the case finished. */
void suite_progress_finish(suite_progress *progress, const suite_progress_case *told);
/* Prints lines that are still outstanding, and clears the bar. */
void suite_progress_end(suite_progress *progress);
/* "4.2 s", "3 min 10 s", "2 h 05 min". */
void suite_progress_duration(double seconds, char out[32]);

#endif
