/* SimGrid: what the simulator asks of it. Everything else that costs time is this folder's own, so that a test can
 * answer in SimGrid's place.
 */
#ifndef DIT_ENGINE_SIM_SIMGRID_H
#define DIT_ENGINE_SIM_SIMGRID_H

#include "base/status.h"

#include <stdint.h>

typedef struct {
    double (*now_s)(void);        /* the simulated clock                                        */
    void (*pass)(double seconds); /* this rank does nothing for so long, on its core of the host */
    /* Bytes per second of the narrowest link between two hosts. 0: they are one host, or not both there. */
    double (*bandwidth)(const char *from, const char *to);
} dit_sim_grid;

extern const dit_sim_grid dit_sim_simgrid;

/* Collective over the world: *out is zeroed memory that all ranks see, because SimGrid runs them in one process. From
 * calloc; the last rank to use it frees it. Errors: DIT_ERR_MEMORY. */
dit_status dit_sim_shared(int64_t bytes, void **out);

#endif
