/* Polish: improves a choice of strategies of all stages by single changes, as long as a step becomes faster. */
#ifndef DIT_SUITE_LAYERS_POLISH_H
#define DIT_SUITE_LAYERS_POLISH_H

#include "suite/layers/stage_costs.h"

/* The time of a step of these stages (planner.h has the formula). */
double suite_stages_seconds(const suite_stage_plan *stages, int count, int micro_batches);

/* Changes choice [elements], strategies by element of the whole chain, and stages [costs->stages], which are its stages
 * with their ends: of all changes of one element's strategy that keep its stage within the memory, the one that gains
 * most, and again until none gains. Errors: as the watch of `costs` says. */
dit_status suite_plan_polish(const suite_stage_costs *costs, suite_stage_plan *stages, int *choice);

#endif
