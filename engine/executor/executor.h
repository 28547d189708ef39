/* Executors: in what order the pieces of a sampling run, and what stages tell each other. One file and one row in
 * executor.c each. */
#ifndef DIT_ENGINE_EXECUTOR_H
#define DIT_ENGINE_EXECUTOR_H

#include "engine/sampler.h"

typedef struct dit_executor {
    const char *name;
    /* Takes its buffers and sets sampler->executor_state; NULL: needs none. The sampler is complete but for this. */
    dit_status (*create)(dit_sampler *sampler);
    /* All steps. The text is prepared. Allocates nothing. Collective. */
    dit_status (*run)(dit_sampler *sampler, const dit_condition *condition);
    /* After the last step, before latents are gathered: all stages get them. NULL: every rank has its own. Counted as
     * `gather`. */
    dit_status (*share)(dit_sampler *sampler);
} dit_executor;

/* The one that the mesh asks for: "pipefusion" with stages, "oracle" when one rank emulates a mesh, else "whole". */
const dit_executor *dit_executor_of(const dit_sampler *sampler);

extern const dit_executor dit_executor_oracle;
extern const dit_executor dit_executor_whole, dit_executor_pipefusion;

#endif
