#include "suite/procure/split.h"

#include <stdlib.h>

const char *suite_slo_verdict_name(suite_slo_verdict verdict)
{
    static const char *const names[SUITE_SLO_COUNT] = {"", "meets", "likely", "unlikely", "misses", "unsure"};
    return names[verdict];
}

void suite_procured_release(suite_procured *procured)
{
    for (int i = 0; i < procured->count; i++) suite_price_release(&procured->splits[i].price);
    for (int i = 0; i < procured->search_count; i++) suite_search_release(&procured->searches[i]);
    suite_loads_release(&procured->loads);
    free(procured->splits);
    free(procured->pairs);
    free(procured->searches);
    *procured = (suite_procured){.count = 0};
}
