#include "suite/procure/load_curves.h"

#include "suite/procure/choice.h"

#include <stdlib.h>

/* Shares of what all replicas serve at most. */
static const double loads[] = {0.05, 0.2, 0.35, 0.5, 0.6, 0.7, 0.78, 0.84, 0.89, 0.93, 0.96};
enum { LOADS = sizeof loads / sizeof *loads };

static dit_status draw_curve(const suite_procure_request *request, const suite_split *split,
                             const suite_menu_item *item, suite_load_line *out)
{
    const suite_service service = suite_menu_service(split->menu, item, split->devices);
    const suite_batch_shape *batch = service.batch;
    *out = (suite_load_line){.mesh = item->one->mesh, .replicas = service.replicas};
    for (int i = 0; i < LOADS; i++) {
        suite_queue_run run;
        double rate = loads[i] * out->replicas / service.seconds * batch->most / batch->times[batch->most - 1];
        DIT_TRY(suite_serve_at(request, rate, 0, &service, SUITE_SERVE_LOOK, &run));
        if (run.outcome != SUITE_QUEUE_STABLE) continue;
        out->points[out->count++] = (suite_load_point){3600 * rate * suite_choice_images(request), run.wanted.value};
    }
    return DIT_OK;
}

dit_status suite_load_curves_find(const suite_procure_request *request, suite_procured *out)
{
    const suite_split *first = out->count ? &out->splits[0] : NULL;
    if (request->scenario != SUITE_SCENARIO_SERVER || !first || !first->chosen) return DIT_OK;
    for (int i = 0; i < first->menu->count && out->curve_count < SUITE_LOAD_LINES; i++) {
        const suite_menu_item *item = &first->menu->items[i];
        if (first->devices % item->one->ranks) continue;
        DIT_TRY(draw_curve(request, first, item, &out->curves[out->curve_count++]));
    }
    return DIT_OK;
}
