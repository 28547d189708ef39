/* Branch oracle: what a run must take for the negative guidance branch's output where it leaves this branch out. Both
 * branches run in every step here; outputs come to the host and are replaced there. Rules, memory and the transform are
 * its own: it shares nothing with engine/cache/. */
#ifndef DIT_ENGINE_BRANCH_ORACLE_H
#define DIT_ENGINE_BRANCH_ORACLE_H

#include "engine/sampling/sampler.h"

typedef struct dit_branch_oracle dit_branch_oracle;

/* Takes the memory of what sampler->emulates_cache needs, from rt->run and rt->image. */
dit_status dit_branch_oracle_create(dit_sampler *sampler, dit_branch_oracle **out);
/* True if the run leaves the negative branch out in this step. */
bool dit_branch_oracle_leaves_out(const dit_branch_oracle *oracle, int step);
/* Replaces the negative branch's part of sampler->output, where it is left out. Steps come in order. */
dit_status dit_branch_oracle_replace(dit_branch_oracle *oracle, int step);

#endif
