#include "base/exchange.h"

#include <stddef.h>
#include <string.h>

static const char *const names[DIT_EXCHANGE_COUNT + 1] = {
    [DIT_EXCHANGE_ALL_REDUCE] = "all_reduce",         [DIT_EXCHANGE_ALL_GATHER] = "all_gather",
    [DIT_EXCHANGE_REDUCE_SCATTER] = "reduce_scatter", [DIT_EXCHANGE_ALL_TO_ALL] = "all_to_all",
    [DIT_EXCHANGE_SEND_RECV] = "send_recv",
};

const char *const *dit_exchange_names(void)
{
    return names;
}

int dit_exchange_from_name(const char *name)
{
    for (int i = 0; i < DIT_EXCHANGE_COUNT; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}
