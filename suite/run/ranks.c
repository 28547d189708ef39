/* What the ranks of a record say that no sum of them shows: one that is slow for its work, one that grows. */
#include "suite/run/state.h"

#include "base/stats.h"

#include <math.h>
#include <stdio.h>

enum { MOST_RANKS = 1024, MOST_ITERATIONS = 1000, LEAST_ITERATIONS = 3, LEAST_STEPS_OF_GROWTH = 3 };
static const double slow_ratio = 1.5, slow_least_ns = 1e6, leak_least_bytes = 256 << 10, leak_least_share = 0.001;

/* ---- slow -------------------------------------------------------------------------------------------------------- */

/* What rank `rank` computes for in iteration i: for its work, where the work of ranks is known, so that a rank with
 * more of it is not called slow. NAN: the record does not say. */
static double time_for_work(const cJSON *rank, int i, double flops_on_average)
{
    const cJSON *sample = cJSON_GetArrayItem(dit_json_member(rank, "compute_samples_ns"), i);
    double flops = dit_json_number_or(rank, "flops", 0);
    if (!cJSON_IsNumber(sample)) return NAN;
    return flops > 0 && flops_on_average > 0 ? sample->valuedouble * flops_on_average / flops : sample->valuedouble;
}

static double mean_flops(const cJSON *ranks)
{
    double sum = 0;
    const cJSON *rank;
    cJSON_ArrayForEach(rank, ranks) sum += dit_json_number_or(rank, "flops", 0);
    return sum / cJSON_GetArraySize(ranks);
}

/* The rank that takes longest in iteration i, and how many times the median of the others; -1: nobody knows. */
static int slowest_of(const cJSON *ranks, int i, double *ratio)
{
    double values[MOST_RANKS], others[MOST_RANKS], flops = mean_flops(ranks);
    int count = 0, slowest = 0, rest = 0;
    const cJSON *rank;
    cJSON_ArrayForEach(rank, ranks) if (count < MOST_RANKS) values[count++] = time_for_work(rank, i, flops);
    for (int k = 0; k < count; k++) {
        if (isnan(values[k])) return -1;
        if (values[k] > values[slowest]) slowest = k;
    }
    for (int k = 0; k < count; k++)
        if (k != slowest) others[rest++] = values[k];
    if (count == 0) return -1;
    double usual = dit_stats_median(others, rest);
    *ratio = usual > 0 ? values[slowest] / usual : 1;
    if (values[slowest] - usual < slow_least_ns) *ratio = 1;
    return slowest;
}

/* One rank that is by far the slowest in four of five iterations: its core is throttled or shared, or its memory is far.
 * In the others the machine may have held up another rank. */
static void warn_of_slow(dit_json_writer *w, cJSON *line, const cJSON *ranks, int iterations)
{
    double ratios[MOST_ITERATIONS], ratio;
    char text[96];
    int times[MOST_RANKS] = {0}, rank = 0, counted = 0;
    for (int i = 0; i < iterations; i++) {
        int slowest = slowest_of(ranks, i, &ratio);
        if (slowest < 0) return;
        if (ratio >= slow_ratio && ++times[slowest] > times[rank]) rank = slowest;
    }
    if (times[rank] * 5 < iterations * 4) return;
    for (int i = 0; i < iterations; i++)
        if (slowest_of(ranks, i, &ratio) == rank && ratio >= slow_ratio) ratios[counted++] = ratio;
    snprintf(text, sizeof text, "slow: rank %d computes %.1f times as long as the others", rank,
             dit_stats_median(ratios, counted));
    suite_run_add_warning(w, line, text);
}

/* ---- growing ----------------------------------------------------------------------------------------------------- */

/* Bytes by which the rank grows an iteration, by least squares; 0 unless it grows in most of them. The first iteration
 * does not count: it fills what the later ones use again. */
static double growth_of(const cJSON *rank, int iterations)
{
    const cJSON *list = dit_json_member(rank, "rss_samples_bytes");
    double products = 0, squares = 0, middle = (iterations - 2) / 2.0, last = 0;
    int grew = 0, steps = 0;
    for (int i = 1; i < iterations; i++) {
        const cJSON *sample = cJSON_GetArrayItem(list, i);
        if (!cJSON_IsNumber(sample)) return 0;
        double place = i - 1 - middle;
        products += place * sample->valuedouble;
        squares += place * place;
        if (i > 1) steps++, grew += sample->valuedouble > last;
        last = sample->valuedouble;
    }
    double slope = squares > 0 ? products / squares : 0;
    bool steady = steps >= LEAST_STEPS_OF_GROWTH && grew * 5 >= steps * 4;
    return steady && slope >= leak_least_bytes && slope >= leak_least_share * last ? slope : 0;
}

static void warn_of_growth(dit_json_writer *w, cJSON *line, const cJSON *ranks, int iterations)
{
    const cJSON *rank;
    char text[96];
    int index = 0, worst = -1;
    double most = 0;
    cJSON_ArrayForEach(rank, ranks)
    {
        double growth = growth_of(rank, iterations);
        if (growth > most) most = growth, worst = index;
        index++;
    }
    if (worst < 0) return;
    snprintf(text, sizeof text, "leak: rank %d grows by %.1f MiB an iteration", worst, most / (1 << 20));
    suite_run_add_warning(w, line, text);
}

void suite_run_warn_of_ranks(dit_json_writer *w, cJSON *line, const suite_outcome *outcome)
{
    const cJSON *ranks = dit_json_member(outcome->record, "ranks");
    int iterations = cJSON_GetArraySize(dit_json_member(cJSON_GetArrayItem(ranks, 0), "rss_samples_bytes"));
    if (outcome->status != DIT_OUTCOME_OK || iterations < LEAST_ITERATIONS || iterations > MOST_ITERATIONS) return;
    bool alone = cJSON_GetArraySize(ranks) < 2 || dit_json_is_true(outcome->record, "oversubscribed");
    if (!alone) warn_of_slow(w, line, ranks, iterations);
    warn_of_growth(w, line, ranks, iterations);
}
