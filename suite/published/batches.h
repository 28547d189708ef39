/* Batches: how many requests together somebody has timed a model with. */
#ifndef DIT_SUITE_PUBLISHED_BATCHES_H
#define DIT_SUITE_PUBLISHED_BATCHES_H

#include "base/status.h"

/* Gives the largest batch of the published times (results/published/mlenergy.json) of a model of the catalogue, or of the
 * model that NAME~VARIANT is of; 1: nobody timed one. Errors: those of suite_published_read and
 * suite_published_names_load. */
dit_status suite_published_batch(const char *model, int *most);

#endif
