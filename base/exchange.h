/* Exchanges: the operations that `ditbench collective` times, by the names that cases and options use. */
#ifndef DIT_BASE_EXCHANGE_H
#define DIT_BASE_EXCHANGE_H

typedef enum {
    DIT_EXCHANGE_ALL_REDUCE,
    DIT_EXCHANGE_ALL_GATHER,
    DIT_EXCHANGE_REDUCE_SCATTER,
    DIT_EXCHANGE_ALL_TO_ALL,
    DIT_EXCHANGE_SEND_RECV,
    DIT_EXCHANGE_COUNT
} dit_exchange;

/* Returns the names in the order of the enumerators, NULL after the last. */
const char *const *dit_exchange_names(void);
/* Returns the index of a name, or -1. */
int dit_exchange_from_name(const char *name);

#endif
