/* Hops: a ring of very many ranks from the first of its hops.
 *
 * Every hop of a ring is as the one before: the same rows travel to the same neighbour beside the same attention. In
 * very large worlds only some first hops are messages; those behind them take as long as the last of these, and what is
 * computed beside them is charged as ever. Afterwards the ranks compare: hops that went on changing, or took one rank
 * longer than another, want more of them.
 */
#ifndef DIT_ENGINE_SIM_HOPS_H
#define DIT_ENGINE_SIM_HOPS_H

#include "engine/comm/comm.h"

/* One ring as one of its ranks sees it. Zeroed at the start. */
typedef struct {
    int64_t begun;  /* hops, of all turns around the ring                  */
    int64_t at, of; /* the newest one in its turn, of so many             */
    double ended_s; /* the one before                                     */
    double seconds; /* that one took                                      */
} dit_sim_ring;

/* From now on rings of more than twice so many hops are told by their first `hops`; 0: by all. Forgets what it saw. */
void dit_sim_hops_set(int hops);
/* The next hop begins; a turn has `of` of them. Returns true if it is left out: then there is no message. */
bool dit_sim_hops_next(dit_sim_ring *ring, int64_t of);
/* It is over at `now_s`, its message has come. */
void dit_sim_hops_arrived(dit_sim_ring *ring, double now_s);
/* When the message of a hop that is none would have come; the hop is over then. */
double dit_sim_hops_due(dit_sim_ring *ring);
/* Collective: whether all that was left out since dit_sim_hops_set was like what was there, to DIT_SIM_SHARES_ALIKE of
 * a hop. *left_out: whether anything was. Errors: DIT_ERR_MEMORY, DIT_ERR_MPI. */
dit_status dit_sim_hops_are_alike(bool *alike, bool *left_out);

#endif
