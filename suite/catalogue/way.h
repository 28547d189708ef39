/* Way: the words in which a workload asks for a plan: ways of sharing a layer of a transformer in training, what stages
 * are balanced by, and what chooses a strategy of its own.
 */
#ifndef DIT_SUITE_CATALOGUE_WAY_H
#define DIT_SUITE_CATALOGUE_WAY_H

#include <stdbool.h>
#include <stddef.h>

/* Ways of sharing a layer, joined with "+" in a set: constant, word, what it is. */
#define SUITE_WAY_LIST(X)                                                                                              \
    X(DATA, "data", "replicated weights, each rank its sequences")                                                     \
    X(SHARD, "shard", "sharded weights, gathered when needed (ZeRO-3, FSDP)")                                          \
    X(TENSOR, "tensor", "each rank its heads and columns (Megatron-LM)")                                               \
    X(PIPELINE, "pipeline", "stages of consecutive layers, one forward and one backward in turn")                      \
    X(RECOMPUTE, "recompute", "activations computed again in the backward pass")

typedef enum {
#define SUITE_WAY_ENUM(constant, word, meaning) SUITE_WAY_##constant,
    SUITE_WAY_LIST(SUITE_WAY_ENUM)
#undef SUITE_WAY_ENUM
        SUITE_WAY_COUNT
} suite_way;

/* How layers are divided into stages. NONE: equally many; TIME: the slowest stage as fast as it can be; MEMORY: the
 * fullest as empty as it can be; BOTH: the fastest plan whose stages all fit. */
typedef enum {
    SUITE_BALANCE_NONE,
    SUITE_BALANCE_TIME,
    SUITE_BALANCE_MEMORY,
    SUITE_BALANCE_BOTH,
    SUITE_BALANCE_COUNT
} suite_balance;

/* What chooses a strategy: a whole layer, or each of its matrix products by itself. */
typedef enum { SUITE_UNIT_LAYER, SUITE_UNIT_OPERATOR, SUITE_UNIT_COUNT } suite_unit;

/* Whether sharing and recomputing are chosen together. */
typedef enum { SUITE_SEARCH_JOINT, SUITE_SEARCH_IN_TURN, SUITE_SEARCH_COUNT } suite_search_order;

/* Words of the members that are words; NULL-terminated. */
const char *const *suite_way_words(void);
const char *const *suite_balance_words(void);
const char *const *suite_unit_words(void);
const char *const *suite_search_order_words(void);

/* Reads "data+tensor". Returns false for anything but distinct words of the list joined with "+". */
bool suite_ways_from_text(const char *text, unsigned *out);
/* Writes the words in the order of the list. */
void suite_ways_text(unsigned ways, char *out, size_t size);

#endif
