/* Hops: a ring of very many ranks, told by its first hops.
 *
 * Every hop of a ring is like the one before: as many rows travel to the same neighbour beside the same attention. In
 * very large worlds only the first hops are messages. Each later hop takes as long as the last of the first ones, and
 * what is computed beside it is charged as ever. Afterwards the ranks compare: where hops still changed, or took one
 * rank longer than another, more of them have to be messages.
 */
#ifndef DIT_ENGINE_SIM_HOPS_H
#define DIT_ENGINE_SIM_HOPS_H

#include "engine/comm/comm.h"

/* Repeats that differ by no more than this share are alike. SimGrid shares links out to 1e-5: where ranks of several
 * nodes meet on one link, repeats go on differing by that. */
#define DIT_SIM_SHARES_ALIKE 1e-5

/* One rank's choice, and what it saw of all rings since it was made. */
typedef struct {
    int64_t simulated;        /* hops of a long ring that are messages; 0: all of them     */
    double unlike;            /* the most that the last two of them differed, as a share   */
    double longest, shortest; /* of the hops that stand for those left out, in seconds     */
    bool any;                 /* hops were left out                                        */
} dit_sim_hops;

/* One ring as one of its ranks sees it. Zeroed at the start. */
typedef struct {
    int64_t begun;  /* hops, of all turns around the ring      */
    int64_t at, of; /* the newest one in its turn, of so many  */
    double ended_s; /* when the one before it ended            */
    double seconds; /* how long that one took                  */
} dit_sim_ring;

/* Rings of more than twice `simulated` hops are told by so many from now on; 0: no ring is. */
dit_sim_hops dit_sim_hops_of(int simulated);
/* The next hop of a turn of `of` begins. Returns true if it is left out: then it is no message. */
bool dit_sim_hops_next(const dit_sim_hops *hops, dit_sim_ring *ring, int64_t of);
/* The next hop of a turn of `of` begins, none of which is left out. Returns true for the turn's first. */
bool dit_sim_hops_first(dit_sim_ring *ring, int64_t of);
/* The message of a hop has arrived, and the hop ends, at `now_s`. */
void dit_sim_hops_arrived(dit_sim_hops *hops, dit_sim_ring *ring, double now_s);
/* Returns when the message of a hop that is left out would have arrived. The hop ends then. */
double dit_sim_hops_due(dit_sim_ring *ring);
/* Collective over the world. *left_out: some rank's hops were. *alike: they were like those that were messages, to
 * DIT_SIM_SHARES_ALIKE of a hop, on all ranks. Errors: DIT_ERR_MEMORY, DIT_ERR_MPI. */
dit_status dit_sim_hops_are_alike(const dit_sim_hops *hops, bool *alike, bool *left_out);

#endif
