#include "suite/search/race.h"

#include <math.h>

double suite_race_best(const suite_runner *runners, int count, int group)
{
    double best = INFINITY;
    for (int i = 0; i < count; i++)
        if (!runners[i].out && runners[i].group == group && runners[i].time > 0 && runners[i].time < best)
            best = runners[i].time;
    return best;
}

bool suite_race_is_open(const suite_runner *runners, int count, int index, double within)
{
    const suite_runner *one = &runners[index];
    if (one->out || one->time > 0) return false;
    return one->bound * (1 + within) < suite_race_best(runners, count, one->group);
}

/* By insertion: there are a few thousand at most, and equal ones keep their order. */
int suite_race_order(const suite_runner *runners, int count, int *order)
{
    int placed = 0;
    for (int i = 0; i < count; i++) {
        if (runners[i].out || runners[i].time > 0) continue;
        int at = placed++;
        for (; at > 0 && runners[order[at - 1]].bound > runners[i].bound; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    return placed;
}
