#include "suite/procure/load_curves.h"

#include "suite/procure/choice.h"

#include <stdlib.h>

/* Shares of what all replicas serve at most. */
static const double loads[] = {0.05, 0.2, 0.35, 0.5, 0.6, 0.7, 0.78, 0.84, 0.89, 0.93, 0.96};
enum { LOADS = sizeof loads / sizeof *loads };

static dit_status draw_curve(const suite_procure_request *request, const suite_search_candidate *one, int devices,
                             suite_load_line *out)
{
    *out = (suite_load_line){.mesh = one->mesh, .replicas = devices / one->ranks};
    for (int i = 0; i < LOADS; i++) {
        suite_queue_run run;
        double rate = loads[i] * out->replicas / one->seconds;
        DIT_TRY(suite_serve_at(request, rate, 0, one->seconds, out->replicas, SUITE_SERVE_LOOK, &run));
        if (run.outcome != SUITE_QUEUE_STABLE) continue;
        out->points[out->count++] = (suite_load_point){3600 * rate * suite_choice_images(request), run.wanted.value};
    }
    return DIT_OK;
}

static const suite_search *search_of(const suite_procured *procured, const suite_split *split)
{
    for (int i = 0; i < procured->search_count; i++) {
        const suite_search *one = &procured->searches[i];
        if (split->chosen >= one->candidates && split->chosen < one->candidates + one->count) return one;
    }
    return NULL;
}

dit_status suite_load_curves_find(const suite_procure_request *request, suite_procured *out)
{
    const suite_split *first = out->count ? &out->splits[0] : NULL;
    if (request->scenario != SUITE_SCENARIO_SERVER || !first || !first->chosen) return DIT_OK;
    const suite_search *found = search_of(out, first);
    for (int i = 0; found && i < found->size_count && out->curve_count < SUITE_LOAD_LINES; i++) {
        const suite_search_candidate *one = suite_choice_of_ranks(found, found->sizes[i].ranks);
        if (!one || first->devices % one->ranks) continue;
        DIT_TRY(draw_curve(request, one, first->devices, &out->curves[out->curve_count++]));
    }
    return DIT_OK;
}
