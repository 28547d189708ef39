/* Claims: judges the workload's `expect` expressions against the results of a session.
 *
 * Functions of a claim, each over the cases whose tags equal the named arguments (`where='expr'` selects further):
 *   median, min, max, mean, geomean('metric', tag=value, ...)   over the case values (medians over processes)
 *   count(tag=value, ...)                                       cases, whatever their status; status='ok' selects
 *   all('expr', tag=value, ...), any('expr', ...)               expr sees the tags and metrics of one case at a time
 *   on_line('metric', over='metric', at=VALUE, tag=value, ...)  what the cases would have at VALUE of the second metric,
 *                                                               on the line between the two nearest on both sides
 *   rank_correlation_low('place', tag=value, ...), ..._high     how alike cases with probes change from step to step:
 *                                                               the lowest lower, the highest upper bound of all pairs;
 *                                                               steps at equal 'place' in the run or equal 'noise'
 *
 * A case without the number that a claim asks for (`all('latency_s < 5')` of a case that failed) leaves the claim
 * undecided, and the reason names it. A case that ran out of memory is an outcome, and counts as one: it is not the
 * best of anything (min of a metric where lower is better, max where higher is better, leave it out and say so), it is
 * no example (any(), where='...' pass it over), and it may be the exception (all(), median, mean and the worst are
 * undecided). status='ok' leaves it out anywhere.
 *
 * Verdicts: holds, partly (`expr` fails, `partly` holds), fails, undecided. A claim is undecided if no case matches, a
 * matching case has no number, n < 6 where a timing metric decides, intervals allow both answers, `requires` is not
 * met, or the expression cannot be evaluated. Metrics that do not come from a clock (bytes, messages, flops, rel_l2),
 * and virtual time, decide with any n. Where simulated cases decide that were compared with published numbers, the
 * words are reproduced, partly, not reproduced.
 *
 * Metrics that compare (error_to_published, error_to_measured) are folded over the cases that have a counterpart.
 * */
#ifndef DIT_REPORTS_RECORDS_CLAIMS_H
#define DIT_REPORTS_RECORDS_CLAIMS_H

#include "reports/records/records.h"

typedef enum {
    REPORT_CLAIM_HOLDS,
    REPORT_CLAIM_PARTLY,
    REPORT_CLAIM_FAILS,
    REPORT_CLAIM_UNDECIDED,
    REPORT_CLAIM_COUNT
} report_verdict;

const char *report_verdict_name(report_verdict verdict);
/* "reproduced", "partly", "not reproduced", "undecided". */
const char *report_verdict_reproduction(report_verdict verdict);

/* As declared; strings stay owned by the workload. */
typedef struct {
    const char *id, *claim, *source, *expr, *requires;
    const char *partly;  /* judged when expr fails; NULL: none */
    const char *because; /* the authors' note on why it need not hold; NULL: none */
    bool noted;          /* the session's parameters are those that the note was written for */
} report_claim;

typedef struct {
    report_verdict verdict;
    bool measured, simulated; /* evidence of the cases that were looked at: of all of them where a count finds none */
    int compared;             /* published numbers that simulated ones of these cases were compared with */
    char reason[512];         /* why undecided; "" otherwise */
    dit_buffer numbers; /* "median('latency_s', method='ring') = 1.2 s [1.1 s, 1.3 s], 2 cases, n = 6", a line each */
} report_judgement;

/* The names of the functions that claims have beside the functions of every expression, NULL-terminated. */
const char *const *report_claim_functions(void);
/* Whether a function takes a scale before its selection, and the scales, NULL-terminated. */
bool report_claim_is_likeness(const char *function);
const char *const *report_claim_scales(void);
/* Whether a function takes over='metric' and at=NUMBER beside its selection. */
bool report_claim_is_line(const char *function);

/* Judges one claim. Errors: DIT_ERR_MEMORY only; everything else is an undecided verdict. */
dit_status report_claim_judge(const report_table *table, const report_claim *claim, report_judgement *out);
/* Returns the verdict in words. Where simulated cases decide: "reproduced" and the like if published numbers were
 * compared with them, else "holds (simulated)" and the like. Otherwise the verdict's name. */
const char *report_judgement_word(const report_judgement *judgement);
/* True if the authors' note belongs beside the verdict: it was written for these parameters, and the claim was decided
 * and does not hold. */
bool report_claim_shows_note(const report_claim *claim, const report_judgement *judgement);
/* Returns "measured", "simulated", "measured and simulated", or "" when the claim looked at no case. */
const char *report_judgement_evidence(const report_judgement *judgement);
void report_judgement_release(report_judgement *judgement);

#endif
