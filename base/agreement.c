#include "base/agreement.h"

#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* predicted / printed - 1. */
static double dit_agreement_error(const dit_agreement_point *point)
{
    return point->predicted / point->printed - 1;
}

static bool is_part(bool in_fit, dit_agreement_part part)
{
    return part == DIT_AGREEMENT_ALL || in_fit == (part == DIT_AGREEMENT_IN_FIT);
}

/* Fills the errors of the points of `part`. */
static dit_status judge_errors(const dit_agreement_point *points, int count, dit_agreement_part part,
                               dit_agreement *out)
{
    double *errors = malloc(((size_t)count + 1) * sizeof *errors);
    if (!errors) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d errors", count);
    for (int i = 0; i < count; i++)
        if (is_part(points[i].in_fit, part)) errors[out->points++] = fabs(dit_agreement_error(&points[i]));
    out->median_error = dit_stats_median(errors, out->points);
    out->p90_error = dit_stats_percentile(errors, out->points, 0.9);
    out->worst_error = dit_stats_percentile(errors, out->points, 1);
    free(errors);
    return DIT_OK;
}

static void judge_pair(const dit_agreement_point *a, const dit_agreement_point *b, dit_agreement_part part,
                       dit_agreement *out)
{
    /* 1e-9: 0.3 - 0.2 is a little more than 0.1 */
    double printed = a->printed - b->printed, unsure = (a->rounding + b->rounding) * (1 + 1e-9);
    if (!is_part(a->in_fit && b->in_fit, part)) return;
    if (fabs(printed) <= unsure || strcmp(a->method, b->method) == 0) return;
    bool ordered = printed * (a->predicted - b->predicted) > 0;
    bool apart = fabs(printed) > DIT_AGREEMENT_APART * fmin(a->printed, b->printed);
    out->pairs++;
    out->ordered += ordered;
    out->pairs_apart += apart;
    out->ordered_apart += apart && ordered;
}

static int compare_panels(const void *a, const void *b)
{
    const dit_agreement_point *x = *(const dit_agreement_point *const *)a, *y = *(const dit_agreement_point *const *)b;
    return strcmp(x->panel, y->panel);
}

static dit_status judge_pairs(const dit_agreement_point *points, int count, dit_agreement_part part, dit_agreement *out)
{
    const dit_agreement_point **sorted = malloc(((size_t)count + 1) * sizeof *sorted);
    if (!sorted) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d points", count);
    for (int i = 0; i < count; i++) sorted[i] = &points[i];
    qsort(sorted, (size_t)count, sizeof *sorted, compare_panels);
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < count && strcmp(sorted[i]->panel, sorted[j]->panel) == 0; j++)
            judge_pair(sorted[i], sorted[j], part, out);
    free(sorted);
    return DIT_OK;
}

dit_status dit_agreement_judge(const dit_agreement_point *points, int count, dit_agreement_part part,
                               dit_agreement *out)
{
    *out = (dit_agreement){0};
    DIT_TRY(judge_errors(points, count, part, out));
    return judge_pairs(points, count, part, out);
}
