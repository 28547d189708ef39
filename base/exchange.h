/* Exchanges: the operations that `ditbench collective` times, under the names that cases and options give them. */
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

/* The names in this order, NULL after the last. */
const char *const *dit_exchange_names(void);
/* The index of a name, or -1. */
int dit_exchange_from_name(const char *name);

#endif
