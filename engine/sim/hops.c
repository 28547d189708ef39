#include "engine/sim/hops.h"

#include "engine/sim/watch.h"

#include <math.h>
#include <stdlib.h>

/* Of this rank. */
static int64_t simulated; /* hops of a long ring; 0: all */
static struct {
    double unlike;            /* the most that two hops differed, as a share of one      */
    double longest, shortest; /* of the hops that others are told by                   */
    bool any;
} seen;

void dit_sim_hops_set(int hops)
{
    simulated = hops;
    seen.unlike = seen.longest = 0, seen.shortest = INFINITY, seen.any = false;
}

static bool is_long(const dit_sim_ring *ring)
{
    return simulated > 0 && ring->of > 2 * simulated;
}

bool dit_sim_hops_next(dit_sim_ring *ring, int64_t of)
{
    ring->at = ring->begun++ % of, ring->of = of;
    return is_long(ring) && ring->at >= simulated;
}

/* The hop that others are told by, beside the one before it. */
static void compare(double seconds, double before_s)
{
    seen.any = true;
    seen.unlike = fmax(seen.unlike, fabs(seconds - before_s) / seconds);
    seen.longest = fmax(seen.longest, seconds), seen.shortest = fmin(seen.shortest, seconds);
}

void dit_sim_hops_arrived(dit_sim_ring *ring, double now_s)
{
    double seconds = now_s - ring->ended_s;
    if (is_long(ring) && ring->at == simulated - 1) compare(seconds, ring->seconds);
    ring->ended_s = now_s, ring->seconds = seconds;
}

double dit_sim_hops_due(dit_sim_ring *ring)
{
    ring->ended_s += ring->seconds;
    return ring->ended_s;
}

dit_status dit_sim_hops_are_alike(bool *alike, bool *left_out)
{
    int size = dit_comm_size(dit_comm_world());
    double own[] = {seen.unlike, seen.longest, seen.shortest}, (*all)[3] = calloc((size_t)size, sizeof *all);
    double longest = 0, shortest = INFINITY;
    *left_out = seen.any, *alike = true;
    if (!all) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d ranks", size);
    dit_status st = dit_comm_all_gather(dit_comm_world(), own, all, (int64_t)sizeof own);
    for (int rank = 0; rank < size && st == DIT_OK; rank++) {
        *alike = *alike && all[rank][0] <= DIT_SIM_SHARES_ALIKE;
        longest = fmax(longest, all[rank][1]), shortest = fmin(shortest, all[rank][2]);
    }
    *alike = *alike && (!*left_out || longest - shortest <= DIT_SIM_SHARES_ALIKE * longest);
    free(all);
    return st;
}
