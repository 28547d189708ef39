/* Low frequencies of pictures: what a discrete Fourier transform of a plane has within a disc around frequency 0, as
 * FasterCache cuts it: of a radius of a fifth of the shorter side, in whole frequencies. */
#ifndef DIT_ENGINE_LOW_PASS_H
#define DIT_ENGINE_LOW_PASS_H

#include "base/arena.h"

typedef struct {
    int64_t height, width, radius;
    double *cosines[2], *sines[2]; /* of 2 pi i / height, and of 2 pi i / width */
    double *rows, *columns; /* [height][radius + 1] complex: transformed rows, and what the disc leaves of them */
} dit_low_pass;

/* Takes tables and scratch for planes of that size from `arena`. Errors: DIT_ERR_MEMORY. */
dit_status dit_low_pass_create(dit_arena *arena, int64_t height, int64_t width, dit_low_pass *out);
/* Replaces a plane [height][width] by its low frequencies. */
void dit_low_pass_run(const dit_low_pass *filter, float *plane);
/* Returns the multiplications and additions of a run. */
double dit_low_pass_flops(const dit_low_pass *filter);

#endif
