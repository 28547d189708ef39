#include "suite/search/changes.h"

#include <stdlib.h>

/* Whether it can win what the winner has won. */
static bool runs_beside(const suite_search *search, const suite_search_candidate *one)
{
    bool fits = one->state == SUITE_FOUND_SIMULATED || one->state == SUITE_FOUND_BOUND;
    bool alike = search->request.goal != SUITE_GOAL_FRONT || one->ranks == search->candidates[search->winner].ranks;
    return fits && alike;
}

/* Those that can, and their bounds on some machine. */
typedef struct {
    int *which; /* [count] candidates */
    suite_bounds *bounds;
    int count;
} rivals;

/* The place of the one whose bound is worth most to the goal; -1: none has a bound. */
static int find_lowest(const suite_search *search, const rivals *all)
{
    int lowest = -1;
    double least = 0, value;
    for (int i = 0; i < all->count; i++) {
        if (all->bounds[i].status != DIT_OK) continue;
        value = suite_search_value(search, &search->candidates[all->which[i]], all->bounds[i].seconds);
        if (lowest < 0 || value < least) lowest = i, least = value;
    }
    return lowest;
}

static dit_status find_change(suite_search *search, suite_search_part part, int before, rivals *all)
{
    suite_simulate_params params = suite_search_params(search);
    double *const faster[SUITE_CHANGE_COUNT] = {&params.faster.host, &params.faster.links, &params.faster.device};
    *faster[part] = search->request.what_if;
    DIT_TRY(suite_search_bounds(search, &params, NULL, all->which, all->count, all->bounds));
    int first = find_lowest(search, all);
    if (first < 0 || all->bounds[before].status != DIT_OK) return DIT_OK;
    search->changes[part] = (suite_search_change){all->which[first], all->which[before], all->bounds[first].seconds,
                                                  all->bounds[before].seconds};
    return DIT_OK;
}

static dit_status find_all(suite_search *search, rivals *all)
{
    for (int i = 0; i < search->count; i++) {
        if (!runs_beside(search, &search->candidates[i])) continue;
        all->which[all->count] = i;
        all->bounds[all->count++] = search->candidates[i].bounds;
    }
    int before = find_lowest(search, all);
    dit_status st = DIT_OK;
    for (int part = 0; before >= 0 && part < SUITE_CHANGE_COUNT && st == DIT_OK; part++)
        st = find_change(search, (suite_search_part)part, before, all);
    return st;
}

dit_status suite_search_find_changes(suite_search *search)
{
    for (int part = 0; part < SUITE_CHANGE_COUNT; part++)
        search->changes[part] = (suite_search_change){.first = -1, .before = -1};
    if (!(search->request.what_if > 0) || search->winner < 0 || search->request.goal == SUITE_GOAL_MEMORY)
        return DIT_OK;
    rivals all = {calloc((size_t)search->count, sizeof *all.which), calloc((size_t)search->count, sizeof *all.bounds),
                  0};
    dit_status st = all.which && all.bounds ? find_all(search, &all)
                                            : DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d bounds", search->count);
    free(all.which);
    free(all.bounds);
    return st;
}
