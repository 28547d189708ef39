/* Strategy: one way to share one layer over the devices of a stage, and the list of those that a set of ways allows. */
#ifndef DIT_SUITE_LAYERS_STRATEGY_H
#define DIT_SUITE_LAYERS_STRATEGY_H

#include "suite/layers/layers.h"
#include "suite/layers/question.h"

/* The degrees multiply to the devices of the stage. Ranks are ordered as in the engine's mesh, tensor fastest. `data`
 * and `shard` are not both above 1: sharding over all replicas holds less and sends no more than a mixture. */
typedef struct {
    int tensor, data, shard;
    bool recompute;
    int split; /* slices in which a sharded operator works; 1: whole */
} suite_strategy;

enum { SUITE_STRATEGY_TEXT = 48 };

/* Lists what the ways of the question allow on so many devices. Returns how many; 0: no way shares them. */
int suite_strategies_list(const suite_layer_question *question, int devices,
                          suite_strategy out[SUITE_LAYERS_STRATEGIES]);
/* Writes "t2 d4", "s8 x2 recompute", "single". */
void suite_strategy_text(const suite_strategy *strategy, char out[SUITE_STRATEGY_TEXT]);

#endif
