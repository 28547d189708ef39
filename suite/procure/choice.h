/* Choice: which mesh, and how many replicas of it, answer a question best on so many devices of a machine.
 */
#ifndef DIT_SUITE_PROCURE_CHOICE_H
#define DIT_SUITE_PROCURE_CHOICE_H

#include "suite/procure/split.h"

/* Returns the best mesh of so many ranks; NULL: none fits. */
const suite_search_candidate *suite_choice_of_ranks(const suite_search *found, int ranks);

/* Fills chosen, replicas, slo_s, load, fleet and images_per_hour.value of a split whose devices are set; or the reason
 * why nothing answers. Errors: those of serve.h. */
dit_status suite_choice_make(const suite_procure_request *request, const suite_search *found, suite_loads *loads,
                             suite_split *split);

/* Fills base and base_s: what the devices do without tuning. Offline each replica is as small as fits. Errors: those of
 * serve.h. */
dit_status suite_choice_base(const suite_procure_request *request, const suite_search *base, suite_split *split);

/* Finds the least number of machines, spares among them, that serve the request's rate with replicas that take `seconds`
 * a request; 0: not even SUITE_FLEET_MOST. Errors: those of serve.h. */
dit_status suite_choice_fleet(const suite_procure_request *request, double bound_s, double seconds, int replicas,
                              int *machines);

/* Returns the images of a request. */
double suite_choice_images(const suite_procure_request *request);

#endif
