/* Accept: is a delivered machine what was promised? Each measured case of a session is held against the interval of its
 * prediction on the platform that was promised.
 *
 * What was measured has an interval of its own, over processes. A case is slower only if all of that is beyond the
 * prediction's, faster only if all of it is before.
 */
#ifndef DIT_SUITE_ACCEPT_ACCEPT_H
#define DIT_SUITE_ACCEPT_ACCEPT_H

#include "reports/records/records.h"
#include "suite/confidence/forecast.h"
#include "suite/procure/procure.h"

typedef enum {
    SUITE_ACCEPT_WITHIN,  /* the median is within the interval                                            */
    SUITE_ACCEPT_FASTER,  /* all that was measured is below it                                            */
    SUITE_ACCEPT_SLOWER,  /* above it                                                                     */
    SUITE_ACCEPT_EDGE,    /* the median is outside, its interval reaches in: more processes would decide */
    SUITE_ACCEPT_UNKNOWN, /* there is no prediction with an interval: `why` says why not                  */
    SUITE_ACCEPT_COUNT
} suite_accept_verdict;
const char *
suite_accept_verdict_name(suite_accept_verdict verdict); /* "within", "faster", "slower", "edge", "unknown" */

typedef struct {
    const report_case *measured;          /* the table's */
    const suite_search_candidate *chosen; /* simulated; NULL: `why` */
    suite_forecast forecast;
    suite_accept_verdict verdict;
    char scope[16]; /* what was timed: denoise, latents or pipeline */
    char why[300];
} suite_accepted_case;

/* release accepts a zeroed one. */
typedef struct {
    report_table table;
    suite_search *searches; /* [search_count] */
    int search_count;
    suite_accepted_case *cases;
    int count, verdicts[SUITE_ACCEPT_COUNT];
} suite_accepted;
void suite_accepted_release(suite_accepted *accepted);

/* Judges what was measured; simulated cases, oracles and cases of other programs than denoise are passed over. Of the
 * request its first machine, profile, element, calibration and forecaster count. Errors: those of reading the session
 * and of suite_search_run; DIT_ERR_NOT_FOUND where nothing was measured. */
dit_status suite_accept_run(const suite_procure_request *request, const char *session, suite_accepted *out);

/* Judges one number: `low` to `high` is predicted, median with its interval measured. */
suite_accept_verdict suite_accept_judge(double low, double high, const dit_summary *measured);

#endif
