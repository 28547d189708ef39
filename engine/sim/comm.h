/* Communicator of a simulation: MPI's own calls under SimGrid, with messages that carry nothing and take as long as the
 * collective library would.
 *
 * The world is no such library. What ranks tell each other there, outside the measured region, is real and takes no
 * time: they lie in one process and read each other's memory.
 */
#ifndef DIT_ENGINE_SIM_COMM_H
#define DIT_ENGINE_SIM_COMM_H

#include "engine/comm/comm_impl.h"
#include "engine/sim/sim.h"

/* The library that dit_comm_start_with takes beside dit_comm_simulated; outlives the communicators. */
typedef struct {
    dit_sim *sim;                  /* of this rank                      */
    struct dit_sim_buffer *buffer; /* of all ranks; NULL until it starts */
    struct dit_sim_world *world;   /* of all ranks; NULL until it starts */
    /* NULL: MPI's. Else an implementation that needs no other rank (engine/bound/lone_rank.h) and is started in place of
     * dit_comm_simulated; messages_library is given to its create. */
    const dit_comm_ops *messages;
    void *messages_library;
} dit_sim_library;

extern const dit_comm_ops dit_comm_simulated;

#endif
