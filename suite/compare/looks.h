/* Looks: after how many pairs the numbers of `ditbench ab` are looked at, and how sure each look must be. */
#ifndef DIT_SUITE_COMPARE_LOOKS_H
#define DIT_SUITE_COMPARE_LOOKS_H

#include <stdbool.h>

/* Pairs before the first look, pairs between two looks, and pairs of a case that stays undecided. */
enum { SUITE_LOOKS_FIRST = 7, SUITE_LOOKS_NEXT = 4, SUITE_LOOKS_MOST = 15 };

/* How often `most` pairs are looked at when the first look comes after `first` of them; most >= first. */
int suite_looks_count(int first, int most);
/* Whether there is a look after `pairs`. The last pair is always followed by one. */
bool suite_looks_after(int first, int most, int pairs);
/* The level of each of `looks` looks, so that all of them together raise no more false alarms than one at `level`:
 * whoever looks several times has several chances of one. */
double suite_looks_level(double level, int looks);

#endif
