/* Binning: the sizes that pipelines were trained at. PixArt's, Sana's and HunyuanDiT's pipelines make a picture of the nearest of
 * them unless they are told otherwise (use_resolution_binning). PixArt's and Sana's then resize and cut it to the size that was
 * asked for. Source: diffusers 0.42.1, PixArtAlphaPipeline, PixArtSigmaPipeline, SanaPipeline, HunyuanDiTPipeline. */
#ifndef DIT_SUITE_GENERATE_BINNING_H
#define DIT_SUITE_GENERATE_BINNING_H

#include <stdbool.h>
#include <stdint.h>

/* Gives the size of 16:9 that HunyuanVideo 1.5's pipeline takes by default: of all sizes in cells of `cell` pixels whose area is at most
 * that of a square of `target` pixels, the one that is nearest to 9:16 and not flatter. False, and nothing is changed, where there is
 * none. Source: diffusers 0.42.1, HunyuanVideo15ImageProcessor. */
bool suite_binning_target(int64_t target, int64_t cell, int64_t *height, int64_t *width);

/* Replaces *height and *width, in pixels, both at least 1, by those that the pipeline of that _class_name samples. sample_size
 * is that of its transformer's config, in latents. *fits: the pipeline makes the picture as large as was asked for. Returns
 * false, and changes nothing, where the pipeline takes sizes as they are, or has no table for its sample_size. */
bool suite_binning_apply(const char *pipeline, int64_t sample_size, int64_t *height, int64_t *width, bool *fits);

#endif
