/* Choice: which mesh, and how many replicas of it, answer a question best on so many devices of a machine.
 */
#ifndef DIT_SUITE_PROCURE_CHOICE_H
#define DIT_SUITE_PROCURE_CHOICE_H

#include "suite/procure/split.h"

/* Returns the best mesh of so many ranks; NULL: none fits. */
const suite_search_candidate *suite_choice_of_ranks(const suite_search *found, int ranks);

/* Fills item, chosen, replicas, batch, slo_s, load, fleet and images_per_hour.value of a split whose devices and menu are
 * set; or the reason why nothing answers. `found` is the search that the menu is of. Errors: those of serve.h. */
dit_status suite_choice_make(const suite_procure_request *request, const suite_search *found, suite_loads *loads,
                             suite_split *split);
/* How the replicas of a split serve when a request takes `seconds`. */
suite_service suite_choice_service(const suite_split *split, double seconds);

/* Fills base and base_s: what the devices do without tuning. Offline each replica is as small as fits. Errors: those of
 * serve.h. */
dit_status suite_choice_base(const suite_procure_request *request, const suite_search *base, suite_split *split);

/* Finds the least number of machines, spares among them, that serve the request's rate, each with this service; 0: not even
 * SUITE_FLEET_MOST. Errors: those of serve.h. */
dit_status suite_choice_fleet(const suite_procure_request *request, double bound_s, const suite_service *service,
                              int *machines);

/* Returns the images of a request. */
double suite_choice_images(const suite_procure_request *request);

#endif
