/* Solver: what the config of a scheduler says of the solver, as far as the harness must know before anything runs. */
#ifndef DIT_BASE_SOLVER_H
#define DIT_BASE_SOLVER_H

#include "base/status.h"

#include <cjson/cJSON.h>
#include <stdint.h>

/* Whether the solver draws fresh noise at every step, so that more steps give another picture and no better one.
 * `config` is diffusers' scheduler_config.json; DDIM is taken with eta 0, as cases have it. */
bool dit_solver_draws_noise(const cJSON *config);
/* Checks that `steps` steps have different timesteps among those of training. Solvers of flows have any number. Errors:
 * DIT_ERR_UNSUPPORTED, which names the class and how many there are. */
dit_status dit_solver_check_steps(const cJSON *config, int64_t steps);

#endif
