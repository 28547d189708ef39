/* Planner: answers a question: which strategy each layer takes, in how many stages and microbatches.
 *
 * A step of `stages` stages and m microbatches, one forward and one backward in turn, takes
 *
 *     sum over stages of t  +  (m - 1) max t  +  max s
 *
 * t is a stage's time for one microbatch, s what it does once a step (after Galvatron, arXiv:2211.13878). Stage p of P
 * holds the activations of min(P - p, m) microbatches. With one stage suite_layers_solve finds the strategies with the
 * least m t + s, which is the whole formula. With more stages it finds for each stage the best by four weights of t
 * over s, of which one is the formula where stages are equal; the best combination of these is taken, and improved by
 * single changes (polish.h). Such a plan is what the formula gives for it, and a better one may exist.
 */
#ifndef DIT_SUITE_LAYERS_PLANNER_H
#define DIT_SUITE_LAYERS_PLANNER_H

#include "suite/layers/stage_costs.h"

typedef struct {
    bool found;
    double seconds;
    int stages, micro_batches;
    suite_stage_plan stage[SUITE_PLAN_STAGES];
    int elements;
    unsigned parts[SUITE_PLAN_ELEMENTS]; /* of each element                            */
    suite_strategy chosen[SUITE_PLAN_ELEMENTS];
    double flops;        /* forward and backward, all devices, a step; without what is
                                                         computed again                             */
    double bound_s;      /* no plan is faster; NAN: no bound is known  */
    double exhaustive_s; /* the best of all plans, tried one by one; NAN: too many */
    double least_bytes;  /* that a plan of these strategies needs      */
} suite_plan;

/* Fills *out. A question that no plan answers within its memory is answered with found false and least_bytes. Errors:
 * DIT_ERR_UNSUPPORTED where no strategy shares a layer over the devices; DIT_ERR_MEMORY, and those of
 * suite_layers_check. */
dit_status suite_plan_make(const suite_layer_question *question, const suite_plan_machine *machine, suite_plan *out);

/* Greatest over mean of the stages' times, and of their memory: 1 where all are equal. */
double suite_plan_time_imbalance(const suite_plan *plan);
double suite_plan_memory_imbalance(const suite_plan *plan);
/* The memory of the fullest device. */
double suite_plan_fullest_bytes(const suite_plan *plan);

#endif
