#include "engine/quality/spread.h"

#include <math.h>
#include <stdlib.h>

/* Sums and counts of two sets, by group: a statistic is the ratio of their means. */
typedef struct {
    int groups;
    double *sum[2], *count[2]; /* [groups] */
    double *memory;
} ratio_sums;

static dit_status make_sums(int groups, ratio_sums *out)
{
    *out = (ratio_sums){.groups = groups, .memory = calloc((size_t)groups * 4 + 1, sizeof(double))};
    if (!out->memory) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d prompts", groups);
    for (int set = 0; set < 2; set++) {
        out->sum[set] = out->memory + 2 * set * groups;
        out->count[set] = out->sum[set] + groups;
    }
    return DIT_OK;
}

static double ratio_of(const void *context, const int *times, int groups)
{
    const ratio_sums *s = context;
    double mean[2];
    for (int set = 0; set < 2; set++) {
        double sum = 0, count = 0;
        for (int i = 0; i < groups; i++) sum += times[i] * s->sum[set][i], count += times[i] * s->count[set][i];
        mean[set] = sum / count;
    }
    return mean[0] / mean[1];
}

/* Moves groups that both sets have to the front, and counts them. */
static int keep_shared(ratio_sums *s)
{
    int kept = 0;
    for (int i = 0; i < s->groups; i++) {
        if (s->count[0][i] <= 0 || s->count[1][i] <= 0) continue;
        for (int set = 0; set < 2; set++) {
            s->sum[set][kept] = s->sum[set][i];
            s->count[set][kept] = s->count[set][i];
        }
        kept++;
    }
    return kept;
}

static double distance_of(const float *x, const float *y, int64_t width)
{
    double squares = 0;
    for (int64_t k = 0; k < width; k++) squares += ((double)x[k] - y[k]) * ((double)x[k] - y[k]);
    return sqrt(squares);
}

static dit_status check_group(int64_t value, int group, int groups)
{
    if (group >= 0 && group < groups) return DIT_OK;
    return DIT_FAIL(DIT_ERR_SHAPE, "value %lld is of group %d, but there are %d groups", (long long)value + 1, group,
                    groups);
}

/* Adds the distances between pictures of a prompt to the sums of set 0 or 1. */
static dit_status add_pairs(dit_feature_rows a, const int *prompt, int set, ratio_sums *s)
{
    for (int64_t i = 0; i < a.count; i++) {
        DIT_TRY(check_group(i, prompt[i], s->groups));
        for (int64_t j = 0; j < i; j++) {
            if (prompt[i] != prompt[j]) continue;
            s->sum[set][prompt[i]] += distance_of(a.rows + i * a.width, a.rows + j * a.width, a.width);
            s->count[set][prompt[i]]++;
        }
    }
    return DIT_OK;
}

static dit_status diversity_with(ratio_sums *s, dit_interval *out)
{
    int kept = keep_shared(s);
    if (kept == 0)
        return dit_error_hint(DIT_FAIL(DIT_ERR_SHAPE, "no prompt has two pictures in both sets"),
                              "make pictures of at least two seeds for each prompt");
    return dit_bootstrap(kept, ratio_of, s, out);
}

dit_status dit_diversity(dit_feature_rows a, const int *prompt_of_a, dit_feature_rows right, const int *prompt_of_right,
                         int prompts, dit_interval *out)
{
    ratio_sums s;
    *out = (dit_interval){0};
    if (a.width != right.width)
        return DIT_FAIL(DIT_ERR_SHAPE, "features of %lld and of %lld numbers cannot be compared", (long long)a.width,
                        (long long)right.width);
    DIT_TRY(make_sums(prompts, &s));
    dit_status st = add_pairs(a, prompt_of_a, 0, &s);
    if (st == DIT_OK) st = add_pairs(right, prompt_of_right, 1, &s);
    if (st == DIT_OK) st = diversity_with(&s, out);
    free(s.memory);
    return st;
}

dit_status dit_frame_change(const float *clip, dit_picture_size size, double *change)
{
    int64_t plane = size.height * size.width, steps = size.frames - 1;
    double sum = 0;
    *change = 0;
    if (steps < 1) return DIT_FAIL(DIT_ERR_SHAPE, "a single frame does not change");
    for (int64_t colour = 0; colour < DIT_RGB; colour++) {
        const float *x = clip + colour * size.frames * plane;
        for (int64_t i = 0; i < steps * plane; i++) sum += fabs((double)x[i + plane] - x[i]);
    }
    *change = sum / (double)(DIT_RGB * steps * plane);
    if (!isfinite(*change)) return DIT_FAIL(DIT_ERR_NONFINITE, "a clip has pixels that are not finite");
    return DIT_OK;
}

static dit_status add_values(const dit_grouped *sample, int set, ratio_sums *s)
{
    for (int i = 0; i < sample->count; i++) {
        DIT_TRY(check_group(i, sample->group[i], s->groups));
        s->sum[set][sample->group[i]] += sample->values[i];
        s->count[set][sample->group[i]]++;
    }
    return DIT_OK;
}

dit_status dit_ratio_of_means(const dit_grouped *above, const dit_grouped *below, dit_interval *out)
{
    ratio_sums s;
    *out = (dit_interval){0};
    DIT_TRY(make_sums(above->groups, &s));
    dit_status st = add_values(above, 0, &s);
    if (st == DIT_OK) st = add_values(below, 1, &s);
    if (st == DIT_OK) st = dit_bootstrap(above->groups, ratio_of, &s, out);
    free(s.memory);
    return st;
}
