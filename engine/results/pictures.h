/* Pictures: makes a picture for every caption of a case, batch after batch, and judges them all.
 *
 * A case that has captions and an exact codec ("vae" of class PixelShuffle) asks for it, unless it is an oracle. Batches
 * run as the timed one does, on its mesh and with its cache, which decides for each batch anew. Noise depends on the
 * number of the image alone, so a batch of one gives the picture that a batch of all would, where nothing is approximate.
 */
#ifndef DIT_ENGINE_PICTURES_H
#define DIT_ENGINE_PICTURES_H

#include "base/safetensors.h"
#include "engine/case/pipeline.h"
#include "engine/quality/fidelity.h"

#include <cjson/cJSON.h>

enum { DIT_PICTURES_SHOWN = 12 }; /* pictures of which the record tells each by itself */

typedef struct {
    int64_t count; /* of captions; 0: the case asks for none */
    dit_picture_size size;
    float *pixels; /* on rank 0 [count, 3, frames, height, width] in about [-1, 1]; NULL elsewhere */
    int64_t batches;
    double *hit_shares;  /* [batches] share of steps that a cache reused; NULL without a cache */
    dit_edit_log *edits; /* [batches] which rows were drawn again; NULL where the case has no plan of edits */
    int64_t elapsed_ns;  /* of sampling, all batches */
    double flops;        /* of sampling, all batches and ranks */
} dit_pictures;

/* Makes the pictures, and leaves the pipeline at batch 0. Nothing is made where the case asks for none. Collective. Errors:
 * DIT_ERR_UNSUPPORTED for a VAE that is no exact codec; those of the decoder and of dit_pipeline_run; DIT_ERR_MEMORY. */
dit_status dit_pictures_make(dit_pipeline *pipeline, dit_pictures *out);
void dit_pictures_release(dit_pictures *pictures); /* accepts a zeroed one */

/* Fills the tensor `pixels`, as `ditbench generate --pixels` writes it; to be written only where there are pixels. */
void dit_pictures_tensor(const dit_pictures *pictures, dit_tensor_out *out);
/* Paths of what pictures are held against, files that have the tensor above; NULL: none. */
typedef struct {
    const char *one_rank;  /* the same steps on one rank without a cache */
    const char *converged; /* so many steps on one rank that more change nothing */
} dit_picture_references;
/* Adds "quality" (results/schema/record.md) to `record`, on rank 0: what the pictures at `path`, a file that has the
 * tensor above, show of their captions, how near they are to those of `references`, and how alike renders of these
 * captions they are. Errors: those of reading the files; DIT_ERR_MEMORY; what a measure cannot do is its reason. */
dit_status dit_pictures_judge(const dit_pictures *pictures, const dit_pipeline *pipeline, const char *path,
                              const dit_picture_references *references, cJSON *record);

#endif
