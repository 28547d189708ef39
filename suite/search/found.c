#include "suite/search/found.h"

#include "base/json_writer.h"
#include "base/mesh.h"

#include <stdlib.h>
#include <string.h>

static const char *const goals[SUITE_GOAL_COUNT + 1] = {"latency", "throughput", "memory", "front", NULL};

const char *suite_search_goal_name(suite_search_goal goal)
{
    return goals[goal];
}
const char *const *suite_search_goal_names(void)
{
    return goals;
}

const char *suite_search_state_name(suite_search_state state)
{
    static const char *const names[SUITE_FOUND_COUNT] = {"open", "simulated", "bound", "memory", "failed"};
    return names[state];
}

void suite_search_release(suite_search *search)
{
    for (int i = 0; i < search->size_count; i++) suite_workload_release(&search->sizes[i].workload);
    for (int i = 0; i < search->uneven_count; i++) suite_workload_release(&search->uneven[i]);
    free(search->uneven);
    free(search->sizes);
    free(search->candidates);
    free(search->illegal);
    *search = (suite_search){.winner = -1};
}

bool suite_search_is_known(const suite_search_candidate *candidate)
{
    return candidate->value > 0 && (candidate->state == SUITE_FOUND_SIMULATED || candidate->state == SUITE_FOUND_OPEN);
}

int suite_search_best(const suite_search *search, bool exact)
{
    for (int i = 0; i < search->count; i++)
        if (search->candidates[i].exact == exact && suite_search_is_known(&search->candidates[i])) return i;
    return -1;
}

const char *suite_search_part_name(suite_search_part part)
{
    static const char *const names[SUITE_CHANGE_COUNT] = {"host", "links", "device"};
    return names[part];
}

/* ---- bounds of all candidates ------------------------------------------------------------------------------------ */

const char *suite_search_word(const suite_search *s, const char *key)
{
    const cJSON *platform = s->count ? dit_json_member(s->candidates[0].kase->document, "platform") : NULL;
    return dit_json_text_or(platform, key, "");
}

suite_simulate_params suite_search_params(const suite_search *s)
{
    return (suite_simulate_params){.engine = s->request.engine,
                                   .element = suite_search_word(s, "element"),
                                   .deadline_s = 600,
                                   .calibration = s->request.calibration};
}

static cJSON *ranks_alone(dit_json_writer *w, const dit_parallel *parallel)
{
    cJSON *list = dit_json_new_array(w);
    int coordinates[DIT_AXIS_COUNT] = {0};
    const int stages = dit_parallel_degree(parallel, DIT_AXIS_PIPEFUSION);
    for (int stage = 0; stage < stages; stage++) {
        coordinates[DIT_AXIS_PIPEFUSION] = stage;
        for (int patch = 0; patch < 2 && patch < dit_parallel_degree(parallel, DIT_AXIS_PATCH); patch++) {
            coordinates[DIT_AXIS_PATCH] = patch;
            dit_json_put_int(w, list, NULL, dit_mesh_rank(parallel, coordinates));
        }
    }
    return list;
}

dit_status suite_search_bounds(const suite_search *search, const suite_simulate_params *params,
                               const suite_shape_cache *cache, const int *which, int count, suite_bounds *bounds)
{
    dit_json_writer w = {0};
    if (count < 1) return DIT_OK;
    suite_simulate_bounded *cases = calloc((size_t)count + 1, sizeof *cases);
    if (!cases) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d bounds", count);
    for (int i = 0; i < count; i++) {
        const suite_search_candidate *one = &search->candidates[which[i]];
        cases[i] = (suite_simulate_bounded){.document = one->kase->document, .world_size = one->ranks};
        cases[i].blocks = dit_parallel_degree(&one->parallel, DIT_AXIS_PIPEFUSION) > 1;
        if (!one->exact) cases[i].ranks = ranks_alone(&w, &one->parallel);
    }
    if (w.status == DIT_OK)
        dit_json_put_status(&w, suite_bounds_of(params, cases, count, search->request.platform,
                                                suite_search_word(search, "profile"), cache, bounds));
    for (int i = 0; i < count; i++) cJSON_Delete((cJSON *)(uintptr_t)cases[i].ranks);
    free(cases);
    return w.status;
}
