#include "engine/sim/steady.h"

#include "engine/sim/sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is left between two repeats that take the same time, as a share of all time so far: rounding. */
static const double SAME = 1e-9;

enum { NEWEST = DIT_SIM_MARKS - 1 };

void dit_sim_mark(dit_sim_marks *m, const dit_runtime *rt)
{
    memmove(m->began_s, m->began_s + 1, sizeof m->began_s - sizeof *m->began_s);
    memmove(m->host_s, m->host_s + 1, sizeof m->host_s - sizeof *m->host_s);
    memmove(m->counted, m->counted + 1, sizeof m->counted - sizeof *m->counted);
    m->began_s[NEWEST] = dit_sim_now();
    m->host_s[NEWEST] = dit_sim_host_now();
    m->counted[NEWEST] = dit_sim_counted(rt);
    m->count++;
}

dit_sim_account dit_sim_marked(const dit_sim_marks *m)
{
    dit_sim_account repeat = {.seconds = m->began_s[NEWEST] - m->began_s[NEWEST - 1]};
    dit_sim_counted_grow(&repeat.counted, 1, &m->counted[NEWEST], &m->counted[NEWEST - 1]);
    return repeat;
}

typedef struct {
    double repeat_s, before_s, now_s; /* of the device */
    double host_repeat_s, host_now_s;
} own_times;

static bool is_alike(const own_times *rank, double mean_s, double alike, int left)
{
    double allowed = fmax(SAME * fabs(rank->now_s), alike * fabs(mean_s));
    return fabs(rank->repeat_s - rank->before_s) <= allowed && fabs(rank->repeat_s - mean_s) <= allowed &&
           rank->host_now_s + left * rank->host_repeat_s <= rank->now_s + left * (mean_s + allowed) + allowed;
}

dit_status dit_sim_is_steady(const dit_sim_marks *m, double alike, int left, bool *steady, double *seconds)
{
    const own_times own = {.repeat_s = m->began_s[2] - m->began_s[1],
                           .before_s = m->began_s[1] - m->began_s[0],
                           .now_s = m->began_s[2],
                           .host_repeat_s = m->host_s[2] - m->host_s[1],
                           .host_now_s = m->host_s[2]};
    int size = dit_comm_size(dit_comm_world());
    own_times *all;
    double sum_s = 0;
    int64_t *offsets = calloc((size_t)size + 1, sizeof *offsets);
    if (!offsets) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d ranks", size);
    dit_status st = dit_comm_collect(dit_comm_world(), &own, (int64_t)sizeof own, (char **)(void *)&all, offsets);
    free(offsets);
    if (st != DIT_OK) return st;
    for (int rank = 0; rank < size; rank++) sum_s += all[rank].repeat_s;
    *seconds = sum_s / size;
    *steady = m->count >= DIT_SIM_MARKS;
    for (int rank = 0; rank < size; rank++) *steady = *steady && is_alike(&all[rank], *seconds, alike, left);
    free(all);
    return DIT_OK;
}
