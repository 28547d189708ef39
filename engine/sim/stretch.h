/* Stretch: a whole case from a few of its steps, and in very large worlds from a few of its blocks.
 *
 * Steps repeat. Once two steps in a row take every rank the same time, all further ones do: simulation has no chance in
 * it, and the second began as the first did, later. So some first steps are simulated with the last one behind them,
 * and what lies between is added (watch.h). In worlds of DIT_SIM_LAYERED_WORLD ranks and more, blocks of one kind
 * repeat as well: a model of one block of each kind, and one more for each kind in turn, tell of any number of blocks;
 * and of a long ring the first hops tell of all (hops.h).
 */
#ifndef DIT_ENGINE_SIM_STRETCH_H
#define DIT_ENGINE_SIM_STRETCH_H

#include "engine/sim/account.h"
#include "engine/sim/sim.h"

enum { DIT_SIM_LAYERED_WORLD = 256 };

typedef struct {
    bool replay;  /* every step of every block */
    bool layered; /* blocks are stretched whatever the size of the world */
} dit_sim_stretch;

typedef struct {
    dit_sim_account account;
    int64_t *step_ns;             /* [steps of the case], from malloc; the caller frees it         */
    int steps, layers, hops;      /* that were simulated; layers, hops of long rings 0: all        */
    double alike;                 /* to which share of a step the repeated ones agree; 0: to 1e-9  */
    int64_t setup_ns, weights_ns; /* of making ready                                               */
    int64_t load_peak;            /* fp32 bytes                                                    */
    int coordinates[DIT_AXIS_COUNT];
} dit_sim_outcome;

/* Collective. Simulates the denoising of `doc`, whose number of steps and blocks is changed meanwhile. Errors: as
 * dit_pipeline_create and dit_pipeline_run; DIT_ERR_BYTES_MISMATCH when what was sent is not the closed form. */
dit_status dit_sim_stretched(dit_sim *sim, const dit_json *doc, const dit_sim_stretch *stretch, dit_sim_outcome *out);

#endif
