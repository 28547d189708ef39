/* Redundancy: how regular the changes from step to step are, over prompts, layers and runs.
 *
 * A probe (engine/redundancy/) measures how much a tensor of every layer changes in every step. "Unveiling Redundancy in
 * Diffusion Transformers" (arXiv:2411.13588) shows such maps as pictures and says in words that they are alike for all
 * prompts, numbers of steps and solvers, and differ between models. The statistics here are ours; they were named before
 * anything was measured. Intervals draw whole prompts (base/bootstrap.h).
 */
#ifndef DIT_BASE_REDUNDANCY_H
#define DIT_BASE_REDUNDANCY_H

#include "base/bootstrap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How much one tensor changes: values[prompt][layer][step], all above 0, the first step being that from step 0 to 1. */
typedef struct {
    const double *values; /* [prompts][layers][steps]                                                          */
    const double *places; /* [steps] where steps stand, rising or falling: their share of the run, or the noise */
    int prompts, layers, steps;
} dit_redundancy_map;

/* Computes the share of the variance of log values that the cell (layer, step) explains: 1 where all prompts change
 * alike, 0 where a cell says nothing. Errors: DIT_ERR_SHAPE for an empty map; DIT_ERR_NONFINITE for values that are not
 * above 0, or that are all equal; DIT_ERR_MEMORY. */
dit_status dit_redundancy_explained(const dit_redundancy_map *map, dit_interval *out);
/* Computes the paper's own figure: standard deviation over mean of a cell over prompts, averaged over cells. The
 * interval of few prompts lies too low, for a draw repeats some of them. Errors: as above, but equal values are fine. */
dit_status dit_redundancy_variation(const dit_redundancy_map *map, dit_interval *out);
/* Computes Spearman's rank correlation of two maps' means over prompts. Both are read at the layers and steps of the
 * coarser one: at equal shares of the depth, and at equal places as far as both maps have them. Both must have equally
 * many prompts, which are drawn together. Errors: DIT_ERR_SHAPE for empty maps, other numbers of prompts, or places that
 * do not overlap in two steps; DIT_ERR_NONFINITE; DIT_ERR_MEMORY. */
dit_status dit_redundancy_rank_correlation(const dit_redundancy_map *one, const dit_redundancy_map *other,
                                           dit_interval *out);

/* Finds which `computed` of `steps` steps to compute, so that the others, each of which reuses what the newest computed
 * step gave, cost least in sum. cost[i * steps + j]: of reusing step i's in step j. Step 0 is always computed, and so is
 * the last one where two are: it makes the picture, and a cost that counts all steps alike would leave it out. `out` gets
 * a digit for each step, 1 for a computed one, and a final 0; *sum the least sum. Errors: DIT_ERR_SHAPE for fewer than one
 * or more than `steps` computed; DIT_ERR_MEMORY. */
dit_status dit_redundancy_schedule(const double *cost, int steps, int computed, char *out, double *sum);

#ifdef __cplusplus
}
#endif
#endif
