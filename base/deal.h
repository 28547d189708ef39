/* Deal: how a number of ranks becomes degrees, by a method's name or in every way there is. */
#ifndef DIT_BASE_DEAL_H
#define DIT_BASE_DEAL_H

#include "base/parallel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sets the degrees of the method of this name at a world size, and patch_method where there is a patch axis; everything
 * else is left alone. An axis that has a greatest degree takes it; the others share what is left, as even as it goes,
 * in the order of their deal_place, earlier ones the larger factors. At world size 1 every method is the single rank.
 * Errors: as dit_method_from_name; DIT_ERR_CONSTRAINT_METHOD when the method does not exist at this world size ("usp
 * needs two factors above 1"). */
dit_status dit_deal_method(const char *name, int world_size, dit_parallel *out);

/* Told of one mesh: a degree for each axis. A failure ends the enumeration. */
typedef dit_status (*dit_deal_visit)(void *context, const int degree[DIT_AXIS_COUNT]);
/* Visits every way to write `world_size` as a product over axes[0..count), none above its greatest degree: the first
 * axis changes slowest, the last takes what is left. Other axes have degree 1. Errors: those of `visit`. */
dit_status dit_deal_each(const dit_axis *axes, int count, int world_size, dit_deal_visit visit, void *context);

#ifdef __cplusplus
}
#endif
#endif
