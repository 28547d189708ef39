#include "suite/confidence/rank.h"

#include "suite/compare/ratio.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *suite_pair_verdict_name(suite_pair_verdict verdict)
{
    static const char *const names[] = {"tied", "first", "second", "depends on price"};
    return verdict < SUITE_PAIR_VERDICTS ? names[verdict] : "";
}

double suite_break_even_price(double seconds_a, double seconds_b, double price_b)
{
    return price_b * seconds_b / seconds_a;
}

/* ---- pairs --------------------------------------------------------------------------------------------------------- */

/* Number of draws, by one rule, in which a * exp(error of a) is less than b * exp(error of b); equal ones count half. */
static double count_ahead(const suite_contest *contest, int rule, int a, int b, double score_a, double score_b)
{
    const double *errors = contest->errors[rule];
    double gap = log(score_b / score_a), ahead = 0;
    for (int j = 0; j < contest->draws; j++, errors += contest->count) {
        double difference = errors[a] - errors[b];
        ahead += difference < gap ? 1 : difference == gap ? 0.5 : 0;
    }
    return ahead;
}

/* What one look at all draws tells. */
typedef struct {
    double p_first;       /* share of them in which a is ahead, by the rule that is nearer to one half       */
    double first, second; /* probabilities that "a beats b", "b beats a" are wrong                            */
} pair_look;

/* No finite number of draws shows that a verdict cannot be wrong. */
static double doubt_of(const suite_contest *contest, double share)
{
    return (contest->draws - share * contest->draws + 1) / (contest->draws + 1);
}

static pair_look look(const suite_contest *contest, const suite_pair *pair, double score_a, double score_b)
{
    double ahead = NAN, behind = NAN;
    for (int rule = 0; rule < SUITE_DRAW_RULES; rule++) {
        double count = count_ahead(contest, rule, pair->a, pair->b, score_a, score_b);
        double first = count / contest->draws, second = (contest->draws - count) / contest->draws;
        if (!(fabs(first - 0.5) >= fabs(ahead - 0.5))) ahead = first;
        if (!(fabs(second - 0.5) >= fabs(behind - 0.5))) behind = second;
    }
    return (pair_look){ahead, doubt_of(contest, ahead), doubt_of(contest, behind)};
}

/* The doubts of one pair: at the worst prices for either winner, and at the scores themselves. */
typedef struct {
    double first, second, by_score;
} pair_doubt;

static pair_doubt doubts_of(const suite_contest *contest, suite_pair *pair)
{
    const suite_contender *a = &contest->contenders[pair->a], *b = &contest->contenders[pair->b];
    pair_look even = look(contest, pair, a->score, b->score);
    pair->p_first = even.p_first;
    return (pair_doubt){look(contest, pair, a->most, b->least).first, look(contest, pair, a->least, b->most).second,
                        fmin(even.first, even.second)};
}

/* Whether the winner is ahead of the loser by too little for a machine that was left out. */
static bool within_gap(const suite_contest *contest, int a, int b, double winner, double loser)
{
    bool left_out = contest->contenders[a].left_out || contest->contenders[b].left_out;
    return left_out && log(loser / winner) <= contest->widest_gap;
}

static void decide(const suite_contest *contest, const pair_doubt *doubts, double worst, double by_score,
                   suite_pair *pair)
{
    const double most = 1 - SUITE_RANK_LEVEL;
    const suite_contender *a = &contest->contenders[pair->a], *b = &contest->contenders[pair->b];
    bool first = doubts->first <= doubts->second;
    bool near = first ? within_gap(contest, pair->a, pair->b, a->most, b->least)
                      : within_gap(contest, pair->a, pair->b, b->most, a->least);
    bool far = !within_gap(contest, pair->a, pair->b, fmin(a->score, b->score), fmax(a->score, b->score));
    pair->adjusted = worst;
    pair->within_gap = near;
    pair->verdict = SUITE_PAIR_TIED;
    if (worst <= most && !near)
        pair->verdict = first ? SUITE_PAIR_FIRST : SUITE_PAIR_SECOND;
    else if (by_score <= most && far)
        pair->verdict = SUITE_PAIR_DEPENDS_ON_PRICE;
}

