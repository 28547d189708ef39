/* In turn: chooses first how layers are shared, then which of them recompute, as planners do that solve the two apart
 * (Colossal-Auto, arXiv:2302.02599). Private to suite/layers. */
#ifndef DIT_SUITE_LAYERS_IN_TURN_H
#define DIT_SUITE_LAYERS_IN_TURN_H

#include "suite/layers/stage_costs.h"

/* As suite_layers_solve, for a chain of `costs`: sharing without recomputing within 1, 1.5, 2, 3 and 4 times the
 * budget, then recomputing of what was chosen within the budget; the fastest of the five. There is no bound. */
dit_status suite_layers_solve_in_turn(const suite_stage_costs *costs, const suite_layers *chain, suite_layers_plan *out,
                                      int *choice);

#endif
