/* Looks: after how many pairs the numbers of `ditbench ab` are looked at, and how sure each look must be.
 *
 * Pairs beside which other processes used the cores do not count. The looks lie further and further apart, so that many
 * pairs need few of them: each has its part of the 5 % of false alarms.
 */
#ifndef DIT_SUITE_COMPARE_LOOKS_H
#define DIT_SUITE_COMPARE_LOOKS_H

#include <stdbool.h>

/* Pairs before the first look, the fewest pairs between two looks, and pairs of a case that stays undecided. Looks come
 * after 7, 11, 16, 24 and 36 pairs. Pairs that do not count are at most so many times those that may. */
enum { SUITE_LOOKS_FIRST = 7, SUITE_LOOKS_STEP = 4, SUITE_LOOKS_MOST = 36, SUITE_LOOKS_SPARES = 2 };

/* After how many pairs the look after that of `pairs` comes: half as many again, at most `most`; pairs < most. */
int suite_looks_next(int most, int pairs);
/* How often `most` pairs are looked at when the first look comes after `first` of them; most >= first. */
int suite_looks_count(int first, int most);
/* Whether there is a look after `pairs`. The last pair is always followed by one. */
bool suite_looks_after(int first, int most, int pairs);
/* How many pairs of a case may not count when `counted` do: more are a sign of a machine that stays busy. */
int suite_looks_spare(int first, int most, int counted);
/* The level of each of `looks` looks, so that all of them together raise no more false alarms than one at `level`:
 * whoever looks several times has several chances of one. */
double suite_looks_level(double level, int looks);

#endif
