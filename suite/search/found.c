#include "suite/search/found.h"

#include "base/json_writer.h"
#include "base/mesh.h"
#include "suite/launch/process_pool.h"

#include <stdlib.h>
#include <string.h>

static const char *const goals[SUITE_GOAL_COUNT + 1] = {"latency", "throughput", "memory", "cost", "front", NULL};

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

double suite_search_value(const suite_search *search, const suite_search_candidate *one, double seconds)
{
    const int64_t images = search->request.num_images > 1 ? search->request.num_images : 1;
    const double each = seconds / (double)(one->replicas * images);
    switch (search->request.goal) {
    case SUITE_GOAL_MEMORY: return (double)one->bounds.memory_bytes;
    case SUITE_GOAL_THROUGHPUT: return each;
    case SUITE_GOAL_COST: return 1000 * one->per_hour * each / 3600;
    default: return seconds;
    }
}

bool suite_search_has_replicas(suite_search_goal goal)
{
    return goal == SUITE_GOAL_THROUGHPUT || goal == SUITE_GOAL_COST;
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

/* Cases that one engine bounds. A few are one start of it; a large space is shared by all cores. The number is not that
 * of cores, so that what is kept is found again. */
enum { TOGETHER = 48 };

typedef struct {
    const suite_search *search;
    const suite_simulate_params *params;
    const suite_shape_cache *cache;
    const suite_simulate_bounded *cases; /* [count] */
    suite_bounds *bounds;                /* [count] */
    int count;
} bound_all;

static int size_of(const bound_all *all, int job)
{
    int left = all->count - job * TOGETHER;
    return left < TOGETHER ? left : TOGETHER;
}

static dit_status bound_some(int job, suite_signals *signals, void *result, void *context)
{
    const bound_all *all = context;
    suite_simulate_params params = *all->params;
    if (signals) params.signals = signals;
    return suite_bounds_of(&params, all->cases + job * TOGETHER, size_of(all, job), all->search->request.platform,
                           suite_search_word(all->search, "profile"), all->cache, result);
}

static dit_status take_some(int job, dit_status st, const void *result, void *context)
{
    const bound_all *all = context;
    if (st == DIT_OK) memcpy(all->bounds + job * TOGETHER, result, (size_t)size_of(all, job) * sizeof *all->bounds);
    return st;
}

static dit_status bound(bound_all *all)
{
    if (all->count <= TOGETHER) return bound_some(0, NULL, all->bounds, all);
    return suite_jobs_run(&(suite_jobs){.count = (all->count + TOGETHER - 1) / TOGETHER,
                                        .at_once = all->search->request.at_once,
                                        .result_bytes = TOGETHER * sizeof *all->bounds,
                                        .context = all,
                                        .run = bound_some,
                                        .done = take_some});
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
    bound_all all = {search, params, cache, cases, bounds, count};
    if (w.status == DIT_OK) dit_json_put_status(&w, bound(&all));
    for (int i = 0; i < count; i++) cJSON_Delete((cJSON *)(uintptr_t)cases[i].ranks);
    free(cases);
    return w.status;
}
