/* Fidelity: how near a picture is to another that it should equal, pixel by pixel.
 *
 * A picture or clip is planes [3, frames, height, width] of colours in [0, 1], before they are rounded to 8 bits. A
 * measure of a clip is that of its frames, averaged. All sums are in double.
 */
#ifndef DIT_ENGINE_FIDELITY_H
#define DIT_ENGINE_FIDELITY_H

#include "base/status.h"
#include <stdint.h>

enum { DIT_RGB = 3 };

typedef struct {
    int64_t frames, height, width;
} dit_picture_size;

int64_t dit_picture_floats(dit_picture_size size); /* colours x frames x height x width */

/* Peak signal-to-noise ratio in dB: 10 log10(1 / MSE) of each frame over its colours, averaged over frames; 100 dB
 * where MSE is below 1e-10. Errors: DIT_ERR_NONFINITE, which names the first pixel that is not finite. */
dit_status dit_psnr(const float *a, const float *b, dit_picture_size size, double *psnr_db);

/* Structural similarity: 11 x 11 Gaussian window of deviation 1.5 that lies wholly inside the picture, population
 * moments, C1 = 0.01^2, C2 = 0.03^2, range 1; averaged over places, then colours, then frames.
 * Source: Wang, Bovik, Sheikh, Simoncelli, Image Quality Assessment, IEEE TIP 13 (2004), section III-C.
 * Errors: DIT_ERR_SHAPE for a picture smaller than the window; DIT_ERR_NONFINITE; DIT_ERR_MEMORY. */
dit_status dit_ssim(const float *a, const float *b, dit_picture_size size, double *ssim);

#endif
