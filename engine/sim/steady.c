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

dit_status dit_sim_is_steady(const dit_sim_marks *m, bool *steady, double *seconds)
{
    double own[4] = {m->began_s[2] - m->began_s[1], m->began_s[1] - m->began_s[0], m->began_s[2],
                     m->host_s[2] - m->host_s[1]};
    int size = dit_comm_size(dit_comm_world());
    char *all;
    int64_t *offsets = calloc((size_t)size + 1, sizeof *offsets);
    if (!offsets) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d ranks", size);
    dit_status st = dit_comm_collect(dit_comm_world(), own, (int64_t)sizeof own, &all, offsets);
    *steady = st == DIT_OK && m->count >= DIT_SIM_MARKS;
    for (int rank = 0; rank < size && st == DIT_OK; rank++) {
        double other[4];
        memcpy(other, all + offsets[rank], sizeof other);
        if (rank == 0) *seconds = other[0];
        double allowed = SAME * fabs(other[2]);
        *steady = *steady && fabs(other[0] - other[1]) <= allowed && fabs(other[0] - *seconds) <= allowed &&
                  other[3] <= *seconds + allowed;
    }
    if (st == DIT_OK) free(all);
    free(offsets);
    return st;
}
