/* Comparison: two sides, case by case: what changed, by how much, and whether the change is real.
 *
 * Numbers that repeat to the last digit (report_repeats; every number of a simulation) are compared as they are: any
 * difference is a change. Bytes of memory may differ by a hundredth. Measured times are judged by ratio.h, with Holm's
 * rule over all cases that are judged together. Processes that ran in pairs (`ditbench ab`) are compared in pairs; of
 * sessions that ran at different times a machine's drift looks like a change, so their least margin is wider.
 * Processes beside which others used more than a tenth of the cores do not count: their times say what ran beside them.
 * Of a pair both count or none does. They stay in the journal, and the answer says how many there are.
 * The key "gate" of the workload changes direction and margin of single metrics, and names further times that are
 * judged; the new side says it, or the old one where the new one does not.
 */
#ifndef DIT_SUITE_COMPARE_COMPARISON_H
#define DIT_SUITE_COMPARE_COMPARISON_H

#include "suite/compare/ratio.h"
#include "suite/compare/side.h"

/* Zero means default everywhere. */
typedef struct {
    const report_metric *metrics; /* times that are judged; latency_s and those that the workload names */
    int metric_count;
    const char *across; /* tags, with commas, in which the sides differ: "platform"; cases are equal in all others */
    const char *filter; /* expression over tags: which cases                                          */
    double margin;      /* of times, a share; what the workload says, else 0.02 for pairs, 0.05 for sessions apart */
    double busy_limit;  /* the share of the cores that others may use while a process counts; what the pairs say, else
                           SUITE_CONTENTION_LIMIT; 1: every process counts */
    double level;       /* 0.95, of pairs what is left of it for one of several looks                  */
} suite_comparison_params;

/* A time of one case. */
typedef struct {
    const suite_side_case *old, *now;
    report_metric metric;
    report_better better; /* REPORT_BETTER_NEITHER: every change is one for the worse */
    double before, after; /* medians over processes that count; over all where none does */
    int not_counted;      /* pairs, or processes of both sides, that do not count, for others used the cores */
    bool exact;           /* of a simulation: no statistics */
    suite_ratio ratio;
    suite_evidence evidence; /* after Holm */
    double margin;
    suite_verdict verdict;
} suite_timing;

/* A number that repeats, and did not: of a metric, or of one kind of what a metric adds up ("communication_bytes/ring/
 * send_recv/step"). The digest of the plan is compared where no such number of the case changed: then the ranks send
 * the sums of before in another way. */
typedef struct {
    const suite_side_case *old, *now;
    const char *name;                /* of the metric, the kind, or "plan"                                     */
    report_metric metric;            /* which the kind is a part of                                            */
    report_better better;            /* REPORT_BETTER_NEITHER: every change is one for the worse               */
    double before, after;            /* NAN of a digest                                                        */
    const char *old_text, *new_text; /* of a digest; NULL of a number                                         */
    suite_verdict verdict; /* UNDECIDED never; of a metric without a direction: WORSE, for nobody said that it may */
} suite_difference;

/* release accepts a zeroed one. The sides are the caller's and must outlive it. */
typedef struct {
    const suite_side *old, *now;
    bool paired, same_hardware;
    bool across; /* the cases differ on purpose, and so may numbers that repeat: they are shown, and decide nothing */
    suite_timing *timings;
    int timing_count;
    suite_difference *differences;
    int difference_count, difference_capacity;
    const suite_side_case **gone, **added; /* in one side only                     */
    const suite_side_case *(*turned)[2];   /* whose outcome is another one: old, now */
    const suite_side_case *(*skipped)[2];  /* that a side skipped: nothing is said of it */
    int gone_count, added_count, turned_count, skipped_count, matched_count;
    double busy_limit; /* share of the cores that others used beside processes that do not count */
    int exact_count;   /* numbers that were compared as they are */
} suite_comparison;

/* Compares. Errors: DIT_ERR_NO_MATCH when no case stands on both sides (the hint names tags in which they differ) or
 * the filter keeps none; DIT_ERR_EXPRESSION; DIT_ERR_MEMORY. */
dit_status suite_comparison_make(const suite_side *old, const suite_side *now, const suite_comparison_params *params,
                                 suite_comparison *out);
void suite_comparison_release(suite_comparison *comparison);

/* The verdict of all together: worse where anything is, else undecided where anything is, else better where anything
 * is, else same. A case that failed now and did not before is worse. */
suite_verdict suite_comparison_verdict(const suite_comparison *comparison);
/* Returns which case of pair `index` of the skipped ones was skipped: the new one, or the old one alone. */
const suite_side_case *suite_comparison_who_skipped(const suite_comparison *comparison, int index);
/* Whether a clock decided any of it. */
bool suite_comparison_measured(const suite_comparison *comparison);
/* Whether the interval of an undecided time is so narrow beside the margin (a quarter of it, all in all) that more pairs
 * would not tell: the change lies at the margin. */
bool suite_timing_is_precise(const suite_timing *timing);
/* How many timings have the verdict. */
int suite_comparison_count(const suite_comparison *comparison, suite_verdict verdict);

#endif
