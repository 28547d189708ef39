#include "suite/procure/split.h"

#include <stdlib.h>

const char *suite_slo_verdict_name(suite_slo_verdict verdict)
{
    static const char *const names[SUITE_SLO_COUNT] = {"", "meets", "likely", "unlikely", "misses", "unsure"};
    return names[verdict];
}

const suite_split *suite_exact_beside(const suite_procured *procured, const suite_split *approximate)
{
    for (int i = 0; i < procured->count; i++) {
        const suite_split *one = &procured->splits[i];
        if (one->machine == approximate->machine && one->devices == approximate->devices && one->chosen) return one;
    }
    return NULL;
}

int64_t suite_split_memory(const suite_split *split)
{
    const suite_search_candidate *fullest = split->chosen;
    for (int i = 0; i <= SUITE_MENU_DOUBLINGS && 1 << i <= split->batch; i++)
        if (split->item->batched[i]) fullest = split->item->batched[i];
    return fullest->bounds.memory_bytes;
}

void suite_procured_release(suite_procured *procured)
{
    for (int i = 0; i < procured->count; i++) suite_price_release(&procured->splits[i].price);
    for (int i = 0; i < procured->search_count; i++) suite_search_release(&procured->searches[i]);
    for (int i = 0; i < procured->approximate_count; i++) suite_price_release(&procured->approximate[i].price);
    for (int i = 0; i < procured->menu_count; i++) suite_menu_release(&procured->menus[i]);
    free(procured->approximate);
    free(procured->menus);
    suite_loads_release(&procured->loads);
    free(procured->splits);
    free(procured->pairs);
    free(procured->searches);
    *procured = (suite_procured){.count = 0};
}
