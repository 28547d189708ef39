#include "engine/sim/hops.h"

#include <math.h>
#include <stdlib.h>

dit_sim_hops dit_sim_hops_of(int simulated)
{
    return (dit_sim_hops){.simulated = simulated, .shortest = INFINITY};
}

static bool is_long(const dit_sim_hops *hops, const dit_sim_ring *ring)
{
    return hops->simulated > 0 && ring->of > 2 * hops->simulated;
}

bool dit_sim_hops_next(const dit_sim_hops *hops, dit_sim_ring *ring, int64_t of)
{
    ring->at = ring->begun++ % of, ring->of = of;
    return is_long(hops, ring) && ring->at >= hops->simulated;
}

bool dit_sim_hops_first(dit_sim_ring *ring, int64_t of)
{
    return ring->begun++ % of == 0;
}

/* The hop that stands for those left out, beside the one before it. */
static void compare(dit_sim_hops *hops, double seconds, double before_s)
{
    hops->any = true;
    hops->unlike = fmax(hops->unlike, fabs(seconds - before_s) / seconds);
    hops->longest = fmax(hops->longest, seconds), hops->shortest = fmin(hops->shortest, seconds);
}

void dit_sim_hops_arrived(dit_sim_hops *hops, dit_sim_ring *ring, double now_s)
{
    double seconds = now_s - ring->ended_s;
    if (is_long(hops, ring) && ring->at == hops->simulated - 1) compare(hops, seconds, ring->seconds);
    ring->ended_s = now_s, ring->seconds = seconds;
}

double dit_sim_hops_due(dit_sim_ring *ring)
{
    ring->ended_s += ring->seconds;
    return ring->ended_s;
}

dit_status dit_sim_hops_are_alike(const dit_sim_hops *hops, bool *alike, bool *left_out)
{
    int size = dit_comm_size(dit_comm_world());
    double own[] = {hops->unlike, hops->longest, hops->shortest}, (*all)[3] = calloc((size_t)size, sizeof *all);
    double longest = 0, shortest = INFINITY;
    *left_out = hops->any, *alike = true;
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
