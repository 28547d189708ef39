/* Race: in which order meshes are simulated, and when the rest need not be. Pure.
 *
 * Each runner has a bound that its time is not below. The one with the lowest bound goes first. A runner whose bound is
 * no lower than the best time of its group cannot win.
 */
#ifndef DIT_SUITE_SEARCH_RACE_H
#define DIT_SUITE_SEARCH_RACE_H

#include <stdbool.h>

typedef struct {
    double bound, time; /* time 0: not known */
    int group;          /* who it runs against, from 0  */
    bool out;           /* it does not run              */
} suite_runner;

/* Gives the best known time of a group; INFINITY: none. */
double suite_race_best(const suite_runner *runners, int count, int group);
/* Returns true if runner `index` has to run: its time is not known, and may be more than the share `within` better than
 * the best of its group: bound (1 + within) < best. */
bool suite_race_is_open(const suite_runner *runners, int count, int index, double within);
/* Lists the runners whose time is not known and that are not out, those with the lowest bound first, equal ones in
 * their own order. `order` holds `count`. Returns how many. */
int suite_race_order(const suite_runner *runners, int count, int *order);

#endif