/* `doubts` [pairs], `worst` and `by_score` [pairs] for Holm's rule. */
static dit_status judge_pairs(const suite_contest *contest, int count, suite_pair *pairs, pair_doubt *doubts,
                              double *worst, double *by_score)
{
    for (int i = 0; i < count; i++) {
        doubts[i] = doubts_of(contest, &pairs[i]);
        worst[i] = fmin(doubts[i].first, doubts[i].second);
        by_score[i] = doubts[i].by_score;
    }
    DIT_TRY(suite_holm_adjust(worst, count));
    DIT_TRY(suite_holm_adjust(by_score, count));
    for (int i = 0; i < count; i++) decide(contest, &doubts[i], worst[i], by_score[i], &pairs[i]);
    return DIT_OK;
}

static dit_status judge_all_pairs(const suite_contest *contest, suite_pair *pairs)
{
    int count = 0;
    for (int a = 0; a < contest->count; a++)
        for (int b = a + 1; b < contest->count; b++) pairs[count++] = (suite_pair){.a = a, .b = b};
    pair_doubt *doubts = calloc((size_t)count + 1, sizeof *doubts);
    double *room = calloc(2 * ((size_t)count + 1), sizeof *room);
    dit_status st = doubts && room ? judge_pairs(contest, count, pairs, doubts, room, room + count + 1)
                                   : DIT_FAIL(DIT_ERR_MEMORY, "no memory for pairs of machines");
    free(doubts);
    free(room);
    return st;
}

/* ---- ranks --------------------------------------------------------------------------------------------------------- */

/* Counts how often each contender has each rank, in often[count * count], by one rule. */
static void count_ranks(const suite_contest *contest, int rule, const double *logs, double *truth, int *often)
{
    const double *errors = contest->errors[rule];
    const int count = contest->count;
    memset(often, 0, (size_t)count * (size_t)count * sizeof *often);
    for (int j = 0; j < contest->draws; j++, errors += count) {
        for (int m = 0; m < count; m++) truth[m] = logs[m] + errors[m];
        for (int who = 0; who < count; who++) {
            int rank = 0;
            for (int m = 0; m < count; m++) rank += truth[m] < truth[who];
            often[who * count + rank]++;
        }
    }
}

/* The least rank, from 1, that at least `share` of the draws do not exceed. */
static int rank_at(const int *often, int count, int draws, double share)
{
    int seen = 0;
    for (int rank = 0; rank < count; rank++) {
        seen += often[rank];
        if (seen >= share * draws - 1e-9) return rank + 1;
    }
    return count;
}

static void widen(const int *often, const suite_contest *contest, suite_rank *out)
{
    int low = rank_at(often, contest->count, contest->draws, SUITE_RANK_EDGE);
    int high = rank_at(often, contest->count, contest->draws, 1 - SUITE_RANK_EDGE);
    if (!out->low || low < out->low) out->low = low;
    if (high > out->high) out->high = high;
    out->p_leads = fmax(out->p_leads, (double)often[0] / contest->draws);
    out->leads = out->p_leads >= SUITE_RANK_LEAD;
}

static dit_status rank_each(const suite_contest *contest, suite_rank *ranks)
{
    size_t count = (size_t)contest->count;
    double *logs = calloc(2 * count + 1, sizeof *logs);
    int *often = calloc(count * count + 1, sizeof *often);
    bool there = logs && often;
    for (int m = 0; there && m < contest->count; m++) {
        ranks[m] = (suite_rank){0};
        logs[m] = log(contest->contenders[m].score);
    }
    for (int rule = 0; there && rule < SUITE_DRAW_RULES; rule++) {
        count_ranks(contest, rule, logs, logs + count, often);
        for (int m = 0; m < contest->count; m++) widen(often + (size_t)m * count, contest, &ranks[m]);
    }
    free(logs);
    free(often);
    return there ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for ranks");
}

static dit_status check(const suite_contest *contest)
{
    if (contest->draws < 1) return DIT_FAIL(DIT_ERR_USAGE, "a rank needs draws");
    for (int m = 0; m < contest->count; m++) {
        const suite_contender *one = &contest->contenders[m];
        if (!(one->least > 0 && one->least <= one->score && one->score <= one->most && isfinite(one->most)))
            return DIT_FAIL(DIT_ERR_USAGE, "contender %d: least %g, score %g and most %g must ascend from above 0", m,
                            one->least, one->score, one->most);
    }
    return DIT_OK;
}

dit_status suite_rank_pairs(const suite_contest *contest, suite_pair *pairs)
{
    DIT_TRY(check(contest));
    return judge_all_pairs(contest, pairs);
}

dit_status suite_rank_all(const suite_contest *contest, suite_pair *pairs, suite_rank *ranks)
{
    DIT_TRY(suite_rank_pairs(contest, pairs));
    return rank_each(contest, ranks);
}
