/* Bands: share a decode by rows. Each rank holds a band of the rows of an activation. Whatever a layer needs of other
 * bands passes through here (base/rows.h says which rank has which rows, and what that sends).
 *
 * Bands end where latents end: after k doublings a band of n rows has n 2^k. All functions are collective over the
 * ranks that share the decode.
 */
#ifndef DIT_ENGINE_VAE_BANDS_H
#define DIT_ENGINE_VAE_BANDS_H

#include "engine/runtime/runtime.h"

typedef struct {
    dit_runtime *rt;
    dit_comm *comm;                      /* NULL: this rank has all rows, and nothing below is called             */
    int64_t all_rows, first, rows;       /* of the latents; this rank's                                 */
    dit_status status;                   /* of the first exchange that failed; later exchanges do nothing         */
    int64_t edge_floats, groups;         /* the largest values of the dry walk; groups of all entries of a norm */
    float *above, *below, *top, *bottom; /* received from the neighbours, sent to them [edge_floats] */
    double *moments;                     /* [groups, 2]                                              */
    double *sums, *gathered;             /* [2 groups + 1] sum and sum of squares per group, count; of all ranks */
    float *picture;                      /* with a device, the buffer for gathering; else NULL       */
    int64_t *offsets;                    /* [ranks + 1] bytes of a plane of the image                */
} vae_bands;

/* Shares `rows` rows of latents. With comm NULL, or of one rank, nothing is shared. Errors: as dit_rows_check. */
dit_status vae_bands_init(vae_bands *bands, dit_runtime *rt, dit_comm *comm, int64_t rows, bool tiled);
/* Allocates from rt->comm_arena, after the dry walk. picture_floats: floats of a whole image or video. */
dit_status vae_bands_allocate(vae_bands *bands, int64_t picture_floats);

/* Fetches the rows next to this band, for each of `frames` frames of x [frames, height, row_floats], into `above` and
 * `below`, `skip` rows from their begin. *has_* is false at the edges of the image. */
void vae_bands_exchange(vae_bands *bands, const float *x, int64_t frames, int64_t height, int64_t row_floats,
                        int64_t skip, bool *has_above, bool *has_below);
/* Computes bands->moments [args->batch, groups, 2]: mean and variance over all bands, with equal bits on every rank.
 * `args` describe this band. */
void vae_bands_reduce(vae_bands *bands, const dit_group_norm_args *args);
/* Gathers every rank's rows of `planes` planes [height, width] of the image, in host memory, on all ranks. Errors:
 * those of this exchange and of earlier ones. */
dit_status vae_bands_gather(vae_bands *bands, float *image, int64_t planes, int64_t width, int64_t spatial);
/* Collects x [frames, height, row_floats] of all bands for taps, uncounted: *out [frames, *all_height, row_floats] is
 * malloc'ed. Errors: DIT_ERR_MEMORY, DIT_ERR_MPI. */
dit_status vae_bands_collect(vae_bands *bands, const float *x, int64_t frames, int64_t height, int64_t row_floats,
                             int64_t *all_height, float **out);

#endif
