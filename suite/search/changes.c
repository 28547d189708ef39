#include "suite/search/changes.h"

#include <stdlib.h>

/* Whether it can win what the winner has won. */
static bool runs_beside(const suite_search *search, const suite_search_candidate *one)
{
    bool fits = one->state == SUITE_FOUND_SIMULATED || one->state == SUITE_FOUND_BOUND;
    bool alike = search->request.goal != SUITE_GOAL_FRONT || one->ranks == search->candidates[search->winner].ranks;
    return fits && alike;
}

/* The least of `bounds` a request and replica. */
static int find_lowest(const suite_search *search, const suite_bounds *bounds)
{
    int lowest = -1;
    for (int i = 0; i < search->count; i++) {
        if (!runs_beside(search, &search->candidates[i]) || bounds[i].status != DIT_OK) continue;
        if (lowest < 0 || bounds[i].seconds * search->candidates[lowest].replicas <
                              bounds[lowest].seconds * search->candidates[i].replicas)
            lowest = i;
    }
    return lowest;
}

static dit_status find_change(suite_search *search, suite_search_part part, int before, suite_bounds *bounds)
{
    suite_simulate_params params = suite_search_params(search);
    double *const faster[SUITE_CHANGE_COUNT] = {&params.faster.host, &params.faster.links, &params.faster.device};
    suite_search_change *change = &search->changes[part];
    *faster[part] = search->request.what_if;
    DIT_TRY(suite_search_bounds(search, &params, false, 0, bounds));
    int first = find_lowest(search, bounds);
    if (first < 0 || bounds[before].status != DIT_OK) return DIT_OK;
    *change = (suite_search_change){first, before, bounds[first].seconds, bounds[before].seconds};
    return DIT_OK;
}

static dit_status find_all(suite_search *search, suite_bounds *bounds)
{
    for (int i = 0; i < search->count; i++) bounds[i] = search->candidates[i].bounds;
    int before = find_lowest(search, bounds);
    dit_status st = DIT_OK;
    for (int part = 0; before >= 0 && part < SUITE_CHANGE_COUNT && st == DIT_OK; part++)
        st = find_change(search, (suite_search_part)part, before, bounds);
    return st;
}

dit_status suite_search_find_changes(suite_search *search)
{
    for (int part = 0; part < SUITE_CHANGE_COUNT; part++)
        search->changes[part] = (suite_search_change){.first = -1, .before = -1};
    if (!(search->request.what_if > 0) || search->winner < 0 || search->request.goal == SUITE_GOAL_MEMORY)
        return DIT_OK;
    suite_bounds *bounds = calloc((size_t)search->count, sizeof *bounds);
    if (!bounds) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d bounds", search->count);
    dit_status st = find_all(search, bounds);
    free(bounds);
    return st;
}
