/* Reference: compares a parallel run with the tensor that the one-rank run of its case wrote. */
#ifndef DIT_ENGINE_REFERENCE_H
#define DIT_ENGINE_REFERENCE_H

#include "base/status.h"

#include <stdint.h>

typedef struct {
    double rel_l2;  /* norm of the difference over norm of the reference                                     */
    double psnr_db; /* the peak is the span of the reference; INFINITY where nothing differs, 0 without span */
} dit_distance;
/* Gives the distances of `values` to tensor `name` of the file at `path`. Errors: as dit_reference_distance. */
dit_status dit_reference_compare(const char *path, const char *name, const float *values, int64_t elements,
                                 dit_distance *out);
/* Gives the relative L2 distance of `values` to tensor `name` of the file at `path`.
 * Errors: DIT_ERR_SHAPE when the file has no such tensor of so many elements, DIT_ERR_IO, DIT_ERR_SAFETENSORS_*,
 * DIT_ERR_MEMORY. */
dit_status dit_reference_distance(const char *path, const char *name, const float *values, int64_t elements,
                                  double *rel_l2);

#endif
