/* SimGrid: what the simulator asks of it. Everything else that costs time is this folder's own, so that a test can
 * answer in SimGrid's place.
 */
#ifndef DIT_ENGINE_SIM_SIMGRID_H
#define DIT_ENGINE_SIM_SIMGRID_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    double (*now_s)(void);        /* the simulated clock                                        */
    void (*pass)(double seconds); /* this rank does nothing for so long, on its core of the host */
    /* Bytes per second of the narrowest link between two hosts. 0: they are one host, or not both there. */
    double (*bandwidth)(const char *from, const char *to);
} dit_sim_grid;

extern const dit_sim_grid dit_sim_simgrid;

/* A link of a route. `id` tells links apart; both directions of a duplex link are links of their own. */
typedef struct {
    const void *id;
    double bandwidth_bytes_per_s;
    bool shared; /* by all messages on it; false: a limit of each message alone */
} dit_sim_route_link;
/* Lists the links from one host to another into out[room], a link that is crossed twice twice. Returns their number,
 * which may be above `room`; 0: they are one host, or not both there. *latency_s: of all of them. */
int dit_sim_route(const char *from, const char *to, int room, dit_sim_route_link *out, double *latency_s);

/* Collective over the world: *out is zeroed memory that all ranks see, because SimGrid runs them in one process. From
 * calloc; the last rank to use it frees it. Errors: DIT_ERR_MEMORY. */
dit_status dit_sim_shared(int64_t bytes, void **out);

#endif
