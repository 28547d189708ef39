/* Lone rank: one rank of a simulated world that has every link to itself, and never waits for another rank.
 *
 * It stands in the place of MPI below the simulator's communicator (engine/sim/comm.h): what the collective library
 * adds is charged as in a simulation, but a message takes its latency and its bytes over the narrowest link of its
 * route, from the moment at which this rank is ready for it. No message of a simulation is faster. Nothing is shared
 * with another process, so one process does one rank of one world after the other.
 */
#ifndef DIT_ENGINE_BOUND_LONE_RANK_H
#define DIT_ENGINE_BOUND_LONE_RANK_H

#include "base/axis.h"
#include "engine/sim/comm.h"

/* What the rank sent in its group of one axis, whose ranks are `stride` apart: [size] bytes on SimGrid's links, by how
 * many places farther round the receiver is. */
typedef struct {
    int stride, size;
    double *bytes, *now, *before; /* all so far; at the newest two marks */
} dit_lone_sent;

/* A rank and what it sent. */
typedef struct {
    dit_sim_library library; /* `sim` is the caller's */
    int rank, size;
    dit_lone_sent sent[DIT_GROUP_COUNT];
    int sent_count;
} dit_lone_rank;

/* The clock that lone ranks live by, in place of SimGrid's; bandwidths are those of SimGrid's routes. */
extern const dit_sim_grid dit_lone_grid;

/* Makes this process rank `rank` of a world of `size` ranks, at time 0. `sim` was created on dit_lone_grid. `out` must
 * not be moved; finish accepts a zeroed one. Errors: DIT_ERR_MEMORY. */
dit_status dit_lone_rank_start(dit_sim *sim, int rank, int size, dit_lone_rank *out);
void dit_lone_rank_finish(dit_lone_rank *lone);

/* Marks what was sent so far. */
void dit_lone_rank_mark(dit_lone_rank *lone);
/* Adds what was sent between the newest two marks so many times. */
void dit_lone_rank_repeat(dit_lone_rank *lone, int times);
/* Computes the least time that the messages of all ranks take, where every rank sends in its own groups what this one
 * sent: the bytes over the busiest link, over its bandwidth. Errors: DIT_ERR_MEMORY. */
dit_status dit_lone_rank_wire(const dit_lone_rank *lone, double *seconds);

#endif
