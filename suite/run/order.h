/* Order: which side of a pair runs first.
 *
 * In each block of eight pairs either side is first four times, in random order. So what makes the first or the second
 * of a pair slow (a neighbour that comes when one ends, a warm core) hits both sides equally often, and cannot look like
 * a change. Shorter blocks would follow a rhythm: two pairs with opposite orders make a neighbour that comes with every
 * second process look like one.
 */
#ifndef DIT_SUITE_RUN_ORDER_H
#define DIT_SUITE_RUN_ORDER_H

#include <stdbool.h>
#include <stdint.h>

enum { SUITE_ORDER_BLOCK = 8 };

/* Returns whether the old side runs first in pair `pair` >= 0 of the case with this random stream. */
bool suite_order_old_first(uint64_t seed, uint64_t stream, int pair);

#endif
