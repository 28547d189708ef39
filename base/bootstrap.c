#include "base/bootstrap.h"

#include "base/rng.h"
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t seed = 20130612;

/* Draws `groups` groups with replacement. */
static void draw(int number, int groups, int *times)
{
    static const uint64_t stream = 0xB007;
    memset(times, 0, (size_t)groups * sizeof *times);
    for (int i = 0; i < groups; i++)
        times[dit_rng_below(seed, stream, (uint64_t)number * (uint64_t)groups + (uint64_t)i, (uint64_t)groups)]++;
}

static dit_status bound(int groups, dit_bootstrap_statistic statistic, const void *context, int *times,
                        dit_interval *out)
{
    double drawn[DIT_BOOTSTRAP_DRAWS];
    int kept = 0;
    for (int i = 0; i < DIT_BOOTSTRAP_DRAWS; i++) {
        draw(i, groups, times);
        double value = statistic(context, times, groups);
        if (isfinite(value)) drawn[kept++] = value;
    }
    if (kept < DIT_BOOTSTRAP_DRAWS / 10 * 9)
        return DIT_FAIL(DIT_ERR_NONFINITE, "%d of %d draws of %d groups have no value", DIT_BOOTSTRAP_DRAWS - kept,
                        DIT_BOOTSTRAP_DRAWS, groups);
    dit_stats_sort(drawn, kept);
    out->low = dit_stats_sorted_quantile(drawn, kept, 0.025);
    out->high = dit_stats_sorted_quantile(drawn, kept, 0.975);
    out->bounded = true;
    return DIT_OK;
}

dit_status dit_bootstrap(int groups, dit_bootstrap_statistic statistic, const void *context, dit_interval *out)
{
    *out = (dit_interval){0};
    if (groups < 1) return DIT_FAIL(DIT_ERR_SHAPE, "a statistic of no groups");
    int *times = malloc((size_t)groups * sizeof *times);
    if (!times) return DIT_FAIL(DIT_ERR_MEMORY, "no memory to draw %d groups", groups);
    for (int i = 0; i < groups; i++) times[i] = 1;
    out->value = out->low = out->high = statistic(context, times, groups);
    dit_status st = DIT_OK;
    if (!isfinite(out->value))
        st = DIT_FAIL(DIT_ERR_NONFINITE, "the statistic of %d groups is not finite", groups);
    else if (groups > 1)
        st = bound(groups, statistic, context, times, out);
    free(times);
    return st;
}

/* ---- means ------------------------------------------------------------------------------------------------------- */

typedef struct {
    double *sum; /* [groups] */
    int *count;  /* [groups] */
} group_sums;

static double mean_of(const void *context, const int *times, int groups)
{
    const group_sums *sums = context;
    double sum = 0, count = 0;
    for (int i = 0; i < groups; i++) {
        sum += times[i] * sums->sum[i];
        count += (double)times[i] * sums->count[i];
    }
    return sum / count;
}

/* Checks a sample; `count` [groups] gets how many values each group has. */
static dit_status count_groups(const dit_grouped *sample, int *count)
{
    for (int i = 0; i < sample->count; i++) {
        if (!isfinite(sample->values[i]))
            return DIT_FAIL(DIT_ERR_NONFINITE, "value %d of %d is not finite", i + 1, sample->count);
        if (sample->group[i] < 0 || sample->group[i] >= sample->groups)
            return DIT_FAIL(DIT_ERR_SHAPE, "value %d is of group %d, but there are %d groups", i + 1, sample->group[i],
                            sample->groups);
        count[sample->group[i]]++;
    }
    for (int i = 0; i < sample->groups; i++)
        if (count[i] == 0) return DIT_FAIL(DIT_ERR_SHAPE, "group %d of %d has no values", i, sample->groups);
    return DIT_OK;
}

static dit_status check_extents(const dit_grouped *sample)
{
    if (sample->count > 0 && sample->groups > 0) return DIT_OK;
    return DIT_FAIL(DIT_ERR_SHAPE, "%d values in %d groups have no mean", sample->count, sample->groups);
}

dit_status dit_bootstrap_mean(const dit_grouped *sample, dit_interval *out)
{
    *out = (dit_interval){0};
    DIT_TRY(check_extents(sample));
    group_sums sums = {.sum = calloc((size_t)sample->groups, sizeof *sums.sum),
                       .count = calloc((size_t)sample->groups, sizeof *sums.count)};
    dit_status st = sums.sum && sums.count ? count_groups(sample, sums.count)
                                           : DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d groups", sample->groups);
    for (int i = 0; i < sample->count && st == DIT_OK; i++) sums.sum[sample->group[i]] += sample->values[i];
    if (st == DIT_OK) st = dit_bootstrap(sample->groups, mean_of, &sums, out);
    free(sums.sum);
    free(sums.count);
    return st;
}

dit_status dit_bootstrap_paired(const dit_grouped *sample, const double *others, dit_interval *out)
{
    *out = (dit_interval){0};
    DIT_TRY(check_extents(sample));
    double *differences = malloc((size_t)sample->count * sizeof *differences);
    if (!differences) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d differences", sample->count);
    for (int i = 0; i < sample->count; i++) differences[i] = sample->values[i] - others[i];
    dit_grouped paired = *sample;
    paired.values = differences;
    dit_status st = dit_bootstrap_mean(&paired, out);
    free(differences);
    return st;
}

/* ---- percentiles ------------------------------------------------------------------------------------------------- */

typedef struct {
    const dit_placed *sorted; /* places are groups */
    int count;
    double share;
} ranked;

static double percentile_of(const void *context, const int *times, int groups)
{
    const ranked *r = context;
    double all = 0, below = 0;
    (void)groups;
    for (int i = 0; i < r->count; i++) all += times[r->sorted[i].place];
    for (int i = 0; i < r->count; i++) {
        below += times[r->sorted[i].place];
        if (below > 0 && below >= r->share * all - 1e-9) return r->sorted[i].value; /* 0.9 x 10 is a little above 9 */
    }
    return r->sorted[r->count - 1].value;
}

dit_status dit_bootstrap_percentile(const dit_grouped *sample, double share, dit_interval *out)
{
    *out = (dit_interval){0};
    DIT_TRY(check_extents(sample));
    int *count = calloc((size_t)sample->groups, sizeof *count);
    dit_placed *sorted = malloc((size_t)sample->count * sizeof *sorted);
    dit_status st = count && sorted ? count_groups(sample, count)
                                    : DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d values", sample->count);
    free(count);
    if (st == DIT_OK) {
        for (int i = 0; i < sample->count; i++) sorted[i] = (dit_placed){sample->values[i], sample->group[i]};
        dit_stats_sort_placed(sorted, sample->count);
        const ranked r = {sorted, sample->count, share};
        st = dit_bootstrap(sample->groups, percentile_of, &r, out);
    }
    free(sorted);
    return st;
}
