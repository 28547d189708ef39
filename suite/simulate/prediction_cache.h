/* Prediction cache: simulates the cases of published points, each distinct case once, several at a time. */
#ifndef DIT_SUITE_SIMULATE_PREDICTION_CACHE_H
#define DIT_SUITE_SIMULATE_PREDICTION_CACHE_H

#include "suite/simulate/published_points.h"
#include "suite/simulate/simulate.h"

/* Zeroed but for `params`. release accepts a zeroed one. */
typedef struct {
    suite_simulate_params params;
    int at_once; /* simulations; 0: as many as there are cores */
    struct suite_simulated_case *known;
    int known_count, room;
} suite_simulator;
void suite_simulator_release(suite_simulator *simulator);

/* Is told what became of a simulation; `done` of `total` are over. An error that it returns ends everything. */
typedef dit_status (*suite_simulator_told)(void *context, int done, int total);

/* Simulates the cases that are not known yet, and calls `told` (may be NULL) after each. A case whose simulation fails
 * is known, too. Errors: DIT_ERR_INTERRUPTED, DIT_ERR_ENVIRONMENT, DIT_ERR_IO, DIT_ERR_MEMORY, and what `told`
 * returned. */
dit_status suite_simulator_run(suite_simulator *simulator, const suite_point_case *const *cases, int count,
                               suite_simulator_told told, void *context);
bool suite_simulator_knows(const suite_simulator *simulator, const suite_point_case *one);
/* A suite_predictor; context: suite_simulator. A case that is not known is simulated now. */
dit_status suite_simulator_predict(const suite_point_case *one, double *out, void *context);

#endif
