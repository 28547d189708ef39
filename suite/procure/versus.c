#include "suite/procure/versus.h"

#include "suite/procure/contest.h"

int suite_answer_of(const suite_procured *procured, int machine)
{
    int first = -1;
    for (int i = 0; i < procured->count; i++) {
        const suite_split *split = &procured->splits[i];
        if (split->machine != machine || !split->chosen) continue;
        if (split->least) return i;
        if (first < 0) first = i;
    }
    return first;
}

/* The rent of `one` at which 1,000 images cost what they cost on the other. */
static double even_price(const suite_split *one, const suite_split *other)
{
    if (one->per_1000.value > 0 && other->per_1000.value > 0)
        return one->price.median * other->per_1000.value / one->per_1000.value;
    return other->per_1000.value > 0 ? other->per_1000.value * one->images_per_hour.value / 1000 : 0;
}

dit_status suite_versus_find(const suite_procure_request *request, suite_procured *out)
{
    suite_versus *versus = &out->versus;
    if (!request->versus) return DIT_OK;
    versus->a = suite_answer_of(out, 0);
    versus->b = suite_answer_of(out, 1);
    if (versus->a < 0 || versus->b < 0) return DIT_OK;
    const suite_split *a = &out->splits[versus->a], *b = &out->splits[versus->b];
    for (int goal = 0; goal < SUITE_PROCURE_GOALS; goal++) {
        suite_procure_request asked = *request;
        asked.goal = (suite_procure_goal)goal;
        versus->judged[goal] = suite_contest_enters(&asked, a) && suite_contest_enters(&asked, b);
        if (versus->judged[goal]) DIT_TRY(suite_contest_pair(&asked, &out->loads, a, b, &versus->pair[goal]));
    }
    versus->even_a = even_price(a, b);
    versus->even_b = even_price(b, a);
    versus->there = true;
    return DIT_OK;
}
