/* Reference: what a parallel run is held against, the tensor that the one-rank run of the same case wrote. */
#ifndef DIT_ENGINE_REFERENCE_H
#define DIT_ENGINE_REFERENCE_H

#include "base/status.h"

#include <stdint.h>

/* Relative L2 distance of `values` to tensor `name` of the file at `path`.
 * Errors: DIT_ERR_SHAPE when it is not there with so many elements, DIT_ERR_IO, DIT_ERR_SAFETENSORS_*, DIT_ERR_MEMORY.
 */
dit_status dit_reference_distance(const char *path, const char *name, const float *values, int64_t elements,
                                  double *rel_l2);

#endif
