#include "suite/run/order.h"

#include "base/rng.h"

/* A block is shuffled as a deck of cards is (Fisher and Yates), half of which say "old". */
bool suite_order_old_first(uint64_t seed, uint64_t stream, int pair)
{
    bool deck[SUITE_ORDER_BLOCK];
    const uint64_t first = (uint64_t)pair / SUITE_ORDER_BLOCK * SUITE_ORDER_BLOCK;
    for (int i = 0; i < SUITE_ORDER_BLOCK; i++) deck[i] = i < SUITE_ORDER_BLOCK / 2;
    for (int i = SUITE_ORDER_BLOCK - 1; i > 0; i--) {
        int other = (int)dit_rng_below(seed, stream, first + (uint64_t)i, (uint64_t)i + 1);
        bool kept = deck[i];
        deck[i] = deck[other];
        deck[other] = kept;
    }
    return deck[pair % SUITE_ORDER_BLOCK];
}
