#include "suite/confidence/coverage.h"

#include <math.h>
#include <stdlib.h>

/* Sums over the points of one group. */
typedef struct {
    int points, inside;
    double levels;
} group_sum;

/* The interval that one point would have had. */
static dit_status bounds_without(const suite_held_out *held, const suite_error_class *of, int group, double level,
                                 bool *found, suite_error_bounds *out)
{
    suite_ladder ladder;
    suite_error_sample sample;
    const suite_left_aside aside = {&group, 1};
    DIT_TRY(suite_ladder_climb(held, of, level, &aside, &ladder, &sample));
    *found = ladder.chosen >= 0;
    if (*found) *out = suite_error_bounds_of(&sample, level);
    suite_error_sample_release(&sample);
    return DIT_OK;
}

static void judge(double error, const suite_error_bounds *bounds, group_sum *sum, suite_coverage *out)
{
    out->points++;
    out->below += error < bounds->low;
    out->above += error > bounds->high;
    out->least_level = fmin(out->least_level, bounds->level);
    sum->points++;
    sum->inside += error >= bounds->low && error <= bounds->high;
    sum->levels += bounds->level;
}

/* The class of all errors of pictures. */
static const suite_error_class pictures[] = {{false, SUITE_CLASS_ANY, SUITE_CLASS_ANY, SUITE_CLASS_ANY},
                                             {true, SUITE_CLASS_ANY, SUITE_CLASS_ANY, SUITE_CLASS_ANY}};

static dit_status judge_all(const suite_held_out *held, const suite_error_sample *all, double level, group_sum *sums,
                            suite_coverage *out)
{
    for (int i = 0; i < all->count; i++) {
        const suite_sample_error *one = &all->errors[i];
        suite_error_class of = held->points[one->point].kind_of;
        suite_error_bounds bounds;
        bool found;
        of.fitted = all->of.fitted;
        int group = suite_held_out_group(held, of.fitted, one->point);
        DIT_TRY(bounds_without(held, &of, group, level, &found, &bounds));
        if (found)
            judge(one->error, &bounds, &sums[one->group], out);
        else
            out->alone++;
    }
    return DIT_OK;
}

static void average(const group_sum *sums, int count, suite_coverage *out)
{
    int inside = 0;
    for (int i = 0; i < count; i++) {
        if (!sums[i].points) continue;
        out->groups++;
        inside += sums[i].inside;
        out->by_group += (double)sums[i].inside / sums[i].points;
        out->mean_level += sums[i].levels / sums[i].points;
    }
    if (!out->groups) return;
    out->by_group /= out->groups;
    out->mean_level /= out->groups;
    out->by_point = (double)inside / out->points;
}

dit_status suite_coverage_of(const suite_held_out *held, bool fitted, double level, suite_coverage *out)
{
    suite_error_sample all;
    *out = (suite_coverage){.least_level = 1};
    DIT_TRY(suite_error_sample_take(held, &pictures[fitted], NULL, &all));
    group_sum *sums = calloc((size_t)all.group_count + 1, sizeof *sums);
    dit_status st = sums ? judge_all(held, &all, level, sums, out)
                         : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the coverage of intervals");
    if (st == DIT_OK) average(sums, all.group_count, out);
    free(sums);
    suite_error_sample_release(&all);
    return st;
}

bool suite_coverage_holds(const suite_coverage *coverage, double level)
{
    static const double may_miss = SUITE_COVERAGE_LEVEL - SUITE_COVERAGE_LEAST;
    static const double may_exceed = SUITE_COVERAGE_MOST - SUITE_COVERAGE_LEVEL;
    if (!coverage->points) return false;
    if (coverage->least_level < level) return coverage->by_group >= coverage->mean_level - may_miss;
    return coverage->by_group >= level - may_miss && coverage->by_group <= level + may_exceed;
}
