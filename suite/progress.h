/* Progress: where a run stands, on stderr. A moving bar with the time left on a terminal; elsewhere one plain line per
 * finished case, so that logs stay readable; nothing with -q. */
#ifndef DIT_SUITE_PROGRESS_H
#define DIT_SUITE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int total, done; /* runs of this session, done ones included         */
    int at_once;     /* cases that run side by side                      */
    int timed;       /* finished by this process ...                     */
    double timed_s;  /* ... and how long they took: the rate for the ETA */
    bool terminal, quiet;
    const char *label; /* of the running case */
} suite_progress;

void suite_progress_init(suite_progress *progress, int total, int done, bool quiet);
/* A case starts; `label` must live until it finishes. */
void suite_progress_start(suite_progress *progress, const char *label);
/* Called while it runs; the signature of suite_process_params.tick. */
void suite_progress_tick(void *progress, double elapsed_s);
/* It finished: `status` is one word, `note` why ("" for none). */
void suite_progress_finish(suite_progress *progress, const char *status, double elapsed_s, const char *note);
/* Clears the bar. */
void suite_progress_end(suite_progress *progress);
/* "4.2 s", "3 min 10 s", "2 h 05 min". */
void suite_progress_duration(double seconds, char out[32]);

#endif
