/* Rank: which of several machines is first, and what may be said of each pair.
 *
 * Pure functions over arrays: predicted scores (seconds, or money for a picture; less is better) and draws of
 * ln(truth / predicted). A machine beats another only if that is so in 95 % of draws by the less certain of two rules,
 * after Holm's correction over all pairs; and where one of them is not in the fit only if it is ahead by more than any
 * prediction of one left-out machine over another was ever off; where nothing shows that, it beats nobody.
 */
#ifndef DIT_SUITE_CONFIDENCE_RANK_H
#define DIT_SUITE_CONFIDENCE_RANK_H

#include "suite/confidence/draws.h"

#define SUITE_RANK_LEVEL 0.95 /* of a verdict                                                        */
#define SUITE_RANK_EDGE  0.05 /* rank intervals reach from this share of draws to the rest of it     */
#define SUITE_RANK_LEAD  0.05 /* who is first in so many draws leads                                 */

typedef struct {
    double score;       /* predicted; greater than 0                                                   */
    double least, most; /* what it may be for another reason than the prediction, its price; else equal */
    bool left_out;      /* nothing was fitted on the machine                                           */
} suite_contender;

typedef struct {
    const suite_contender *contenders; /* [count] */
    int count, draws;
    const double *errors[SUITE_DRAW_RULES]; /* each [draws * count], of suite_draw_errors                      */
    double widest_gap;                      /* suite_error_widest_gap of machines left out                     */
} suite_contest;

typedef enum {
    SUITE_PAIR_TIED,
    SUITE_PAIR_FIRST,            /* a beats b, at a's most against b's least                     */
    SUITE_PAIR_SECOND,           /* b beats a, at b's most against a's least                     */
    SUITE_PAIR_DEPENDS_ON_PRICE, /* the scores would decide, the range of prices does not       */
    SUITE_PAIR_VERDICTS
} suite_pair_verdict;
const char *suite_pair_verdict_name(suite_pair_verdict verdict); /* "tied", "first", "second", "depends on price" */

typedef struct {
    int a, b;        /* a < b                                                               */
    double p_first;  /* share of draws in which a's score is less, by the less certain rule */
    double adjusted; /* probability of being wrong, after Holm; of the verdict that is near */
    suite_pair_verdict verdict;
    bool within_gap; /* one was left out, and they are nearer than left-out machines erred  */
} suite_pair;

typedef struct {
    int low, high;  /* from 1: the wider of the two rules' intervals                              */
    double p_leads; /* share of draws in which nobody is ahead of it, by the rule that gives more */
    bool leads;     /* it is in the leading set                                                   */
} suite_rank;

/* Judges all pairs and ranks: pairs[count * (count - 1) / 2] by a, then b; ranks[count]. Ties share the better rank.
 * Errors: DIT_ERR_USAGE for a score that is not above 0, least > most, or no draws; DIT_ERR_MEMORY. */
dit_status suite_rank_all(const suite_contest *contest, suite_pair *pairs, suite_rank *ranks);

/* The same of pairs alone. */
dit_status suite_rank_pairs(const suite_contest *contest, suite_pair *pairs);

/* Returns the price of a at which its predicted cost is b's: b's price times b's time over a's. */
double suite_break_even_price(double seconds_a, double seconds_b, double price_b);

#endif
