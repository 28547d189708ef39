/* Bands: a decode shared by rows. Each rank holds a band of the rows of an activation; what a layer needs of the other
 * bands passes through here (base/rows.h says who has what and what that sends).
 *
 * Bands end where latents end: after k doublings a band of n rows has n 2^k. All functions are collective over the
 * ranks that share.
 */
#ifndef DIT_ENGINE_VAE_BANDS_H
#define DIT_ENGINE_VAE_BANDS_H

#include "engine/runtime/runtime.h"

typedef struct {
    dit_runtime *rt;
    dit_comm *comm;                      /* NULL: this rank has all rows and nothing below is called              */
    int64_t all_rows, first, rows;       /* of the latents; this rank's                                 */
    dit_status status;                   /* of the first exchange that failed; later ones do nothing              */
    int64_t edge_floats, groups;         /* the largest that the dry walk noted                      */
    float *above, *below, *top, *bottom; /* received from the neighbours, sent to them [edge_floats] */
    double *moments;                     /* [groups, 2]                                              */
    double *sums, *gathered;             /* [2 groups + 1]: sum, sum of squares each, count; of all ranks */
    float *picture;                      /* of a device: what is gathered; else NULL: the picture itself is */
    int64_t *offsets;                    /* [ranks + 1] bytes of a plane of the picture              */
} vae_bands;

/* Shares `rows` rows of latents; comm NULL, or of one rank: nothing is shared. Errors: as dit_rows_check. */
dit_status vae_bands_init(vae_bands *bands, dit_runtime *rt, dit_comm *comm, int64_t rows, bool tiled);
/* After the dry walk, from rt->comm_arena. picture_floats: of a whole picture or clip. */
dit_status vae_bands_allocate(vae_bands *bands, int64_t picture_floats);

/* The rows next to this band, of each of `frames` frames x [frames, height, row_floats]: into `above` and `below`,
 * `skip` rows from their begin; *has_* false at the edges of the picture. */
void vae_bands_exchange(vae_bands *bands, const float *x, int64_t frames, int64_t height, int64_t row_floats,
                        int64_t skip, bool *has_above, bool *has_below);
/* bands->moments: mean and variance over all bands, the same bits on every rank. `args` are of this band. */
void vae_bands_reduce(vae_bands *bands, const dit_group_norm_args *args);
/* Every rank's rows of `planes` planes [height, width] of the picture, the host's, to all ranks. Errors: what an
 * exchange before, or this one, gives. */
dit_status vae_bands_gather(vae_bands *bands, float *image, int64_t planes, int64_t width, int64_t spatial);
/* For taps, uncounted: x [frames, height, row_floats] of this band to the whole, *out [frames, *all_height, row_floats]
 * from malloc. Errors: DIT_ERR_MEMORY, DIT_ERR_MPI. */
dit_status vae_bands_collect(vae_bands *bands, const float *x, int64_t frames, int64_t height, int64_t row_floats,
                             int64_t *all_height, float **out);

#endif
