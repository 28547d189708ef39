/* Cache: forwards that reuse what their middle blocks added to the stream in an earlier step.
 *
 *   begin, embed, first blocks -> decision -- compute --> middle blocks, kept := what they added --> last blocks, head
 *                                         \--- reuse ---> stream += kept, or its forecast ------/
 *
 * Policies of modules run all blocks, whose modules are computed or taken from what is kept (modules.c).
 *
 * Beside displaced patches and in a pipeline only steps that are known are reused: such a step sends no K and V, and those
 * that a later one finds are as old as the step that computed them. A stage keeps what its own blocks add, band by band.
 *
 * base/cache.h has the settings and says which steps are known before the run. Where a test decides, an indicator
 * (cache_impl.h) gives two sums over this rank's rows; ranks that share an image exchange them and add them in the order
 * of ranks, so that all decide alike. Guidance branches are decided for together.
 */
#ifndef DIT_ENGINE_CACHE_H
#define DIT_ENGINE_CACHE_H

#include "base/cache.h"
#include "engine/models/model.h"

#include <math.h>

typedef struct dit_cache_run dit_cache_run;

#define DIT_CACHE_UNTESTED (-INFINITY)

/* What was decided in the newest request. Plain data: ranks send it as bytes. */
typedef struct {
    int steps, tests, hits;
    int group;                                  /* ranks of one number make the same images, and decide together */
    char reasons[DIT_CACHE_MAX_STEPS + 1];      /* a letter for each step (base/cache.h)              */
    double values[DIT_CACHE_MAX_STEPS];         /* what tests compared with the threshold; DIT_CACHE_UNTESTED: no test;
                                              where each block has one, that which came nearest to its own threshold,
                                              over this, times the settings' threshold */
    int oldest;                                 /* most steps since what was reused had been computed */
    dit_module_set reused[DIT_CACHE_MAX_STEPS]; /* kinds of modules, in each step                */
    unsigned char blocks[DIT_CACHE_MAX_STEPS]
                        [DIT_CACHE_MAX_BLOCKS / 8]; /* a bit of each block that was reused by itself */
} dit_cache_log;

/* True if block `block` was reused by itself in a step; dit_cache_log_prune writes that down. */
static inline bool dit_cache_log_pruned(const dit_cache_log *log, int step, int64_t block)
{
    return log->blocks[step][block / 8] >> block % 8 & 1;
}
static inline void dit_cache_log_prune(dit_cache_log *log, int step, int64_t block)
{
    log->blocks[step][block / 8] |= (unsigned char)(1 << block % 8);
}

/* Takes the memory of a cache for `model`, from rt->image (state) and rt->step, for runs of `steps` steps. `cache` has
 * passed dit_cache_check. The result lies in rt->run. Errors: DIT_ERR_MEMORY. */
dit_status dit_cache_create(dit_model *model, const dit_cache *cache, int steps, dit_cache_run **out);
/* Tells a policy that goes by timesteps which ones the run has: float [steps]. It is called before the first request. */
void dit_cache_set_timesteps(dit_cache_run *run, const float *timestep);
/* Begins a request: nothing is kept any more. */
void dit_cache_reset(dit_cache_run *run);
/* As dit_model_forward, with the middle blocks computed or reused. Steps come in order, from 0. Errors: those of the
 * model; DIT_ERR_NONFINITE for an indicator that is no number. */
dit_status dit_cache_forward(dit_cache_run *run, const dit_forward_args *args);

/* Runs the blocks of a stage over the rows of the model's window, computed or reused; `between` as in dit_model_blocks.
 * Bands of a step come in order. What decides is known before the run. Errors: those of the model. */
dit_status dit_cache_blocks(dit_cache_run *run, void (*between)(void *context), void *context);

/* Fills the log with the decisions that settings alone tell, as if a request had run: what is known before the run, for
 * those who compute nothing. The settings have passed dit_cache_check_known. */
void dit_cache_foresee(dit_cache_run *run);

const dit_cache_log *dit_cache_log_of(const dit_cache_run *run);
/* What the closed forms need of a log; of the run's own; run NULL: that of a run without a cache, zeros. */
dit_cache_use dit_cache_use_of(const dit_cache *cache, const dit_cache_log *log);
dit_cache_use dit_cache_own_use(const dit_cache_run *run);
const dit_cache *dit_cache_settings(const dit_cache_run *run);
/* Returns the kinds of modules that the policy reuses and the model has; 0: the policy reuses middle blocks. */
dit_module_set dit_cache_own_modules(const dit_cache_run *run);
/* Returns the most steps between a computed step and the one whose K and V of other rows it takes, in the newest request; 0
 * where a mesh takes none of an earlier step. */
int dit_cache_kv_age(const dit_cache_run *run);
/* Returns the blocks of the model. */
int64_t dit_cache_layers(const dit_cache_run *run);
/* Bytes that one rank keeps for the cache, and the ranks that decide together. */
int64_t dit_cache_state_bytes(const dit_cache_run *run);
int64_t dit_cache_deciders(const dit_cache_run *run);
/* Returns the smallest distance of a test's value to the threshold, relative to it; INFINITY without tests. */
double dit_cache_margin(const dit_cache *cache, const dit_cache_log *log);
/* Gathers the logs of all ranks, uncounted, and checks that ranks which share images decided alike on equal values.
 * Collective over the world. logs [world] malloc'ed, the caller frees it. Errors: DIT_ERR_MISMATCH naming step and rank. */
dit_status dit_cache_meet(const dit_cache_run *run, dit_cache_log **logs);

#endif
