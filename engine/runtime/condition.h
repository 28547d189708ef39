/* Conditions: the inputs of a transformer besides the noisy latent and the timestep, such as text embeddings and sizes.
 *
 * One table (condition.c) names every kind, its names in files, and how it is made when no file gives it. A model
 * states what it needs. Three sources fill one struct: a recorded forward, a file of embeddings, seeded numbers.
 */
#ifndef DIT_ENGINE_CONDITION_H
#define DIT_ENGINE_CONDITION_H

#include "engine/runtime/partition.h"
#include "base/safetensors.h"
#include "engine/runtime/text_table.h"

typedef enum {
    DIT_CONDITION_TEXT,         /* [batch, text tokens, dim]                                              */
    DIT_CONDITION_TEXT_MASK,    /* [batch, text tokens] 1 keep, 0 masked; absent: keep all                */
    DIT_CONDITION_TEXT_2,       /* [batch, tokens, dim] of a second encoder                               */
    DIT_CONDITION_TEXT_2_MASK,  /* [batch, tokens]                                                        */
    DIT_CONDITION_POOLED,       /* [batch, dim]                                                           */
    DIT_CONDITION_GUIDANCE,     /* [batch] scale of a guidance-distilled model                            */
    DIT_CONDITION_RESOLUTION,   /* [batch, 2] height, width in pixels                                     */
    DIT_CONDITION_ASPECT_RATIO, /* [batch] height / width                                                 */
    DIT_CONDITION_META_SIZE,    /* [batch, 6] original height, width, target height, width, crop top, left */
    DIT_CONDITION_STYLE,        /* [batch] index                                                          */
    DIT_CONDITION_IMAGE,        /* [batch, tokens, dim] embeddings of an input image                      */
    DIT_CONDITION_LATENT,       /* [batch, image_count, channels] appended to the noisy latent's channels */
    DIT_CONDITION_REFERENCE,    /* [batch, reference_count, channels] latents of a picture behind the noisy latent */
    DIT_CONDITION_FIRST_FRAME, /* [batch, image_count, channels] latents of which those of held tokens count: the first frame */
    DIT_CONDITION_IMAGE_IDS,  /* [S, 3] positions of the whole image, shared by the batch               */
    DIT_CONDITION_TEXT_IDS,   /* [text tokens, 3], shared                                               */
    DIT_CONDITION_ROPE_COS,   /* [S, D] rotary table of the whole image, shared                         */
    DIT_CONDITION_ROPE_SIN,   /* [S, D]                                                                 */
    DIT_CONDITION_ROPE_SCALE, /* [3] seconds of a latent frame, pixels of a cell's height and width, shared */
    DIT_CONDITION_FRAME_RATE, /* [1] frames of a clip in a second, shared                               */
    DIT_CONDITION_COUNT
} dit_condition_kind;

/* What a model needs to know of one kind. */
typedef struct {
    int64_t elements; /* floats of one batch row, or of all where rows share it; 0: the model does not take this kind */
    bool optional;
    bool
        later; /* zeros, whatever a file says: the caller fills them before the run, or they are what there is to tell */
    float scale; /* multiplies values derived from the run (a guidance scale in thousands); 0: one */
} dit_condition_need;

/* The rows of this rank's share of the guidance batch; NULL: not given. They lie in rt->image. */
typedef struct {
    const float *at[DIT_CONDITION_COUNT];
} dit_condition;

/* What pipelines derive conditions from. */
typedef struct {
    int64_t height_px, width_px;
    double guidance_scale;
    double style;
    double frame_rate;   /* frames a second of a clip; 0: the usual one, 25 of LTXPipeline, 24 of LTX2Pipeline */
    double meta_size[6]; /* all zero: 1024 x 1024, the size of the run, no crop */
} dit_condition_run;

/* Which names a file uses: those of the transformer's forward (one row per batch entry), or those of the pipelines
 * (positive and negative prompts in tensors of their own). */
typedef enum { DIT_CONDITION_FORWARD, DIT_CONDITION_PIPELINE } dit_condition_names;

/* Fills `out` from a file. With pipeline names, kinds that pipelines derive come from `run`; with forward names they
 * come from the file.
 * `latent` lays out DIT_CONDITION_LATENT. Errors: DIT_ERR_TENSOR_MISSING, DIT_ERR_SHAPE, DIT_ERR_NONFINITE. */
dit_status dit_condition_read(dit_runtime *rt, const dit_partition *part, const dit_condition_need *needs,
                              const dit_safetensors *file, dit_condition_names names, const dit_latent *latent,
                              dit_latent_layout layout, const dit_condition_run *run, dit_condition *out);
/* Fills `out` from captions, one for each image of the request (count), or one for all (count 1): text, and pooled text
 * where the model takes it; the branch without text is told the caption that says nothing. All slots attend. Other kinds
 * come from `run`. Errors: DIT_ERR_JSON_VALUE for a caption; DIT_ERR_SHAPE when the table does not fit the model;
 * DIT_ERR_UNSUPPORTED when the model needs more than captions give; DIT_ERR_MEMORY. */
dit_status dit_condition_look_up(dit_runtime *rt, const dit_partition *part, const dit_condition_need *needs,
                                 const dit_text_table *table, const char *const *captions, int64_t count,
                                 const dit_condition_run *run, dit_condition *out);
/* Gives conditions that captions filled other captions, one for each image or one for all. Errors: as
 * dit_condition_look_up. */
dit_status dit_condition_tell(dit_runtime *rt, const dit_partition *part, const dit_condition_need *needs,
                              const dit_text_table *table, const char *const *captions, int64_t count,
                              const dit_condition *condition);
/* Fills `out` with seeded numbers: unit normals by (seed, kind, branch, image), masks of ones, and values that
 * pipelines derive. Rows do not depend on the mesh. */
dit_status dit_condition_seed(dit_runtime *rt, const dit_partition *part, const dit_condition_need *needs,
                              uint64_t seed, const dit_condition_run *run, dit_condition *out);

#endif
