/* Stage costs: what elements of one pipeline cost in each of its stages, as chains that the solver reads, and
 * what a choice of strategies comes to. */
#ifndef DIT_SUITE_LAYERS_STAGE_COSTS_H
#define DIT_SUITE_LAYERS_STAGE_COSTS_H

#include "suite/layers/training.h"

enum { SUITE_PLAN_STAGES = 64, SUITE_PLAN_ELEMENTS = 4 * 1024 + 2 };

/* The machine that a plan is for. Pointers stay the caller's. */
typedef struct {
    const dit_cost_device *device;
    const dit_cost_profile *profile;
    const suite_cluster *cluster;
    const suite_layers_watch *watch; /* of the search; NULL: none */
} suite_plan_machine;

typedef struct {
    int first, count;                       /* elements                                   */
    double micro_s, step_s;                 /* t and s                                    */
    double state_bytes, weight_bytes;       /* of a device; weights are part of the states */
    double activation_bytes, working_bytes; /* of all microbatches at once                */
    double total_bytes;
} suite_stage_plan;

/* By how much a microbatch's time outweighs the time of a step's end when strategies of a stage are chosen. With one
 * stage there is one weight, the number of microbatches. */
enum { SUITE_STAGE_WEIGHTS = 4, SUITE_STAGE_EQUAL = 2 /* exact where stages are equal */ };

/* One pair of stages and microbatches. */
typedef struct {
    const suite_layer_question *question;
    suite_training training;
    int stages, micro_batches, devices; /* devices: of a stage                        */
    int elements, strategies;
    unsigned parts[SUITE_PLAN_ELEMENTS];
    suite_strategy strategy[SUITE_LAYERS_STRATEGIES];
    suite_element_cost *cost; /* [elements][strategies]                     */
    int weights;              /* how many there are                         */
    suite_layer_cost *chain;  /* [weights][stages][elements][strategies]    */
    double *conversion_s;     /* [strategies][strategies], of a microbatch  */
    double *weighed_s;        /* [weights][strategies][strategies]          */
    double handover_s;
    const suite_layers_watch *watch;
} suite_stage_costs;

/* Errors: DIT_ERR_UNSUPPORTED where no strategy shares a layer; DIT_ERR_MEMORY. release accepts a zeroed one. */
dit_status suite_stage_costs_open(const suite_layer_question *question, const suite_plan_machine *machine, int stages,
                                  int micro_batches, suite_stage_costs *out);
void suite_stage_costs_release(suite_stage_costs *costs);
/* The chain of elements [first, first + count) in a stage, by one weight. */
suite_layers suite_stage_chain(const suite_stage_costs *costs, int weight, int stage, int first, int count);
/* Adds up what a choice of a stage's strategies comes to. */
suite_stage_plan suite_stage_weigh(const suite_stage_costs *costs, int stage, int first, int count, const int *choice);
/* The least memory that elements [first, first + count) need in a stage. INFINITY: none has a strategy. */
double suite_stage_least_bytes(const suite_stage_costs *costs, int stage, int first, int count);

#endif
