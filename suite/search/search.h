/* Search: the best mesh of a model on a simulated machine, and why it is the best.
 *
 * Every legal mesh gets a lower bound of its simulated time (suite/simulate/bounds.h). Meshes are simulated in the order
 * of their bounds until the next bound is no lower than the best time found: all others are slower, so the answer is
 * that of simulating every mesh. What was simulated before is taken from the shape cache.
 *
 *     suite_search_request request = {.model = "flux.1-dev", .platform = "8xh100-sxm", .profile = "torch-compile",
 *                                     .goal = SUITE_GOAL_FRONT};
 *     suite_search found;
 *     DIT_TRY(suite_search_run(&request, &found));
 *     for (int i = 0; i < found.size_count; i++)
 *         if (found.sizes[i].winner >= 0) use(&found.candidates[found.sizes[i].winner]);
 *     suite_search_release(&found);
 */
#ifndef DIT_SUITE_SEARCH_SEARCH_H
#define DIT_SUITE_SEARCH_SEARCH_H

#include "suite/search/found.h"

/* Searches. The caller releases `out`, which accepts a zeroed one. Errors: DIT_ERR_NOT_FOUND; DIT_ERR_USAGE for a
 * platform that is not simulated or has fewer devices; those of suite_bounds_of; DIT_ERR_INTERRUPTED. That no mesh fits
 * is no error: winner is -1. */
dit_status suite_search_run(const suite_search_request *request, suite_search *out);

#endif
