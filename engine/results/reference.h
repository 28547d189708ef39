/* Reference: what a parallel run is held against, the tensor that the one-rank run of the same case wrote. */
#ifndef DIT_ENGINE_REFERENCE_H
#define DIT_ENGINE_REFERENCE_H

#include "base/dtype.h"
#include "base/status.h"

#include <stdint.h>

typedef struct {
    double rel_l2;  /* norm of the difference over norm of the reference                                     */
    double psnr_db; /* the peak is the span of the reference; INFINITY where nothing differs, 0 for no span  */
} dit_distance;
/* How far `values` are from tensor `name` of the file at `path`. Errors: as dit_reference_distance. */
dit_status dit_reference_compare(const char *path, const char *name, const float *values, int64_t elements,
                                 dit_distance *out);
/* How far from the one-rank run of the same case, in the same element, a method may be that computes the same: the
 * numbers are the same but for the order in which they are added, and for what is rounded in between. guidance: the
 * scale by which two forwards are put together, 1 where there is one. */
double dit_reference_tolerance(dit_dtype dtype, double guidance);
/* Relative L2 distance of `values` to tensor `name` of the file at `path`.
 * Errors: DIT_ERR_SHAPE when it is not there with so many elements, DIT_ERR_IO, DIT_ERR_SAFETENSORS_*, DIT_ERR_MEMORY.
 */
dit_status dit_reference_distance(const char *path, const char *name, const float *values, int64_t elements,
                                  double *rel_l2);

#endif
