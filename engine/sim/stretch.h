/* Stretch: a whole case from a few of its steps, and in very large worlds from a few of its blocks.
 *
 * Steps repeat. Once two steps in a row have taken every rank the same time, all later ones do, too: a simulation has
 * no chance in it, and each step begins as the one before began, only later. So the first steps and the last one are
 * simulated, and those between are added (watch.h). In worlds of DIT_SIM_LAYERED_WORLD ranks and more, blocks of one
 * kind repeat as well: a model with one block of each kind, and models with one more of one kind, tell any number of
 * blocks. The first hops of a long ring tell the others (hops.h).
 */
#ifndef DIT_ENGINE_SIM_STRETCH_H
#define DIT_ENGINE_SIM_STRETCH_H

#include "engine/sim/account.h"
#include "engine/sim/sim.h"

enum { DIT_SIM_LAYERED_WORLD = 256 };

typedef struct {
    bool replay;  /* simulate every step of every block        */
    bool layered; /* stretch blocks in a world of any size     */
} dit_sim_stretch;

typedef struct {
    dit_sim_account account;
    int64_t *step_ns;             /* [steps of the case], from malloc; the caller frees it                 */
    int steps;                    /* how many steps were simulated                                         */
    int layers, hops;             /* how many blocks, and hops of long rings; 0: all                       */
    double alike;                 /* the share of a step to which repeated steps agree; 0: 1e-9            */
    int64_t setup_ns, weights_ns; /* as in dit_pipeline                                                    */
    int64_t load_peak;            /* the most memory while loading, in fp32 bytes                          */
    int coordinates[DIT_AXIS_COUNT];
    dit_volume_table shards; /* what the rank must send of its shard of weights, in fp32 bytes         */
    int64_t shard_bytes;     /* of that shard, in fp32 bytes; 0: weights are whole                       */
} dit_sim_outcome;

/* Simulates the denoising of `doc`, changing its number of blocks meanwhile. Collective. Errors: those of
 * dit_pipeline_create_guest and dit_pipeline_run; DIT_ERR_BYTES_MISMATCH when a rank did not send what the closed form
 * says. */
dit_status dit_sim_stretched(dit_sim *sim, const dit_json *doc, const dit_sim_stretch *stretch, dit_sim_outcome *out);

#endif
